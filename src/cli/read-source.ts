import type { Snapshot } from '../model/snapshot.ts';
import { DirectorySource } from '../sources/directory/directory-source.ts';
import { problemText, type SourceProblem } from '../sources/source.ts';
import { silentLog } from '../system/log.ts';
import type { Environment } from './environment.ts';
import { requireDirectory } from './directory-workplace.ts';

export interface ReadSource {
  readonly snapshot: Snapshot;
  readonly problems: readonly SourceProblem[];
}

/** Reads a directory once, for a command that answers and ends. `replacement`: another one, whose files take the place of all of its. */
export async function readSource({ clock, stopped }: Environment, directory: string, replacement?: string): Promise<ReadSource> {
  await requireDirectory(directory);
  if (replacement !== undefined) await requireDirectory(replacement);
  const source = new DirectorySource(directory, { clock, log: silentLog });
  await source.start(stopped);
  if (replacement !== undefined) await source.replaceBy(replacement);
  await source.close();
  return { snapshot: source.snapshot, problems: source.problems() };
}

/** Lines for people: what is wrong, and what is only odd. */
export function problemLines(problems: readonly SourceProblem[]): string[] {
  return problems.map((problem) => `${problem.severity === 'error' ? 'problem' : 'warning'}: ${problemText(problem)}`);
}
