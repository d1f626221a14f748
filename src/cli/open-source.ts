import { stat } from 'node:fs/promises';
import { DirectorySource } from '../sources/directory/directory-source.ts';
import { problemText, type Source } from '../sources/source.ts';
import type { Log } from '../system/log.ts';
import { UsageError, type Environment } from './environment.ts';

/** Opens and reads a directory of manifests; what is wrong in it is logged now and whenever it changes. */
export async function openSource(environment: Environment, directory: string, log: Log): Promise<Source> {
  await requireDirectory(directory);
  const source = new DirectorySource(directory, { clock: environment.clock, log });
  await source.start(environment.stopped);
  const logged = new Set<string>();
  const logProblems = (): void => {
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
  logProblems();
  source.onProblem(logProblems);
  return source;
}

export async function requireDirectory(directory: string): Promise<void> {
  const found = await stat(directory).catch(() => undefined);
  if (found?.isDirectory() !== true) throw new UsageError(`${directory} is not a directory`);
}
