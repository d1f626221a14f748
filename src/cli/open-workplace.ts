import { problemText, type Source } from '../sources/source.ts';
import type { Log } from '../system/log.ts';
import { openCluster } from './cluster-workplace.ts';
import { openDirectory } from './directory-workplace.ts';
import type { Environment } from './environment.ts';
import type { ClusterOptions } from './options.ts';
import type { Workplace } from './workplace.ts';

export interface WorkplaceOptions extends ClusterOptions {
  /** A directory of manifests; undefined: a cluster. */
  readonly source?: string;
  /** Of an agent. */
  readonly node?: string;
}

/** Opens and reads a directory or a cluster; what is wrong in it is logged now and whenever it changes. */
export async function openWorkplace(environment: Environment, options: WorkplaceOptions, log: Log): Promise<Workplace> {
  const { source: directory } = options;
  const workplace =
    directory === undefined ? await openCluster(environment, options, log) : await openDirectory(environment, directory, log);
  logProblems(workplace.source, log);
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
      if (problem.severity === 'error') log.error({ problem: text }, 'manifest problem');
      else log.warn({ problem: text }, 'manifest warning');
    }
    for (const text of logged) if (!current.has(text)) log.info({ problem: text }, 'manifest problem solved');
    logged.clear();
    for (const text of current) logged.add(text);
  };
  logNew();
  source.onProblem(logNew);
}
