import { expect, test } from 'vitest';
import { Pacer } from '../../../../providers/aws/sdk/pacer.ts';
import { silentLog } from '../../../../src/system/log.ts';
import { service } from '../../../../test/unit/decisions/fixtures.ts';
import { ControllerFixture } from '../support/controller-fixture.ts';

const services = Array.from({ length: 40 }, (_, index) => `web-${index}`);

/** A controller whose requests wait for AWS' rates, with more Services than the rates allow at once. */
async function busyController(): Promise<{ town: ControllerFixture; stopped: AbortController }> {
  const town = new ControllerFixture();
  const stopped = new AbortController();
  const { clock } = town.cloud.world;
  town.pacer = new Pacer({ clock, random: () => 0.5, log: silentLog, stopped: stopped.signal });
  await town.start();
  for (const name of services) town.apply(service({ name, ports: ['http:80/TCP@30080'], loadBalancerClass: 'herald.dev/aws' }));
  await town.run(3);
  return { town, stopped };
}

const statusesOf = ({ statuses }: ControllerFixture): string => JSON.stringify([...statuses.values()].map(({ conditions }) => conditions));

test('a controller that stops while Services are created writes no condition and no Event', async () => {
  const { town, stopped } = await busyController();
  expect(town.cloud.world.loadBalancers.size).toBeLessThan(services.length);
  const [conditions, events] = [statusesOf(town), town.events.length];
  stopped.abort('SIGTERM');
  await town.stop();
  expect([statusesOf(town), town.events.slice(events)]).toEqual([conditions, []]);
});

test('a controller that stops while Services are deleted writes no condition and no Event', async () => {
  const { town, stopped } = await busyController();
  await town.run(600);
  for (const name of services) town.delete(`default/${name}`);
  await town.turn();
  const [conditions, events] = [statusesOf(town), town.events.length];
  stopped.abort('SIGTERM');
  await town.stop();
  expect(town.cloud.world.loadBalancers.size).toBeGreaterThan(0);
  expect([statusesOf(town), town.events.slice(events)]).toEqual([conditions, []]);
});

test('the next controller finishes what a stopped one has begun', async () => {
  const { town, stopped } = await busyController();
  stopped.abort('SIGTERM');
  await town.stop();
  town.pacer = undefined;
  await town.start();
  await town.run(600);
  expect(services.map((name) => town.condition(`default/${name}`))).toEqual(services.map(() => 'True Assigned'));
});
