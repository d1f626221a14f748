import { describe, expect, test } from 'vitest';
import { reachabilityText } from '../../../../src/explain/service/reachability-text.ts';
import { explainService } from '../../../../src/explain/service/service.ts';
import type { Verdict } from '../../../../src/decisions/verdict/verdict.ts';
import type { ChecksReport, FailingEndpoints, NodeState, SessionStatus } from '../../../../src/model/objects/node-state.ts';
import { reason, type Reason } from '../../../../src/model/reasons.ts';
import { cluster, matching, metadata, type ClusterLiteral, type ServiceLiteral } from '../fixtures.ts';

const now = Date.UTC(2026, 0, 1);
const key = 'shop/web';

/** Three nodes with sessions to two routers in both families, and a dual-stack Service. */
const fabric: ClusterLiteral = {
  services: [{ name: key, clusterIPs: ['10.96.0.1', 'fd00:96::1'], ports: ['http:80/TCP'], assigned: ['192.0.2.1', '2001:db8::1'] }],
  slices: [
    { service: key, ports: ['http:8080/TCP'], endpoints: ['10.244.1.1@n1', '10.244.2.1@n2', '10.244.3.1@n3'] },
    { service: key, name: 'web-6', ports: ['http:8080/TCP'], endpoints: ['fd00:1::1@n1', 'fd00:2::1@n2', 'fd00:3::1@n3'] },
  ],
  pools: [{ name: 'main', addresses: ['192.0.2.0/28', '2001:db8::/124'] }],
  peers: [
    { name: 'tor1', peerAddress: '10.0.0.1' },
    { name: 'tor1-v6', peerAddress: 'fd00::1' },
    { name: 'tor2', peerAddress: '10.0.0.2' },
    { name: 'tor2-v6', peerAddress: 'fd00::2' },
  ],
  advertisements: [{ name: 'all' }],
  nodes: [{ name: 'n1' }, { name: 'n2' }, { name: 'n3' }],
};

const answeredFrontends = ['192.0.2.1 TCP 80', '2001:db8::1 TCP 80'];
const peers = ['tor1', 'tor1-v6', 'tor2', 'tor2-v6'];
const nodes = ['n1', 'n2', 'n3'];

function session(peer: string, lastError?: string): SessionStatus {
  const of = { peer, address: '', since: '', localASN: 64512, peerASN: 64513, prefixesSent: 1 };
  return lastError === undefined ? { ...of, state: 'Established' } : { ...of, state: 'Active', lastError };
}

/** `down`: sessions that are down, with their error. */
function state(name: string, down: Readonly<Record<string, string>> = {}, more: Partial<NodeState> = {}): NodeState {
  const sessions = peers.map((peer) => session(peer, down[peer]));
  return {
    kind: 'NodeState',
    metadata: metadata(name),
    updated: new Date(now).toISOString(),
    consumed: {},
    sessions,
    differing: [],
    checks: { mode: 'passive', answered: answeredFrontends, failing: [] },
    ...more,
  };
}

function withService(changes: Partial<ServiceLiteral>): ClusterLiteral {
  const [web] = fabric.services ?? [];
  return { ...fabric, services: [{ ...web, name: key, ...changes }] };
}

function verdict(literal: ClusterLiteral, states: readonly NodeState[] = nodes.map((node) => state(node))): Verdict {
  const nodeStates = new Map(states.map((one) => [one.metadata.name, one]));
  const explanation = explainService({ ...cluster(literal), nodeStates }, key, now);
  if (explanation === undefined) throw new RangeError('no such Service');
  return explanation.verdict;
}

const refused = 'connection refused by 10.0.0.1';
const everywhere = (down: Readonly<Record<string, string>>): NodeState[] => nodes.map((node) => state(node, down));
const tor1 = { tor1: refused, 'tor1-v6': refused };
const both = { ...tor1, tor2: refused, 'tor2-v6': refused };
const pending = { assigned: [] };

/** The reports of all nodes. `n1` saw these failures. */
function seeing(answered: readonly string[], failing: readonly FailingEndpoints[] = []): NodeState[] {
  const checks = (node: string): ChecksReport => ({ mode: 'passive', answered, failing: node === 'n1' ? failing : [] });
  return nodes.map((node) => state(node, {}, { checks: checks(node) }));
}

function failing(areAll: boolean, node = 'n1'): FailingEndpoints {
  const because = reason('EndpointRefuses', { node, endpoints: '10.244.3.1:8080' });
  return { service: key, family: 'IPv4', port: '80/TCP', areAll, reason: because };
}

describe('connections that agents saw', () => {
  test('none: the Service is announced and not checked', () => {
    expect(verdict(fabric, seeing([]))).toEqual({
      outcome: 'announced',
      line: 'Announced, not checked: 192.0.2.1 and 2001:db8::1 via n1, n2 and n3; no answer to a connection was seen lately. Check it: herald check service shop/web.',
      fix: 'Check it: herald check service shop/web.',
    });
  });

  test('none, and routers pass the routes on to nobody: the line says so', () => {
    const { line } = verdict({ ...fabric, advertisements: [{ name: 'all', communities: ['no-advertise'] }] }, seeing([]));
    expect(line).toContain('seen lately. Their routes carry no-advertise (spec.communities of the BGPAdvertisement)');
  });

  test('at one of two addresses: the other is named', () => {
    const { outcome, line } = verdict(fabric, seeing(['192.0.2.1 TCP 80']));
    expect(outcome).toBe('announced');
    expect(line).toContain('no answer to a connection to 2001:db8::1 was seen lately');
  });

  test('agents of an older version, or checks that are off: the line says that nobody looks', () => {
    const older = nodes.map((node) => state(node, {}, { checks: undefined as never }));
    expect(verdict(fabric, older).line).toContain('via n1, n2 and n3; no agent reports what it saw.');
    expect(verdict({ ...fabric, config: { checks: 'off' } }).line).toContain('answered in the last 10 minutes');
    expect(verdict({ ...fabric, config: { checks: 'off' } }, seeing([])).line).toContain('; checks are off (HeraldConfig).');
  });

  test('the report of an agent that is silent says nothing any more', () => {
    const stale = { updated: new Date(now - 600_000).toISOString() };
    const states = [state('n1'), state('n2'), state('n3')].map((one) => ({ ...one, checks: { ...one.checks, answered: [] } }) as NodeState);
    expect(verdict(fabric, [...states.slice(0, 2), { ...state('n3'), ...stale }]).outcome).toBe('announced');
  });

  test('refused by some endpoints of one node: not fully served, with node and endpoint', () => {
    expect(verdict(fabric, seeing(answeredFrontends, [failing(false)]))).toMatchObject({
      outcome: 'partly',
      code: 'EndpointRefuses',
      field: 'spec.ports',
      line: expect.stringMatching(
        /^Not fully served: connections to 10\.244\.3\.1:8080 are refused \(seen on n1\)\. Let the program/,
      ) as unknown,
    });
  });

  test('dropped by a filter of the node that its agent found: the line names the chain and what accepts them', () => {
    const dropped = { ...failing(true), reason: reason('EndpointDropped', { node: 'n1', endpoints: '10.244.3.1:8080' }) };
    const filter = (chain: string) => reason('ForwardFilterDrops', { chain, how: 'its policy is drop', remedy: 'run: nft insert rule' });
    const found = (chain: string): Verdict => {
      const [first, ...others] = seeing([], [dropped]);
      return verdict(fabric, [{ ...first, host: [filter(chain)] } as NodeState, ...others]);
    };
    expect(found('forward of table inet hostfw')).toMatchObject({ code: 'EndpointDropped', fix: 'Run: nft insert rule.' });
    expect(found('forward of table inet hostfw').line).toContain(
      'a filter of the node that passes them on: chain forward of table inet hostfw drops the packets of Services that none of its other rules accepts',
    );
    for (const other of ['forward of table ip6 filter', 'FORWARD of ip6tables-legacy'])
      expect(found(other).fix).toMatch(/^Find the rule on node "n1"/);
    for (const ours of ['forward of table ip filter', 'FORWARD of iptables-legacy']) expect(found(ours).fix).toBe('Run: nft insert rule.');
  });

  describe('dropped by a filter that the agent has followed', () => {
    const frontends = answeredFrontends;
    const filtered = (node: string, share: 'all' | 'some', which: readonly string[] = frontends): NodeState => {
      const details = { node, chain: 'c of table inet fw', hook: 'forward', effect: 'drops', targets: '10.244.1.1:8080 (TCP)', when: '' };
      const because = reason('ServiceFiltered', {
        ...details,
        how: 'by rule 1 (drop)',
        frontends: which.join(', '),
        share,
        remedy: 'run: nft insert rule',
      });
      return state(node, {}, { differing: [{ service: key, aspect: 'Programmed', reason: because }] });
    };
    const text = 'chain c of table inet fw (hook forward) drops connections to 10.244.1.1:8080 (TCP): by rule 1 (drop)';

    test.each<[string, readonly NodeState[], Partial<Verdict>]>([
      [
        'on every node: not served, although connections were answered before',
        nodes.map((node) => filtered(node, 'all')),
        { outcome: 'notServed', object: 'Node/n1', line: `Not served: ${text} (the same on all 3 nodes). Run: nft insert rule.` },
      ],
      [
        'on one node: not fully served',
        [filtered('n1', 'all'), state('n2'), state('n3')],
        { outcome: 'partly', line: `Not fully served: ${text} (on n1). Run: nft insert rule.` },
      ],
      [
        'to some endpoints on every node: not fully served',
        nodes.map((node) => filtered(node, 'some')),
        { outcome: 'partly', line: `Not fully served: ${text} (the same on all 3 nodes). Run: nft insert rule.` },
      ],
      [
        'over one family: not served over it',
        nodes.map((node) => filtered(node, 'all', frontends.slice(1))),
        {
          outcome: 'partly',
          line: `Announced over IPv4, but not served over IPv6 at 2001:db8::1: ${text} (the same on all 3 nodes). Run: nft insert rule.`,
        },
      ],
      ['at another port: served', nodes.map((node) => filtered(node, 'all', ['192.0.2.1 TCP 81'])), { outcome: 'served' }],
    ])('%s', (_, states, expected) => {
      expect(verdict(fabric, states)).toMatchObject(expected);
    });

    describe('beyond a rate', () => {
      const limit = (frontend: string): NodeState['differing'][number] => {
        const details = {
          node: 'n1',
          chain: 'c of table inet fw',
          hook: 'forward',
          effect: 'drops',
          targets: '10.244.1.1:8080 (TCP)',
          when: '',
        };
        const how = 'only 5 packets a second pass, by rule 1 (limit rate over 5/second drop)';
        const because = reason('ServiceLimited', { ...details, how, frontends: frontend, share: 'some', remedy: 'run: nft insert rule' });
        return { service: key, aspect: 'Programmed', reason: because };
      };
      const said =
        'chain c of table inet fw (hook forward) drops a share of connections to 10.244.1.1:8080 (TCP): only 5 packets a second pass, by rule 1 (limit rate over 5/second drop) (on n1)';
      const fix = 'If clients need more, raise the limit of this rule, or run: nft insert rule.';
      const with1 = (frontend: string, checked: readonly FailingEndpoints[]): NodeState[] => [
        { ...(seeing(frontends, checked)[0] as NodeState), differing: [limit(frontend)] },
        ...seeing(frontends).slice(1),
      ];

      test('of which no loss was seen: announced or served, but not without a limit', () => {
        expect(verdict(fabric, with1('192.0.2.1 TCP 80', []))).toMatchObject({
          outcome: 'served',
          code: 'ServiceLimited',
          line: `Announced, but not without a limit: ${said}. ${fix}`,
        });
      });

      test('of which losses were seen: not fully served', () => {
        const silent = { ...failing(false), reason: reason('EndpointDropped', { node: 'n1', endpoints: '10.244.1.1:8080' }) };
        expect(verdict(fabric, with1('192.0.2.1 TCP 80', [silent]))).toMatchObject({
          outcome: 'partly',
          line: `Not fully served: ${said}. ${fix}`,
        });
      });

      test('at another port: served', () => {
        expect(verdict(fabric, with1('192.0.2.9 TCP 80', []))).toMatchObject({
          outcome: 'served',
          line: expect.stringMatching(/^Served: /) as unknown,
        });
      });
    });

    test('on the node of the endpoints, which explains why others get no answer: not served', () => {
      const details = {
        node: 'n3',
        chain: 'INPUT of table ip filter',
        hook: 'input',
        effect: 'rejects',
        targets: '10.0.0.3:6443 (TCP)',
        when: '',
      };
      const rule = { how: 'by rule 1 (-j REJECT)', frontends: '192.0.2.1 TCP 80', remedy: 'run: iptables -I INPUT' };
      const because = (share: 'all' | 'some') => reason('PassedFiltered', { ...details, ...rule, share });
      const silent = { ...failing(true), reason: reason('EndpointSilent', { node: 'n1', endpoints: '10.0.0.3:6443' }) };
      const states = (share: 'all' | 'some', checked: readonly FailingEndpoints[]): NodeState[] => [
        ...seeing([], checked).slice(0, 2),
        state('n3', {}, { differing: [{ service: key, aspect: 'Programmed', reason: because(share) }] }),
      ];
      const line =
        'chain INPUT of table ip filter (hook input) rejects connections to 10.0.0.3:6443 (TCP): by rule 1 (-j REJECT) (on n3). Run: iptables -I INPUT.';
      // A client may come by n3 itself, which this filter does not concern.
      expect(verdict(fabric, states('all', [silent])).line).toBe(`Not fully served: ${line}`);
      expect(verdict(fabric, states('some', [])).line).toBe(`Not fully served: ${line}`);
      const selective = {
        ...fabric,
        advertisements: [{ name: 'all', nodeSelectors: [matching({ edge: 'yes' })] }],
        nodes: [{ name: 'n1', labels: { edge: 'yes' } }, { name: 'n2' }, { name: 'n3' }],
      };
      expect(verdict(selective, states('all', [silent])).line).toMatch(
        /not served over IPv4 at 192\.0\.2\.1: chain INPUT .* \(on n3\)\. Run: iptables -I INPUT\.$/,
      );
    });

    test('and seen as dropped: the filter is named once', () => {
      const dropped = { ...failing(true), reason: reason('EndpointDropped', { node: 'n1', endpoints: '10.244.3.1:8080' }) };
      const checks = { mode: 'passive', answered: frontends, failing: [dropped] } as const;
      const states = [{ ...filtered('n1', 'all'), checks }, state('n2'), state('n3')];
      expect(verdict(fabric, states).line).toBe(`Not fully served: ${text} (on n1). Run: nft insert rule.`);
    });
  });

  test('refused by all endpoints on every node: not served over that family', () => {
    const states = nodes.map((node) =>
      state(node, {}, { checks: { mode: 'passive', answered: answeredFrontends, failing: [failing(true, node)] } }),
    );
    const { outcome, line } = verdict(fabric, states);
    expect(outcome).toBe('partly');
    expect(line).toMatch(/not served over IPv4 at 192\.0\.2\.1: connections to .* are refused \(the same on all 3 nodes\)/);
    const ipv4 = withService({ assigned: ['192.0.2.1'] });
    expect(verdict(ipv4, states).outcome).toBe('notServed');
  });

  test('answered, but the answers are lost on the way back: the line names the clients, the route and its interface', () => {
    const because = (node: string) =>
      reason('EndpointAnswersLost', { node, endpoints: '10.244.3.1:8080', clients: '10.9.0.0/24', interface: 'docker0', uplinks: 'eth0' });
    const states = nodes.map((node) =>
      state(node, {}, { checks: { mode: 'passive', answered: [], failing: [{ ...failing(true, node), reason: because(node) }] } }),
    );
    expect(verdict(withService({ assigned: ['192.0.2.1'] }), states)).toMatchObject({
      outcome: 'notServed',
      code: 'EndpointAnswersLost',
      line: 'Not served to clients in 10.9.0.0/24: answers of 10.244.3.1:8080 do not reach clients in 10.9.0.0/24: the route 10.9.0.0/24 of the node leads out by docker0, and clients come by eth0 (the same on all 3 nodes). On node "n1", remove the route, or give docker0 another network (of a bridge of Docker: bip in /etc/docker/daemon.json): ip route show 10.9.0.0/24 shows it.',
    });
  });

  test('not completed by clients, of which no route tells why: announced and not checked, whatever was answered before', () => {
    const doubt = reason('ClientsDoNotComplete', { node: 'n1', endpoints: '10.244.3.1:8080' });
    const { outcome, line, code } = verdict(fabric, seeing(answeredFrontends, [{ ...failing(false), reason: doubt }]));
    expect([outcome, code]).toEqual(['announced', undefined]);
    expect(line).toMatch(
      /^Announced, not checked: 192\.0\.2\.1 and 2001:db8::1 via n1, n2 and n3: 10\.244\.3\.1:8080 answer connections, and clients do not complete them: .* \(seen on n1\)\. Check the way back .* Check it: herald check service shop\/web\.$/,
    );
  });

  test('refused at a port that another Service has: no failure of this one', () => {
    const other = { ...failing(true), service: 'shop/other' } as const;
    expect(verdict(fabric, seeing(answeredFrontends, [other, { ...failing(true), port: '81/TCP' }])).outcome).toBe('served');
  });
});

describe('an external IP that is the address of a node', () => {
  const literal: ClusterLiteral = {
    ...withService({ assigned: ['192.0.2.1'], externalIPs: ['10.1.0.12'] }),
    nodes: [{ name: 'n1' }, { name: 'n2', internalIPs: ['10.1.0.12'] }, { name: 'n3' }],
    externalIPPolicies: [{ cidrs: ['10.1.0.0/24'] }],
    advertisements: [{ name: 'all', addressTypes: ['LoadBalancer', 'ExternalIP'] }],
  };

  test('is served by that node without an announcement', () => {
    expect(verdict(literal, seeing(['192.0.2.1 TCP 80', '10.1.0.12 TCP 80'])).outcome).toBe('served');
    expect(verdict(literal, seeing(['192.0.2.1 TCP 80']))).toMatchObject({
      outcome: 'announced',
      line: expect.stringContaining('no answer to a connection to 10.1.0.12 was seen') as unknown,
    });
  });

  test('has a line that names the node', () => {
    const nodeStates = new Map(seeing([]).map((one) => [one.metadata.name, one]));
    const { clients = [] } = explainService({ ...cluster(literal), nodeStates }, key, now) ?? {};
    expect(clients.map(reachabilityText)).toContainEqual('10.1.0.12:80/TCP is served by n2, which has the address itself, not checked');
  });
});

test('EndpointSlices without ports, as Kubernetes writes them for an unknown name in targetPort: the Service has no endpoints', () => {
  const slices = [{ service: key, ports: [], endpoints: ['10.244.1.1@n1'] }];
  const found = verdict({ ...withService({ assigned: ['192.0.2.1'] }), slices });
  expect(found).toMatchObject({ outcome: 'notServed', code: 'NoEndpoints' });
});

test('the last report of a node that was removed says nothing any more', () => {
  const gone = state('n4', both, { updated: new Date(now - 600_000).toISOString() });
  expect(verdict(fabric, [...nodes.map((node) => state(node)), gone]).line).toMatch(
    /^Served: 192\.0\.2\.1 and 2001:db8::1 via n1, n2 and n3;/,
  );
});

test('EndpointSlices whose ports have other names: the ports are named, and not the selector', () => {
  const slices = [{ service: key, ports: ['web:8080/TCP'], endpoints: ['10.244.1.1@n1'] }];
  const found = verdict({ ...withService({ assigned: ['192.0.2.1'] }), slices });
  expect(found).toMatchObject({ outcome: 'notServed', code: 'EndpointPortsDiffer' });
  expect(found.line).toMatch(/the Service has the port "http" \(TCP\), and its EndpointSlices have "web" \(TCP\)/);
});

test('an advertisement for the Service on other nodes is named before one that leaves the Service out', () => {
  const advertisements = [
    { name: 'edge', nodeSelectors: [matching({ rack: 'b' })] },
    { name: 'others', serviceSelectors: [matching({ app: 'other' })] },
  ];
  expect(verdict({ ...fabric, advertisements }).line).toMatch(/^Not served: spec\.nodeSelectors of BGPAdvertisement edge/);
});

describe('the verdict', () => {
  test('names addresses and nodes when clients of every target are answered', () => {
    expect(verdict(fabric)).toEqual({
      outcome: 'served',
      line: 'Served: 192.0.2.1 and 2001:db8::1 via n1, n2 and n3; connections were answered in the last 10 minutes.',
    });
  });

  test('of a served Service has the hint that an uplink of the family and its router gets no connections', () => {
    const details = {
      interface: 'eth1',
      family: 'IPv6',
      prefix: '2001:db8::1/128',
      since: '2026-01-01T00:00:00Z',
      besides: 'eth0',
      connections: 100,
    };
    const hinted = (peer: string) => [
      state('n1', {}, { host: [reason('UplinkWithoutConnections', { ...details, peers: peer, before: 40 })] }),
      state('n2'),
      state('n3'),
    ];
    const { outcome, line, code } = verdict(fabric, hinted('tor2-v6'));
    expect({ outcome, code }).toEqual({ outcome: 'served', code: undefined });
    expect(line).toMatch(
      /^Served: 192\.0\.2\.1 and 2001:db8::1 via n1, n2 and n3; connections were answered in the last 10 minutes\. Perhaps not those of all clients: since 2026-01-01T00:00:00Z no connection over IPv6 has come in by eth1 \(BGPPeer tor2-v6\), while more than 100 first packets came in by eth0; before, 40 % came in by eth1 \(on n1\)\. Find out /,
    );
    expect(verdict(fabric, hinted('other')).line).not.toContain('Perhaps');
  });

  describe('of what a node cannot judge, or has set wrong, on one uplink', () => {
    const setting = {
      setting: 'net.ipv4.conf.eth1.forwarding',
      value: '0',
      wanted: '1',
      why: 'packets that come in by eth1 are dropped',
      error: '',
    };
    const undecided = {
      chain: 'c of table inet odd',
      rule: 'rule 1',
      looksAt: 'the mark',
      service: key,
      target: '10.244.1.1:8080',
      remedy: 'remove it',
    };
    const hints = {
      KernelSettingWrong: reason('KernelSettingWrong', setting),
      FilterNotDecided: reason('FilterNotDecided', { ...undecided, since: '2026-01-01T00:00:00Z' }),
      FiltersUnread: reason('FiltersUnread', { error: 'no nft' }),
      TrafficFilterUnread: reason('TrafficFilterUnread', { interface: 'eth0', filters: 'an XDP program (id 12)' }),
    };
    const lineWith = (because: Reason, answered: readonly string[]): string =>
      verdict(
        fabric,
        nodes.map((node) => state(node, {}, { host: [because], checks: { mode: 'passive', answered, failing: [] } })),
      ).line;

    test.each(Object.entries(hints))('%s is a hint while no answer was seen', (_, because) => {
      const line = lineWith(because, []);
      expect(line).toMatch(/^Announced, not checked: .*; no answer to a connection was seen lately\. Perhaps clients get no answer: /);
      expect(line).toMatch(/Check it: herald check service shop\/web\.$/);
    });

    test.each(Object.entries(hints))('%s is a hint beside answers only where it is of one uplink', (code, because) => {
      expect(lineWith(because, answeredFrontends).includes(' Perhaps not those of all clients: ')).toBe(code === 'KernelSettingWrong');
    });

    test('a setting of all interfaces, or a filter of the other family, is none', () => {
      const ofIPv6 = reason('FilterNotDecided', { ...undecided, chain: 'c of table ip6 odd' });
      const ofAll = reason('KernelSettingWrong', { ...setting, setting: 'net.netfilter.nf_conntrack_tcp_loose' });
      const only4 = { ...withService({ clusterIPs: ['10.96.0.1'], assigned: ['192.0.2.1'] }) };
      const line = (because: Reason): string =>
        verdict(
          only4,
          nodes.map((node) => state(node, {}, { host: [because], checks: { mode: 'passive', answered: [], failing: [] } })),
        ).line;
      expect([line(ofIPv6), line(ofAll)].filter((one) => one.includes('Perhaps'))).toEqual([]);
    });
  });

  test('names the source ranges that may connect', () => {
    expect(verdict(withService({ sourceRanges: ['198.51.100.0/24'] })).line).toBe(
      'Served to 198.51.100.0/24 only (spec.loadBalancerSourceRanges), and over IPv6 to everyone: no range is of that family: 192.0.2.1 and 2001:db8::1 via n1, n2 and n3; connections were answered in the last 10 minutes.',
    );
  });

  test('says that one family is served when the Service got one of two', () => {
    expect(verdict(withService({ assigned: ['192.0.2.1'] })).line).toMatch(/^Served.*192\.0\.2\.1/);
  });

  test.each<[string, ClusterLiteral, readonly NodeState[] | undefined, Partial<Verdict>]>([
    [
      'a full pool',
      {
        ...fabric,
        pools: [{ name: 'tiny', addresses: ['192.0.2.1/32'] }],
        services: [
          { name: 'shop/old', assigned: ['192.0.2.1'] },
          { name: key, assigned: [] },
        ],
      },
      undefined,
      {
        outcome: 'notServed',
        code: 'PoolFull',
        object: 'IPAddressPool/tiny',
        field: 'spec.addresses',
        line: 'Not served: pool tiny is full (1 of 1 IPv4 addresses). Add addresses to IPAddressPool tiny, or release shop/old.',
      },
    ],
    [
      'no controller has assigned an address',
      withService(pending),
      undefined,
      {
        outcome: 'notServed',
        code: 'NoAddress',
        line: 'Not served: the Service has no address yet: the controller has not assigned one. Check with herald status that a controller runs and leads.',
      },
    ],
    [
      'no session at all',
      fabric,
      everywhere(both),
      {
        outcome: 'notServed',
        code: 'SessionDown',
        object: 'BGPPeer/tor1',
      },
    ],
    [
      'no IPv6 session',
      fabric,
      everywhere({ 'tor1-v6': refused, 'tor2-v6': refused }),
      { outcome: 'partly', code: 'SessionDown', object: 'BGPPeer/tor1-v6' },
    ],
    ['one router is down', fabric, everywhere(tor1), { outcome: 'served', code: 'SessionDown', object: 'BGPPeer/tor1' }],
    ['one node has no session', fabric, [state('n1'), state('n2'), state('n3', both)], { outcome: 'served', code: 'SessionDown' }],
    [
      'no agent reports',
      fabric,
      [],
      {
        outcome: 'unknown',
        code: 'AgentSilent',
        line: 'Not known whether it is served: no agent reports for node "n1" (the same on all 3 nodes). Start the agent: the pod of DaemonSet herald-agent on n1; outside a cluster, herald agent --node n1.',
      },
    ],
    [
      'one agent is silent',
      fabric,
      [state('n1'), state('n2')],
      {
        outcome: 'served',
        code: 'AgentSilent',
        object: 'Node/n3',
        line: 'Announced, but not by every node: no agent reports for node "n3". Start the agent: the pod of DaemonSet herald-agent on n3; outside a cluster, herald agent --node n3.',
      },
    ],
    [
      'no endpoint is ready',
      { ...fabric, slices: [] },
      undefined,
      {
        outcome: 'notServed',
        code: 'NoEndpoints',
        line: "Not served: the Service has no endpoints. Check the Service's selector and the readiness of its pods.",
      },
    ],
    [
      'the only node with an endpoint has no session, under policy Local',
      {
        ...withService({ externalTrafficPolicy: 'Local' }),
        slices: [
          { service: key, ports: ['http:8080/TCP'], endpoints: ['10.244.3.1@n3'] },
          { service: key, name: 'web-6', ports: ['http:8080/TCP'], endpoints: ['fd00:3::1@n3'] },
        ],
      },
      [state('n1'), state('n2'), state('n3', both)],
      { outcome: 'notServed', code: 'SessionDown' },
    ],
    [
      'the kernel refuses its rules on one node',
      fabric,
      [
        state(
          'n1',
          {},
          {
            differing: (['Programmed'] as const).map((aspect) => ({
              service: key,
              aspect,
              reason: reason('FrontendQuarantined', { frontend: '192.0.2.1 TCP 80', error: 'EINVAL' }),
            })),
          },
        ),
        state('n2'),
        state('n3'),
      ],
      { outcome: 'served', code: 'FrontendQuarantined' },
    ],
    [
      'a port without endpoints',
      withService({ ports: ['http:80/TCP', 'admin:81/TCP'] }),
      undefined,
      {
        outcome: 'partly',
        code: 'PortWithoutEndpoint',
        field: 'spec.ports',
      },
    ],
  ])('is right when the cause is: %s', (_, literal, states, expected) => {
    expect(verdict(literal, states)).toMatchObject(expected);
  });
});

/** A Service of one family that asks for an address, beside another that holds 192.0.2.1. */
function asks(changes: Partial<ServiceLiteral>, holder: Partial<ServiceLiteral> = {}, more: Partial<ClusterLiteral> = {}): ClusterLiteral {
  const old = { name: 'shop/old', ports: ['80'], assigned: ['192.0.2.1'], ...holder };
  return { ...fabric, services: [old, { name: key, ports: ['80'], ...changes }], ...more };
}

const pools = [
  { name: 'public', addresses: ['192.0.2.0/30'] },
  { name: 'far', addresses: ['203.0.113.0/24'] },
];

describe('the line of a verdict', () => {
  test.each<[string, ClusterLiteral, string]>([
    [
      'the requested address is outside every pool',
      asks({ requested: ['192.0.2.9'] }, {}, { pools }),
      'Not served: requested address 192.0.2.9 is in no valid IPAddressPool; the nearest is public (192.0.2.0/30). Request an address of 192.0.2.0/30, or add 192.0.2.9 to spec.addresses of IPAddressPool public.',
    ],
    [
      'the held address is outside every pool',
      asks({ assigned: ['192.0.2.9'] }, {}, { pools }),
      'Not served: the Service keeps 192.0.2.9, which is in no valid IPAddressPool; the nearest is public (192.0.2.0/30). To have it announced, add 192.0.2.9 to spec.addresses of IPAddressPool public; or request another address.',
    ],
    [
      'the quota is reached',
      asks(
        {},
        {},
        { pools: [{ name: 'public', addresses: ['192.0.2.0/24'], quota: [{ namespaceSelector: matching({}), addresses: 1 }] }] },
      ),
      'Not served: the quota of pool public for namespace shop (1 address) has no room for 1 more. Raise spec.quota[0].addresses of IPAddressPool public, or delete a Service of namespace shop that holds one.',
    ],
    [
      'the requested address has a holder that does not share',
      asks({ requested: ['192.0.2.1'], sharingKey: 'web' }),
      'Not served: 192.0.2.1 is held by Service shop/old, and they may not share it: shop/old has no sharing key, and shop/web has sharing key "web"; both have port 80/TCP. Request another address; or, to share it: set herald.dev/allow-shared-ip of shop/old to "web"; change port 80/TCP of shop/web.',
    ],
    [
      'the sharing keys differ',
      asks({ requested: ['192.0.2.1'], sharingKey: 'web' }, { sharingKey: 'old' }),
      'Not served: 192.0.2.1 is held by Service shop/old, and they may not share it: shop/old has sharing key "old", and shop/web has sharing key "web"; both have port 80/TCP. Request another address; or, to share it: set herald.dev/allow-shared-ip of shop/web to "old"; change port 80/TCP of shop/web.',
    ],
    [
      'the policies of two sharers differ',
      asks({ requested: ['192.0.2.1'], sharingKey: 'web', ports: ['81'], externalTrafficPolicy: 'Local' }, { sharingKey: 'web' }),
      'Not served: 192.0.2.1 is held by Service shop/old, and they may not share it: shop/old has externalTrafficPolicy Cluster, and shop/web has Local. Request another address; or, to share it: set spec.externalTrafficPolicy: Cluster on shop/web.',
    ],
    [
      'the aggregate is too short',
      asks({ assigned: ['192.0.2.2'] }, {}, { pools, advertisements: [{ name: 'wide', aggregationLength: 24 }] }),
      'Not served: aggregationLength 24 of BGPAdvertisement wide would cover addresses outside 192.0.2.0/30 of IPAddressPool "public". Set spec.aggregationLength of BGPAdvertisement wide to 30 or more.',
    ],
    [
      'two BGPAdvertisements ask for different attributes',
      asks(
        { ports: ['http:80'], assigned: ['192.0.2.2'] },
        {},
        {
          pools,
          peers: [{ name: 'tor1', peerAddress: '10.0.0.1' }],
          advertisements: [
            { name: 'a', med: 1 },
            { name: 'b', med: 2 },
          ],
        },
      ),
      'Not served: BGPAdvertisements "a", "b" ask for different med on 192.0.2.2/32 to peer "tor1" (the same on all 3 nodes). Make spec.med of BGPAdvertisements "a", "b" equal, or let them select different pools, peers or nodes.',
    ],
    [
      'several pools refuse',
      asks(
        {},
        {},
        {
          pools: [
            { name: 'a', addresses: ['2001:db8::/64'] },
            { name: 'b', addresses: ['192.0.2.1/32'] },
            { name: 'c', addresses: ['203.0.113.0/24'], autoAssign: false },
          ],
        },
      ),
      'Not served: pool b is full (1 of 1 IPv4 addresses). Add addresses to IPAddressPool b, or release shop/old.',
    ],
  ])('names object, field and edit when %s', (_, literal, line) => {
    expect(verdict(literal).line).toBe(line);
  });
});

describe('maxNextHops', () => {
  const one = { ...fabric, advertisements: [{ name: 'all', maxNextHops: 1 }] };

  test('the line names the nodes that announce, and nodes that are left out are no failure', () => {
    const { outcome, line } = verdict(one);
    expect(outcome).toBe('served');
    expect(line).toMatch(/via n\d/);
    expect(line).not.toContain('not by every node');
  });

  test('a node that should announce and cannot is named, although another took its place', () => {
    const without = nodes.map((down) =>
      verdict(
        one,
        nodes.map((node) => state(node, node === down ? both : {})),
      ),
    );
    const named = without.filter(({ code }) => code === 'SessionDown');
    expect(named.length).toBeGreaterThan(0);
    for (const { outcome, line } of named) {
      expect(outcome).toBe('served');
      expect(line).toContain('not by every node');
    }
  });

  test('no session on any node: the Service is not served', () => {
    expect(verdict(one, everywhere(both))).toMatchObject({ outcome: 'notServed', code: 'SessionDown' });
  });
});
