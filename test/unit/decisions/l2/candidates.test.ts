import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createL2Decisions, mostCandidates, type L2Decision } from '../../../../src/decisions/l2/candidates.ts';
import { reason, reasonText } from '../../../../src/model/reasons.ts';
import { address } from '../../../../src/net/address.ts';
import { cluster, matching, type ClusterLiteral } from '../fixtures.ts';
import { runs } from '../../../support/property.ts';

const vip = address('192.0.2.100');
const web = { name: 'web', assigned: ['192.0.2.100'] };

function lan(literal: Partial<ClusterLiteral> = {}, names: readonly string[] = ['n1', 'n2', 'n3']) {
  return cluster({
    services: [web],
    slices: [{ service: 'web', endpoints: ['10.1.0.1@n1'] }],
    pools: [{ name: 'office', addresses: ['192.0.2.100-192.0.2.199'] }],
    l2Advertisements: [{ name: 'office' }],
    nodes: names.map((name) => ({ name })),
    links: Object.fromEntries(names.map((name) => [name, { eth0: ['192.0.2.0/24'] }])),
    ...literal,
  });
}

/** "n2, n1", or the code of the reason. */
function outcome(decision: L2Decision): string {
  return 'reason' in decision ? decision.reason.code : decision.candidates.map(({ node }) => node).join(', ');
}

const sorted = (decision: L2Decision): string => outcome(decision).split(', ').toSorted().join(', ');

describe('which nodes are candidates', () => {
  test('L2-28 every node whose network contains the address is one, on that interface', () => {
    const decision = createL2Decisions(
      lan({
        links: {
          n1: { eth0: ['198.51.100.0/24'], eth1: ['192.0.2.0/24'] },
          n2: { eth0: ['192.0.2.0/24'] },
          n3: { eth0: ['198.51.100.0/24'] },
        },
      }),
    ).decide(vip);
    expect(sorted(decision)).toBe('n1, n2');
    const n1 = 'reason' in decision ? undefined : decision.candidates.find(({ node }) => node === 'n1');
    expect(n1?.links.map(({ name }) => name)).toEqual(['eth1']);
  });

  test.each<[string, Partial<ClusterLiteral>, string, string]>([
    [
      'is not selected by nodeSelectors',
      {
        l2Advertisements: [{ name: 'a', nodeSelectors: [matching({ rack: 'a' })] }],
        nodes: [{ name: 'n1', labels: { rack: 'a' } }, { name: 'n2' }, { name: 'n3' }],
      },
      'n1',
      'NodeNotSelected',
    ],
    [
      'has no network',
      { nodes: [{ name: 'n1' }, { name: 'n2', networkUnavailable: true }, { name: 'n3', networkUnavailable: true }] },
      'n1',
      'NodeNetworkUnavailable',
    ],
    [
      'is excluded from load balancers by its label',
      { nodes: [{ name: 'n1' }, { name: 'n2', labels: { 'node.kubernetes.io/exclude-from-external-load-balancers': '' } }] },
      'n1',
      'NodeExcluded',
    ],
    ['drains by force', { nodes: [{ name: 'n1' }, { name: 'n2', drain: 'force' }] }, 'n1', 'NodeDrained'],
    ['has reported no links', { links: { n1: { eth0: ['192.0.2.0/24'] } } }, 'n1', 'L2LinksNotReported'],
    ['has no network with the address', { links: { n1: { eth0: ['192.0.2.0/24'] }, n2: { eth0: ['10.0.0.0/8'] } } }, 'n1', 'L2NoInterface'],
    [
      'has none of the named interfaces',
      { l2Advertisements: [{ name: 'a', interfaces: ['eth7'] }], links: { n1: { eth7: [] }, n2: { eth0: ['192.0.2.0/24'] } } },
      'n1',
      'L2NoInterface',
    ],
    ['has no endpoint of its own under policy Local', { services: [{ ...web, externalTrafficPolicy: 'Local' }] }, 'n1', 'NoLocalEndpoints'],
  ])('a node is none when it %s', (_, literal, expected, why) => {
    const decisions = createL2Decisions(lan(literal));
    expect(outcome(decisions.decide(vip))).toBe(expected);
    expect(decisions.about(vip).whyNot('n2')?.code).toBe(why);
    expect(decisions.about(vip).whyNot('n1')).toBeUndefined();
  });

  test('a reason names the interface that is missing and those that are there', () => {
    const decisions = createL2Decisions(
      lan({ l2Advertisements: [{ name: 'a', interfaces: ['eth7'] }, { name: 'b' }], links: { n1: { eth0: ['10.0.0.0/8'] } } }),
    );
    const why = decisions.about(vip).whyNot('n1');
    expect(why === undefined ? '' : reasonText(why)).toBe(
      'node "n1" has no interface for 192.0.2.100: no interface eth7 is up, and no network of its interfaces contains 192.0.2.100; its links: eth0 (10.0.0.0/8)',
    );
  });

  test('an advertisement that names interfaces and one that names none open both', () => {
    const decision = createL2Decisions(
      lan({
        l2Advertisements: [{ name: 'a', interfaces: ['wlan0'] }, { name: 'b' }],
        links: { n1: { wlan0: [], eth0: ['192.0.2.0/24'], eth1: ['192.0.2.0/25'] } },
      }),
    ).decide(vip);
    expect('reason' in decision ? [] : decision.candidates[0]?.links.map(({ name }) => name)).toEqual(['wlan0', 'eth1']);
  });

  test('of two services at one address, either makes a node a candidate, and the address has one order', () => {
    const shared = { assigned: ['192.0.2.100'], sharingKey: 'k', externalTrafficPolicy: 'Local' } as const;
    const decision = createL2Decisions(
      lan({
        services: [
          { ...shared, name: 'a', ports: ['80'] },
          { ...shared, name: 'b', ports: ['81'] },
        ],
        slices: [
          { service: 'a', endpoints: ['10.1.0.1@n1'] },
          { service: 'b', ports: ['81'], endpoints: ['10.1.0.2@n3'] },
        ],
      }),
    ).decide(vip);
    expect(sorted(decision)).toBe('n1, n3');
  });

  test.each<[string, Partial<ClusterLiteral>, string]>([
    ['no advertisement covers its pool', { l2Advertisements: [{ name: 'a', ipAddressPools: ['other'] }] }, 'NoAdvertisement'],
    ['no pool contains it', { pools: [] }, 'AddressNotFromPool'],
    ['its Service is drained', { services: [{ ...web, drain: true }] }, 'ServiceDrained'],
    ['its Service is of another class', { services: [{ ...web, loadBalancerClass: 'example.com/other' }] }, 'OtherLoadBalancerClass'],
    [
      'its Service is not selected',
      { l2Advertisements: [{ name: 'a', serviceSelectors: [matching({ tier: 'db' })] }] },
      'ServiceNotSelected',
    ],
    ['no endpoint can take traffic', { slices: [] }, 'NoEndpoints'],
    ['no node fits', { links: { n1: {}, n2: {}, n3: {} } }, 'L2NoCandidate'],
  ])('an address is not announced when %s', (_, literal, code) => {
    expect(outcome(createL2Decisions(lan(literal)).decide(vip))).toBe(code);
  });

  test('what a node knows of itself counts before its report says so', () => {
    const own = { node: 'n2', links: [], heldBack: [], claims: [] };
    expect(sorted(createL2Decisions(lan(), own).decide(vip))).toBe('n1, n3');
  });
});

describe('the order of candidates', () => {
  test('weights of all preferences that select a node add up', () => {
    const preferred = [
      { weight: 10, preference: matching({ rack: 'a' }) },
      { weight: 5, preference: matching({ fast: 'yes' }) },
    ];
    const decision = createL2Decisions(
      lan({
        l2Advertisements: [
          { name: 'a', preferredNodeSelectors: preferred },
          { name: 'b', preferredNodeSelectors: [{ weight: 6, preference: matching({ fast: 'yes' }) }] },
        ],
        nodes: [{ name: 'n1' }, { name: 'n2', labels: { rack: 'a' } }, { name: 'n3', labels: { fast: 'yes' } }],
      }),
    ).decide(vip);
    expect(outcome(decision)).toBe('n3, n2, n1');
  });

  test('a node that drains or does not forward the family comes last, whatever its weight', () => {
    const heldBack = [{ family: 'IPv4', since: '', settled: false, reason: { code: 'NodeDraining', details: { node: 'n2' } } }] as const;
    const literal = {
      l2Advertisements: [{ name: 'a', preferredNodeSelectors: [{ weight: 100, preference: matching({ best: 'yes' }) }] }],
      nodes: [{ name: 'n1' }, { name: 'n2', labels: { best: 'yes' } }, { name: 'n3', labels: { best: 'yes' }, drain: 'keepLast' as const }],
      heldBack: { n2: heldBack },
    };
    const decision = createL2Decisions(lan(literal)).decide(vip);
    expect('reason' in decision ? [] : decision.candidates.map(({ node, lastResort }) => `${node} ${lastResort?.code ?? ''}`)[0]).toBe(
      'n1 ',
    );
    expect(sorted(decision)).toBe('n1, n2, n3');
  });

  test('a node whose endpoints terminate comes last under policy Local while another has ready ones', () => {
    const local = { ...web, externalTrafficPolicy: 'Local' as const };
    const preferred = [{ weight: 100, preference: matching({ best: 'yes' }) }];
    const order = (...endpoints: string[]): string =>
      outcome(
        createL2Decisions(
          lan({
            services: [local],
            slices: [{ service: 'web', endpoints }],
            l2Advertisements: [{ name: 'a', preferredNodeSelectors: preferred }],
            nodes: [{ name: 'n1', labels: { best: 'yes' } }, { name: 'n2' }, { name: 'n3' }],
          }),
        ).decide(vip),
      );
    expect(order('10.1.0.1@n1', '10.1.0.2@n2')).toBe('n1, n2');
    expect(order('10.1.0.1@n1 draining', '10.1.0.2@n2')).toBe('n2, n1');
    expect(order('10.1.0.1@n1 draining', '10.1.0.2@n2 draining')).toBe('n1, n2');
    expect(order('10.1.0.1@n1 draining', '10.1.0.2@n2 notready')).toBe('n1');
  });

  test('the first advertisement by name decides how conflicts and returns are handled', () => {
    const decision = createL2Decisions(
      lan({
        l2Advertisements: [
          { name: 'b', onConflict: 'withdraw' },
          { name: 'a', failback: 'never', refreshInterval: 5 },
        ],
      }),
    ).decide(vip);
    expect(decision).toMatchObject({ settings: { onConflict: 'defend', failback: 'never', refreshInterval: 5 } });
  });

  const best = outcome(createL2Decisions(lan()).decide(vip)).split(', ');

  test.each<[string, Partial<ClusterLiteral>, number]>([
    ['comes first with failback never', { l2Advertisements: [{ name: 'a', failback: 'never' }] }, 2],
    ['comes first with failback after', { l2Advertisements: [{ name: 'a', failback: 'after' }] }, 2],
    ['keeps its rank with failback immediate', { l2Advertisements: [{ name: 'a' }] }, 0],
  ])('the node that claimed an address last %s', (_, literal, first) => {
    const claims = Object.fromEntries(best.map((node, at) => [node, { '192.0.2.100': at + 1 }]));
    const decision = createL2Decisions(lan({ ...literal, claims })).decide(vip);
    expect(outcome(decision)).toBe([best[first], ...best.toSpliced(first, 1)].join(', '));
    expect('reason' in decision ? [] : decision.candidates.map(({ keeps = false }) => keeps)).toEqual([first > 0, false, false]);
  });

  test('a node that drains keeps no address, and one that gives it back does not either', () => {
    const never = { l2Advertisements: [{ name: 'a', failback: 'after' as const }] };
    const last = best.at(-1) ?? '';
    const drained = lan({
      ...never,
      claims: { [last]: { '192.0.2.100': 3 } },
      nodes: best.map((name) => ({ name, ...(name === last ? { drain: 'keepLast' as const } : {}) })),
    });
    expect(outcome(createL2Decisions(drained).decide(vip))).toBe(best.join(', '));
    const own = {
      node: last,
      links: drained.nodeStates.get(last)?.links ?? [],
      heldBack: [],
      claims: [{ address: '192.0.2.100', number: 3, givesBack: true as const }],
    };
    expect(outcome(createL2Decisions(lan(never), own).decide(vip))).toBe(best.join(', '));
  });

  test('every node prefers the same of two equal claim numbers, and a deleted node has no claim', () => {
    const claims = Object.fromEntries(['n1', 'n2', 'gone'].map((node) => [node, { '192.0.2.100': node === 'gone' ? 9 : 4 }]));
    const literal = { l2Advertisements: [{ name: 'a', failback: 'never' as const }], claims, running: { gone: {} } };
    expect(createL2Decisions(lan(literal)).lastClaim(vip)).toEqual({ node: 'n1', address: '192.0.2.100', number: 4 });
    expect(createL2Decisions(lan(literal, ['n3', 'n2', 'n1'])).lastClaim(vip)?.node).toBe('n1');
    expect(createL2Decisions(lan()).lastClaim(vip)).toBeUndefined();
  });

  const names = fc.uniqueArray(fc.stringMatching(/^[a-z][a-z0-9]{0,8}$/), { minLength: 1, maxLength: 40 });
  const host = fc.integer({ min: 100, max: 199 });

  test('every node decides the same, in whatever order it learnt of the nodes, and at most 32 stand ready', () => {
    fc.assert(
      fc.property(names, host, (nodes, last) => {
        const at = address(`192.0.2.${last}`);
        const services = [{ name: 'web', assigned: [`192.0.2.${last}`] }];
        const one = outcome(createL2Decisions(lan({ services }, nodes)).decide(at));
        expect(outcome(createL2Decisions(lan({ services }, nodes.toReversed())).decide(at))).toBe(one);
        expect(one.split(', ')).toHaveLength(Math.min(nodes.length, mostCandidates));
      }),
      { numRuns: runs(10_000) },
    );
  });

  test('of more than 32 nodes the others stand back, and say why', () => {
    const nodes = Array.from({ length: mostCandidates + 1 }, (_, index) => `node${index}`);
    const decisions = createL2Decisions(lan({}, nodes));
    const standing = new Set(outcome(decisions.decide(vip)).split(', '));
    const left = nodes.find((node) => !standing.has(node)) ?? '';
    expect(standing.size).toBe(mostCandidates);
    expect(decisions.about(vip).whyNot(left)).toEqual(reason('L2BeyondCandidates', { node: left, most: mostCandidates }));
  });

  test('a new node moves only the addresses that it gets itself', () => {
    fc.assert(
      fc.property(
        names.filter((list) => list.length > 1),
        host,
        ([added = '', ...nodes], last) => {
          const at = address(`192.0.2.${last}`);
          const services = [{ name: 'web', assigned: [`192.0.2.${last}`] }];
          const before = outcome(createL2Decisions(lan({ services }, nodes)).decide(at)).split(', ')[0];
          const after = outcome(createL2Decisions(lan({ services }, [...nodes, added])).decide(at)).split(', ')[0];
          expect([before, added]).toContain(after);
        },
      ),
      { numRuns: runs(2000) },
    );
  });

  test('each of many nodes gets its share of many addresses', () => {
    const nodes = Array.from({ length: 8 }, (_, index) => `node${index}`);
    const snapshot = lan(
      {
        services: Array.from({ length: 100 }, (_, index) => ({ name: `s${index}`, assigned: [`192.0.2.${100 + index}`] })),
        slices: Array.from({ length: 100 }, (_, index) => ({ service: `s${index}`, endpoints: ['10.1.0.1@node0'] })),
      },
      nodes,
    );
    const decisions = createL2Decisions(snapshot);
    const owners = Array.from({ length: 100 }, (_, index) => outcome(decisions.decide(address(`192.0.2.${100 + index}`))).split(', ')[0]);
    for (const node of nodes) expect(owners.filter((owner) => owner === node).length).toBeGreaterThan(4);
  });
});
