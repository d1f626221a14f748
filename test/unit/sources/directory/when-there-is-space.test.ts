import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { limits } from '../../../../src/sources/directory/limits.ts';
import { RecordHealth } from '../../../../src/sources/directory/records/record-health.ts';
import { whenThereIsSpace } from '../../../../src/sources/directory/records/when-there-is-space.ts';
import { silentLog } from '../../../../src/system/log.ts';
import { VirtualClock } from '../../../../src/system/virtual-clock.ts';

const file = '.herald/nodes/node1.lock';

/** A write that fails with the given codes, one an attempt, and then succeeds. */
function begin(codes: readonly string[]) {
  const clock = new VirtualClock();
  const health = new RecordHealth(silentLog);
  const stop = new AbortController();
  const left = [...codes];
  let attempts = 0;
  const write = async (): Promise<string> => {
    attempts++;
    const code = left.shift();
    if (code !== undefined) throw Object.assign(new Error(code), { code });
    return 'written';
  };
  const result = whenThereIsSpace(write, { clock, random: () => 1, stopped: stop.signal, health, file });
  result.catch(() => undefined);
  return { clock, health, stop, result, attempts: () => attempts };
}

describe('whenThereIsSpace', () => {
  test.each(['ENOSPC', 'EDQUOT'])('retries after %s with growing delays, reports it meanwhile, and returns the result', async (code) => {
    const { clock, health, result, attempts } = begin([code, code, code]);
    for (const [index, delay] of [500, 1000, 2000].entries()) {
      await turn();
      expect(health.unwritten()).toMatchObject({ records: 1, file });
      clock.advance(delay - 1);
      await turn();
      expect(attempts()).toBe(index + 1);
      clock.advance(1);
    }
    await expect(result).resolves.toBe('written');
    expect(health.problem()).toBeUndefined();
  });

  test('waits no longer than the limit between two attempts', async () => {
    const { clock, attempts } = begin(Array.from({ length: 20 }, () => 'ENOSPC'));
    for (let round = 1; round < 20; round++) {
      await turn();
      expect(attempts()).toBe(round);
      clock.advance(limits.lockRetryMaximumMilliseconds);
    }
  });

  test('rejects at once with an error that passes only by an administrator', async () => {
    const { clock, health, result } = begin(['EACCES']);
    await expect(result).rejects.toMatchObject({ code: 'EACCES' });
    expect([health.waiting, clock.pending]).toEqual([0, 0]);
  });

  test('rejects with the reason when the process is stopped while it waits', async () => {
    const { clock, stop, result } = begin(['ENOSPC', 'ENOSPC']);
    await turn();
    stop.abort('SIGTERM');
    await expect(result).rejects.toBe('SIGTERM');
    expect(clock.pending).toBe(0);
  });
});
