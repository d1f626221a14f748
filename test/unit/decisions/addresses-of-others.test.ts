import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { AddressesOfOthers, ownerOf, type AddressOwner } from '../../../src/decisions/addresses-of-others.ts';
import { createAllocator } from '../../../src/decisions/allocation/allocator.ts';
import { knownOwners, noOwners } from '../../../src/decisions/allocation/pools/owners-in-pools.ts';
import { allocationRequest } from '../../../src/decisions/allocation/request.ts';
import { decideAnnouncement } from '../../../src/decisions/announcement/decision.ts';
import { nodeInterfaces } from '../../../src/decisions/host/node-interfaces.ts';
import { l2DecisionsOf } from '../../../src/decisions/l2/decisions-of.ts';
import { reasonText, remedyText } from '../../../src/model/reasons.ts';
import { address, formatAddress, type Address } from '../../../src/net/address.ts';
import type { HostLink } from '../../../src/net/host-link.ts';
import { formatPrefix, maskedPrefix, prefixContains } from '../../../src/net/prefix.ts';
import { runs } from '../../support/property.ts';
import { cluster, pool, service, type ClusterLiteral } from './fixtures.ts';

const nodes = [{ name: 'n1', internalIPs: ['10.1.0.11'] }];
const link = { nodes, interfaces: { n1: { eth0: ['10.5.0.11/24', 'fd05::11/64'] } } };
const kubernetes = { name: 'default/kubernetes', type: 'ClusterIP' as const, clusterIPs: ['10.96.0.1'] };

/** An address that belongs to something else, with the objects that say so, and the words about it. */
const owned: readonly (readonly [string, ClusterLiteral, string])[] = [
  ['10.1.0.11', { nodes }, 'the InternalIP of node "n1"'],
  ['203.0.113.5', { nodes: [{ name: 'n1', externalIPs: ['203.0.113.5'] }] }, 'the ExternalIP of node "n1"'],
  ['10.1.0.1', { peers: [{ name: 'tor', peerAddress: '10.1.0.1' }] }, 'spec.peerAddress of BGPPeer "tor"'],
  ['fd01::1', { peers: [{ name: 'tor', peerAddress: 'fd01::1' }] }, 'spec.peerAddress of BGPPeer "tor"'],
  ['10.2.0.9', { peers: [{ name: 'tor', sourceAddress: address('10.2.0.9') }] }, 'spec.sourceAddress of BGPPeer "tor"'],
  ['10.2.0.1', { nodes, routers: { n1: ['10.2.0.1'] } }, 'a router of node "n1"'],
  ['10.1.0.100', { nodes, interfaces: { n1: { eth0: ['10.1.0.100/32'] } } }, 'an address of eth0 on node "n1"'],
  ['10.5.0.0', link, 'the network address of 10.5.0.0/24 (eth0 of node "n1")'],
  ['10.5.0.255', link, 'the broadcast address of 10.5.0.0/24 (eth0 of node "n1")'],
  ['fd05::', link, 'the routers\' anycast address of fd05::/64 (eth0 of node "n1")'],
  ['10.96.0.1', { services: [kubernetes] }, 'the ClusterIP of Service default/kubernetes'],
  ['10.96.7.7', { serviceCIDRs: { kubernetes: ['10.96.0.0/16'] } }, 'in 10.96.0.0/16, ServiceCIDR "kubernetes"'],
  ['10.97.7.7', { config: { serviceCIDRs: ['10.97.0.0/16'] } }, 'in 10.97.0.0/16, serviceCIDRs of HeraldConfig/default'],
  ['10.244.1.5', { nodes: [{ name: 'n1', podCIDRs: ['10.244.1.0/24'] }] }, 'in 10.244.1.0/24, spec.podCIDRs of node "n1"'],
  ['fd44::5', { config: { podCIDRs: ['fd44::/48'] } }, 'in fd44::/48, podCIDRs of HeraldConfig/default'],
];

describe.each(owned)('%s', (text, literal, words) => {
  const its = address(text);
  const clusterIPs = [its.family === 4 ? '10.99.0.9' : 'fd99::9'];
  const web = { name: 'web', clusterIPs };
  const pools = [{ name: 'p', addresses: [`${text}-${text}`] }];
  const world = (further: ClusterLiteral = {}) => {
    const all = { ...literal, ...further, services: [...(literal.services ?? []), ...(further.services ?? [])] };
    return cluster({ ...all, nodes: literal.nodes ?? nodes, pools });
  };

  test('belongs to something else', () => {
    expect(ownerOf(world(), its)?.of).toBe(words);
  });

  test('is given to no Service, also on request, and the fix does not recommend it', () => {
    const snapshot = world();
    const owners = { inPools: new AddressesOfOthers([], []), ownerOf: (one: Address) => ownerOf(snapshot, one) };
    const asking = allocationRequest(service({ ...web, requested: [text] }), snapshot);
    for (const known of [[pool({ name: 'p', addresses: [`${text}-${text}`] })], []]) {
      const { addresses, reason } = createAllocator(known, [], owners).decide(asking);
      expect([addresses, reason?.code]).toEqual([[], 'AddressInUseBy']);
      expect(reason && reasonText(reason)).toContain(words);
      expect(reason && remedyText(reason)).not.toMatch(/^[Aa]dd /);
    }
  });

  test('is not announced by BGP, and the reason says whose it is', () => {
    const running = world({
      services: [{ ...web, assigned: [text] }],
      slices: [...(literal.slices ?? []), { service: 'web', endpoints: [its.family === 4 ? '10.240.0.2@n1' : 'fd40::2@n1'] }],
      advertisements: [{ name: 'all' }],
    });
    const [found] = decideAnnouncement(running, serviceIn(running), 'n1').addresses;
    expect(found?.result).toMatchObject({ announce: false, reason: { code: 'AddressInUseBy' } });
  });

  test('is answered by no ARP and no NDP', () => {
    const running = world({ services: [{ ...web, assigned: [text] }], l2Advertisements: [{ name: 'lan' }] });
    const decision = l2DecisionsOf(running)?.decide(its);
    expect(decision).toMatchObject({ reason: { code: 'AddressInUseBy' } });
  });
});

function serviceIn(snapshot: ReturnType<typeof cluster>) {
  const found = snapshot.services.get('default/web');
  if (found === undefined) throw new Error('no Service');
  return found;
}

describe('an address', () => {
  test.each<[string, string, ClusterLiteral]>([
    ['beside the edges of a link', '10.5.0.1', link],
    ['on a link of two hosts', '10.6.0.0', { nodes, interfaces: { n1: { eth0: ['10.6.0.1/31'] } } }],
    ['on an IPv6 link of two routers', 'fd06::', { nodes, interfaces: { n1: { eth0: ['fd06::1/127'] } } }],
    ['in the report of a node that is gone', '10.1.0.100', { interfaces: { n9: { eth0: ['10.1.0.100/32'] } } }],
    [
      'of its own on several nodes',
      '192.0.2.7',
      {
        nodes: [{ name: 'n1' }, { name: 'n2' }],
        interfaces: { n1: { lo: ['192.0.2.7/32'] }, n2: { lo: ['192.0.2.7/32'] } },
      },
    ],
    ['in no range', '192.0.2.1', { serviceCIDRs: { kubernetes: ['10.96.0.0/16'] }, nodes }],
  ])('%s belongs to nothing else', (_, text, literal) => {
    expect(ownerOf(cluster(literal), address(text))).toBeUndefined();
  });

  test('is not taken from the Service whose own ClusterIP it is', () => {
    expect(
      ownerOf(cluster({ services: [kubernetes], config: { serviceCIDRs: ['10.9.0.0/16'] } }), address('10.96.0.1'), 'default/kubernetes'),
    ).toBeUndefined();
  });
});

test('an address of the API server is given to no Service, and a Service that has it as its load balancer keeps it and announces it', () => {
  const literal: ClusterLiteral = {
    nodes,
    pools: [{ name: 'p', addresses: ['10.1.0.5/32'] }],
    slices: [
      { service: 'default/kubernetes', endpoints: ['10.1.0.5'] },
      { service: 'web', endpoints: ['10.240.0.2@n1'] },
    ],
    advertisements: [{ name: 'all' }],
    peers: [{ name: 'tor', peerAddress: '10.1.0.1' }],
  };
  const snapshot = cluster(literal);
  const asking = allocationRequest(service({ name: 'web', clusterIPs: ['10.99.0.9'] }), snapshot);
  expect(createAllocator([...snapshot.pools.values()], [], knownOwners(snapshot)).decide(asking)).toMatchObject({ addresses: [] });
  const running = cluster({ ...literal, services: [{ name: 'web', clusterIPs: ['10.99.0.9'], assigned: ['10.1.0.5'] }] });
  const [found] = decideAnnouncement(running, serviceIn(running), 'n1').addresses;
  expect(found?.result).toMatchObject({ announce: true });
  expect(knownOwners(running, () => true).inPools.ownerOf(address('10.1.0.5'))).toBeUndefined();
});

test('an external IP that is the address of a node is not announced, whoever has the endpoint', () => {
  const external = cluster({
    nodes: [
      { name: 'n1', internalIPs: ['10.1.0.11'] },
      { name: 'n2', internalIPs: ['10.1.0.12'] },
    ],
    services: [{ name: 'web', type: 'ClusterIP', externalIPs: ['10.1.0.11', '10.1.0.12', '192.0.2.1'] }],
    slices: [{ service: 'web', endpoints: ['10.244.0.2@n1'] }],
    externalIPPolicies: [{ cidrs: ['10.1.0.0/24', '192.0.2.0/24'] }],
    advertisements: [{ name: 'all', addressTypes: ['LoadBalancer', 'ExternalIP'] }],
    peers: [{ name: 'tor', peerAddress: '10.1.0.1' }],
    config: { advertiseExternalIPs: true },
  });
  for (const node of ['n1', 'n2']) {
    const found = decideAnnouncement(external, serviceIn(external), node).addresses.filter(({ type }) => type === 'ExternalIP');
    const said = found.map(({ address: its, result }) => [formatAddress(its), result.announce ? 'announced' : result.reason.code]);
    expect(said).toEqual([
      ['10.1.0.11', 'AddressInUseBy'],
      ['10.1.0.12', 'AddressInUseBy'],
      ['192.0.2.1', 'announced'],
    ]);
  }
});

test('a node reports its own addresses, and not those of Services on its loopback interface or on interfaces for them', () => {
  const link = (name: string, ...addresses: string[]): HostLink =>
    ({ name, addresses: addresses.map((text) => withNetwork(text)) }) as unknown as HostLink;
  const withNetwork = (text: string): object => {
    const [its = '', length] = text.split('/');
    return { address: address(its), ...(length === undefined ? {} : { network: maskedPrefix(address(its), Number(length)) }) };
  };
  expect(
    nodeInterfaces([
      link('lo', '127.0.0.1/8', '192.0.2.1', '2001:db8::1', '10.3.0.1/24'),
      link('eth0', '10.5.0.11/24', '10.5.0.100', 'fe80::1/64'),
      link('kube-ipvs0', '10.96.0.1'),
      link('kube-dummy-if', '192.0.2.1'),
    ]).map(({ name, addresses }) => [name, addresses.map(({ address: its, length }) => `${formatAddress(its)}/${length}`)]),
  ).toEqual([
    ['lo', ['10.3.0.1/24']],
    ['eth0', ['10.5.0.11/24', '10.5.0.100/32']],
  ]);
});

const someAddress = fc.oneof(
  fc.integer({ min: 0, max: 63 }).map((low): Address => ({ family: 4, value: 0xc0_00_02_00n + BigInt(low) })),
  fc.integer({ min: 0, max: 63 }).map((low): Address => ({ family: 6, value: (0x2001_0db8n << 96n) + BigInt(low) })),
);
const someRange = fc
  .tuple(someAddress, fc.integer({ min: 0, max: 5 }))
  .map(([base, bits]) => maskedPrefix(base, (base.family === 4 ? 32 : 128) - bits));
const ownedPrefix = (prefix: AddressOwner['prefix']): AddressOwner => ({ kind: 'Node', name: 'n1', prefix, of: formatPrefix(prefix) });

test('the index finds an owner exactly where a search of all owners does', () => {
  const sets = fc.record({ hosts: fc.array(someAddress, { maxLength: 8 }), ranges: fc.array(someRange, { maxLength: 6 }) });
  fc.assert(
    fc.property(sets, someAddress, ({ hosts, ranges }, asked) => {
      const ofHosts = hosts.map((one) => ownedPrefix(maskedPrefix(one, one.family === 4 ? 32 : 128)));
      const all = [...ofHosts, ...ranges.map(ownedPrefix)];
      const found = new AddressesOfOthers(ofHosts, ranges.map(ownedPrefix)).ownerOf(asked);
      expect(found !== undefined).toBe(all.some(({ prefix }) => prefixContains(prefix, asked)));
      if (found !== undefined) expect(prefixContains(found.prefix, asked)).toBe(true);
    }),
    { numRuns: runs(500) },
  );
});

test('a pool gives each address that belongs to nothing else once, and counts exactly these', () => {
  const sets = fc.record({ hosts: fc.array(someAddress, { maxLength: 8 }), ranges: fc.array(someRange, { maxLength: 6 }) });
  fc.assert(
    fc.property(sets, fc.boolean(), ({ hosts, ranges }, avoidBuggyIPs) => {
      const ofHosts = hosts.map((one) => ownedPrefix(maskedPrefix(one, one.family === 4 ? 32 : 128)));
      const inPools = new AddressesOfOthers(ofHosts, ranges.map(ownedPrefix));
      const known = [pool({ name: 'p', addresses: ['192.0.2.0/26'], avoidBuggyIPs })];
      const allocator = createAllocator(known, [], { ...noOwners, inPools });
      const free = Number(allocator.usage()[0]?.total);
      const given = Array.from({ length: 66 }, (_, at) => allocator.allocate(allocationRequest(service({ name: `s${at}` }), cluster({}))));
      const addresses = given.flatMap((one) => one.addresses);
      expect(addresses.filter((one) => inPools.ownerOf(one) !== undefined)).toEqual([]);
      expect(new Set(addresses.map(formatAddress)).size).toBe(free);
      expect(addresses.length).toBe(free);
      const expected = Array.from({ length: 64 }, (_, low): Address => ({ family: 4, value: 0xc0_00_02_00n + BigInt(low) }));
      expect(free).toBe(expected.filter((one, low) => inPools.ownerOf(one) === undefined && !(avoidBuggyIPs && low === 0)).length);
    }),
    { numRuns: runs(200) },
  );
});
