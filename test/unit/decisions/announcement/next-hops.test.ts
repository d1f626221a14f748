import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decideAnnouncement, type AddressAnnouncement } from '../../../../src/decisions/announcement/decision.ts';
import { NodeViews } from '../../../../src/decisions/verdict/node-views.ts';
import { reasonText } from '../../../../src/model/reasons.ts';
import { cluster, type ClusterLiteral } from '../fixtures.ts';
import { runs } from '../../../support/property.ts';

const names = (count: number): string[] => Array.from({ length: count }, (_, index) => `n${String(index + 1).padStart(2, '0')}`);
const running = (nodes: readonly string[]): Record<string, Record<string, string>> =>
  Object.fromEntries(nodes.map((node) => [node, { tor: '10.0.0.254' }]));

/** A cluster in which every node has an endpoint and an established session. */
function clusterOf(nodes: readonly string[], change: ClusterLiteral = {}): ClusterLiteral {
  return {
    services: [{ name: 'web', assigned: ['192.0.2.1'] }],
    slices: [{ service: 'web', endpoints: nodes.map((node, index) => `10.1.0.${index + 1}@${node}`) }],
    pools: [{ name: 'prod', addresses: ['192.0.2.0/24', '2001:db8::/64'] }],
    advertisements: [{ name: 'ad', maxNextHops: 2 }],
    peers: [{ name: 'tor', dualStackAddressFamily: true }],
    nodes: nodes.map((name) => ({ name })),
    running: running(nodes),
    ...change,
  };
}

function decided(literal: ClusterLiteral, node: string): AddressAnnouncement {
  const snapshot = cluster(literal);
  const [web] = snapshot.services.values();
  const found = web && decideAnnouncement(snapshot, web, node).addresses.find(({ type }) => type === 'LoadBalancer');
  return found ?? expect.fail('no address');
}

/** Returns the nodes that announce the first address. */
function announcing(literal: ClusterLiteral): string[] {
  return (literal.nodes ?? []).map(({ name }) => name).filter((name) => decided(literal, name).result.announce);
}

const six = names(6);
const [chosen = '', second = ''] = announcing(clusterOf(six));
const others = new Set(six)
  .difference(new Set([chosen, second]))
  .values()
  .toArray();

describe('maxNextHops', () => {
  test('as many nodes announce a prefix as it says, and the others give the reason', () => {
    expect(announcing(clusterOf(six))).toHaveLength(2);
    const { result } = decided(clusterOf(six), others[0] ?? '');
    const text = result.announce ? '' : reasonText(result.reason);
    expect(text).toMatch(
      new RegExp(`^spec.maxNextHops of BGPAdvertisement "ad" is 2, and n0\\d and n0\\d come before node "${others[0]}" for 192.0.2.1/32$`),
    );
  });

  test('no bound lets every node announce, and a bound of more nodes than there are changes nothing', () => {
    expect(announcing(clusterOf(six, { advertisements: [{ name: 'ad' }] }))).toEqual(six);
    expect(announcing(clusterOf(six, { advertisements: [{ name: 'ad', maxNextHops: 9 }] }))).toEqual(six);
  });

  test('the prefixes of many Services are spread over the nodes', () => {
    const counts = new Map<string, number>();
    for (let last = 1; last <= 60; last++)
      for (const node of announcing(clusterOf(six, { services: [{ name: 'web', assigned: [`192.0.2.${last}`] }] })))
        counts.set(node, (counts.get(node) ?? 0) + 1);
    expect([...counts.keys()].toSorted()).toEqual(six);
    for (const count of counts.values()) expect(count).toBeGreaterThan(8);
  });

  test.each([
    ['reports no session', { running: running(six.filter((name) => name !== chosen)) }],
    ['is excluded', { nodes: six.map((name) => ({ name, ...(name === chosen ? { networkUnavailable: true } : {}) })) }],
    ['drains', { nodes: six.map((name) => ({ name, ...(name === chosen ? { drain: 'keepLast' as const } : {}) })) }],
  ])('another node takes the place of one that %s', (_, change) => {
    const now = announcing(clusterOf(six, change)).filter((name) => name !== chosen);
    expect(now).toHaveLength(2);
    expect(now).toContain(second);
  });

  test('a draining node stays until its agent says that it has settled', () => {
    const nodes = six.map((name) => ({ name, ...(name === chosen ? { drain: 'keepLast' as const } : {}) }));
    expect(announcing(clusterOf(six, { nodes }))).toContain(chosen);
    const drains = { [chosen]: { phase: 'Withdrawn' as const, since: '2026-01-01T00:00:00Z', kept: 0 } };
    expect(announcing(clusterOf(six, { nodes, drains }))).not.toContain(chosen);
  });

  test('under policy Local only nodes with a ready endpoint take a place', () => {
    const [a = '', b = '', c = ''] = others;
    const services = [{ name: 'web', assigned: ['192.0.2.1'], externalTrafficPolicy: 'Local' as const }];
    const on = (...hosts: string[]): ClusterLiteral => {
      const endpoints = hosts.map((node, index) => `10.1.0.${index + 1}@${node}`);
      return clusterOf(six, { services, slices: [{ service: 'web', endpoints }] });
    };
    expect(announcing(on(a))).toEqual([a]);
    expect(announcing(on(a, b))).toEqual([a, b].toSorted());
    const three = announcing(on(a, b, c));
    expect(three).toHaveLength(2);
    expect(announcing(on(...three))).toEqual(three);
  });

  test('the nodes that are left send the bandwidth of their own endpoints', () => {
    const services = [{ name: 'web', assigned: ['192.0.2.1'], externalTrafficPolicy: 'Local' as const }];
    const hosts = six.flatMap((node, index) => Array.from({ length: index + 1 }, () => node));
    const slices = [{ service: 'web', endpoints: hosts.map((node, index) => `10.1.0.${index + 1}@${node}`) }];
    const literal = clusterOf(six, {
      services,
      slices,
      advertisements: [{ name: 'ad', maxNextHops: 2, linkBandwidth: { megabitsPerEndpoint: 1 } }],
    });
    for (const node of announcing(literal)) {
      const { result } = decided(literal, node);
      const [toPeer] = result.announce ? result.peers.map((peer) => peer.result) : [];
      const routes = toPeer !== undefined && 'routes' in toPeer ? toPeer.routes : [];
      expect(routes).toMatchObject([{ linkBandwidth: { endpoints: six.indexOf(node) + 1 } }]);
    }
    expect(announcing(literal)).toHaveLength(2);
  });

  test('a node whose last endpoints terminate is the last resort and takes no place', () => {
    const services = [{ name: 'web', assigned: ['192.0.2.1'], externalTrafficPolicy: 'Local' as const }];
    const endpoints = six.map((node, index) => `10.1.0.${index + 1}@${node}${node === chosen ? ' draining' : ''}`);
    const now = announcing(clusterOf(six, { services, slices: [{ service: 'web', endpoints }] }));
    expect(now).toContain(chosen);
    expect(now).toHaveLength(3);
  });

  test('each BGPAdvertisement has a bound of its own, and a node needs one that lets it announce', () => {
    const nodes = six.map((name, index) => ({ name, labels: { rack: index < 3 ? 'a' : 'b' } }));
    const selecting = (rack: string) => ({ nodeSelectors: [{ matchLabels: { rack }, matchExpressions: [] }] });
    const advertisements = [
      { name: 'a', maxNextHops: 1, ...selecting('a') },
      { name: 'b', maxNextHops: 2, ...selecting('b') },
    ];
    const now = announcing(clusterOf(six, { nodes, advertisements }));
    expect(now.filter((name) => six.indexOf(name) < 3)).toHaveLength(1);
    expect(now.filter((name) => six.indexOf(name) >= 3)).toHaveLength(2);
    expect(announcing(clusterOf(six, { nodes, advertisements: [...advertisements, { name: 'all' }] }))).toEqual(six);
  });

  test('addresses of one aggregate choose the same nodes, because routers see one prefix', () => {
    const advertisements = [{ name: 'ad', maxNextHops: 2, aggregationLength: 24 }];
    const at = (assigned: string): string[] =>
      announcing(clusterOf(six, { advertisements, services: [{ name: 'web', assigned: [assigned] }] }));
    for (const address of ['192.0.2.2', '192.0.2.77', '192.0.2.250']) expect(at(address)).toEqual(at('192.0.2.1'));
  });

  test('without any report, as in manifests that no process serves, every node counts as heard', () => {
    expect(announcing(clusterOf(six, { running: {} }))).toHaveLength(2);
  });

  test('a node or the loss of one moves only what it had, whatever the number of nodes and the bound', () => {
    const cases = fc.record({
      count: fc.integer({ min: 2, max: 9 }),
      most: fc.integer({ min: 1, max: 4 }),
      last: fc.integer({ min: 1, max: 250 }),
    });
    fc.assert(
      fc.property(cases, ({ count, most, last }) => {
        const nodes = names(count);
        const of = (some: readonly string[]): string[] =>
          announcing(
            clusterOf(some, {
              advertisements: [{ name: 'ad', maxNextHops: most }],
              services: [{ name: 'web', assigned: [`192.0.2.${last}`] }],
            }),
          );
        const all = of(nodes);
        expect(all).toHaveLength(Math.min(most, count));
        for (const gone of nodes) {
          const left = of(nodes.filter((name) => name !== gone));
          expect(left).toEqual(expect.arrayContaining(all.filter((name) => name !== gone)));
          if (!all.includes(gone)) expect(left).toEqual(all);
        }
      }),
      { numRuns: runs(200) },
    );
  });

  test('the views of a Service have the nodes that are left out in one group, whatever their number', () => {
    const nodes = names(40);
    const snapshot = cluster(clusterOf(nodes, { slices: [{ service: 'web', endpoints: ['10.1.0.1'] }] }));
    const [web] = snapshot.services.values();
    const views = web === undefined ? [] : new NodeViews(snapshot, web, Date.UTC(2026, 0, 1)).all();
    const groups = views.map(({ node, alike = [], addresses }) => [addresses[0]?.reason?.code, [node, ...alike]] as const);
    const announced = announcing(clusterOf(nodes));
    expect(new Map(groups)).toEqual(
      new Map([
        [undefined, announced],
        ['BeyondMaxNextHops', nodes.filter((name) => !announced.includes(name))],
      ]),
    );
  });

  test('the decision names the nodes on whose reports it rests, and no more than it needs', () => {
    const many = names(50);
    const literal = clusterOf(many);
    const [first = ''] = announcing(literal);
    const left = many.find((name) => !announcing(literal).includes(name)) ?? '';
    expect(decided(literal, left).asked).toHaveLength(2);
    expect(decided(literal, first).asked).toHaveLength(1);
    expect(decided(clusterOf(many, { advertisements: [{ name: 'ad' }] }), first).asked).toBeUndefined();
  });
});
