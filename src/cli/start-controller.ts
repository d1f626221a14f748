import { join } from 'node:path';
import { Controller } from '../controller/controller.ts';
import { acquireLock, LockedError, type DirectoryLock } from '../sources/directory/lock.ts';
import { DirectoryRecords } from '../sources/directory/records.ts';
import type { Source } from '../sources/source.ts';
import type { Log } from '../system/log.ts';
import { UsageError, type Environment } from './environment.ts';
import type { Running } from './run-until-stopped.ts';

export async function startController(environment: Environment, source: Source, directory: string, log: Log): Promise<Running> {
  const { clock, random } = environment;
  const lock = await lockOrExplain(join(directory, '.herald/controller.lock'));
  const writer = new DirectoryRecords(directory, { clock });
  const controller = new Controller({ source, providers: await environment.providers(), writer, clock, random, log });
  const stop = async (): Promise<void> => {
    await controller.stop();
    await lock.release();
  };
  try {
    await controller.start();
  } catch (error) {
    await stop();
    throw error;
  }
  return { stop };
}

export async function lockOrExplain(file: string): Promise<DirectoryLock> {
  try {
    return await acquireLock(file);
  } catch (error) {
    if (error instanceof LockedError) throw new UsageError(error.message, 1);
    throw error;
  }
}
