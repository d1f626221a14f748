import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { examples, HeraldInLab } from './herald.ts';
import { documents, dualStackService, endpointSlices, type Manifest } from './host/objects.ts';
import { Lab } from './lab.ts';
import { establishedSessions, nextHops, untilNextHops, viaNodes } from './routes.ts';
import { standardTopology } from './standard-topology.ts';

/** Addresses that belong to nodes, routers, links and ClusterIPs, which Services ask for. */
const nodes = ['node1', 'node2', 'node3'];
const tors = ['tor1', 'tor2'];
/** On the network of tor1: the addresses from which the nodes' sessions come. */
const uplinks = ['10.1.0.11', '10.1.0.12', 'fd00:1::11', 'fd00:1::12'];
const internal = ['10.0.0.12', 'fd00::12'];
const free = ['192.0.2.10', '2001:db8:2::10'];
let lab: Lab;
let herald: HeraldInLab;

const object = (kind: string, name: string, spec: Manifest): Manifest => ({
  apiVersion: 'herald.dev/v1alpha1',
  kind,
  metadata: { name },
  spec,
});

const annotated = (manifest: Manifest, annotations: Manifest): Manifest => ({
  ...manifest,
  metadata: { ...(manifest['metadata'] as Manifest), annotations },
});

/** A Service of type LoadBalancer whose pod is web-1, on node1. */
const balanced = (name: string, number: number, annotations: Manifest): Manifest[] => [
  annotated(dualStackService(name, { 4: `10.96.0.${number}`, 6: `fd00:96::${number}` }, { type: 'LoadBalancer' }), annotations),
  ...endpointSlices(name, { 4: '10.244.1.10', 6: 'fd00:244:1::10' }, 'node1'),
];

const setExternal = (addresses: readonly string[]): Promise<void> =>
  herald.edit('30-web.yaml', (text) => text.replace(/externalIPs: .*/, `externalIPs: ${JSON.stringify(addresses)}`));

beforeAll(async () => {
  lab = await Lab.start(standardTopology({ pods: nodes.map((node, index) => ({ name: `web-${index + 1}`, node })) }));
  herald = await HeraldInLab.prepare(lab, examples, ['10-cluster.yaml', '20-herald.yaml', '30-web.yaml']);
  await herald.prolongHoldTimes();
  await herald.edit('20-herald.yaml', (text) =>
    text.replace('cidrs: [192.0.2.0/28, "2001:db8:2::/64"]', 'cidrs: [10.0.0.0/8, "fd00::/16", 192.0.2.0/28, "2001:db8:2::/64"]'),
  );
  await setExternal([...internal, ...free]);
  await herald.write(
    '50-link.yaml',
    documents(
      object('IPAddressPool', 'link', { addresses: ['10.2.0.0/24', 'fd00:2::/64'], autoAssign: false }),
      object('IPAddressPool', 'cluster', { addresses: ['10.96.0.10/32', 'fd00:96::10/128'], autoAssign: false }),
    ),
  );
  await herald.start(nodes);
  // Addresses of interfaces are known when the nodes have reported them, those of Nodes before.
  await lab.until('all nodes have reported their interfaces', async (note) => {
    const reports = await Promise.all(nodes.map((node) => herald.read(`.herald/nodes/${node}.yaml`).catch(() => '')));
    return note(reports.filter((report) => report.includes('interfaces:')).length) === nodes.length;
  });
  await setExternal([...uplinks, ...internal, ...free]);
});

afterAll(async () => {
  await lab?.stop();
});

describe('external IPs that are addresses of nodes', () => {
  test('other external IPs of the Service are announced by every node', async () => {
    for (const tor of tors) for (const address of free) await untilNextHops(lab, tor, address, viaNodes(tor, nodes, address));
  });

  test('no router has a route to a node by another node, and all sessions stay up longer than the hold time', async () => {
    const accepted = (): Promise<readonly (readonly number[])[]> =>
      Promise.all(tors.map(async (tor) => [await sessions(tor), await everEstablished(tor)]));
    await lab.until('all sessions are up', async (note) => note(await accepted()).every(([count]) => count === 2 * nodes.length + 2));
    const before = await accepted();
    await new Promise((resolve) => setTimeout(resolve, 12_000));
    expect(await accepted()).toEqual(before);
    for (const tor of tors)
      for (const address of [...uplinks, ...internal]) expect([tor, address, await announced(tor, address)]).toEqual([tor, address, false]);
    expect(await nextHops(lab, 'spine', '10.1.0.12')).toEqual([]);
  });

  test.each([...uplinks, ...internal])('the node serves the Service at its own address %s', async (address) => {
    for (const protocol of ['tcp', 'udp'] as const) {
      const report = await lab.client[protocol]({ address, port: 80, count: 10 });
      expect(report.errors).toEqual({});
    }
  });

  test('explain names the node and what to remove', async () => {
    const text = await herald.explain('shop/web');
    expect(text).toContain('10.0.0.12 is the InternalIP of node "node2"');
    expect(text).toMatch(/10\.1\.0\.12 is an address of tor1 on node "node2"/);
    expect(text).toMatch(/remove 10\.1\.0\.12 from spec\.externalIPs of the Service/i);
  });
});

describe('a whole link as a pool', () => {
  test('gives the first address that is neither an edge of the link nor a router, node or interface', async () => {
    await herald.write('51-link.yaml', documents(...balanced('link', 70, { 'herald.dev/address-pool': 'link' })));
    expect(await herald.untilAssigned('shop/link', 2)).toEqual(['10.2.0.2', 'fd00:2::2']);
    for (const tor of tors)
      for (const address of ['10.2.0.2', 'fd00:2::2']) await untilNextHops(lab, tor, address, viaNodes(tor, nodes, address));
  });

  test.each([
    ['10.2.0.255', 'the broadcast address of 10.2.0.0/24 (tor2 of node "node1")'],
    ['10.2.0.0', 'the network address of 10.2.0.0/24 (tor2 of node "node1")'],
    ['fd00:2::', 'the routers\' anycast address of fd00:2::/64 (tor2 of node "node1")'],
    ['10.2.0.1', 'spec.peerAddress of BGPPeer "tor2-v4"'],
    ['fd00:2::12', 'an address of tor2 on node "node2"'],
    ['10.96.0.10', 'the ClusterIP of Service shop/web'],
    ['10.96.0.99', 'in 10.96.0.0/16, serviceCIDRs of HeraldConfig/default'],
    ['10.244.2.9', 'in 10.244.2.0/24, spec.podCIDRs of node "node2"'],
  ])('%s is given to no Service that requests it', async (address, words) => {
    const spec = { ipFamilyPolicy: 'SingleStack', ipFamilies: [address.includes(':') ? 'IPv6' : 'IPv4'] };
    const [asking = {}] = balanced('asks', 71, { 'herald.dev/load-balancer-ips': address });
    await herald.write(
      '52-asks.yaml',
      documents({
        ...asking,
        spec: { ...(asking['spec'] as Manifest), ...spec, clusterIPs: [address.includes(':') ? 'fd00:96::71' : '10.96.0.71'] },
      }),
    );
    await lab.until(`the condition says whose ${address} is`, async (note) => {
      const { AddressAssigned } = note(await herald.service('shop', 'asks')).conditions;
      return AddressAssigned?.reason === 'AddressInUseBy' && AddressAssigned.message.includes(words);
    });
    expect((await herald.service('shop', 'asks')).addresses).toEqual([]);
    await herald.remove('52-asks.yaml');
  });
});

const familyOf = (address: string): 4 | 6 => (address.includes(':') ? 6 : 4);

async function sessions(tor: string): Promise<number> {
  return (await establishedSessions(lab, tor, 4)) + (await establishedSessions(lab, tor, 6));
}

/** Returns how often sessions of a router were established. */
async function everEstablished(tor: string): Promise<number> {
  const neighbors = await lab.router(tor).show<Readonly<Record<string, { connectionsEstablished: number }>>>('show bgp neighbors json');
  return Object.values(neighbors).reduce((sum, { connectionsEstablished }) => sum + connectionsEstablished, 0);
}

/** True when the router has learned a host route to the address, used or not. */
async function announced(tor: string, address: string): Promise<boolean> {
  const family = familyOf(address);
  const prefix = `${address}/${family === 4 ? 32 : 128}`;
  const found = await lab.router(tor).show<{ paths?: readonly unknown[] }>(`show bgp ipv${family} unicast ${prefix} json`);
  return (found.paths ?? []).length > 0;
}
