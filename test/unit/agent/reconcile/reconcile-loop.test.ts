import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { limits } from '../../../../src/agent/limits.ts';
import { ReconcileLoop, type PassWork } from '../../../../src/agent/reconcile/reconcile-loop.ts';
import { DataplaneError } from '../../../../src/dataplane/dataplane.ts';
import type { ServiceKey } from '../../../../src/model/objects/metadata.ts';
import { silentLog } from '../../../../src/system/log.ts';
import { VirtualClock } from '../../../../src/system/virtual-clock.ts';
import { service } from '../../decisions/fixtures.ts';
import { TestSource } from '../../test-source.ts';

const key = (number: number): ServiceKey => `default/s${number}`;

function looping() {
  const clock = new VirtualClock();
  const source = new TestSource(service({ name: 's0' }));
  const passes: ServiceKey[][] = [];
  const withdrawn: ServiceKey[][] = [];
  const loop = new ReconcileLoop({ source, clock, random: () => 1, log: silentLog }, 'n1', {
    reconcile: async ({ services }: PassWork) => void passes.push([...services]),
    withdraw: (_, services) => void withdrawn.push([...services]),
    onQueued: () => undefined,
    onStatusChanged: () => undefined,
  });
  /** Changes a Service, and lets a pass run if one may. */
  const change = async (number: number): Promise<void> => {
    loop.requeue([key(number)]);
    await setImmediate();
  };
  return { clock, loop, passes, withdrawn, change };
}

test('a burst of changes runs a pass for each, then one pass each interval takes all that came meanwhile', async () => {
  const { clock, passes, change } = looping();
  for (let number = 0; number < limits.passBurst; number++) await change(number);
  expect(passes).toEqual(Array.from({ length: limits.passBurst }, (_, number) => [key(number)]));
  for (let number = 100; number < 130; number++) await change(number);
  expect(passes).toHaveLength(limits.passBurst);
  clock.advance(limits.passRefillMilliseconds);
  await setImmediate();
  expect(passes).toHaveLength(limits.passBurst + 1);
  expect(passes.at(-1)).toEqual(Array.from({ length: 30 }, (_, number) => key(100 + number)));
});

test('changes that come more slowly than passes are allowed never wait', async () => {
  const { clock, passes, change } = looping();
  for (let number = 0; number < 3 * limits.passBurst; number++) {
    await change(number);
    expect(passes).toHaveLength(number + 1);
    clock.advance(limits.passRefillMilliseconds);
  }
});

test('a loop that stops while a pass waits for its turn ends at once and runs no pass', async () => {
  const { loop, passes, change } = looping();
  for (let number = 0; number <= limits.passBurst; number++) await change(number);
  const settled = loop.settled();
  loop.stop();
  await settled;
  expect(passes).toHaveLength(limits.passBurst);
});

test('a pass whose data plane fails while it waits withdraws routes in its turn and waits for the retry', async () => {
  const { clock, loop, passes, withdrawn, change } = looping();
  for (let number = 0; number <= limits.passBurst; number++) await change(number);
  clock.advance(limits.passRefillMilliseconds - 10);
  loop.onDataplaneLost(new DataplaneError('failed', 'the kernel lost the tables'));
  clock.advance(10);
  await setImmediate();
  expect(passes).toHaveLength(limits.passBurst);
  expect(withdrawn).toEqual([[key(limits.passBurst), key(0)]]);
  clock.advance(2 * limits.retryMinimumMilliseconds);
  await setImmediate();
  expect(passes.slice(limits.passBurst)).toEqual([[key(limits.passBurst), key(0)]]);
});
