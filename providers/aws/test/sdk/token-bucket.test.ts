import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { limits } from '../../../../providers/aws/sdk/limits.ts';
import { TokenBucket } from '../../../../providers/aws/sdk/token-bucket.ts';
import { VirtualClock } from '../../../../src/system/virtual-clock.ts';
import { runs } from '../../../../test/support/property.ts';

/** Takes tokens and records the time of each. */
function taker(clock: VirtualClock, bucket: TokenBucket): { take: (name: string) => void; taken: Map<string, number> } {
  const taken = new Map<string, number>();
  return { taken, take: (name) => void bucket.take().then(() => taken.set(name, clock.now())) };
}

/** Advances the clock in steps and runs the waiting callers after each step, so that they see the time at which they got their token. */
async function advance(clock: VirtualClock, milliseconds: number, step = 1): Promise<void> {
  await settled();
  for (let passed = 0; passed < milliseconds; passed += step) {
    clock.advance(Math.min(step, milliseconds - passed));
    await settled();
  }
}

async function settled(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await Promise.resolve();
}

describe('a token bucket', () => {
  test('a burst passes at once, then single requests at the rate, in their order of arrival', async () => {
    const clock = new VirtualClock();
    const { take, taken } = taker(clock, new TokenBucket(clock, { burst: 2, perSecond: 4 }));
    for (const name of ['a', 'b', 'c', 'd']) take(name);
    await advance(clock, 1000);
    expect([...taken]).toEqual([
      ['a', 0],
      ['b', 0],
      ['c', 250],
      ['d', 500],
    ]);
  });

  test('a quiet bucket refills to its burst and no further', async () => {
    const clock = new VirtualClock();
    const { take, taken } = taker(clock, new TokenBucket(clock, { burst: 2, perSecond: 4 }));
    take('a');
    take('b');
    await advance(clock, 60_000, 1000);
    for (const name of ['c', 'd', 'e']) take(name);
    await advance(clock, 300);
    expect([...taken.values()]).toEqual([0, 0, 60_000, 60_000, 60_250]);
  });

  test('a throttled bucket gives nothing until a token is available at half the rate', async () => {
    const clock = new VirtualClock();
    const bucket = new TokenBucket(clock, { burst: 10, perSecond: 4 });
    const { take, taken } = taker(clock, bucket);
    bucket.throttled(0);
    take('a');
    take('b');
    await advance(clock, 1100);
    expect([...taken]).toEqual([
      ['a', 500],
      ['b', 992],
    ]);
  });

  test('requests that were throttled together halve the rate once, and it never falls below the slowest', () => {
    const clock = new VirtualClock();
    const bucket = new TokenBucket(clock, { burst: 16, perSecond: 16 });
    clock.advance(10);
    bucket.throttled(5);
    clock.advance(10);
    for (const sentAt of [6, 7, 8]) bucket.throttled(sentAt);
    expect(bucket.perSecond).toBeCloseTo(8, 1);
    bucket.throttled(15);
    expect(bucket.perSecond).toBeCloseTo(4, 1);
    for (let round = 0; round < 20; round++) {
      clock.advance(1);
      bucket.throttled(clock.now());
    }
    expect(bucket.perSecond).toBeCloseTo(limits.slowestPerSecond, 1);
  });

  test('the rate recovers by equal steps, up to the first rate', () => {
    const clock = new VirtualClock();
    const bucket = new TokenBucket(clock, { burst: 16, perSecond: 16 });
    bucket.throttled(0);
    const rates = [0.25, 0.25, 0.25, 0.25].map((part) => {
      clock.advance(part * limits.recoverySeconds * 1000);
      return bucket.perSecond;
    });
    expect(rates).toEqual([12, 16, 16, 16]);
  });

  test('requests of a lower rank pass first', async () => {
    const clock = new VirtualClock();
    const bucket = new TokenBucket(clock, { burst: 1, perSecond: 10 });
    await bucket.take();
    const passed: string[] = [];
    for (const [name, rank] of [
      ['reread', 3],
      ['repair', 2],
      ['new', 0],
      ['newer', 0],
      ['change', 1],
    ] as const)
      void bucket.take(rank).then(() => passed.push(name));
    await advance(clock, 600);
    expect(passed).toEqual(['new', 'newer', 'change', 'repair', 'reread']);
  });

  test('a request of the highest rank passes although there are always requests of lower ranks', async () => {
    const clock = new VirtualClock();
    const bucket = new TokenBucket(clock, { burst: 1, perSecond: 10 });
    await bucket.take();
    let passed = Number.NaN;
    void bucket.take(3).then(() => (passed = clock.now()));
    for (let second = 0; second < 10; second++) {
      for (let index = 0; index < 20; index++) void bucket.take(0);
      await advance(clock, 1000, 10);
    }
    // Every eighth turn is for the request that has waited longest.
    expect(passed).toBe(800);
  });

  test('a full queue refuses requests, and rejectWaiting rejects all waiting ones', async () => {
    const clock = new VirtualClock();
    const bucket = new TokenBucket(clock, { burst: 1, perSecond: 1 });
    await bucket.take();
    const waiting = Array.from({ length: limits.queuedRequests }, () => bucket.take());
    await expect(bucket.take()).rejects.toMatchObject({ code: 'queue-full' });
    bucket.rejectWaiting(new Error('over'));
    const outcomes = await Promise.allSettled(waiting);
    expect(outcomes.every(({ status }) => status === 'rejected')).toBe(true);
    expect(clock.pending).toBe(0);
  });

  test('no period lets more requests pass than burst and rate allow, for any arrivals', async () => {
    const arrivals = fc.array(fc.nat(30), { minLength: 1, maxLength: 20 });
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 5 }), fc.integer({ min: 20, max: 200 }), arrivals, async (burst, perSecond, gaps) => {
        const clock = new VirtualClock();
        const { take, taken } = taker(clock, new TokenBucket(clock, { burst, perSecond }));
        for (const [index, gap] of gaps.entries()) {
          await advance(clock, gap);
          take(String(index));
        }
        await advance(clock, gaps.length * 55);
        const times = [...taken.values()];
        expect([...taken.keys()]).toEqual(gaps.map((_, index) => String(index)));
        for (let from = 0; from < times.length; from++) {
          for (let to = from; to < times.length; to++) {
            const seconds = ((times[to] ?? 0) - (times[from] ?? 0)) / 1000;
            expect(to - from + 1).toBeLessThanOrEqual(burst + seconds * perSecond + 1e-6);
          }
        }
      }),
      { numRuns: runs(50) },
    );
  });
});
