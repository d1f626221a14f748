import { describe, expect, test } from 'vitest';
import type { ServicePath } from '../../../src/console/contract.ts';
import { limits } from '../../../src/console/limits.ts';
import { addressesView } from '../../../src/console/views/addresses.ts';
import { fabricView } from '../../../src/console/views/fabric.ts';
import { planView } from '../../../src/console/views/plan.ts';
import { servicesView } from '../../../src/console/views/services.ts';
import { serviceView } from '../../../src/console/views/service.ts';
import type { Plan } from '../../../src/explain/plan/plan.ts';
import { explainService } from '../../../src/explain/service/service.ts';
import { reason } from '../../../src/model/reasons.ts';
import type { ServiceKey } from '../../../src/model/objects/metadata.ts';
import { cluster, type ClusterLiteral } from '../decisions/fixtures.ts';
import { pictureOf } from './picture-of.ts';

const now = Date.parse('2026-01-01T00:01:00Z');

/** Two nodes and a router. Only n1 has a session with it. */
const fabric: ClusterLiteral = {
  services: [
    { name: 'shop/web', assigned: ['192.0.2.1'], ports: ['80/TCP'] },
    { name: 'shop/wait', ports: ['80/TCP'] },
    { name: 'shop/inside', type: 'ClusterIP', ports: ['80/TCP'] },
  ],
  slices: [{ service: 'shop/web', ports: ['80/TCP'], endpoints: ['10.1.0.1@n1', '10.1.0.2@n2'] }],
  pools: [{ name: 'public', addresses: ['192.0.2.0/28'], reserved: { '192.0.2.9': 'shop/later' } }],
  advertisements: [{ name: 'all' }],
  peers: [{ name: 'tor' }],
  nodes: [{ name: 'n1' }, { name: 'n2' }],
  running: { n1: { tor: '10.0.0.254' }, n2: {} },
};

function pathOf(literal: ClusterLiteral, key: ServiceKey = 'shop/web'): ServicePath {
  const explanation = explainService(cluster(literal), key, now);
  if (explanation === undefined) throw new RangeError(`no Service ${key}`);
  return serviceView({ explanation, lines: [], wideLines: [], from: 'a test', kind: 'directory', at: '' }).path;
}

describe('the list of Services', () => {
  test('has Services of type LoadBalancer by name, with state, conditions, pool and the first cause', () => {
    const { rows, lines } = servicesView(pictureOf(fabric, now));
    expect(rows.map(({ namespace, name }) => `${namespace}/${name}`)).toEqual(['shop/wait', 'shop/web']);
    expect(rows[0]).toMatchObject({ outcome: 'notServed', conditions: 'F--', addresses: [], reason: 'NoAddress' });
    expect(lines[rows[0]?.line ?? -1]).toMatch(/^Not served: /);
    expect(rows[1]).toMatchObject({ addresses: ['192.0.2.1'], pool: 'public' });
  });

  test('says each sentence once, however many Services have it', () => {
    const services = Array.from({ length: 500 }, (_, index) => ({ name: `shop/s${index}`, ports: ['80/TCP'] }));
    const { rows, lines } = servicesView(pictureOf({ services }, now));
    expect([rows.length, lines.length]).toEqual([500, 1]);
  });

  test('names the pool of an address among many ranges, and none for an address of no pool', () => {
    const pools = Array.from({ length: 50 }, (_, index) => ({ name: `p${index}`, addresses: [`10.0.${index}.0/24`] }));
    const services = [
      { name: 'a/first', assigned: ['10.0.0.0'] },
      { name: 'a/last', assigned: ['10.0.49.255'] },
      { name: 'a/none', assigned: ['10.0.50.0'] },
    ];
    const { rows } = servicesView(pictureOf({ services, pools }, now));
    expect(rows.map(({ name, pool }) => [name, pool])).toEqual([
      ['first', 'p0'],
      ['last', 'p49'],
      ['none', undefined],
    ]);
  });
});

describe('the fabric', () => {
  /** Sixty nodes of two racks. The session of n7 is missing. */
  const racks = (count: number): ClusterLiteral => {
    const names = Array.from({ length: count }, (_, index) => `n${index}`);
    return {
      ...fabric,
      nodes: names.map((name) => ({ name })),
      running: Object.fromEntries(names.map((name) => [name, name === 'n7' ? {} : { tor: '10.0.0.254' }])),
    };
  };

  test('puts alike nodes of a large cluster into one box, and those with a problem first', () => {
    const { groups } = fabricView(pictureOf(racks(60), now));
    expect(groups.map(({ count, health, sessions }) => [count, health, sessions.map((one) => one.health)])).toEqual([
      [1, 'bad', ['bad']],
      [59, 'good', ['good']],
    ]);
    expect(groups[0]?.names).toEqual(['n7']);
    expect(groups[0]?.sessions[0]?.words).toContain('tor');
    expect(groups[1]?.names).toHaveLength(limits.groupNames);
  });

  test('draws the nodes one by one when they are few', () => {
    expect(fabricView(pictureOf(racks(limits.fabricNodes), now)).groups).toEqual([]);
    expect(fabricView(pictureOf(racks(limits.fabricNodes + 1), now)).groups).toHaveLength(2);
  });

  test('has the nodes that answer ARP and NDP by network', () => {
    const { segments } = fabricView(
      pictureOf(
        {
          ...fabric,
          services: [
            { name: 'shop/web', assigned: ['192.0.2.1'], ports: ['80/TCP'] },
            { name: 'shop/other', assigned: ['198.51.100.1'], ports: ['80/TCP'] },
          ],
          slices: ['shop/web', 'shop/other'].map((service) => ({ service, ports: ['80/TCP'], endpoints: ['10.1.0.1@n1'] })),
          pools: [{ name: 'public', addresses: ['192.0.2.0/28', '198.51.100.0/28'] }],
          l2Advertisements: [{ name: 'office' }],
          links: { n1: { eth0: ['192.0.2.0/24'] } },
        },
        now,
      ),
    );
    expect(segments).toEqual([
      { segment: '', owners: [{ node: '', addresses: ['198.51.100.1'] }] },
      { segment: '192.0.2.0/24', owners: [{ node: 'n1', addresses: ['192.0.2.1'] }] },
    ]);
  });

  test('has the load balancers outside the cluster', () => {
    const picture = pictureOf({ ...fabric, services: [{ name: 'shop/web', ports: ['80/TCP'] }] }, now);
    const [key, service] = [...picture.snapshot.services][0] ?? [];
    if (key === undefined || service === undefined) throw new RangeError('no Service');
    const named = { ...service, ingress: [{ hostname: 'web.elb.amazonaws.com', ipMode: 'VIP' as const, ports: [] }] };
    const snapshot = { ...picture.snapshot, services: new Map([[key, named]]) };
    const { clouds } = fabricView({ ...picture, snapshot });
    expect(clouds).toMatchObject([{ service: 'shop/web', hostnames: ['web.elb.amazonaws.com'], outcome: 'notServed' }]);
    expect(clouds[0]?.line).toMatch(/^Not served: /);
  });

  test('has a line for each session, with the words of explain and the reason of one that is down', () => {
    const { sessions, peers, nodes, counts } = fabricView(pictureOf(fabric, now));
    expect(sessions.map(({ node, peer, health }) => [node, peer, health])).toEqual([
      ['n1', 'tor', 'good'],
      ['n2', 'tor', 'bad'],
    ]);
    expect(sessions[0]?.words).toBe('tor (10.0.0.254, AS 64513): Established for 60 s');
    expect(sessions[1]?.why).toContain('tor');
    expect(peers).toMatchObject([{ peer: 'tor', health: 'good' }]);
    expect(nodes.map(({ node, health }) => [node, health])).toEqual([
      ['n1', 'good'],
      ['n2', 'bad'],
    ]);
    expect(counts.sessions).toEqual({ established: 1, expected: 2 });
  });

  test('shows a node with a problem of its list, with the words of the list', () => {
    const up = { ...fabric, running: { n1: { tor: '10.0.0.254' }, n2: { tor: '10.0.0.254' } } };
    const problems = [{ object: 'Node/n1', others: ['Node/n2'], code: 'KernelSettingWrong', line: 'rp_filter of eth0 is 1.' }];
    const { nodes } = fabricView({ ...pictureOf(up, now), problems });
    expect(nodes).toMatchObject(['n1', 'n2'].map((node) => ({ node, health: 'bad', lines: ['rp_filter of eth0 is 1.'] })));
  });

  test('says for how long a session is down, although each attempt has a new state', () => {
    const picture = pictureOf(fabric, now);
    const report = picture.snapshot.nodeStates.get('n1');
    if (report === undefined) throw new RangeError('n1 does not report');
    const cause = reason('HoldTimeExpired', {
      peer: 'tor',
      router: '10.0.0.254',
      since: '2025-12-31T23:56:00Z',
      latest: '',
      seconds: 90,
    } as never);
    const sessions = report.sessions.map((one) => ({ ...one, state: 'Active' as const, since: '2026-01-01T00:01:00Z', cause }));
    const nodeStates = new Map([...picture.snapshot.nodeStates, ['n1', { ...report, sessions }]]);
    const { sessions: drawn } = fabricView({ ...picture, snapshot: { ...picture.snapshot, nodeStates } });
    const session = drawn.find(({ node }) => node === 'n1');
    expect(session?.since).toBe('2025-12-31T23:56:00.000Z');
    expect(session?.words).toBe('tor (10.0.0.254, AS 64513): Active; down for 5 min');
  });

  test('has an error of an object once, in its list of problems', () => {
    const line = 'a.yaml:4: IPAddressPool/bent: spec.addresses: must be a list';
    const notes = [
      { severity: 'error', line: `problem: ${line}` },
      { severity: 'error', line: 'problem: nothing of IPAddressPool/bent is in force: no earlier good version is known' },
      { severity: 'warning', line: 'warning: something else' },
    ] as const;
    const problems = [{ object: 'IPAddressPool/bent', code: 'ObjectUnreadable', line }];
    const view = fabricView({ ...pictureOf(fabric, now), notes, problems });
    expect(view.notes).toEqual(notes.slice(1));
    expect(view.problems).toEqual(problems);
    expect(servicesView({ ...pictureOf(fabric, now), notes, problems }).notes).toEqual(notes);
  });

  test('does not call the session of a silent node broken, but unknown', () => {
    const { nodes, sessions } = fabricView(pictureOf({ ...fabric, running: { n1: { tor: '10.0.0.254' } } }, now));
    expect(nodes.find(({ node }) => node === 'n2')).toMatchObject({ health: 'unknown', lines: [expect.stringContaining('n2') as string] });
    expect(sessions.find(({ node }) => node === 'n2')?.health).toBe('unknown');
  });
});

describe('the path of a Service', () => {
  test('leads from its address over router and nodes to the endpoints, with the reason of a missing arrow', () => {
    const { addresses, routers, nodes, routes, forwarding, endpoints } = pathOf(fabric);
    expect(addresses).toMatchObject([{ text: '192.0.2.1', pool: 'public', ports: [{ name: '80/TCP', health: 'unknown' }] }]);
    expect(routers).toMatchObject([{ name: 'tor', kind: 'peer', health: 'doubtful' }]);
    expect(nodes.map(({ names, health }) => [names, health])).toEqual([
      [['n1'], 'good'],
      [['n2'], 'good'],
    ]);
    expect(routes.map(({ to, health, label }) => [to, health, label])).toEqual([
      ['node n1', 'good', '192.0.2.1/32'],
      ['node n2', 'bad', ''],
    ]);
    expect(routes[1]?.whys[0]).toMatchObject({ code: 'SessionDown' });
    expect(forwarding.map(({ from, health }) => [from, health])).toEqual([
      ['node n1', 'good'],
      ['node n2', 'good'],
    ]);
    expect(endpoints).toMatchObject({ ready: 2, unusable: 0 });
  });

  test('says of a node without a report what it should do, not that it does', () => {
    const { nodes } = pathOf({ ...fabric, running: { n1: { tor: '10.0.0.254' } } });
    expect(nodes.map(({ detail }) => detail)).toEqual([
      'forwards 2 frontends to 2 of 2 endpoints',
      'should forward 2 frontends to 2 of 2 endpoints',
    ]);
  });

  test('says how connections are spread, and which way packets go back', () => {
    const affine = { name: 'shop/web', assigned: ['192.0.2.1'], ports: ['80/TCP'], affinitySeconds: 600 };
    const explanation = explainService(cluster({ ...fabric, services: [affine] }), 'shop/web', now);
    if (explanation === undefined) throw new RangeError('no Service');
    const nodes = explanation.nodes.map((node) => ({ ...node, directReturn: { receives: ['dsr' as never], passes: [] } }));
    const { path } = serviceView({ explanation: { ...explanation, nodes }, lines: [], wideLines: [], from: '', kind: 'directory', at: '' });
    expect(path.balancing).toEqual(['balancing random', 'a client stays at its endpoint until it was silent for 600 s']);
    expect(path.nodes[0]?.detail).toMatch(/; direct return: passes on by nothing, receives by dsr$/);
  });

  test('does not call a route missing that a node has no reason to send', () => {
    const local = { name: 'shop/web', assigned: ['192.0.2.1'], ports: ['80/TCP'], externalTrafficPolicy: 'Local' as const };
    const running = { n1: { tor: '10.0.0.254' }, n2: { tor: '10.0.0.254' } };
    const slices = [{ service: 'shop/web', ports: ['80/TCP'], endpoints: ['10.1.0.1@n1'] }];
    const { routes, routers } = pathOf({ ...fabric, services: [local], slices, running });
    expect(routes.map(({ to, health }) => [to, health])).toEqual([['node n1', 'good']]);
    expect(routers[0]?.health).toBe('good');
  });

  test('has the bandwidth of a route at its arrow', () => {
    const local = { name: 'shop/web', assigned: ['192.0.2.1'], ports: ['80/TCP'], externalTrafficPolicy: 'Local' as const };
    const running = { n1: { tor: '10.0.0.254' }, n2: { tor: '10.0.0.254' } };
    const slices = [{ service: 'shop/web', ports: ['80/TCP'], endpoints: ['10.1.0.1@n1', '10.1.0.2@n1', '10.1.0.3@n2'] }];
    const advertisements = [{ name: 'all', linkBandwidth: { megabitsPerEndpoint: 10 } }];
    const { routes } = pathOf({ ...fabric, services: [local], slices, running, advertisements });
    expect(routes.map(({ label }) => label)).toEqual([
      '192.0.2.1/32 (20 Mbit/s for 2 endpoints here)',
      '192.0.2.1/32 (10 Mbit/s for 1 endpoint here)',
    ]);
  });

  test('names the node to which maxNextHops leaves an address, and does not call the route of the other missing', () => {
    const running = { n1: { tor: '10.0.0.254' }, n2: { tor: '10.0.0.254' } };
    const advertisements = [{ name: 'all', maxNextHops: 1 }];
    const { routes, routers, nodes } = pathOf({ ...fabric, running, advertisements });
    expect(routes).toMatchObject([{ health: 'good', label: '192.0.2.1/32', whys: [] }]);
    expect(routers[0]?.health).toBe('good');
    const [chosen, left] = nodes.toSorted((a, b) => a.detail.length - b.detail.length);
    expect(left?.health).toBe('good');
    expect(left?.detail).toContain(`; maxNextHops of BGPAdvertisement "all" leaves 192.0.2.1/32 to ${chosen?.names[0]}`);
    expect(chosen?.detail).not.toContain('maxNextHops');
  });

  test('says why there is no address', () => {
    const { unmet, addresses } = pathOf({ ...fabric, pools: [] }, 'shop/wait');
    expect([addresses, unmet?.code]).toEqual([[], 'NoPools']);
    expect(unmet?.fix).not.toBe('');
  });

  test('draws alike nodes as one box when there are many, and the node with a problem first and apart', () => {
    const names = Array.from({ length: 40 }, (_, index) => `n${index + 1}`);
    const running = Object.fromEntries(names.map((name) => [name, name === 'n7' ? {} : { tor: '10.0.0.254' }]));
    const slices = [{ service: 'shop/web', ports: ['80/TCP'], endpoints: ['10.1.0.1@n1'] }];
    const { nodes, routes } = pathOf({ ...fabric, slices, nodes: names.map((name) => ({ name })), running });
    expect(names.length).toBeGreaterThan(limits.drawnNodes);
    expect(nodes.map(({ names: alike }) => alike.length)).toEqual([1, 1, 38]);
    expect(nodes.slice(0, 2).map(({ names: alike }) => alike)).toEqual([['n7'], ['n1']]);
    expect(routes).toHaveLength(3);
  });
});

describe('the address space', () => {
  test('has the owner of each address, and those that are reserved', () => {
    const { pools } = addressesView(pictureOf(fabric, now));
    const [range] = pools[0]?.ranges ?? [];
    expect(range).toMatchObject({ range: '192.0.2.0/28', family: 'IPv4', size: '16', moreCells: 0 });
    expect(range?.cells).toEqual([
      { at: 1, address: '192.0.2.1', state: 'assigned', services: ['shop/web'] },
      { at: 9, address: '192.0.2.9', state: 'reserved', services: ['shop/later'] },
    ]);
  });

  test('shows a released address as kept, unless a Service has it, a pool reserves it or its time is over', () => {
    const later = now + 60_000;
    const of = (service: ServiceKey, value: bigint, until = later) => ({ service, address: { family: 4, value } as const, until });
    const first = 0xc0000200n;
    const released = [
      of('shop/gone', first + 5n),
      of('shop/old', first + 6n, now),
      of('shop/before', first + 1n),
      of('shop/other', first + 9n),
    ];
    const { pools } = addressesView({ ...pictureOf(fabric, now), released });
    expect(pools[0]?.ranges[0]?.cells).toEqual([
      { at: 1, address: '192.0.2.1', state: 'assigned', services: ['shop/web'] },
      { at: 5, address: '192.0.2.5', state: 'kept', services: ['shop/gone'], until: '2026-01-01T00:02:00.000Z' },
      { at: 9, address: '192.0.2.9', state: 'reserved', services: ['shop/later'] },
    ]);
  });

  test('shows the addresses of Services in a draining pool as draining', () => {
    const [pool] = fabric.pools ?? [];
    if (pool === undefined) throw new RangeError('no pool');
    const { pools } = addressesView(pictureOf({ ...fabric, pools: [{ ...pool, draining: true }] }, now));
    expect(pools[0]).toMatchObject({ isDraining: true });
    expect(pools[0]?.ranges[0]?.cells.map(({ at, state }) => [at, state])).toEqual([
      [1, 'draining'],
      [9, 'reserved'],
    ]);
  });

  test('shows addresses of two pools in both', () => {
    const pools = [
      { name: 'a', addresses: ['192.0.2.0/30'] },
      { name: 'b', addresses: ['192.0.2.3-192.0.2.5'] },
    ];
    const { pools: drawn } = addressesView(pictureOf({ pools }, now));
    expect(drawn.map(({ ranges }) => ranges[0]?.cells.map(({ at, state }) => [at, state]))).toEqual([[[3, 'overlap']], [[0, 'overlap']]]);
  });

  test('divides a large range into blocks', () => {
    const services = [{ name: 'a/last', assigned: ['2001:db8::ffff:ffff:ffff:ffff'] }];
    const { pools } = addressesView(pictureOf({ services, pools: [{ name: 'six', addresses: ['2001:db8::/64'] }] }, now));
    const [range] = pools[0]?.ranges ?? [];
    expect(range?.blocks?.used).toHaveLength(limits.blocks);
    expect(range?.blocks?.used.at(-1)).toBe(1);
    expect(range?.cells).toMatchObject([{ at: limits.blocks - 1, state: 'assigned' }]);
  });
});

describe('a plan', () => {
  const nothing: Plan = {
    pools: [],
    addresses: [],
    owners: [],
    routes: [],
    rules: [],
    sessions: [],
    drains: [],
    unannounced: [],
    diverted: [],
  };
  const drawn = (changes: Plan, outside: readonly string[] = []) =>
    planView({ changes, outside, from: 'a test', kind: 'directory', at: '', notes: [], lines: [], summary: [] });

  test('is drawn as sections with the sign of each change, in the words of the command', () => {
    const { sections } = drawn(
      {
        ...nothing,
        addresses: [{ service: 'shop/web', before: ['192.0.2.1'], after: ['192.0.2.2'] }],
        sessions: [{ node: 'n1', peer: 'tor', change: 'reset', fields: ['holdTime'] }],
      },
      ['Calls to AWS', '  shop/web', '', '1 calls to AWS would be made first; what follows depends on their outcome.'],
    );
    expect(sections).toEqual([
      { title: 'Addresses', rows: [{ sign: '', text: 'shop/web: 192.0.2.1 -> 192.0.2.2' }], more: 0 },
      { title: 'Sessions', rows: [{ sign: '!', text: 'tor: reset (holdTime)  on n1' }], more: 0 },
      {
        title: 'Outside the cluster',
        rows: [
          { sign: '', text: 'Calls to AWS' },
          { sign: '', text: 'shop/web' },
          { sign: '', text: '1 calls to AWS would be made first; what follows depends on their outcome.' },
        ],
        more: 0,
      },
    ]);
  });

  test('has on its map the routers and nodes between which something changes, with the worst change', () => {
    const { map } = drawn({
      ...nothing,
      sessions: [{ node: 'n1', peer: 'tor', change: 'reset', fields: [] }],
      routes: [
        { node: 'n1', what: '192.0.2.1/32 to tor', change: 'remove' },
        { node: 'n2', what: '192.0.2.1/32 to tor', change: 'add' },
        { node: 'n2', what: '192.0.2.2/32 to tor', change: 'add' },
      ],
    });
    expect(map).toEqual({
      peers: ['tor'],
      nodes: ['n1', 'n2'],
      links: [
        { node: 'n1', peer: 'tor', health: 'bad', words: ['the session resets', '1 route withdrawn'] },
        { node: 'n2', peer: 'tor', health: 'good', words: ['2 routes added'] },
      ],
    });
  });

  test('of very many changes is bounded: rows are counted, and too many nodes are not drawn', () => {
    const routes = Array.from({ length: limits.planRows + 7 }, (_, index) => ({
      node: `n${index}`,
      what: `192.0.2.${index % 256}/32 to tor${index}`,
      change: 'add' as const,
    }));
    const { sections, map } = drawn({ ...nothing, routes });
    expect([sections[0]?.rows.length, sections[0]?.more]).toEqual([limits.planRows, 7]);
    expect(map.links).toEqual([]);
  });
});
