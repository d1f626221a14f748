import { afterAll, beforeAll, expect, test } from 'vitest';
import { documents } from '../host/objects.ts';
import { until } from '../until.ts';
import { AgentsOnSegment, vip, vip6 } from './agents-on-segment.ts';
import { announcementManifests, nodeAddress, nodeAddress6, rankedByNumber, serviceManifests } from './manifests.ts';
import { OpenConnections, type OpenConnection } from './open-connections.ts';

const nodes = [0, 1, 2];
const consistent = { 'herald.dev/load-balancing': 'consistent' };
const direct = { ...consistent, 'herald.dev/direct-return': 'true' };
const count = 200;
let lab: AgentsOnSegment;
let connections: OpenConnections;

/** n0 is the best placed node, then n1. */
const manifests = (annotations: Readonly<Record<string, string>>): string =>
  documents(...announcementManifests(rankedByNumber), ...serviceManifests({ pods: nodes, annotations }));

beforeAll(async () => {
  lab = await AgentsOnSegment.build({ nodes: nodes.length, advertisement: rankedByNumber });
  connections = new OpenConnections(lab.segment.host(lab.clientHost));
  await lab.watch.ask([vip, vip6], 25);
  await lab.untilOwner(0);
});

afterAll(async () => {
  await connections?.kill();
  await lab?.close();
});

const alive = (all: readonly OpenConnection[]): number => all.filter(({ lost }) => lost === undefined).length;
const toPod = (all: readonly OpenConnection[], pod: string): number => all.filter((one) => one.pod === pod).length;

/** Opens connections, restarts all agents one after the other, then cuts off the owner. Returns the connections after each. */
async function upgrade(annotations: Readonly<Record<string, string>>): Promise<{
  readonly opened: readonly OpenConnection[];
  readonly restarted: readonly OpenConnection[];
  readonly failed: readonly OpenConnection[];
}> {
  await lab.write('20-herald.yaml', manifests(annotations));
  const isDirect = 'herald.dev/direct-return' in annotations;
  await until('pods of all nodes see the expected client', async (note) => {
    const reports = await Promise.all([vip, vip6].map((address) => lab.client.tcp({ address, port: 80, count: 30 })));
    return note(reports).every(({ failed, pods, clients }) => {
      const own = clients.every((client) => [nodeAddress(lab.clientHost), nodeAddress6(lab.clientHost)].includes(client));
      return failed === 0 && Object.keys(pods).length === nodes.length && own === isDirect;
    });
  });
  // The next owner, too.
  if (isDirect) await lab.untilDirectReturn();
  await connections.open([vip, vip6], 80, count);
  const opened = await connections.ask();
  for (const at of nodes) {
    await lab.agent(at).stop();
    await lab.startAgent(at);
    await lab.untilOwner(0);
  }
  const restarted = await connections.ask();
  await lab.kill(0);
  lab.segment.plug(0, false);
  await lab.untilOwner(1);
  const failed = await connections.ask();
  lab.segment.plug(0, true);
  await lab.startAgent(0);
  await lab.untilOwner(0);
  return { opened, restarted, failed };
}

test('case 7: with direct return a dead owner costs only connections to its pods, restarts cost none', async () => {
  const { opened, restarted, failed } = await upgrade(direct);
  const onDead = toPod(opened, 'pod0');
  console.log(
    `direct return: ${alive(opened)} of ${count} opened, ${onDead} of them to the pod of the owner; ` +
      `${alive(restarted)} after restarts of all agents, ${alive(failed)} after the loss of the owner`,
  );
  expect(alive(opened)).toBe(count);
  expect(restarted.filter(({ lost }) => lost !== undefined)).toEqual([]);
  expect(failed.filter(({ pod, lost }) => lost !== undefined && pod !== 'pod0')).toEqual([]);
  expect(onDead).toBeGreaterThan(0);
});

test('case 7: without it connections are lost with every change of the owner', async () => {
  const { opened, restarted, failed } = await upgrade(consistent);
  const [idle, sending] = [true, false].map((isIdle) => alive(restarted.filter((one) => one.isIdle === isIdle)));
  console.log(
    `without direct return: ${alive(opened)} of ${count} opened; ${alive(restarted)} after restarts of all agents ` +
      `(${idle} idle, ${sending} sending), ${alive(failed)} after the loss of the owner`,
  );
  expect(alive(opened)).toBe(count);
  expect(sending).toBe(0);
  expect(alive(failed)).toBe(0);
});
