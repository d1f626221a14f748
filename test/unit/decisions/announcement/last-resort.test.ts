import { describe, expect, test } from 'vitest';
import { decideAnnouncement } from '../../../../src/decisions/announcement/decision.ts';
import { formatCommunity } from '../../../../src/decisions/announcement/communities.ts';
import { withGracefulShutdownAttributes } from '../../../../src/decisions/announcement/last-resort.ts';
import { mergeRoutes } from '../../../../src/decisions/announcement/merge-routes.ts';
import type { RouteIntent } from '../../../../src/decisions/announcement/route.ts';
import { formatAddress } from '../../../../src/net/address.ts';
import { prefix } from '../../../../src/net/prefix.ts';
import { cluster, matching, type ClusterLiteral, type ServiceLiteral } from '../fixtures.ts';

const web = (literal: Omit<ServiceLiteral, 'name'> = {}): ClusterLiteral => ({
  services: [{ name: 'web', assigned: ['192.0.2.1'], externalTrafficPolicy: 'Local', ...literal }],
});
const base: ClusterLiteral = {
  ...web(),
  slices: [{ service: 'web', endpoints: ['10.1.0.1@here draining', '10.1.0.2@two'] }],
  pools: [{ name: 'prod', addresses: ['192.0.2.0/24'] }],
  advertisements: [{ name: 'ad' }],
  peers: [{ name: 'tor' }],
  nodes: [{ name: 'here', labels: { rack: 'one' } }, { name: 'two' }, { name: 'three' }],
};
const slices = (...endpoints: readonly string[]): ClusterLiteral => ({ slices: [{ service: 'web', endpoints }] });

/**
 * Prints "192.0.2.1: last, for two", "192.0.2.1: as ever" or "192.0.2.1: NoLocalEndpoints" for each address that an advertisement covers.
 * "last" is a last resort for another node, "as ever" an ordinary route.
 */
function decide(change: ClusterLiteral, node = 'here'): string[] {
  const snapshot = cluster({ ...base, ...change });
  const service = snapshot.services.get('default/web');
  if (service === undefined) throw new RangeError('no service');
  return decideAnnouncement(snapshot, service, node).addresses.flatMap(({ address, result }) => {
    const where = formatAddress(address);
    if (!result.announce) return result.reason.code === 'NoAdvertisement' ? [] : [`${where}: ${result.reason.code}`];
    const last = result.peers.flatMap(({ result }) => ('routes' in result ? result.routes.map((route) => route.lastResort === true) : []));
    const { lastResort } = result;
    if (lastResort?.code !== 'EndpointsTerminating') {
      expect(last).not.toContain(true);
      return [`${where}: as ever`];
    }
    expect(last).not.toContain(false);
    return [`${where}: last, for ${lastResort.details.other}`];
  });
}

describe('a node under policy Local whose endpoints all terminate', () => {
  test('it is a last resort when another node announces the address and has a ready endpoint', () => {
    expect(decide({})).toEqual(['192.0.2.1: last, for two']);
    expect(decide({}, 'two')).toEqual(['192.0.2.1: as ever']);
    expect(decide({}, 'three')).toEqual(['192.0.2.1: NoLocalEndpoints']);
  });

  test.each<[string, ClusterLiteral]>([
    ['another endpoint of the node is ready', slices('10.1.0.1@here draining', '10.1.0.3@here', '10.1.0.2@two')],
    ['all other endpoints terminate too', slices('10.1.0.1@here draining', '10.1.0.2@two draining')],
    ['the other endpoint is not ready yet', slices('10.1.0.1@here draining', '10.1.0.2@two notready')],
    ['the other endpoint is on no node', slices('10.1.0.1@here draining', '10.1.0.2')],
    ['the other node is unknown', slices('10.1.0.1@here draining', '10.1.0.2@four')],
    [
      'the other node is excluded',
      { nodes: [{ name: 'here' }, { name: 'two', labels: { 'node.kubernetes.io/exclude-from-external-load-balancers': '' } }] },
    ],
    ['no advertisement selects the other node', { advertisements: [{ name: 'ad', nodeSelectors: [matching({ rack: 'one' })] }] }],
    ['the other node has no peer', { peers: [{ name: 'tor', nodeSelectors: [matching({ rack: 'one' })] }] }],
    ['the policy is Cluster', web({ externalTrafficPolicy: 'Cluster' })],
  ])('it announces an ordinary route when %s', (_, change) => {
    expect(decide(change)).toEqual(['192.0.2.1: as ever']);
  });

  test('it is a last resort for several ports only when each is ready on another announcing node', () => {
    const ports = (other: string): ClusterLiteral => ({
      ...web({ ports: ['a:80', 'b:81'] }),
      slices: [
        { service: 'web', name: 'a', ports: ['a:8080'], endpoints: ['10.1.0.1@here draining', '10.1.0.2@two'] },
        { service: 'web', name: 'b', ports: ['b:8081'], endpoints: ['10.1.0.1@here draining', other] },
      ],
    });
    expect(decide(ports('10.1.0.3@three'))).toEqual(['192.0.2.1: last, for two']);
    expect(decide(ports('10.1.0.3@three notready'))).toEqual(['192.0.2.1: as ever']);
    expect(decide(ports('10.1.0.3@here'))).toEqual(['192.0.2.1: as ever']);
  });

  test('external IPs follow externalTrafficPolicy and ClusterIPs internalTrafficPolicy', () => {
    const types: ClusterLiteral = {
      advertisements: [{ name: 'ad', addressTypes: ['ClusterIP', 'ExternalIP'] }],
      externalIPPolicies: [{ cidrs: ['198.51.100.0/24'] }],
    };
    const of = (policies: Partial<ServiceLiteral>): string[] =>
      decide({ ...types, services: [{ name: 'web', type: 'ClusterIP', externalIPs: ['198.51.100.1'], ...policies }] });
    expect(of({ externalTrafficPolicy: 'Local' })).toEqual(['10.96.0.1: as ever', '198.51.100.1: last, for two']);
    expect(of({ internalTrafficPolicy: 'Local' })).toEqual(['10.96.0.1: last, for two', '198.51.100.1: as ever']);
  });
});

describe('a last-resort route', () => {
  const route: RouteIntent = {
    prefix: prefix('192.0.2.1/32'),
    communities: [{ kind: 'standard', value: 1 }],
    localPref: 200,
    asPathPrepend: 0,
    aggregate: false,
  };
  const last: RouteIntent = { ...route, lastResort: true };

  test('it is sent with the GRACEFUL_SHUTDOWN community (RFC 8326), localPref 0 and a longer path', () => {
    const sent = withGracefulShutdownAttributes(last);
    expect(sent.communities.map(formatCommunity)).toEqual(['0:1', '65535:0']);
    expect(sent).toMatchObject({ localPref: 0, asPathPrepend: 4 });
    expect(sent).not.toHaveProperty('lastResort');
    expect(withGracefulShutdownAttributes({ ...last, asPathPrepend: 30 }).asPathPrepend).toBe(32);
  });

  test('any other route is sent unchanged', () => {
    expect(withGracefulShutdownAttributes(route)).toEqual(route);
  });

  test('a route shared by Services is a last resort only if it is for all of them', () => {
    expect(mergeRoutes([last, route])).toEqual([route]);
    expect(mergeRoutes([route, last])).toEqual([route]);
    expect(mergeRoutes([last, last])).toEqual([last]);
  });
});
