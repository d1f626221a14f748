import { access, constants, stat } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { DirectorySource } from '../../sources/directory/directory-source.ts';
import { LastGoodRecorder } from '../../sources/directory/last-good/last-good-recorder.ts';
import { nodeLockOf } from '../../sources/directory/layout.ts';
import { acquireLock, LockedError, requireUnlocked, type DirectoryLock } from '../../sources/directory/lock.ts';
import { RecordHealth } from '../../sources/directory/records/record-health.ts';
import { DirectoryStatusWriter } from '../../sources/directory/records/status-writer.ts';
import { whenThereIsSpace } from '../../sources/directory/records/when-there-is-space.ts';
import type { Log } from '../../system/log.ts';
import { UsageError, type CommandContext } from '../context/command-context.ts';
import type { StorageBackend } from '../context/storage.ts';

/** Storage in a directory of manifests. Records are kept in its folder .herald. */
export async function openDirectoryStorage(
  { clock, random, stopped }: CommandContext,
  directory: string,
  log: Log,
): Promise<StorageBackend> {
  await requireDirectory(directory);
  const source = new DirectorySource(directory, { clock, log });
  const health = new RecordHealth(log);
  const records = (): DirectoryStatusWriter => new DirectoryStatusWriter(directory, { clock, health });
  const take = (file: string): Promise<DirectoryLock> =>
    orExplain(file, () => whenThereIsSpace(() => acquireLock(file), { clock, random, stopped, health, file: relative(directory, file) }));
  return {
    source,
    recordHealth: health,
    async acquireLeadership() {
      const lock = await take(controllerLock(directory));
      const lastGood = new LastGoodRecorder(directory, { source, log });
      lastGood.start();
      return {
        writer: records(),
        async release() {
          await lastGood.stop();
          await lock.release();
        },
      };
    },
    async acquireNode(node) {
      const lock = await take(nodeLock(directory, node));
      const writer = records();
      return { writeNodeState: (state) => writer.writeNodeState(state), release: () => lock.release() };
    },
    close: () => source.close(),
  };
}

/** Rejects with UsageError when the path is not a directory or this process may not read it. An unreadable directory would look empty. */
export async function requireDirectory(directory: string): Promise<void> {
  try {
    if ((await stat(directory)).isDirectory()) return await access(directory, constants.R_OK | constants.X_OK);
  } catch (error) {
    const code = codeOf(error);
    if (code === 'ENOENT') throw new UsageError(`there is no directory ${directory}`);
    if (code === 'EACCES') throw new UsageError(`${directory} cannot be read: permission denied`);
  }
  throw new UsageError(`${directory} is not a directory`);
}

/** Rejects with UsageError when another process works in the directory: the agent of `node`, or the controller when `node` is undefined. */
export async function requireFree(directory: string, node: string | undefined): Promise<void> {
  await orExplain(node === undefined ? controllerLock(directory) : nodeLock(directory, node), requireUnlocked);
}

const controllerLock = (directory: string): string => join(directory, '.herald/controller.lock');
const nodeLock = (directory: string, node: string): string => join(directory, nodeLockOf(node));

async function orExplain<T>(file: string, work: (file: string) => Promise<T>): Promise<T> {
  try {
    return await work(file);
  } catch (error) {
    if (error instanceof LockedError) throw new UsageError(error.message);
    const because = unwritable[codeOf(error) ?? ''];
    if (because !== undefined) throw new UsageError(`${file} cannot be written: ${because}`);
    throw error;
  }
}

/** Explains by error code why the records of a directory cannot be written. */
const unwritable: Readonly<Record<string, string>> = {
  EACCES: 'permission denied: run this as root, or as the user that owns the directory',
  EPERM: 'permission denied: run this as root, or as the user that owns the directory',
  EROFS: 'the file system is read-only: Herald keeps its records in the directory of manifests',
};

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException).code;
}
