import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { ListenError } from '../../../src/system/http/http-listener.ts';
import { RetryingListener, type RetryingListenerOptions } from '../../../src/system/http/retrying-listener.ts';
import { VirtualClock } from '../../../src/system/virtual-clock.ts';

/** Attempts fail with each of `outcomes` in turn; then the address is free. */
function begun(outcomes: readonly ListenError['code'][], options: Partial<RetryingListenerOptions> = {}) {
  const clock = new VirtualClock();
  const told: (string | undefined)[] = [];
  const log: string[] = [];
  const left = [...outcomes];
  const listener = new RetryingListener(clock, {
    listen: async () => {
      const code = left.shift();
      log.push(code ?? 'open');
      if (code !== undefined) throw new ListenError(code, `it is ${code}`);
      return { close: async () => void log.push('close') };
    },
    retryMilliseconds: 1000,
    onProblemChanged: (problem) => void told.push(problem),
    ...options,
  });
  const pass = async (milliseconds: number): Promise<void> => {
    clock.advance(milliseconds);
    await setImmediate();
  };
  return { clock, listener, told, log, pass };
}

test('a listener retries while the address is in use, and reports the problem once', async () => {
  const { clock, listener, told, log, pass } = begun(['taken', 'taken', 'notPermitted']);
  for (const expected of ['it is taken', 'it is taken', 'it is notPermitted', undefined]) {
    await pass(log.length === 0 ? 0 : 1000);
    expect(listener.problem).toBe(expected);
  }
  expect(told).toEqual(['it is taken', 'it is notPermitted', undefined]);
  expect([log, clock.pending]).toEqual([['taken', 'taken', 'notPermitted', 'open'], 0]);
  await listener.close();
  expect(log.at(-1)).toBe('close');
});

test('an expected error is not reported as a problem, and the listener retries', async () => {
  const { listener, told, log, pass } = begun(['noAddress'], { isExpected: ({ code }) => code === 'noAddress' });
  await pass(0);
  expect(listener.problem).toBeUndefined();
  await pass(1000);
  expect([told, log]).toEqual([[], ['noAddress', 'open']]);
});

test('a listener makes no attempt before `after` resolves nor after it was closed', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const waiting = begun([], { after: promise });
  await waiting.pass(0);
  expect(waiting.log).toEqual([]);
  const closed = waiting.listener.close();
  resolve();
  await closed;
  expect(waiting.log).toEqual([]);
  const failing = begun(['taken']);
  await failing.pass(0);
  await failing.listener.close();
  await failing.pass(10_000);
  expect([failing.log, failing.clock.pending]).toEqual([['taken'], 0]);
});

test('a listener that starts listening after close is closed at once without a report', async () => {
  const open = Promise.withResolvers<{ close(): Promise<void> }>();
  const late = begun([], { listen: () => open.promise });
  await late.pass(0);
  const end = late.listener.close();
  open.resolve({ close: async () => void late.log.push('close') });
  await end;
  expect([late.log, late.told]).toEqual([['close'], []]);
});
