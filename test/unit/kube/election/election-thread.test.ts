import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ElectionThread } from '../../../../src/kube/election/election-thread.ts';
import { systemClock } from '../../../../src/system/clock.ts';
import { silentLog } from '../../../../src/system/log.ts';

const lease = { namespace: 'herald-system', name: 'herald-controller' };
const timing = { leaseMilliseconds: 3000, renewDeadlineMilliseconds: 2000, retryMilliseconds: 200, retryJitter: 1 };

interface Written {
  readonly written: number;
  readonly spec: { readonly holderIdentity: string };
}

let server: Worker;
let port: number;
let writes: Written[];

beforeEach(async () => {
  server = new Worker(new URL('./lease-server-thread.ts', import.meta.url));
  const [started] = (await once(server, 'message')) as [{ readonly port: number }];
  port = started.port;
  writes = [];
  server.on('message', (message: Written) => void writes.push(message));
});

afterEach(async () => {
  await server.terminate();
});

function candidate(identity: string): ElectionThread {
  const connection = { server: new URL(`http://127.0.0.1:${port}`), credentials: async () => ({}), expired: () => undefined };
  return new ElectionThread({ connection, userAgent: 'test', clock: systemClock, log: silentLog }, { lease, identity, timing });
}

/** Keeps this thread from running anything. */
function block(milliseconds: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds);
}

test('a leader whose main thread is busy for longer than the Lease keeps it, and may write at once afterwards', async () => {
  const one = candidate('one');
  expect(one.mayWrite()).toBe(false);
  expect(await one.campaign()).toBe(true);
  const other = candidate('other');
  void other.campaign();
  const began = Date.now();
  block(3500);
  // No message of the thread was read since.
  expect(one.mayWrite()).toBe(true);
  const ended = Date.now();
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(writes.filter(({ written }) => written > began && written < ended).length).toBeGreaterThanOrEqual(2);
  expect(new Set(writes.map(({ spec }) => spec.holderIdentity))).toEqual(new Set(['one']));
  expect([one.term.aborted, other.mayWrite()]).toEqual([false, false]);
  await Promise.all([other.resign(), one.resign()]);
});

test('a leader that resigns releases the Lease, may not write any more, and another one leads', async () => {
  const one = candidate('one');
  await one.campaign();
  const other = candidate('other');
  const elected = other.campaign();
  await one.resign();
  expect([one.mayWrite(), one.term.aborted]).toEqual([false, true]);
  expect(await elected).toBe(true);
  expect(writes.map(({ spec }) => spec.holderIdentity).filter((name, index, all) => name !== all[index - 1])).toEqual(['one', '', 'other']);
  await other.resign();
});

test('a leader whose API server ends loses the Lease, and says so', async () => {
  const one = candidate('one');
  await one.campaign();
  await server.terminate();
  await one.lost;
  expect([one.mayWrite(), one.term.aborted]).toEqual([false, true]);
  await one.resign();
});

test('a candidate that never campaigned resigns at once', async () => {
  const one = candidate('one');
  await one.resign();
  expect(await Promise.race([one.lost, Promise.resolve('not lost')])).toBe('not lost');
});

test('the thread tells why the Lease is refused', async () => {
  const refused = { server: new URL(`http://127.0.0.1:${port}`), credentials: async () => ({}), expired: () => undefined };
  const warned: object[] = [];
  const log = { ...silentLog, warn: (fields: object) => void warned.push(fields) };
  const one = new ElectionThread(
    { connection: { ...refused, server: new URL(`http://127.0.0.1:${port}/refuse`) }, userAgent: 'test', clock: systemClock, log },
    { lease, identity: 'one', timing },
  );
  void one.campaign();
  while (one.refusal() === undefined) await new Promise((resolve) => setTimeout(resolve, 20));
  expect(one.refusal()).toMatch(/^the Lease herald-system\/herald-controller cannot be had: the API server answered 403.*Fix: /);
  expect(warned).toHaveLength(1);
  await one.resign();
});
