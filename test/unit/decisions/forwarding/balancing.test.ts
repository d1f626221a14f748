import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decideForwarding } from '../../../../src/decisions/forwarding/plan.ts';
import { slotsFor } from '../../../../src/decisions/forwarding/balancing.ts';
import { formatAddress } from '../../../../src/net/address.ts';
import { frontendKey, type Frontend } from '../../../../src/net/frontend.ts';
import { cluster, type ClusterLiteral, type ServiceLiteral, type SliceLiteral } from '../fixtures.ts';
import { runs } from '../../../support/property.ts';

const anyone = { externalIPPolicies: [{ cidrs: ['0.0.0.0/0', '::/0'] }] };
const web: ServiceLiteral = {
  name: 'web',
  ports: ['80@30080'],
  assigned: ['192.0.2.1'],
  externalIPs: ['198.51.100.1'],
  loadBalancing: 'consistent',
};
const endpoints: SliceLiteral = { service: 'web', endpoints: ['10.1.0.1@here', '10.1.0.2@two', '10.1.0.3@two'] };
const nodes = [
  { name: 'here', internalIPs: ['10.0.0.1', 'fd00::1'] },
  { name: 'two', internalIPs: ['10.0.0.2', '10.0.1.2', 'fd00::2'] },
];

function frontends(
  service: ServiceLiteral,
  slices: readonly SliceLiteral[] = [endpoints],
  rest: ClusterLiteral = {},
  node = 'here',
): Map<string, Frontend> {
  const snapshot = cluster({ ...anyone, nodes, ...rest, services: [service], slices });
  const [decided] = [...snapshot.services.values()].map((each) => decideForwarding(snapshot, each, node));
  return new Map((decided?.forwarding?.frontends ?? []).map((frontend) => [frontendKey(frontend.match), frontend]));
}

/** Prints the frontends with slots: "192.0.2.1 TCP 80: connection in 251". */
const hashed = (...args: Parameters<typeof frontends>): string[] =>
  [...frontends(...args)].flatMap(([key, { slots }]) =>
    slots === undefined ? [] : [`${key}: ${slots.hashed} in ${slots.backendOf.length}`],
  );

/** Returns the backend's address for each slot. */
const owners = (...args: Parameters<typeof frontends>): string[] => {
  const { backends, slots } = frontends(...args).get('192.0.2.1 TCP 80') as Frontend;
  return [...(slots?.backendOf ?? [])].map((index) => formatAddress(backends[index]?.address ?? { family: 4, value: 0n }));
};

describe('consistent hashing', () => {
  test('every frontend has slots when the Service asks for them, and external addresses alone for consistentHashing', () => {
    const external = ['192.0.2.1 TCP 80: connection in 251', '198.51.100.1 TCP 80: connection in 251'];
    expect(hashed(web)).toEqual(['10.96.0.1 TCP 80: connection in 251', ...external, 'NodePort IPv4 TCP 30080: connection in 251']);
    const { loadBalancing: _, ...silent } = web;
    expect(hashed(silent, [endpoints], { config: { consistentHashing: true } })).toEqual(external);
  });

  test.each([
    ['no setting asks for them', {}, {}, []],
    ['HeraldConfig asks for them', {}, { consistentHashing: true }, ['192.0.2.1 TCP 80: connection in 251']],
    ['HeraldConfig asks for more of them', {}, { consistentHashing: true, hashSlots: 4093 }, ['192.0.2.1 TCP 80: connection in 4093']],
    ['the Service refuses them', { loadBalancing: 'random' }, { consistentHashing: true }, []],
    [
      'the Service asks for them',
      { loadBalancing: 'consistent' },
      {},
      ['10.96.0.1 TCP 80: connection in 251', '192.0.2.1 TCP 80: connection in 251'],
    ],
    [
      'HeraldConfig asks for them everywhere',
      {},
      { loadBalancing: 'source-hash' },
      ['10.96.0.1 TCP 80: client in 251', '192.0.2.1 TCP 80: client in 251'],
    ],
    [
      'the Service asks for another hash',
      { loadBalancing: 'destination-hash' },
      { consistentHashing: true },
      ['10.96.0.1 TCP 80: destination in 251', '192.0.2.1 TCP 80: destination in 251'],
    ],
    [
      'the Service has its own number of slots',
      { loadBalancing: 'consistent', hashSlots: 1021 },
      {},
      ['10.96.0.1 TCP 80: connection in 1021', '192.0.2.1 TCP 80: connection in 1021'],
    ],
    ['the policy is Local, for which HeraldConfig does not ask', { externalTrafficPolicy: 'Local' }, { consistentHashing: true }, []],
    [
      'the policy is Local',
      { loadBalancing: 'consistent', externalTrafficPolicy: 'Local' },
      {},
      ['10.96.0.1 TCP 80: connection in 251', '192.0.2.1 TCP 80: connection in 251'],
    ],
    [
      'the Service has session affinity',
      { loadBalancing: 'consistent', affinitySeconds: 60 },
      {},
      ['10.96.0.1 TCP 80: client in 251', '192.0.2.1 TCP 80: client in 251'],
    ],
  ] as const)('the slots when %s', (_what, service, config, expected) => {
    expect(hashed({ name: 'web', assigned: ['192.0.2.1'], ...service }, [endpoints], { config })).toEqual(expected);
  });

  test('a frontend without backends has no slots', () => {
    expect(hashed(web, [])).toEqual([]);
    expect(frontends(web, []).get('192.0.2.1 TCP 80')?.backends).toEqual([]);
  });

  test('a frontend with slots does not remember clients', () => {
    const sticky = frontends({ ...web, affinitySeconds: 60 });
    expect([...sticky].map(([key, { affinity }]) => [key, affinity?.seconds])).toEqual([
      ['10.96.0.1 TCP 80', undefined],
      ['192.0.2.1 TCP 80', undefined],
      ['198.51.100.1 TCP 80', undefined],
      ['NodePort IPv4 TCP 30080', undefined],
    ]);
  });

  test('each backend of an external address has the address of its node in its family', () => {
    const nodesOf = (key: string, ...args: Parameters<typeof frontends>): (string | undefined)[] =>
      (frontends(...args).get(key)?.backends ?? []).map(({ node }) => (node === undefined ? undefined : formatAddress(node)));
    expect(nodesOf('192.0.2.1 TCP 80', web, [{ ...endpoints, endpoints: [...endpoints.endpoints, '10.1.0.4', '10.1.0.5@gone'] }])).toEqual([
      '10.0.0.1',
      '10.0.0.2',
      '10.0.0.2',
      undefined,
      undefined,
    ]);
    expect(nodesOf('10.96.0.1 TCP 80', web)).toEqual([undefined, undefined, undefined]);
    const six = { ...web, clusterIPs: ['fd02::1'], assigned: ['fd09::1'], externalIPs: [] };
    expect(nodesOf('fd09::1 TCP 80', six, [{ service: 'web', endpoints: ['fd01::2@two'] }])).toEqual(['fd00::2']);
  });

  test('slots are the same on every node despite hints, and terminating endpoints come last', () => {
    const zones = [
      { name: 'here', labels: { 'topology.kubernetes.io/zone': 'a' } },
      { name: 'two', labels: { 'topology.kubernetes.io/zone': 'b' } },
    ];
    const hinted = [{ service: 'web', endpoints: ['10.1.0.1@here zone=a', '10.1.0.2@two zone=b', '10.1.0.3@two draining'] }];
    const [here, two] = ['here', 'two'].map((node) => owners(web, hinted, { nodes: zones }, node));
    expect(here).toEqual(two);
    expect(new Set(here)).toEqual(new Set(['10.1.0.1', '10.1.0.2']));
    expect(frontends(web, hinted, { nodes: zones }).get('10.96.0.1 TCP 80')?.backends).toHaveLength(1);
    const last = [{ service: 'web', endpoints: ['10.1.0.1@here draining', '10.1.0.2@two draining'] }];
    expect(new Set(owners(web, last))).toEqual(new Set(['10.1.0.1', '10.1.0.2']));
  });

  test('slots do not depend on the order of endpoints or on their slices', () => {
    const all = Array.from({ length: 12 }, (_, index) => `10.1.0.${index + 1}@two`);
    const expected = owners(web, [{ service: 'web', endpoints: all }]);
    fc.assert(
      fc.property(fc.shuffledSubarray(all, { minLength: 12 }), fc.integer({ min: 0, max: 12 }), (shuffled, cut) => {
        const slices = [shuffled.slice(0, cut), shuffled.slice(cut)].map((part, index) => ({
          service: 'web',
          name: `s${index}`,
          endpoints: part,
          family: 4 as const,
        }));
        expect(owners(web, slices)).toEqual(expected);
      }),
      { numRuns: runs(20) },
    );
  });

  test('all ports of a Service have the same slots, whatever their target ports', () => {
    const ports = frontends({ ...web, ports: ['a:80', 'b:443'] }, [{ ...endpoints, ports: ['a:8080', 'b:8443'] }]);
    const [http, https] = ['192.0.2.1 TCP 80', '192.0.2.1 TCP 443'].map((key) => ports.get(key));
    expect(http?.slots?.backendOf).toBe(https?.slots?.backendOf);
    expect(https?.backends.map(({ port }) => port)).toEqual([8443, 8443, 8443]);
  });

  test('endpoints get slots by the weight of their slice', () => {
    const slices = [
      { service: 'web', name: 'stable', endpoints: ['10.1.0.1'], weight: 9 },
      { service: 'web', name: 'canary', endpoints: ['10.1.0.2'] },
    ];
    const canary = owners({ ...web, hashSlots: 1021 }, slices).filter((owner) => owner === '10.1.0.2').length;
    // A tenth of 1021 slots is expected. The bound is five standard deviations of the binomial distribution.
    expect(Math.abs(canary - 102)).toBeLessThan(48);
  });

  test('a pod with two target port numbers gets two shares', () => {
    const slices = [8080, 9090].map((port) => ({ service: 'web', name: `s${port}`, ports: [`${port}`], endpoints: ['10.1.0.1'] }));
    const { backends, slots } = frontends(web, slices).get('192.0.2.1 TCP 80') as Frontend;
    expect(backends.map(({ port }) => port)).toEqual([8080, 9090]);
    expect(new Set(slots?.backendOf)).toEqual(new Set([0, 1]));
  });

  test('UDP flows to backends that get no new ones are retained', () => {
    const udp = { ...web, ports: ['80/UDP'] };
    const slices = [
      { service: 'web', ports: ['8080/UDP'], endpoints: ['10.1.0.1@here zone=a', '10.1.0.2@two zone=b', '10.1.0.3@two draining'] },
    ];
    const zones = [{ name: 'here', labels: { 'topology.kubernetes.io/zone': 'a' } }];
    const retained = (key: string): string[] =>
      (frontends(udp, slices, { nodes: zones }).get(key)?.retained ?? []).map(({ address }) => formatAddress(address));
    expect(retained('10.96.0.1 UDP 80')).toEqual(['10.1.0.2', '10.1.0.3']);
    expect(retained('192.0.2.1 UDP 80')).toEqual(['10.1.0.3']);
  });

  test.each([
    [1, 251, 251],
    [62, 251, 251],
    [63, 251, 1021],
    [3, 1021, 1021],
    [255, 1021, 1021],
    [256, 1021, 4093],
    [4095, 251, 16_381],
    [9999, 251, 16_381],
  ] as const)('%i backends with %i configured slots get %i slots', (backends, asked, slots) => {
    expect(slotsFor(backends, asked)).toBe(slots);
  });
});

describe('turns', () => {
  const taking = (service: Partial<ServiceLiteral>, slices: readonly SliceLiteral[] = [endpoints], node = 'here', config = {}): string[] =>
    [...frontends({ ...web, ...service }, slices, { config }, node)].map(
      ([key, { turns, localTurns, backends, localBackends, affinity }]) => {
        const names = (order: Uint16Array | undefined, of: Frontend['backends']): string =>
          [...(order ?? [])]
            .map((index) => formatAddress((of[index] as Frontend['backends'][number]).address).slice(-1))
            .toSorted()
            .join('');
        return `${key}: ${names(turns, backends)} ${names(localTurns, localBackends)}${affinity === undefined ? '' : ' sticky'}`.trim();
      },
    );

  test.each(['round-robin', 'weighted-round-robin'] as const)('%s: the backends of every frontend take turns', (loadBalancing) => {
    const every = ['10.96.0.1 TCP 80', '192.0.2.1 TCP 80', '198.51.100.1 TCP 80', 'NodePort IPv4 TCP 30080'];
    expect(taking({ loadBalancing })).toEqual(every.map((key) => `${key}: 123`));
    const { loadBalancing: _, ...silent } = web;
    expect([...frontends(silent, [endpoints], { config: { loadBalancing } })].every(([, { turns }]) => turns?.length === 3)).toBe(true);
  });

  test('weights count with weighted-round-robin alone', () => {
    const slices = [
      { service: 'web', name: 'light', endpoints: ['10.1.0.1@here'] },
      { service: 'web', name: 'heavy', endpoints: ['10.1.0.2@two'], weight: 3 },
    ];
    expect(taking({ loadBalancing: 'weighted-round-robin' }, slices)[0]).toBe('10.96.0.1 TCP 80: 1222');
    expect(taking({ loadBalancing: 'round-robin' }, slices)[0]).toBe('10.96.0.1 TCP 80: 12');
  });

  test.each([
    ['least-connections', 'connections', [1, 1], '1212'],
    ['weighted-least-connections', 'weighted', [1, 3], '1222'],
    ['shortest-expected-delay', 'delay', [1, 3], '1222'],
    ['never-queue', 'idle', [1, 3], '1222'],
  ] as const)('%s: turns follow the connections of all frontends of a port', (loadBalancing, by, weights, order) => {
    const slices = [
      { service: 'web', name: 'light', endpoints: ['10.1.0.1@here'] },
      { service: 'web', name: 'heavy', endpoints: ['10.1.0.2@two'], weight: 3 },
    ];
    const planned = [...frontends({ ...web, loadBalancing, externalTrafficPolicy: 'Local' }, slices).values()];
    expect(planned).toHaveLength(4);
    for (const { turns, counting, scope } of planned) {
      const localWeights = scope === 'internal' ? [] : [1];
      expect(counting).toMatchObject({ by, servicePort: 'default/web  TCP', weights, localWeights });
      expect(turns).toHaveLength(256);
      // Until the connections are seen. Each node begins with another turn.
      const shown = [...(turns ?? [])].map((index) => index + 1).join('');
      expect(shown.slice(0, 12)).toContain(order);
    }
  });

  test('under policy Local the endpoints of the node take turns of their own, and clients are remembered', () => {
    const local = { loadBalancing: 'round-robin', externalTrafficPolicy: 'Local', affinitySeconds: 9 } as const;
    expect(taking(local, [endpoints], 'two')).toEqual([
      '10.96.0.1 TCP 80: 123  sticky',
      '192.0.2.1 TCP 80: 123 23 sticky',
      '198.51.100.1 TCP 80: 123 23 sticky',
      'NodePort IPv4 TCP 30080: 123 23 sticky',
    ]);
  });

  test('nodes do not all begin with the same endpoint', () => {
    const firstOf = (node: string): number | undefined =>
      frontends({ ...web, loadBalancing: 'round-robin' }, [endpoints], {}, node).get('192.0.2.1 TCP 80')?.turns?.[0];
    expect(new Set(Array.from({ length: 20 }, (_, index) => firstOf(`node-${index}`))).size).toBe(3);
  });
});
