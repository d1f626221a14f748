import { describe, expect, test } from 'vitest';
import { formatAddress } from '../../../../src/net/address.ts';
import { formatPrefix } from '../../../../src/net/prefix.ts';
import { formatCommunity } from '../../../../src/decisions/announcement/communities.ts';
import { decideAnnouncement, type AddressAnnouncement } from '../../../../src/decisions/announcement/decision.ts';
import type { RouteIntent } from '../../../../src/decisions/announcement/route.ts';
import { cluster, matching, type ClusterLiteral, type ServiceLiteral, type PoolLiteral } from '../fixtures.ts';

const base: ClusterLiteral = {
  services: [{ name: 'web', assigned: ['192.0.2.1'] }],
  slices: [{ service: 'web', endpoints: ['10.1.0.1@here', '10.1.0.2@two'] }],
  pools: [{ name: 'prod', addresses: ['192.0.2.0/24', '2001:db8::/64'], labels: { tier: 'prod' } }],
  advertisements: [{ name: 'ad' }],
  peers: [{ name: 'tor' }],
  nodes: [{ name: 'here', labels: { rack: 'one' } }, { name: 'two' }],
};
const web = (literal: Omit<ServiceLiteral, 'name'>): ClusterLiteral => ({
  services: [{ name: 'web', assigned: ['192.0.2.1'], ...literal }],
});

function route({ prefix, communities, localPref, med, asPathPrepend, aggregate }: RouteIntent): string {
  return [
    formatPrefix(prefix),
    ...communities.map(formatCommunity),
    ...(localPref === undefined ? [] : [`pref ${localPref}`]),
    ...(med === undefined ? [] : [`med ${med}`]),
    ...(asPathPrepend === 0 ? [] : [`prepend ${asPathPrepend}`]),
    ...(aggregate ? ['aggregate'] : []),
  ].join(' ');
}

/** Prints "address: reason", or one line for each peer. */
function show({ address, result }: AddressAnnouncement): string[] {
  const where = formatAddress(address);
  if (!result.announce) return [`${where}: ${result.reason.code}`];
  return result.peers.map(
    ({ peer, result }) => `${where} ${peer}: ${'routes' in result ? result.routes.map(route).join(', ') : result.reason.code}`,
  );
}

function decide(change: ClusterLiteral, node = 'here') {
  const snapshot = cluster({ ...base, ...change });
  const service = snapshot.services.get('default/web');
  if (service === undefined) throw new RangeError('no service');
  return decideAnnouncement(snapshot, service, node);
}

/** Prints the reason of the whole Service if there is one, then the load balancer addresses, one a line. */
function balanced(change: ClusterLiteral, node?: string): string[] {
  const { addresses, reason } = decide(change, node);
  return [...(reason === undefined ? [] : [reason.code]), ...addresses.filter(({ type }) => type === 'LoadBalancer').flatMap(show)];
}

describe('the rules of announcement in their order', () => {
  test('a Service that breaks no rule gets a host route to every peer', () => {
    expect(balanced({})).toEqual(['192.0.2.1 tor: 192.0.2.1/32']);
    expect(balanced({}, 'two')).toEqual(['192.0.2.1 tor: 192.0.2.1/32']);
  });

  // Rows go from the last rule to the first. Each row breaks one more rule, so that the result shows the order.
  const exclude = { 'node.kubernetes.io/exclude-from-external-load-balancers': '' };
  const steps: readonly (readonly [string, ClusterLiteral])[] = [
    ['PeerFamilyNotCarried', { peers: [{ name: 'tor', peerAddress: 'fd00::254' }] }],
    ['PeerNotInAdvertisement', { advertisements: [{ name: 'ad', peers: ['other'] }] }],
    ['NoPeers', { peers: [{ name: 'tor', nodeSelectors: [matching({ rack: 'nine' })] }] }],
    ['NoEndpoints', { slices: [{ service: 'web', endpoints: ['10.1.0.1@here notready'] }] }],
    ['NoLocalEndpoints', web({ externalTrafficPolicy: 'Local' })],
    ['NodeExcluded', { nodes: [{ name: 'here', labels: exclude }] }],
    ['NodeNetworkUnavailable', { nodes: [{ name: 'here', labels: exclude, networkUnavailable: true }] }],
    ['UnknownCommunity', { advertisements: [{ name: 'ad', communities: ['nope'] }] }],
    ['ServiceNotSelected', { advertisements: [{ name: 'ad', serviceSelectors: [matching({ app: 'x' })] }] }],
    [
      'NodeNotSelected',
      { advertisements: [{ name: 'ad', serviceSelectors: [matching({ app: 'x' })], nodeSelectors: [matching({ rack: 'two' })] }] },
    ],
    ['NodeUnknown', { nodes: [] }],
    ['NoAdvertisement', { advertisements: [] }],
    ['AddressNotFromPool', { pools: [] }],
  ];
  test.each(steps.map(([code], index) => [code, index] as const))('%s wins over the reasons of all later rules', (code, index) => {
    const broken = Object.assign({}, ...steps.slice(0, index + 1).map(([, change]) => change)) as ClusterLiteral;
    expect(balanced(broken)).toEqual([`192.0.2.1: ${code}`]);
  });

  test.each<[string, ClusterLiteral]>([
    ['NoAddress', web({ assigned: [] })],
    ['OtherLoadBalancerClass', web({ loadBalancerClass: 'example.com/other' })],
    ['ClassNotSet', { config: { defaultClass: false } }],
    ['Headless', web({ headless: true })],
    ['OtherProxy', web({ serviceProxyName: 'mesh' })],
    ['ExternalName', web({ type: 'ExternalName' })],
  ])('%s is a reason of the whole Service', (code, change) => {
    expect(balanced(change)).toEqual([code]);
  });

  test.each<[string, string[]]>([
    ['beside the address', ['192.0.2.128-192.0.2.130']],
    ['over the address', ['192.0.2.1-192.0.2.1']],
    ['over everything', ['192.0.0.0/16', '2001:db8::/32']],
  ])('a new overlapping pool that lies %s does not end an announcement', (_, addresses) => {
    const advertised = (pools: readonly PoolLiteral[]): string[] =>
      balanced({ pools, advertisements: [{ name: 'all', ipAddressPools: ['z'] }] });
    const alone = advertised([{ name: 'z', addresses: ['192.0.2.0/24'] }]);
    expect(alone).toEqual(['192.0.2.1 tor: 192.0.2.1/32']);
    expect(
      advertised([
        { name: 'a', addresses },
        { name: 'z', addresses: ['192.0.2.0/24'] },
      ]),
    ).toEqual(alone);
  });

  test('a Service without EndpointSlices has reason NoEndpoints', () => {
    expect(balanced({ slices: [] })).toEqual(['192.0.2.1: NoEndpoints']);
  });
});

describe('settings of a Service about announcement', () => {
  const all = {
    advertisements: [{ name: 'ad', addressTypes: ['LoadBalancer', 'ClusterIP', 'ExternalIP'] as const }],
    externalIPPolicies: [{ cidrs: ['198.51.100.0/24'] }],
  };
  /** Prints type and outcome of each address. */
  const each = (service: Omit<ServiceLiteral, 'name'>, config: ClusterLiteral['config'] = {}): string[] =>
    decide({ ...all, ...web({ externalIPs: ['198.51.100.1'], ...service }), config }).addresses.map(
      ({ type, result }) => `${type} ${result.announce ? 'announced' : result.reason.code}`,
    );

  test('drain withholds every address of the Service', () => {
    expect(each({})).toEqual(['LoadBalancer announced', 'ClusterIP announced', 'ExternalIP announced']);
    expect(each({ drain: true })).toEqual(['LoadBalancer ServiceDrained', 'ClusterIP ServiceDrained', 'ExternalIP ServiceDrained']);
    expect(each({ drain: false })).toEqual(each({}));
  });

  test.each<[Omit<ServiceLiteral, 'name'>, ClusterLiteral['config'], string, string]>([
    [{ advertiseClusterIP: false }, {}, 'AdvertisingOff', 'announced'],
    [{ advertiseExternalIPs: false }, {}, 'announced', 'AdvertisingOff'],
    [{}, { advertiseClusterIPs: false }, 'AdvertisingOff', 'announced'],
    [{}, { advertiseExternalIPs: false }, 'announced', 'AdvertisingOff'],
    [{ advertiseClusterIP: true }, { advertiseClusterIPs: false, advertiseExternalIPs: false }, 'announced', 'AdvertisingOff'],
    [{ advertiseExternalIPs: true }, { advertiseClusterIPs: false, advertiseExternalIPs: false }, 'AdvertisingOff', 'announced'],
  ])('%j with %j: ClusterIP %s, ExternalIP %s', (service, config, clusterIP, externalIP) => {
    expect(each(service, config)).toEqual(['LoadBalancer announced', `ClusterIP ${clusterIP}`, `ExternalIP ${externalIP}`]);
  });

  test('a Service cannot force announcing without an advertisement or against ExternalIPPolicy', () => {
    const service = web({ externalIPs: ['198.51.100.1'], advertiseClusterIP: true, advertiseExternalIPs: true });
    const codes = (change: ClusterLiteral): string[] =>
      decide({ ...service, ...change }).addresses.map(
        ({ type, result }) => `${type} ${result.announce ? 'announced' : result.reason.code}`,
      );
    expect(codes({})).toEqual(['LoadBalancer announced', 'ClusterIP NoAdvertisement', 'ExternalIP ExternalIPNotAllowed']);
  });
});

describe('traffic policies', () => {
  test.each([
    ['a local ready endpoint', ['10.1.0.1@here'], true],
    ['a local draining endpoint and a ready one elsewhere', ['10.1.0.1@here draining', '10.1.0.2@two'], true],
    ['a local endpoint that is not ready', ['10.1.0.1@here notready', '10.1.0.2@two'], false],
    ['a local endpoint that terminates without serving', ['10.1.0.1@here terminating', '10.1.0.2@two'], false],
    ['no local endpoint', ['10.1.0.2@two'], false],
    ['a local endpoint of the other family', ['fd01::1@here'], false],
  ])('externalTrafficPolicy Local with %s', (_, endpoints, announced) => {
    const result = balanced({ ...web({ externalTrafficPolicy: 'Local' }), slices: [{ service: 'web', endpoints }] });
    expect(result).toEqual([announced ? '192.0.2.1 tor: 192.0.2.1/32' : '192.0.2.1: NoLocalEndpoints']);
  });

  const types = {
    advertisements: [{ name: 'ad', addressTypes: ['ClusterIP', 'ExternalIP'] as const }],
    externalIPPolicies: [{ cidrs: ['198.51.100.0/24'] }],
  };
  const of = (service: Omit<ServiceLiteral, 'name'>, node: string): string[] =>
    decide(
      {
        ...types,
        services: [{ name: 'web', type: 'ClusterIP', externalIPs: ['198.51.100.1', '203.0.113.1'], ...service }],
        slices: [{ service: 'web', endpoints: ['10.1.0.1@here'] }],
      },
      node,
    ).addresses.flatMap(show);

  test('a ClusterIP follows internalTrafficPolicy', () => {
    expect(of({ internalTrafficPolicy: 'Local' }, 'two')).toEqual([
      '10.96.0.1: NoLocalEndpoints',
      '198.51.100.1 tor: 198.51.100.1/32',
      '203.0.113.1: ExternalIPNotAllowed',
    ]);
  });

  test('an external IP follows externalTrafficPolicy', () => {
    expect(of({ externalTrafficPolicy: 'Local' }, 'two')).toEqual([
      '10.96.0.1 tor: 10.96.0.1/32',
      '198.51.100.1: NoLocalEndpoints',
      '203.0.113.1: ExternalIPNotAllowed',
    ]);
  });

  test('an address type that no advertisement names is not announced', () => {
    expect(decide({}).addresses.flatMap(show)).toEqual(['192.0.2.1 tor: 192.0.2.1/32', '10.96.0.1: NoAdvertisement']);
  });
});

describe('advertisements', () => {
  test.each([
    ['names', { ipAddressPools: ['prod'] }, true],
    ['another name', { ipAddressPools: ['dev'] }, false],
    ['a selector', { ipAddressPoolSelectors: [matching({ tier: 'prod' })] }, true],
    ['a name or a selector', { ipAddressPools: ['dev'], ipAddressPoolSelectors: [matching({ tier: 'prod' })] }, true],
    ['another selector', { ipAddressPoolSelectors: [matching({ tier: 'dev' })] }, false],
  ])('an advertisement selects pools by %s', (_, ad, covered) => {
    expect(balanced({ advertisements: [{ name: 'ad', ...ad }] })).toEqual([
      covered ? '192.0.2.1 tor: 192.0.2.1/32' : '192.0.2.1: NoAdvertisement',
    ]);
  });

  test('each matching advertisement adds its own prefix', () => {
    const advertisements = [{ name: 'host' }, { name: 'net', aggregationLength: 24, aggregationLengthV6: 64, localPref: 50 }];
    const dual = {
      ...web({ clusterIPs: ['10.96.0.1', 'fd96::1'], assigned: ['192.0.2.1', '2001:db8::1'] }),
      peers: [{ name: 'tor', dualStackAddressFamily: true }],
    };
    const slices = [
      { service: 'web', endpoints: ['10.1.0.1@here'] },
      { service: 'web', endpoints: ['fd01::1@here'] },
    ];
    expect(balanced({ ...dual, slices, advertisements })).toEqual([
      '192.0.2.1 tor: 192.0.2.0/24 pref 50 aggregate, 192.0.2.1/32',
      '2001:db8::1 tor: 2001:db8::/64 pref 50 aggregate, 2001:db8::1/128',
    ]);
  });

  test('communities of several advertisements of one prefix are united', () => {
    const advertisements = [
      { name: 'a', communities: ['65000:2', 'no-export', 'mine'], localPref: 100 },
      { name: 'b', communities: ['65000:1', '65000:2', 'large:65000:1:2'], med: 7, asPathPrepend: 2 },
    ];
    expect(balanced({ advertisements, communities: { mine: '65000:9' } })).toEqual([
      '192.0.2.1 tor: 192.0.2.1/32 65000:1 65000:2 65000:9 65535:65281 large:65000:1:2 pref 100 med 7 prepend 2',
    ]);
  });

  test.each([
    ['localPref', { localPref: 100 }, { localPref: 200 }],
    ['med', { med: 0 }, { med: 1 }],
    ['linkBandwidth', { linkBandwidth: { megabitsPerNode: 1 } }, { linkBandwidth: { megabitsPerNode: 2 } }],
  ])('two values of %s for one prefix conflict only for the peer that gets both', (field, a, b) => {
    const advertisements = [
      { name: 'a', ...a },
      { name: 'b', ...b, peers: ['tor'] },
    ];
    const peers = [{ name: 'spine', peerAddress: '10.0.0.253' }, { name: 'tor' }];
    const { result } = decide({ advertisements, peers }).addresses[0] ?? {};
    expect(balanced({ advertisements, peers }).map((line) => line.split(' ').slice(0, 3).join(' '))).toEqual([
      '192.0.2.1 spine: 192.0.2.1/32',
      '192.0.2.1 tor: ConflictingAdvertisements',
    ]);
    const toTor = result?.announce === true ? result.peers[1]?.result : undefined;
    expect(toTor).toEqual({
      reason: { code: 'ConflictingAdvertisements', details: { prefix: '192.0.2.1/32', peer: 'tor', advertisements: '"a", "b"', field } },
    });
  });

  test('different values for different prefixes do not conflict', () => {
    const advertisements = [
      { name: 'a', med: 1 },
      { name: 'b', med: 2, aggregationLength: 24 },
    ];
    expect(balanced({ advertisements })).toEqual(['192.0.2.1 tor: 192.0.2.0/24 med 2 aggregate, 192.0.2.1/32 med 1']);
  });

  test('an advertisement in error is left out and the others count', () => {
    const advertisements = [{ name: 'good' }, { name: 'short', aggregationLength: 23 }, { name: 'unknown', communities: ['nope'] }];
    const [first] = decide({ advertisements }).addresses;
    expect(first === undefined ? [] : show(first)).toEqual(['192.0.2.1 tor: 192.0.2.1/32']);
    expect(first?.refused.map(({ advertisement, reason: { code } }) => `${advertisement} ${code}`)).toEqual([
      'short AggregationTooShort',
      'unknown UnknownCommunity',
    ]);
  });

  test.each([
    [['192.0.2.0/28'], 28, true],
    [['192.0.2.0/28'], 27, false],
    [['192.0.2.1-192.0.2.20'], 32, true],
    [['192.0.2.1-192.0.2.20'], 31, false],
  ])('an aggregate stays inside the pool: %j with /%d', (addresses, aggregationLength, fits) => {
    const result = balanced({ pools: [{ name: 'prod', addresses }], advertisements: [{ name: 'ad', aggregationLength }] });
    expect(result[0]).toMatch(fits ? /^192\.0\.2\.1 tor: 192/ : /AggregationTooShort/);
  });

  test('an aggregate stays inside the service CIDR or the external IP policy', () => {
    const ad = { name: 'ad', addressTypes: ['ClusterIP', 'ExternalIP'] as const, aggregationLength: 16 };
    const change = {
      advertisements: [ad],
      externalIPPolicies: [{ cidrs: ['198.51.100.0/24'] }],
      ...web({ externalIPs: ['198.51.100.1'] }),
    };
    expect(decide(change).addresses.slice(1).flatMap(show)).toEqual([
      '10.96.0.1: AggregationTooShort',
      '198.51.100.1: AggregationTooShort',
    ]);
    expect(decide({ ...change, config: { serviceCIDRs: ['10.96.0.0/12'] } }).addresses.flatMap(show)[1]).toBe(
      '10.96.0.1 tor: 10.96.0.0/16 aggregate',
    );
  });

  test('a peer without a session has a reason, and the other peers get their routes', () => {
    const peers = [
      { name: 'locked', peerAddress: '10.0.0.253', passwordSecret: { namespace: 'herald', name: 'bgp' } },
      { name: 'tor' },
      { name: 'twin' },
    ];
    expect(balanced({ peers })).toEqual([
      '192.0.2.1 locked: PeerPasswordMissing',
      '192.0.2.1 tor: 192.0.2.1/32',
      '192.0.2.1 twin: DuplicatePeer',
    ]);
  });
});
