import { expect, test } from 'vitest';
import { decideAnnouncement } from '../../../../src/decisions/announcement/decision.ts';
import { linkBandwidthText } from '../../../../src/decisions/announcement/next-hops/link-bandwidth.ts';
import { mergeRoutes, routesByPeer } from '../../../../src/decisions/announcement/merge-routes.ts';
import { formatPrefix, prefix } from '../../../../src/net/prefix.ts';
import { cluster, type ClusterLiteral, type ServiceLiteral } from '../fixtures.ts';

const perEndpoint = { linkBandwidth: { megabitsPerEndpoint: 10 } };

/** Returns the link bandwidth of each route of node "here" to its peer, as text. */
function bandwidths(change: ClusterLiteral & { readonly service?: Partial<ServiceLiteral> }): string[] {
  const { service: fields = {}, ...others } = change;
  const snapshot = cluster({
    services: [{ name: 'web', assigned: ['192.0.2.1'], externalTrafficPolicy: 'Local', ...fields }],
    slices: [{ service: 'web', endpoints: ['10.1.0.1@here', '10.1.0.2@here', '10.1.0.3@two', '10.1.0.4@here notready'] }],
    pools: [{ name: 'prod', addresses: ['192.0.2.0/24', '2001:db8::/64'] }],
    advertisements: [{ name: 'ad', ...perEndpoint }],
    peers: [{ name: 'tor', dualStackAddressFamily: true }],
    nodes: [{ name: 'here' }, { name: 'two' }],
    ...others,
  });
  const announcements = [...snapshot.services.values()].map((service) => decideAnnouncement(snapshot, service, 'here'));
  return [...(routesByPeer(announcements).get('tor') ?? [])].map(
    ({ prefix, linkBandwidth }) => `${formatPrefix(prefix)} ${linkBandwidth === undefined ? 'none' : linkBandwidthText(linkBandwidth)}`,
  );
}

test('policy Local gives a route the bandwidth of the ready endpoints on the node', () => {
  expect(bandwidths({})).toEqual(['192.0.2.1/32 20 Mbit/s for 2 endpoints here']);
});

test('policy Cluster sends no bandwidth by endpoints, because each node forwards to those of all nodes', () => {
  expect(bandwidths({ service: { externalTrafficPolicy: 'Cluster' } })).toEqual(['192.0.2.1/32 none']);
});

test.each(['Local', 'Cluster'] as const)('megabitsPerNode gives the node a bandwidth under policy %s', (externalTrafficPolicy) => {
  const advertisements = [{ name: 'ad', linkBandwidth: { megabitsPerNode: 25_000 } }];
  expect(bandwidths({ service: { externalTrafficPolicy }, advertisements })).toEqual(['192.0.2.1/32 25000 Mbit/s']);
});

test('an endpoint counts as often as the weight of its EndpointSlice, and once for several ports', () => {
  const ports = ['http:80', 'https:443'];
  const slices = [
    { service: 'web', ports, endpoints: ['10.1.0.1@here'], weight: 3 },
    { service: 'web', ports, endpoints: ['10.1.0.2@here'] },
  ];
  expect(bandwidths({ service: { ports }, slices })).toEqual(['192.0.2.1/32 40 Mbit/s for 4 endpoints here']);
});

test('each family counts its own endpoints', () => {
  const slices = [
    { service: 'web', endpoints: ['10.1.0.1@here', '10.1.0.2@here'] },
    { service: 'web', endpoints: ['fd01::1@here'] },
  ];
  expect(bandwidths({ service: { assigned: ['192.0.2.1', '2001:db8::1'] }, slices })).toEqual([
    '192.0.2.1/32 20 Mbit/s for 2 endpoints here',
    '2001:db8::1/128 10 Mbit/s for 1 endpoint here',
  ]);
});

test('endpoints that terminate and still serve count where they are the last on the node', () => {
  const slices = [{ service: 'web', endpoints: ['10.1.0.1@here draining', '10.1.0.3@two draining'] }];
  expect(bandwidths({ slices })).toEqual(['192.0.2.1/32 10 Mbit/s for 1 endpoint here']);
});

test('Services with one address add up their endpoints', () => {
  const shared = { assigned: ['192.0.2.1'], externalTrafficPolicy: 'Local', sharingKey: 'one' } as const;
  const services = [
    { name: 'web', ...shared },
    { name: 'dns', ...shared, ports: ['53/UDP'] },
  ];
  const slices = [
    { service: 'web', endpoints: ['10.1.0.1@here', '10.1.0.2@here'] },
    { service: 'dns', ports: ['5353/UDP'], endpoints: ['10.1.0.5@here'] },
  ];
  expect(bandwidths({ services, slices })).toEqual(['192.0.2.1/32 30 Mbit/s for 3 endpoints here']);
});

test('a bandwidth that a BGPAdvertisement gives the node counts before those of endpoints', () => {
  const route = { prefix: prefix('192.0.2.1/32'), communities: [], asPathPrepend: 0, aggregate: false };
  const merged = mergeRoutes([
    { ...route, linkBandwidth: { megabitsPerSecond: 500, endpoints: 5 } },
    { ...route, linkBandwidth: { megabitsPerSecond: 20 } },
    { ...route, linkBandwidth: { megabitsPerSecond: 30 } },
    route,
  ]);
  expect(merged.map(({ linkBandwidth }) => linkBandwidth)).toEqual([{ megabitsPerSecond: 30 }]);
});
