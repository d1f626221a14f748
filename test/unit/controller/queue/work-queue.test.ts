import { describe, expect, test } from 'vitest';
import { limits } from '../../../../src/controller/limits.ts';
import type { Urgency } from '../../../../src/controller/provider-parts.ts';
import { WorkQueue } from '../../../../src/controller/queue/work-queue.ts';
import { answerError } from '../../../../src/kube/error.ts';
import { systemClock, type Clock } from '../../../../src/system/clock.ts';
import { timeSliceMilliseconds } from '../../../../src/system/limits.ts';
import { silentLog } from '../../../../src/system/log.ts';
import { VirtualClock } from '../../../../src/system/virtual-clock.ts';

function makeQueue(work: (key: string) => Promise<void>): { queue: WorkQueue<string>; clock: VirtualClock } {
  const clock = new VirtualClock();
  return { queue: new WorkQueue({ clock, random: () => 1, log: silentLog }, work), clock };
}

describe('the work queue', () => {
  test('keys run in order, each once however often it was added', async () => {
    const done: string[] = [];
    const { queue } = makeQueue(async (key) => void done.push(key));
    for (const key of ['a', 'b', 'a', 'c', 'b']) queue.add(key);
    expect(done).toEqual([]);
    queue.start();
    await queue.idle();
    expect(done).toEqual(['a', 'b', 'c']);
  });

  test('priority keys run first, in order', async () => {
    const done: string[] = [];
    const { queue } = makeQueue(async (key) => {
      done.push(key);
      if (key === 'a') for (const first of ['z', 'c', 'z']) queue.addPriority(first);
      if (key === 'z') queue.add('c');
    });
    for (const key of ['a', 'b', 'c']) queue.add(key);
    queue.start();
    await queue.idle();
    expect(done).toEqual(['a', 'z', 'c', 'b']);
  });

  describe('keys of the last line', () => {
    /** Runs these keys, which were added in this order, and returns the order in which they ran. */
    async function ordered(add: (queue: ReturnType<typeof makeQueue>['queue']) => void): Promise<readonly string[]> {
      const done: string[] = [];
      const { queue } = makeQueue(async (key) => void done.push(key));
      add(queue);
      queue.start();
      await queue.idle();
      return done;
    }

    test('run after all others, whenever those were added', async () => {
      const order = await ordered((queue) => {
        for (const key of ['a', 'b', 'c', 'd']) queue.addLast(key);
        queue.add('e');
        queue.addPriority('f');
        // These have changed meanwhile.
        queue.add('c');
        queue.addPriority('d');
        // Those wait in an earlier line already.
        for (const key of ['c', 'd', 'e', 'f']) queue.addLast(key);
        queue.add('f');
      });
      expect(order).toEqual(['f', 'd', 'e', 'c', 'a', 'b']);
    });

    test('have a turn after ten keys of the next line, but never before a key of the first', async () => {
      const numbered = (name: string, count: number): string[] => Array.from({ length: count }, (_, index) => `${name}${index}`);
      const order = await ordered((queue) => {
        for (const key of numbered('last', 3)) queue.addLast(key);
        for (const key of numbered('next', 21)) queue.add(key);
        for (const key of numbered('first', 12)) queue.addPriority(key);
      });
      const next = numbered('next', 21);
      const inTurn = [...next.slice(0, 10), 'last0', ...next.slice(10, 20), 'last1', ...next.slice(20), 'last2'];
      expect(order).toEqual([...numbered('first', 12), ...inTurn]);
    });

    test('keep waiting for their retry when they are added again', async () => {
      const done: string[] = [];
      const { queue, clock } = makeQueue(async (key) => {
        done.push(key);
        if (done.length === 1) throw new Error('no');
      });
      queue.add('a');
      queue.start();
      await queue.idle();
      queue.addLast('a');
      await queue.idle();
      expect(done).toEqual(['a']);
      clock.advance(limits.retryMinimumMilliseconds);
      await queue.idle();
      expect(done).toEqual(['a', 'a']);
    });

    test('run again in the line in which they were added while at work', async () => {
      const done: string[] = [];
      const { queue } = makeQueue(async (key) => {
        done.push(key);
        if (done.length > 2) return;
        queue.addLast(key);
        if (key === 'b') queue.addPriority(key);
        await Promise.resolve();
      });
      for (const key of ['a', 'b', 'c']) queue.add(key);
      queue.start();
      await queue.idle();
      expect(done).toEqual(['a', 'b', 'b', 'c', 'a']);
    });
  });

  test('a key counts once in the length, however it was added', () => {
    const { queue } = makeQueue(async () => undefined);
    queue.add('a');
    queue.addPriority('a');
    queue.add('a');
    queue.addPriority('b');
    expect(queue.length).toBe(2);
  });

  test('a key that is added while at work runs again afterwards', async () => {
    const done: string[] = [];
    const { queue } = makeQueue(async (key) => {
      done.push(key);
      if (done.length === 1) queue.add(key);
      await Promise.resolve();
    });
    queue.start();
    queue.add('a');
    await queue.idle();
    expect(done).toEqual(['a', 'a']);
  });

  test('a failed key is retried with growing pauses, and other keys run at once', async () => {
    const done: string[] = [];
    let failures = 3;
    const { queue, clock } = makeQueue(async (key) => {
      if (key === 'bad' && failures-- > 0) throw new Error('no');
      done.push(key);
    });
    queue.start();
    queue.add('bad');
    queue.add('good');
    await queue.idle();
    expect(done).toEqual(['good']);
    for (const pause of [1, 2, 4]) {
      clock.advance(limits.retryMinimumMilliseconds * pause - 1);
      await queue.idle();
      expect(done).toEqual(['good']);
      clock.advance(1);
      await queue.idle();
    }
    expect(done).toEqual(['good', 'bad']);
    expect(clock.pending).toBe(0);
  });

  test('a key that fails during stop sets no timer', async () => {
    const gate = Promise.withResolvers<undefined>();
    const { queue, clock } = makeQueue(async () => {
      await gate.promise;
      throw new Error('no');
    });
    queue.start();
    queue.add('bad');
    const stopped = queue.stop();
    gate.resolve(undefined);
    await stopped;
    expect(clock.pending).toBe(0);
  });

  test('a retry pause never exceeds its bound', async () => {
    const { queue, clock } = makeQueue(() => Promise.reject(new Error('no')));
    queue.start();
    queue.add('bad');
    for (let round = 0; round < 20; round++) {
      await queue.idle();
      clock.advance(limits.retryMaximumMilliseconds);
    }
    await queue.idle();
    expect(clock.pending).toBe(1);
    await queue.stop();
    expect(clock.pending).toBe(0);
  });

  test('several keys wait at a time, start in order, and none runs twice at once', async () => {
    const gates = new Map<string, PromiseWithResolvers<undefined>>();
    const begun: string[] = [];
    const { queue } = makeQueue(async (key) => {
      begun.push(key);
      const gate = Promise.withResolvers<undefined>();
      gates.set(key, gate);
      await gate.promise;
    });
    const keys = Array.from({ length: limits.keysAtWork + 2 }, (_, index) => `k${index}`);
    for (const key of keys) queue.add(key);
    queue.start();
    await new Promise(setImmediate);
    expect(begun).toEqual(keys.slice(0, limits.keysAtWork));
    queue.addPriority('k3');
    queue.add('k4');
    gates.get('k4')?.resolve(undefined);
    gates.get('k3')?.resolve(undefined);
    await new Promise(setImmediate);
    expect(begun.slice(limits.keysAtWork)).toEqual(['k3', `k${limits.keysAtWork}`]);
    for (const gate of gates.values()) gate.resolve(undefined);
    await new Promise(setImmediate);
    expect(begun.slice(limits.keysAtWork + 2)).toEqual([`k${limits.keysAtWork + 1}`, 'k4']);
    expect(queue.length).toBe(2);
    for (const gate of gates.values()) gate.resolve(undefined);
    await queue.idle();
    expect(queue.length).toBe(0);
  });

  test('no key starts before the pause that the API server asked for is over', async () => {
    const done: string[] = [];
    let busy = true;
    const { queue, clock } = makeQueue(async (key) => {
      if (busy) throw answerError(429, 'slow down', '5');
      done.push(key);
    });
    queue.start();
    queue.add('a');
    await queue.idle();
    busy = false;
    queue.add('b');
    clock.advance(4999);
    await queue.idle();
    expect(done).toEqual([]);
    clock.advance(1);
    await queue.idle();
    expect(done.toSorted()).toEqual(['a', 'b']);
    expect(clock.pending).toBe(0);
  });

  test('a failed key is logged as a warning, but not when nothing is wrong with the key', async () => {
    const warned: unknown[] = [];
    const log = { ...silentLog, warn: (fields: object) => void warned.push((fields as { key: unknown }).key) };
    const queue = new WorkQueue<string>({ clock: new VirtualClock(), random: () => 1, log }, async (key) => {
      throw Object.assign(new Error(key), { code: key });
    });
    for (const key of ['conflict', 'notLeading', 'stopping', 'notWritten', 'failing']) queue.add(key);
    queue.start();
    await queue.idle();
    expect(warned).toEqual(['failing']);
  });

  test('a key that waits for a retry runs at once when it is added', async () => {
    const done: string[] = [];
    let failures = 1;
    const { queue, clock } = makeQueue(async (key) => {
      if (failures-- > 0) throw new Error('no');
      done.push(key);
    });
    queue.start();
    queue.add('a');
    await queue.idle();
    queue.add('a');
    await queue.idle();
    expect(done).toEqual(['a']);
    expect(clock.pending).toBe(0);
  });

  describe('remote keys', () => {
    function makeWaiting(urgencyOf: (key: string) => Urgency = () => 'new'): {
      queue: WorkQueue<string>;
      begun: string[];
      end: (key: string) => Promise<void>;
      outside: Set<string>;
    } {
      const begun: string[] = [];
      const gates = new Map<string, PromiseWithResolvers<undefined>>();
      const outside = new Set<string>();
      const work = async (key: string): Promise<void> => {
        begun.push(key);
        if (!outside.has(key)) return;
        const gate = Promise.withResolvers<undefined>();
        gates.set(key, gate);
        await gate.promise;
      };
      const queue = new WorkQueue<string>({ clock: new VirtualClock(), random: () => 1, log: silentLog }, work, (key) =>
        outside.has(key) ? urgencyOf(key) : undefined,
      );
      const end = async (key: string): Promise<void> => {
        gates.get(key)?.resolve(undefined);
        await new Promise(setImmediate);
      };
      return { queue, begun, end, outside };
    }

    const far = Array.from({ length: 3 * limits.keysAtWork }, (_, index) => `far${index}`);

    test('remote keys delay no other key, although they came first and have priority', async () => {
      const { queue, begun, outside } = makeWaiting();
      for (const key of far) outside.add(key);
      for (const key of far) queue.addPriority(key);
      for (const key of ['a', 'b']) queue.add(key);
      queue.start();
      await new Promise(setImmediate);
      expect(begun).toEqual([...far.slice(0, limits.remoteKeysAtWork), 'a', 'b']);
      queue.add('c');
      await new Promise(setImmediate);
      expect(begun.at(-1)).toBe('c');
      expect(queue.length).toBe(far.length);
    });

    test('remote keys keep their order and place when added again, and never run twice at once', async () => {
      const { queue, begun, end, outside } = makeWaiting();
      for (const key of far) outside.add(key);
      for (const key of far) queue.add(key);
      queue.start();
      await new Promise(setImmediate);
      queue.add(far[limits.remoteKeysAtWork] ?? '');
      queue.addPriority(far[limits.remoteKeysAtWork + 1] ?? '');
      queue.add('far0');
      await new Promise(setImmediate);
      expect(begun).toEqual(far.slice(0, limits.remoteKeysAtWork));
      await end('far1');
      await end('far0');
      expect(begun).toEqual(far.slice(0, limits.remoteKeysAtWork + 2));
    });

    test('the most urgent remote keys get a slot first, and less urgent ones never take all slots', async () => {
      const urgencies: readonly Urgency[] = ['new', 'change', 'repair', 'reread'];
      const count = 2 * limits.remoteKeysAtWork;
      const { queue, begun, end, outside } = makeWaiting((key) => key.split(' ')[0] as Urgency);
      const keysOf = (urgency: Urgency): string[] => Array.from({ length: count }, (_, index) => `${urgency} ${index}`);
      const add = async (urgency: Urgency): Promise<void> => {
        for (const key of keysOf(urgency)) outside.add(key);
        for (const key of keysOf(urgency)) queue.add(key);
        await new Promise(setImmediate);
      };
      queue.start();
      for (const urgency of urgencies.toReversed()) await add(urgency);
      const begunOf = (urgency: Urgency): number => begun.filter((key) => key.startsWith(urgency)).length;
      const { remoteKeysAtWork, remoteChangesAtWork, remoteRepairsAtWork, remoteRereadsAtWork } = limits;
      expect(urgencies.map(begunOf)).toEqual([
        remoteKeysAtWork - remoteChangesAtWork,
        remoteChangesAtWork - remoteRepairsAtWork,
        remoteRepairsAtWork - remoteRereadsAtWork,
        remoteRereadsAtWork,
      ]);
      await end('reread 0');
      await end('reread 1');
      // Each slot that becomes free goes to the most urgent key that waits.
      expect(begun.slice(-2)).toEqual([4, 5].map((index) => `new ${index}`));
    });

    test('a re-read starts while new keys keep coming', async () => {
      const { queue, begun, end, outside } = makeWaiting((key) => key.split(' ')[0] as Urgency);
      const add = (key: string): void => {
        outside.add(key);
        queue.add(key);
      };
      queue.start();
      for (let index = 0; index < 2 * limits.remoteKeysAtWork; index++) add(`new ${index}`);
      await new Promise(setImmediate);
      add('reread 0');
      for (let ended = 0; !begun.includes('reread 0') && ended < 1000; ended++) {
        add(`new ${2 * limits.remoteKeysAtWork + ended}`);
        await end(`new ${ended}`);
      }
      expect(begun.length).toBeLessThanOrEqual(2 * limits.remoteKeysAtWork + 8 * (limits.remoteKeysAtWork + 1));
      expect(begun.at(-1)).toBe('reread 0');
    });

    test('a waiting remote key that has become more urgent starts before the others', async () => {
      const urgent = new Set<string>();
      const { queue, begun, end, outside } = makeWaiting((key) => (urgent.has(key) ? 'new' : 'reread'));
      for (const key of far) outside.add(key);
      for (const key of far) queue.add(key);
      queue.start();
      await new Promise(setImmediate);
      expect(begun).toHaveLength(limits.remoteRereadsAtWork);
      urgent.add('far40');
      queue.add('far40');
      await new Promise(setImmediate);
      expect(begun.at(-1)).toBe('far40');
      await end('far40');
      expect(begun).toHaveLength(limits.remoteRereadsAtWork + 1);
    });

    test('a key that is no longer remote runs with the others', async () => {
      const { queue, begun, outside } = makeWaiting();
      for (const key of far) outside.add(key);
      for (const key of far) queue.add(key);
      queue.start();
      await new Promise(setImmediate);
      outside.delete('far40');
      queue.add('far40');
      await new Promise(setImmediate);
      expect(begun.at(-1)).toBe('far40');
    });
  });

  test.each([
    ['before its first wait', false],
    ['after a wait for something that is there already', true],
  ])('ten thousand keys with nothing to write, which work %s, let timers run', async (_, waits) => {
    let now = 0;
    const clock: Clock = { ...systemClock, now: () => now };
    let done = 0;
    const work = async (): Promise<void> => {
      if (waits) await Promise.resolve();
      done++;
      now += 0.1;
    };
    const queue = new WorkQueue<string>({ clock, random: () => 1, log: silentLog }, work);
    for (let index = 0; index < 10_000; index++) queue.add(`k${index}`);
    queue.start();
    for (let turn = 0; turn < 10; turn++) await new Promise(setImmediate);
    expect(done * 0.1).toBeLessThan(15 * timeSliceMilliseconds);
    await queue.idle();
    expect(done).toBe(10_000);
  });
});
