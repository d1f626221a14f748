import { BackOff } from '../../../system/back-off.ts';
import { sleep, type Clock } from '../../../system/clock.ts';
import type { Random } from '../../../system/random.ts';
import { limits } from '../limits.ts';
import type { RecordHealth } from './record-health.ts';

interface Options {
  readonly clock: Clock;
  readonly random: Random;
  readonly stopped: AbortSignal;
  readonly health: Pick<RecordHealth, 'failed' | 'written'>;
  /** The file that `write` writes, relative to the directory. */
  readonly file: string;
}

/**
 * Calls `write` again, with back-off, while the file system is full, and reports that to `health`. A full disk passes without Herald's help,
 * and a process that ended would need another program to start it again. Rejects with any other error of `write`, and with the reason of
 * `stopped` when that aborts first.
 */
export async function whenThereIsSpace<T>(write: () => Promise<T>, { clock, random, stopped, health, file }: Options): Promise<T> {
  const backOff = new BackOff(random, {
    minimumMilliseconds: limits.lockRetryMilliseconds,
    maximumMilliseconds: limits.lockRetryMaximumMilliseconds,
    jitter: 0.25,
  });
  for (;;) {
    try {
      const written = await write();
      health.written(file);
      return written;
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code !== 'ENOSPC' && code !== 'EDQUOT') throw error;
      health.failed(file, code);
      await sleep(clock, backOff.failed(), stopped);
    }
  }
}
