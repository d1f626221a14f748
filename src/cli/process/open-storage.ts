import { problemText, type Source } from '../../sources/source.ts';
import type { Log } from '../../system/log.ts';
import { openCluster } from '../storage/cluster-storage.ts';
import { openDirectory } from '../storage/directory-storage.ts';
import type { Environment } from '../environment/environment.ts';
import type { ClusterOptions, ElectionOptions } from '../options/shared-options.ts';
import type { Telemetry } from './telemetry/telemetry.ts';
import type { Workplace } from '../environment/storage.ts';

export interface WorkplaceOptions extends ClusterOptions, ElectionOptions {
  /** A directory of manifests; undefined: a cluster. */
  readonly source?: string;
  /** Of an agent. */
  readonly node?: string;
  readonly waitForConfig?: true;
}

/** Opens and reads a directory or a cluster; what is wrong in it is logged now and whenever it changes. Until all is read the process is not ready. */
export async function openWorkplace(
  environment: Environment,
  options: WorkplaceOptions,
  log: Log,
  telemetry?: Telemetry,
): Promise<Workplace> {
  const { source: directory } = options;
  let awaited = (): string | undefined => undefined;
  const isRead = telemetry?.health.addCheck({ name: 'objects', ready: () => awaited() ?? 'they are being read' });
  const workplace =
    directory === undefined
      ? await openCluster(environment, options, log, telemetry?.api)
      : await openDirectory(environment, directory, log);
  // Before it has started: an API server that is not there is waited for, and somebody may wait with it.
  logProblems(workplace.source, log);
  telemetry?.follow(workplace.source);
  awaited = () => workplace.source.awaited?.();
  await workplace.source.start(environment.stopped);
  isRead?.();
  return workplace;
}

function logProblems(source: Source, log: Log): void {
  const logged = new Set<string>();
  const logNew = (): void => {
    const current = new Set<string>();
    for (const problem of source.problems()) {
      const text = problemText(problem);
      current.add(text);
      if (logged.has(text)) continue;
      if (problem.severity === 'error') log.error({ problem: text }, 'source problem');
      else log.warn({ problem: text }, 'source warning');
    }
    for (const text of logged) if (!current.has(text)) log.info({ problem: text }, 'source problem solved');
    logged.clear();
    for (const text of current) logged.add(text);
  };
  logNew();
  source.onProblem(logNew);
}
