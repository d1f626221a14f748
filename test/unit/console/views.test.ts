import { describe, expect, test } from 'vitest';
import type { ServicePath } from '../../../src/console/contract.ts';
import { limits } from '../../../src/console/limits.ts';
import { addressesView } from '../../../src/console/views/addresses.ts';
import { fabricView } from '../../../src/console/views/fabric.ts';
import { checkView } from '../../../src/console/views/check.ts';
import { planView } from '../../../src/console/views/plan.ts';
import { servicesView } from '../../../src/console/views/services.ts';
import { serviceView } from '../../../src/console/views/service.ts';
import type { Plan } from '../../../src/explain/plan/plan.ts';
import { checkReport } from '../../../src/explain/check/check-report.ts';
import { renderCheck } from '../../../src/explain/check/render-check.ts';
import { lookedAtEndpoints } from '../../../src/explain/service/endpoint-looks.ts';
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

function pathOf(
  literal: ClusterLiteral,
  key: ServiceKey = 'shop/web',
  live: Parameters<typeof lookedAtEndpoints>[1] = new Map(),
): ServicePath {
  const snapshot = cluster(literal);
  const explanation = explainService(snapshot, key, now);
  if (explanation === undefined) throw new RangeError(`no Service ${key}`);
  const endpoints = lookedAtEndpoints(snapshot.endpointSlices(key), live, now);
  return serviceView({ explanation, endpoints, lines: [], wideLines: [], from: 'a test', kind: 'directory', at: '', mayCheck: false }).path;
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

  test('shows the error of an object once, in its list of problems', () => {
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

  describe('with a session of each family to a router', () => {
    const peers = [
      { name: 'tor1-v4', peerAddress: '10.0.0.254' },
      { name: 'tor1-v6', peerAddress: 'fd00::fe' },
      { name: 'tor2-v4', peerAddress: '10.0.1.254' },
    ];
    const up = { 'tor1-v4': '10.0.0.254', 'tor1-v6': 'fd00::fe', 'tor2-v4': '10.0.1.254' };
    const dual: ClusterLiteral = {
      ...fabric,
      services: [{ name: 'shop/web', clusterIPs: ['10.96.0.1', 'fd00:96::1'], assigned: ['192.0.2.1', '2001:db8::1'], ports: ['80/TCP'] }],
      slices: [
        { service: 'shop/web', ports: ['80/TCP'], endpoints: ['10.1.0.1@n1'] },
        { service: 'shop/web', name: 'web-6', ports: ['80/TCP'], endpoints: ['fd00:1::1@n1'] },
      ],
      pools: [{ name: 'public', addresses: ['192.0.2.0/28', '2001:db8::/120'] }],
    };

    test('draws a router once, with its sessions, and one arrow to each node', () => {
      const { routers, routes } = pathOf({ ...dual, peers, running: { n1: up, n2: up } });
      expect(routers.map(({ name, health }) => [name, health])).toEqual([
        ['tor1', 'good'],
        ['tor2-v4', 'good'],
      ]);
      expect(routers[0]?.sessions).toEqual([
        { peer: 'tor1-v4', address: '10.0.0.254', health: 'good' },
        { peer: 'tor1-v6', address: 'fd00::fe', health: 'good' },
      ]);
      expect(routes.map(({ from, to, health }) => [from, to, health])).toEqual(
        ['peer tor1', 'peer tor2-v4'].flatMap((from) => ['node n1', 'node n2'].map((to) => [from, to, 'good'])),
      );
    });

    test('draws it once for a Service of one family, with the session that does not carry it', () => {
      const { routers } = pathOf({ ...fabric, peers, running: { n1: up, n2: up } });
      expect(routers.map(({ name, sessions }) => [name, sessions.map(({ peer, health }) => `${peer} ${health}`)])).toEqual([
        ['tor1', ['tor1-v4 good', 'tor1-v6 off']],
        ['tor2-v4', ['tor2-v4 good']],
      ]);
    });

    test('shows which session is down at the router, and why at the one arrow', () => {
      const { 'tor1-v6': _, ...without } = up;
      const { routers, routes } = pathOf({ ...dual, peers, running: { n1: up, n2: without } });
      expect(routers[0]?.sessions.map(({ health }) => health)).toEqual(['good', 'doubtful']);
      const arrow = routes.find(({ from, to }) => from === 'peer tor1' && to === 'node n2');
      expect(arrow?.health).toBe('doubtful');
      expect(arrow?.whys.map(({ text }) => text).join()).toContain('tor1-v6');
    });

    test.each([
      [
        'AS numbers',
        [
          { name: 'tor1-v4', peerAddress: '10.0.0.254' },
          { name: 'tor1-v6', peerAddress: 'fd00::fe', peerASN: 64_999 },
        ],
        up,
      ],
      [
        'addresses of one family',
        [
          { name: 'tor1-v4', peerAddress: '10.0.0.254' },
          { name: 'tor1-v6', peerAddress: '10.0.2.254' },
        ],
        { ...up, 'tor1-v6': '10.0.2.254' },
      ],
      [
        'names that differ otherwise',
        [
          { name: 'tor1-v4', peerAddress: '10.0.0.254' },
          { name: 'tor9-v6', peerAddress: 'fd00::fe' },
        ],
        { ...up, 'tor9-v6': 'fd00::fe' },
      ],
    ])('keeps routers apart with %s', (what, two, running) => {
      const literal = { ...dual, peers: two, running: { n1: running, n2: running } };
      const snapshot = cluster(literal);
      const nodeStates = new Map(
        [...snapshot.nodeStates].map(([name, state]) => [
          name,
          {
            ...state,
            sessions: state.sessions.map((one) => (one.peer === 'tor1-v6' && what === 'AS numbers' ? { ...one, peerASN: 64_999 } : one)),
          },
        ]),
      );
      const explanation = explainService({ ...snapshot, nodeStates }, 'shop/web', now);
      if (explanation === undefined) throw new RangeError('no Service');
      const view = serviceView({
        explanation,
        endpoints: [],
        lines: [],
        wideLines: [],
        from: 'a test',
        kind: 'directory',
        at: '',
        mayCheck: false,
      });
      expect(view.path.routers.map(({ name }) => name)).toEqual(two.map(({ name }) => name));
    });
  });

  describe('its endpoints', () => {
    const at = (secondsAgo: number): string => new Date(now - secondsAgo * 1000).toISOString();
    const look = (endpoint: string, more: object) => ({ endpoint, ...more });
    const live = (looks: Readonly<Record<string, readonly object[]>>): Parameters<typeof lookedAtEndpoints>[1] =>
      new Map(
        Object.entries(looks).map(([node, endpoints]) => [
          node,
          { checks: [{ frontend: '192.0.2.1 TCP 80', service: 'shop/web', endpoints: endpoints as never }] },
        ]),
      );

    test('stand with their node and the last look of each agent', () => {
      const { endpoints } = pathOf(
        fabric,
        'shop/web',
        live({
          n1: [look('10.1.0.1:8080', { answered: at(12), refused: at(90) }), look('10.1.0.2:8080', { refused: at(5) })],
          n2: [look('10.1.0.2:8080', { answered: at(7) })],
        }),
      );
      expect(endpoints.nodes).toEqual([
        { node: 'n1', health: 'good', summary: '', endpoints: [{ address: '10.1.0.1', health: 'good', look: 'answered 12 s ago on n1' }] },
        {
          node: 'n2',
          health: 'doubtful',
          summary: '',
          endpoints: [{ address: '10.1.0.2', health: 'doubtful', look: 'refused 5 s ago on n1, answered 7 s ago on n2' }],
        },
      ]);
    });

    test.each([
      ['silent', { silent: at(9) }, 'bad', 'gave no answer 9 s ago on n1'],
      ['dropped', { answered: at(300), dropped: at(4) }, 'bad', 'dropped by a filter 4 s ago on n1'],
      ['not routable', { answered: at(1), way: 'no route' }, 'bad', 'no way to it on n1'],
      ['unseen', {}, 'unknown', 'no connection seen'],
    ])('that are %s are drawn so, over IPv6 too', (_, more, health, text) => {
      const slices = [{ service: 'shop/web', ports: ['80/TCP'], endpoints: ['fd00::1@n1'] }];
      const { endpoints } = pathOf({ ...fabric, slices }, 'shop/web', live({ n1: [look('[fd00::1]:8080', more)] }));
      expect(endpoints.nodes[0]?.endpoints).toEqual([{ address: 'fd00::1', health, look: text }]);
    });

    test('without a queried agent are not said to be unseen', () => {
      expect(pathOf(fabric).endpoints.nodes.flatMap(({ endpoints }) => endpoints.map(({ health, look: text }) => [health, text]))).toEqual([
        ['unknown', ''],
        ['unknown', ''],
      ]);
    });

    test.each([limits.drawnEndpoints, limits.drawnEndpoints + 1])('%d of them: one by one up to the limit, beyond it by node', (count) => {
      const addresses = Array.from({ length: count }, (__, index) => `10.1.0.${index + 1}@n${(index % 2) + 1}`);
      const slices = [{ service: 'shop/web', ports: ['80/TCP'], endpoints: addresses }];
      const { endpoints } = pathOf({ ...fabric, slices }, 'shop/web', live({ n1: [look('10.1.0.2:8080', { refused: at(5) })] }));
      const isGrouped = count > limits.drawnEndpoints;
      expect(endpoints.nodes.flatMap((node) => node.endpoints)).toHaveLength(isGrouped ? 0 : count);
      expect(endpoints.nodes.map(({ node, summary }) => [node, summary])).toEqual(
        isGrouped
          ? [
              ['n2', '10 endpoints: 1 failing, 9 without a connection seen'],
              ['n1', '11 endpoints: 11 without a connection seen'],
            ]
          : [
              ['n1', ''],
              ['n2', ''],
            ],
      );
    });
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
    const { path } = serviceView({
      explanation: { ...explanation, nodes },
      endpoints: [],
      lines: [],
      wideLines: [],
      from: '',
      kind: 'directory',
      at: '',
      mayCheck: false,
    });
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
    unanswered: [],
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

describe('a check', () => {
  const probe = { type: 'probe', what: 'endpoint', protocol: 'TCP' } as const;
  const input = {
    service: 'shop/web',
    nodes: [
      { node: 'n1', lines: [{ ...probe, to: '10.1.0.1:8080', result: 'answered', milliseconds: 1 }, { type: 'end' }] },
      { node: 'n2', lines: [{ ...probe, to: '10.1.0.1:8080', result: 'refused', milliseconds: 2 }, { type: 'end' }] },
    ],
    expected: ['n1', 'n2'],
    external: new Set(),
    routers: [],
    received: [],
    unchecked: [{ what: 'the client here', why: '--no-client' }],
    hasEndpoints: true,
  };

  test('has the rows of the command, failures first, and what was not checked', () => {
    const nameOf = (): undefined => undefined;
    const report = checkReport(input as never, nameOf);
    const lines = renderCheck(report, nameOf, false);
    const view = checkView({ report, nameOf, lines, at: '2026-01-01T00:00:00Z' });
    expect(view.rows).toEqual([
      { from: 'n2', to: '10.1.0.1:8080/TCP', result: 'refused', time: '2.0 ms', health: 'bad' },
      { from: 'n1', to: '10.1.0.1:8080/TCP', result: 'answered', time: '1.0 ms', health: 'good' },
    ]);
    expect([view.verdict, view.health]).toEqual([lines[0], 'bad']);
    expect(view.unchecked).toEqual([{ what: 'the client here', why: '--no-client', fix: '' }]);
    for (const { from, result } of view.rows) expect(lines.join('\n')).toMatch(new RegExp(`^${from} .* ${result} `, 'm'));
  });
});
