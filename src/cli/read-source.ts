import type { Snapshot } from '../model/snapshot.ts';
import { DirectorySource } from '../sources/directory/directory-source.ts';
import type { SourceProblem } from '../sources/source.ts';
import { silentLog } from '../system/log.ts';
import type { Environment } from './environment.ts';
import { requireDirectory } from './open-source.ts';

/** Reads a directory once, for a command that answers and ends. */
export async function readSource(
  { clock, stopped }: Environment,
  directory: string,
): Promise<{ readonly snapshot: Snapshot; readonly problems: readonly SourceProblem[] }> {
  await requireDirectory(directory);
  const source = new DirectorySource(directory, { clock, log: silentLog });
  await source.start(stopped);
  await source.close();
  return { snapshot: source.snapshot, problems: source.problems() };
}
