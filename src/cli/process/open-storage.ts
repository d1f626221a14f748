import { problemText, type Source } from '../../sources/source.ts';
import type { Log } from '../../system/log.ts';
import { openClusterStorage } from '../storage/cluster-storage.ts';
import { openDirectoryStorage } from '../storage/directory-storage.ts';
import type { CommandContext } from '../context/command-context.ts';
import type { ClusterOptions, ElectionOptions } from '../options/shared-options.ts';
import type { ProcessEndpoints } from './endpoints/process-endpoints.ts';
import type { StorageBackend } from '../context/storage.ts';

export interface StorageOptions extends ClusterOptions, ElectionOptions {
  /** A directory of manifests; undefined: a cluster. */
  readonly source?: string;
  /** The node of an agent; absent for a controller. */
  readonly node?: string;
  readonly waitForConfig?: true;
}

/**
 * Opens and reads a directory or a cluster. Logs the problems of its objects now and whenever they change. The process is not ready until
 * all is read.
 */
export async function openStorage(
  context: CommandContext,
  options: StorageOptions,
  log: Log,
  endpoints?: ProcessEndpoints,
): Promise<StorageBackend> {
  const { source: directory } = options;
  let awaited = (): string | undefined => undefined;
  const isRead = endpoints?.health.addCheck({ name: 'objects', ready: () => awaited() ?? 'they are being read' });
  const storage =
    directory === undefined
      ? await openClusterStorage(context, options, log, endpoints?.api)
      : await openDirectoryStorage(context, directory, log);
  // Before the source starts: when the API server cannot be reached, the start waits for it, and the log must say so.
  logProblems(storage.source, log);
  endpoints?.follow(storage.source);
  if (storage.clockSkew !== undefined) endpoints?.followClock(storage.clockSkew);
  if (storage.recordHealth !== undefined) endpoints?.followRecords(storage.recordHealth);
  const { refused } = storage;
  if (refused !== undefined && options.node === undefined) endpoints?.health.addCheck({ name: 'leadership', ready: () => refused() });
  awaited = () => storage.source.missingPrerequisite?.();
  await storage.source.start(context.stopped);
  isRead?.();
  return storage;
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
