import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { documents, type Manifest } from '../host/objects.ts';
import type { LabProcess } from '../lab-process.ts';
import type { Probe } from '../probe.ts';
import { until } from '../until.ts';
import { AgentsOnSegment, vip, vip6 } from './agents-on-segment.ts';
import { nodeAddress, nodeAddress6, pool, serviceManifests } from './manifests.ts';
import { SegmentRouter } from './segment-router.ts';

/**
 * Edits the pool of a Service that is announced by BGP to FRR and by ARP and NDP, while clients of the link and behind the router send
 * requests. A label and a name select the pool, which is gone most of the time.
 */
const nodes = [0, 1];
const addresses = [vip, vip6];
const steady = `${import.meta.dirname}/../steady-connection.ts`;
let lab: AgentsOnSegment;
let router: SegmentRouter;

const object = (kind: string, name: string, spec: Manifest, labels: Readonly<Record<string, string>> = {}): Manifest => ({
  apiVersion: 'herald.dev/v1alpha1',
  kind,
  metadata: { name, labels },
  spec,
});
const segmentPool = object('IPAddressPool', 'segment', { addresses: [pool.ipv4, pool.ipv6] }, { announced: 'link' });
const shrunk = object('IPAddressPool', 'segment', { addresses: ['10.77.1.50-10.77.1.99'] }, { announced: 'link' });
const replaced = object('IPAddressPool', 'other', { addresses: ['10.77.2.1-10.77.2.9', 'fd77::2:1-fd77::2:9'] });
const sameAddresses = object('IPAddressPool', 'renamed', { addresses: [pool.ipv4, pool.ipv6] });
const byBgp = object('BGPAdvertisement', 'routers', { ipAddressPools: ['segment'] });
const onLink = object('L2Advertisement', 'link', { ipAddressPoolSelectors: [{ matchLabels: { announced: 'link' } }] });

const write = (...objects: readonly Manifest[]): Promise<void> =>
  lab.write('20-herald.yaml', documents(...objects, ...SegmentRouter.peers(router.addresses), ...serviceManifests({ pods: nodes })));

const assigned = async (): Promise<string> => {
  const { status, reason } = (await lab.condition('web', 'AddressAssigned')) ?? {};
  return `${status} ${reason}`;
};
const untilAssigned = (wanted: string): Promise<boolean> =>
  until(`the condition is ${wanted}`, async (note) => note(await assigned()) === wanted);

const viaNodes = (address: string): string =>
  nodes
    .map(address.includes(':') ? nodeAddress6 : nodeAddress)
    .toSorted()
    .join();

async function untilNextHops(wanted: (address: string) => string): Promise<void> {
  for (const address of addresses)
    await until(`the router sends ${address} to ${wanted(address)}`, async (note) => {
      const seen = note([await router.bgpNextHops(address), await router.kernelNextHops(address)]);
      return seen.every((hops) => hops.join() === wanted(address));
    });
}

const probes = (): readonly Probe[] =>
  [lab.client, router.client].flatMap((client) =>
    addresses.flatMap((address) =>
      (['tcp', 'udp'] as const).map((protocol) => client.probe({ protocol, address, port: 80, intervalMs: 20, timeoutMs: 3_000 })),
    ),
  );

beforeAll(async () => {
  lab = await AgentsOnSegment.build({ nodes: nodes.length, strangers: 2, idle: true });
  router = await SegmentRouter.start(lab, nodes);
  await write(segmentPool, byBgp, onLink);
  lab.startController();
  await Promise.all(nodes.map((at) => lab.startAgent(at)));
  await lab.watch.ask(addresses, 25);
  await untilNextHops(viaNodes);
  await lab.untilOwned();
});

afterAll(async () => {
  await router?.close();
  await lab?.close();
});

describe('a Service whose pool is edited', () => {
  test('loses no request and no connection while the pool is shrunk, deleted, replaced and restored', async () => {
    const owners = await lab.untilOwned();
    const connections = addresses.map((address) => lab.spawn(lab.clientHost, 'steady', [process.execPath, steady, address, '80']));
    const running = probes();
    await untilAnswered(connections);
    for (const [edit, condition] of [
      [[shrunk], 'False HeldOutsidePools'],
      [[], 'False HeldOutsidePools'],
      [[replaced], 'False HeldOutsidePools'],
      [[sameAddresses], 'True Assigned'],
      [[], 'False HeldOutsidePools'],
      [[segmentPool], 'True Assigned'],
    ] as const) {
      await write(...edit, byBgp, onLink);
      await untilAssigned(condition);
      await untilAnswered(connections);
      await untilNextHops(viaNodes);
    }
    for (const probe of running) expect((await probe.stop()).errors).toEqual({});
    for (const connection of connections) {
      expect(connection.lines().filter((line) => line.startsWith('broken'))).toEqual([]);
      connection.kill('SIGKILL');
    }
    expect(await lab.untilOwned()).toEqual(owners);
  });

  test('is announced after controller and agents started anew without its pool', async () => {
    await write(byBgp, onLink);
    await untilAssigned('False HeldOutsidePools');
    lab.controller.kill('SIGKILL');
    for (const at of nodes) await lab.kill(at);
    await untilNextHops(() => '');
    lab.startController();
    await Promise.all(nodes.map((at) => lab.startAgent(at)));
    await untilNextHops(viaNodes);
    await lab.untilOwned();
    for (const client of [lab.client, router.client])
      for (const address of addresses) {
        expect((await client.tcp({ address, port: 80 })).errors).toEqual({});
        expect((await client.udp({ address, port: 80 })).errors).toEqual({});
      }
    expect(await assigned()).toBe('False HeldOutsidePools');
    expect(await lab.explain('shop/web', '--no-ask')).toContain(
      `the Service keeps ${vip}, which is in no valid IPAddressPool any more; advertisements for pool "segment", which contained it, still apply`,
    );
  });

  test('refuses the ports that it does not have', async () => {
    for (const address of addresses)
      expect((await router.client.tcp({ address, port: 81, timeoutMs: 2_000 })).errors).toEqual({ ECONNREFUSED: 1 });
  });

  test('keeps its addresses for itself: a new pool gives them to no other Service', async () => {
    const one = object('IPAddressPool', 'one', { addresses: [vip, vip6].map((text) => `${text}-${text}`) });
    await lab.write(
      '30-other.yaml',
      documents(one, ...serviceManifests({ name: 'other', number: 7, pods: nodes, annotations: { 'herald.dev/address-pool': 'one' } })),
    );
    await until('the other Service waits', async (note) => note((await lab.condition('other', 'AddressAssigned'))?.reason) === 'PoolFull');
    await untilNextHops(viaNodes);
    await rm(join(lab.directory, '30-other.yaml'));
    await untilAssigned('False HeldOutsidePools');
  });

  test('is announced by nothing when the advertisements are deleted too, and Announced names the pool', async () => {
    await write();
    await untilNextHops(() => '');
    await until(
      'no node answers',
      async (note) => note(await Promise.all(addresses.map((one) => lab.answering(one, 300)))).flat().length === 0,
    );
    await until('the condition says so', async (note) => {
      const { status, message = '' } = note(await lab.condition('web', 'Announced')) ?? {};
      return status === 'False' && message.includes('covers pool "segment", which contained the address');
    });
    await write(byBgp, onLink);
    await untilNextHops(viaNodes);
    await lab.untilOwned();
  });
});

/** Waits until each connection gets another ten answers, or breaks. */
async function untilAnswered(connections: readonly LabProcess[]): Promise<void> {
  const before = connections.map((one) => one.lines().length);
  await until('connections are answered', (note) =>
    connections.every(
      (one, index) => note(one.lines().length - (before[index] ?? 0)) >= 10 || one.lines().at(-1)?.startsWith('broken') === true,
    ),
  );
}
