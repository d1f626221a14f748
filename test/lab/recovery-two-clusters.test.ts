import { afterAll, beforeAll, expect, test } from 'vitest';
import { examples, HeraldInLab } from './herald.ts';
import { Lab } from './lab.ts';
import { untilNextHops, untilSpineRoutes, viaNodes } from './routes.ts';
import { standardTopology } from './standard-topology.ts';

/**
 * Two clusters of one node each behind the same ToRs. Their pools overlap by mistake, so they assign the same addresses. Neither can know
 * of the other, because Herald accepts no routes from routers. Neither may remove the other's routes.
 */
const tors = ['tor1', 'tor2'];
let lab: Lab;
let first: HeraldInLab;
let second: HeraldInLab;
let addresses: readonly string[];

/** Starts a cluster that has only this node. */
async function clusterOf(node: string): Promise<HeraldInLab> {
  const herald = await HeraldInLab.prepare(lab, examples, ['10-cluster.yaml', '20-herald.yaml', '30-web.yaml'], `manifests-${node}`);
  await herald.prolongHoldTimes();
  await herald.edit('30-web.yaml', (text) => text.replaceAll(/^ .*nodeName: (\w+).*\n/gm, (line, of) => (of === node ? line : '')));
  await herald.startRun(node).waitForLine(/agent started/, 60_000);
  return herald;
}

beforeAll(async () => {
  const pods = ['node1', 'node2'].map((node, index) => ({ name: `web-${index + 1}`, node }));
  lab = await Lab.start(standardTopology({ pods, nodes: 2 }));
  first = await clusterOf('node1');
  second = await clusterOf('node2');
  addresses = await first.untilAssigned('shop/web', 2);
});

afterAll(async () => {
  await lab?.stop();
});

async function untilVia(via: readonly string[]): Promise<void> {
  for (const address of addresses) {
    for (const tor of tors) await untilNextHops(lab, tor, address, viaNodes(tor, via, address), 60_000);
    await untilSpineRoutes(lab, address);
  }
}

const answering = async (address: string): Promise<string[]> => {
  const { pods, errors } = await lab.client.tcp({ address, port: 80, count: 100, timeoutMs: 10_000 });
  expect(errors).toEqual({});
  return Object.keys(pods).toSorted();
};

test('the ToRs spread traffic over both clusters, and both report Announced', async () => {
  expect(await second.untilAssigned('shop/web', 2)).toEqual(addresses);
  await untilVia(['node1', 'node2']);
  for (const address of addresses) expect(await answering(address)).toEqual(['web-1', 'web-2']);
  for (const herald of [first, second]) {
    expect(await herald.untilCondition('shop/web', 'Announced', 'True')).toMatchObject({ reason: 'Announced' });
  }
});

test("one cluster's withdrawal and new announcement do not affect the other's route", async () => {
  const text = await second.read('30-web.yaml');
  await second.remove('30-web.yaml');
  await untilVia(['node1']);
  for (const address of addresses) expect(await answering(address)).toEqual(['web-1']);
  expect(await first.untilCondition('shop/web', 'Announced', 'True')).toMatchObject({ reason: 'Announced' });
  await second.write('30-web.yaml', text);
  await untilVia(['node1', 'node2']);
  for (const address of addresses) expect(await answering(address)).toEqual(['web-1', 'web-2']);
});
