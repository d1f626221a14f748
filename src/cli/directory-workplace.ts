import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { DirectorySource } from '../sources/directory/directory-source.ts';
import { acquireLock, LockedError, type DirectoryLock } from '../sources/directory/lock.ts';
import { DirectoryRecords } from '../sources/directory/records.ts';
import type { Log } from '../system/log.ts';
import { UsageError, type Environment } from './environment.ts';
import type { Workplace } from './workplace.ts';

/** A directory of manifests, with the records in its folder .herald. */
export async function openDirectory({ clock }: Environment, directory: string, log: Log): Promise<Workplace> {
  await requireDirectory(directory);
  const source = new DirectorySource(directory, { clock, log });
  const records = (): DirectoryRecords => new DirectoryRecords(directory, { clock });
  return {
    source,
    async takeServices() {
      const lock = await lockOrExplain(join(directory, '.herald/controller.lock'));
      return { writer: records(), release: () => lock.release() };
    },
    async takeNode(node) {
      const lock = await lockOrExplain(join(directory, '.herald/nodes', `${node}.lock`));
      const writer = records();
      return { writeNodeState: (state) => writer.writeNodeState(state), release: () => lock.release() };
    },
    close: () => source.close(),
  };
}

export async function requireDirectory(directory: string): Promise<void> {
  const found = await stat(directory).catch(() => undefined);
  if (found?.isDirectory() !== true) throw new UsageError(`${directory} is not a directory`);
}

async function lockOrExplain(file: string): Promise<DirectoryLock> {
  try {
    return await acquireLock(file);
  } catch (error) {
    if (error instanceof LockedError) throw new UsageError(error.message, 1);
    throw error;
  }
}
