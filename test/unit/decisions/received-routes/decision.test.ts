import { describe, expect, test } from 'vitest';
import { selectBestPath, type ReceivedRoute } from '../../../../src/bgp/index.ts';
import { decideReceived, type ReceivedContext } from '../../../../src/decisions/received-routes/decision.ts';
import { reasonText } from '../../../../src/model/reasons.ts';
import { address, formatAddress } from '../../../../src/net/address.ts';
import { prefix } from '../../../../src/net/prefix.ts';
import { formatHop } from '../../../../src/net/route-hop.ts';

interface Given {
  readonly prefix?: string;
  readonly nextHops?: readonly string[];
  readonly asns?: readonly number[];
  readonly localPref?: number;
}

/** A route from tor1 (10.1.0.1), tor2 (10.2.0.1), and so on. */
function route(tor: number, given: Given = {}): ReceivedRoute {
  const { prefix: to = '0.0.0.0/0', nextHops = [`10.${tor}.0.1`], asns = [65_100 + tor], localPref = 100 } = given;
  return {
    prefix: prefix(to),
    from: { peer: `tor${tor}`, address: address(`10.${tor}.0.1`), asn: 65_100 + tor, routerId: address(`10.8.0.${tor}`), internal: false },
    nextHops: nextHops.map(address),
    origin: 'igp',
    asPath: [{ kind: 'sequence', asns }],
    localPref,
    communities: [],
  };
}

const context: ReceivedContext = {
  guarded: {
    ranges: [
      { prefix: prefix('10.244.0.0/16'), from: 'podCIDRs of HeraldConfig/default' },
      { prefix: prefix('10.96.0.0/16'), from: 'serviceCIDRs of HeraldConfig/default' },
      { prefix: prefix('fd00:244::/32'), from: 'podCIDRs of HeraldConfig/default' },
    ],
    peers: new Map([['10.1.0.1', 'tor1']]),
  },
  networks: [
    ...Array.from({ length: 20 }, (_, index) => ({ interface: `eth${index + 1}`, prefix: prefix(`10.${index + 1}.0.0/24`) })),
    { interface: 'eth1', prefix: prefix('fd00:1::/64') },
    { interface: 'narrow', prefix: prefix('10.1.0.0/30') },
  ],
  sessionInterface: (peer) => (peer === 'tor9' ? 'eth9' : undefined),
};

/** Returns the next hops in the kernel, and what is said of each route. */
function decide(routes: readonly ReceivedRoute[]): { hops: string[]; said: Record<string, string> } {
  const { hops, verdicts } = decideReceived(routes, context, selectBestPath);
  expect(verdicts).toHaveLength(routes.length);
  return {
    hops: hops.map(formatHop),
    said: Object.fromEntries(verdicts.map(({ route: { from }, hop, reason }) => [from.peer, hop ? formatHop(hop) : reason.code])),
  };
}

describe('the selection', () => {
  test('equally good routes are next hops of one route, in an order that does not depend on their arrival', () => {
    const both = decide([route(2), route(3)]);
    expect(both.hops).toEqual(['10.2.0.1 dev eth2', '10.3.0.1 dev eth3']);
    expect(decide([route(3), route(2)]).hops).toEqual(both.hops);
  });

  test('a route that loses says in which step and against which peer', () => {
    const { hops, said } = decide([route(2), route(3, { localPref: 200 }), route(4, { asns: [65_104, 65_001], localPref: 200 })]);
    expect(hops).toEqual(['10.3.0.1 dev eth3']);
    expect(said).toEqual({ tor2: 'ReceivedRouteNotBest', tor3: '10.3.0.1 dev eth3', tor4: 'ReceivedRouteNotBest' });
    const { verdicts } = decideReceived([route(2), route(3, { localPref: 200 })], context, selectBestPath);
    const lost = verdicts.find(({ route: { from } }) => from.peer === 'tor2')?.reason;
    expect(lost && reasonText(lost)).toBe(
      'the route 0.0.0.0/0 of BGPPeer "tor2" loses against that of BGPPeer "tor3" by LOCAL_PREF: 100 against 200',
    );
  });

  test('a usable route does not lose against one whose next hop is on no link', () => {
    const { hops, said } = decide([route(2), route(3, { localPref: 200, nextHops: ['192.0.2.1'] })]);
    expect(hops).toEqual(['10.2.0.1 dev eth2']);
    expect(said).toEqual({ tor2: '10.2.0.1 dev eth2', tor3: 'ReceivedNextHopNotOnLink' });
  });

  test('one next hop from two peers counts once, and there are at most sixteen', () => {
    expect(decide([route(2), route(3, { nextHops: ['10.2.0.1'] })]).hops).toEqual(['10.2.0.1 dev eth2']);
    const { hops, said } = decide(Array.from({ length: 19 }, (_, index) => route(index + 2)));
    expect(hops).toHaveLength(16);
    expect(Object.values(said).filter((code) => code === 'ReceivedNextHopsFull')).toHaveLength(3);
  });

  test('there is no route without routes', () => {
    expect(decide([])).toEqual({ hops: [], said: {} });
  });
});

describe('the next hop', () => {
  test('an address on two networks of the node belongs to the longer one', () => {
    expect(decide([route(1)]).hops).toEqual(['10.1.0.1 dev narrow']);
  });

  test.each([
    ['a global IPv6 address precedes the link-local one', 1, ['fd00:1::1', 'fe80::1'], 'fd00:1::1 dev eth1'],
    ['a link-local address is on the interface of the session', 9, ['fe80::9'], 'fe80::9 dev eth9'],
    ['without one, on the link of the peer', 2, ['fe80::2'], 'fe80::2 dev eth2'],
    ['the link-local address counts where the global one is on no link', 9, ['2001:db8::9', 'fe80::9'], 'fe80::9 dev eth9'],
  ])('%s', (_, tor, nextHops, hop) => {
    expect(decide([route(tor, { prefix: '::/0', nextHops })]).hops).toEqual([hop]);
  });

  test('an IPv4 route may have an IPv6 next hop (RFC 8950)', () => {
    const { hops } = decideReceived([route(9, { nextHops: ['fe80::9'] })], context, selectBestPath);
    expect(hops.map((hop) => formatAddress(hop.address))).toEqual(['fe80::9']);
  });
});

describe('traffic of the cluster', () => {
  test.each([
    ['a prefix of pods', '10.244.9.0/24', 'ReceivedRouteInsideCluster'],
    ['all pods', '10.244.0.0/16', 'ReceivedRouteInsideCluster'],
    ['a ClusterIP', '10.96.0.10/32', 'ReceivedRouteInsideCluster'],
    ['pods of IPv6', 'fd00:244:9::/64', 'ReceivedRouteInsideCluster'],
    ['the address of a peer', '10.1.0.1/32', 'ReceivedRouteToPeer'],
  ])('no route leads %s to a router', (_, to, code) => {
    const nextHops = to.includes('::') ? ['fd00:1::1'] : ['10.2.0.1'];
    expect(decide([route(2, { prefix: to, nextHops })])).toEqual({ hops: [], said: { tor2: code } });
  });

  test.each(['0.0.0.0/0', '10.0.0.0/8', '10.244.0.0/15', '10.245.0.0/16', '10.1.0.0/24'])('%s is taken', (to) => {
    expect(decide([route(2, { prefix: to })]).hops).toEqual(['10.2.0.1 dev eth2']);
  });
});
