import { describe, expect, test } from 'vitest';
import { version } from '../../../../src/model/objects/version.ts';
import { renderService } from '../../../../src/explain/service/render-service.ts';
import type { NodeExplanation } from '../../../../src/explain/service/service-node.ts';
import { explainService, type ServiceExplanation } from '../../../../src/explain/service/service.ts';
import type { NodeState, SessionStatus } from '../../../../src/model/objects/node-state.ts';
import { reason, reasonText, remedyText, type Reason } from '../../../../src/model/reasons.ts';
import { cluster, metadata, type ClusterLiteral } from '../../decisions/fixtures.ts';

const now = Date.UTC(2026, 0, 1);

const key = 'shop/web' as const;

/** Two nodes, two peers, one dual-stack Service with TCP and UDP. */
const fabric: ClusterLiteral = {
  services: [
    { name: key, clusterIPs: ['10.96.0.1', 'fd00:96::1'], ports: ['http:80/TCP', 'echo:80/UDP'], assigned: ['192.0.2.1', '2001:db8::1'] },
  ],
  slices: [
    { service: key, ports: ['http:8080/TCP', 'echo:8080/UDP'], endpoints: ['10.244.1.1@n1', '10.244.2.1@n2', '10.244.2.2@n2 notready'] },
    { service: key, name: 'web-6', ports: ['http:8080/TCP', 'echo:8080/UDP'], endpoints: ['fd00:1::1@n1', 'fd00:1::2@n1 draining'] },
  ],
  pools: [{ name: 'main', addresses: ['192.0.2.0/28', '2001:db8::/124'] }],
  peers: [
    { name: 'tor4', peerAddress: '10.0.0.254' },
    { name: 'tor6', peerAddress: 'fd00::254' },
  ],
  advertisements: [{ name: 'all' }],
  nodes: [{ name: 'n1' }, { name: 'n2' }],
};

function session(peer: string, state: SessionStatus['state'] = 'Established', lastError?: string): SessionStatus {
  const error = lastError === undefined ? {} : { lastError };
  return { peer, address: '', state, since: '', localASN: 64512, peerASN: 64513, prefixesSent: 1, ...error };
}

function state(name: string, sessions: readonly SessionStatus[], differing: NodeState['differing'] = []): NodeState {
  return { kind: 'NodeState', metadata: metadata(name), updated: new Date(now).toISOString(), version, consumed: {}, sessions, differing };
}

const up = [session('tor4'), session('tor6')];

function explain(literal: ClusterLiteral, states: readonly NodeState[]): ServiceExplanation {
  const nodeStates = new Map(states.map((state) => [state.metadata.name, state]));
  const explanation = explainService({ ...cluster(literal), nodeStates }, key, now);
  if (explanation === undefined) throw new RangeError('no such Service');
  // The result is plain data: a bigint would throw here, a class or undefined would get lost.
  expect(JSON.parse(JSON.stringify(explanation))).toMatchObject({ service: key });
  return explanation;
}

/** Maps "192.0.2.1 tor4" to the announced prefixes, or to the code of the reason. */
function matrix({ addresses }: NodeExplanation): Record<string, string> {
  const cells = addresses.flatMap(({ address, peers, reason: because }) => {
    if (peers.length === 0) return [[address, because?.code ?? '']];
    return peers.map((peer) => [`${address} ${peer.peer}`, peer.reason?.code ?? peer.prefixes.join(' ')]);
  });
  return Object.fromEntries(cells) as Record<string, string>;
}

function onNode(explanation: ServiceExplanation, name: string): NodeExplanation {
  const found = explanation.nodes.find(({ node }) => node === name);
  if (found === undefined) throw new RangeError(name);
  return found;
}

describe('explainService', () => {
  test('a Service that does not exist has no explanation', () => {
    expect(explainService(cluster(fabric), 'shop/none', now)).toBeUndefined();
  });

  test('announced routes are listed node by node and peer by peer', () => {
    const explanation = explain(fabric, [state('n1', up), state('n2', up)]);
    expect(explanation.nodes.map(({ node, problem }) => ({ node, problem }))).toEqual([
      { node: 'n1', problem: undefined },
      { node: 'n2', problem: undefined },
    ]);
    expect(matrix(onNode(explanation, 'n1'))).toEqual({
      '192.0.2.1 tor4': '192.0.2.1/32',
      '192.0.2.1 tor6': 'PeerFamilyNotCarried',
      '2001:db8::1 tor4': 'PeerFamilyNotCarried',
      '2001:db8::1 tor6': '2001:db8::1/128',
      '10.96.0.1': 'NoAdvertisement',
      'fd00:96::1': 'NoAdvertisement',
    });
    // Two load balancer addresses and two ClusterIPs, each TCP and UDP.
    expect(onNode(explanation, 'n1').frontends).toBe(8);
  });

  test('frontends of another program are counted, and a route that waits for one of its rules says so', () => {
    const waits = reason('AwaitsForwarding', { frontend: '192.0.2.1 TCP 80' });
    const differing = (['Programmed', 'Announced'] as const).map((aspect) => ({ service: key, aspect, reason: waits }));
    const explanation = explain({ ...fabric, config: { services: 'none' } }, [state('n1', up, differing), state('n2', up)]);
    expect(matrix(onNode(explanation, 'n1'))).toMatchObject({
      '192.0.2.1 tor4': 'AwaitsForwarding',
      '2001:db8::1 tor6': '2001:db8::1/128',
    });
    expect(matrix(onNode(explanation, 'n2'))).toMatchObject({ '192.0.2.1 tor4': '192.0.2.1/32' });
    expect(onNode(explanation, 'n2')).toMatchObject({ frontends: 0, elsewhere: 8 });
    expect(renderService(explanation)).toContain('  forwards 0 frontends, leaves 8 to another program');
    const external = explain({ ...fabric, config: { services: 'external' } }, [state('n1', up)]);
    expect(onNode(external, 'n1')).toMatchObject({ frontends: 4, elsewhere: 4 });
  });

  test("an address that is recorded for two Services is reported as the other's", () => {
    const services = [{ name: 'shop/a', assigned: ['192.0.2.1'] }, ...(fabric.services ?? [])];
    const node = onNode(explain({ ...fabric, services }, [state('n1', up), state('n2', up)]), 'n1');
    expect(matrix(node)).toMatchObject({ '192.0.2.1': 'AddressHeldTwice', '2001:db8::1 tor6': '2001:db8::1/128' });
    expect(node.forwarding.map(({ code }) => code)).toEqual(['AddressHeldTwice']);
  });

  test('endpoints count for each family when they differ: ready, terminating but serving, not usable', () => {
    const four = { ready: 2, terminating: 0, unusable: 1 };
    const six = { ready: 1, terminating: 1, unusable: 0 };
    const explanation = explain(fabric, []);
    expect(explanation.endpoints).toEqual({
      ...four,
      byFamily: [
        { family: 'IPv4', ...four },
        { family: 'IPv6', ...six },
      ],
    });
    expect(renderService(explanation)).toContain(
      'Endpoints  IPv4: 2 ready, 1 not usable; IPv6: 1 ready, 1 terminating but serving, 0 not usable',
    );
  });

  test('a pod of a dual-stack Service counts once, and slices of a family that it lacks do not count', () => {
    const slices = [
      { service: key, ports: ['http:8080/TCP'], endpoints: ['10.244.1.1@n1', '10.244.2.1@n2'] },
      { service: key, name: 'web-6', ports: ['http:8080/TCP'], endpoints: ['fd00:1::1@n1', 'fd00:1::2@n2'] },
    ];
    expect(explain({ ...fabric, slices }, []).endpoints).toEqual({ ready: 2, terminating: 0, unusable: 0 });
    const services = [{ name: key, clusterIPs: ['10.96.0.1'], ports: ['http:80/TCP'] }];
    expect(explain({ ...fabric, services, slices: [...slices, ...slices.slice(1)] }, []).endpoints).toMatchObject({ ready: 2 });
  });

  test('the balancing of connections from outside is explained', () => {
    const [web] = fabric.services ?? [];
    const said = (service: object, config = {}): string | undefined =>
      renderService(explain({ ...fabric, services: [{ ...web, name: key, ...service }], config }, [])).find((line) =>
        line.startsWith('Balancing'),
      );
    expect(said({})).toBe('Balancing  random');
    const consistent = 'the same on every node (251 slots)';
    expect(said({ loadBalancing: 'consistent' })).toBe(`Balancing  consistent: by source address and port, ${consistent}`);
    const many = Array.from({ length: 63 }, (_, index) => `10.244.3.${index}@n1`);
    const slices = [{ service: key, ports: ['http:8080/TCP'], endpoints: many }];
    expect(renderService(explain({ ...fabric, services: [{ ...web, name: key, loadBalancing: 'consistent' }], slices }, []))).toContain(
      `Balancing  consistent: by source address and port, ${consistent.replace('251', '1021')}`,
    );
    expect(said({ affinitySeconds: 60 }, { consistentHashing: true })).toBe(
      `Balancing  consistent: by source address, ${consistent}; NodePorts and ClusterIPs random`,
    );
    expect(said({ loadBalancing: 'consistent', externalTrafficPolicy: 'Local' })).toBe(
      'Balancing  consistent: by source address and port (251 slots)',
    );
    expect(said({ loadBalancing: 'round-robin' })).toBe('Balancing  round-robin');
    expect(said({}, { loadBalancing: 'destination-hash' })).toBe(`Balancing  destination-hash: by destination address, ${consistent}`);
    expect(said({ type: 'ClusterIP' }, { loadBalancing: 'weighted-round-robin' })).toBe('Balancing  weighted-round-robin');
    expect(said({ externalTrafficPolicy: 'Local' }, { consistentHashing: true })).toBe('Balancing  random');
    expect(said({ type: 'ClusterIP' }, { consistentHashing: true })).toBeUndefined();
    expect(said({ headless: true })).toBeUndefined();
  });

  test('a node without a ready local pod says so under policy Local, for that family only', () => {
    const [web] = fabric.services ?? [];
    const local = { ...fabric, services: [{ ...web, name: key, externalTrafficPolicy: 'Local' as const }] };
    const explanation = explain(local, [state('n1', up), state('n2', up)]);
    expect(matrix(onNode(explanation, 'n2'))).toMatchObject({ '192.0.2.1 tor4': '192.0.2.1/32', '2001:db8::1': 'NoLocalEndpoints' });
  });

  test('the health-check node port shows its answer, and why it does not answer', () => {
    const [web] = fabric.services ?? [];
    const local = { ...fabric, services: [{ ...web, name: key, externalTrafficPolicy: 'Local' as const, healthCheckNodePort: 32_000 }] };
    const because = reason('HealthCheckNotServed', { port: 32_000, family: 'IPv4', why: 'the port is in use' });
    const explanation = explain(local, [state('n1', up), state('n2', up, [{ service: key, aspect: 'HealthCheck', reason: because }])]);
    expect(onNode(explanation, 'n2')).toMatchObject({
      healthCheck: {
        port: 32_000,
        localEndpoints: [
          { family: 'IPv4', count: 1 },
          { family: 'IPv6', count: 0 },
        ],
      },
      forwarding: [because],
    });
    expect(matrix(onNode(explanation, 'n2'))).toMatchObject({ '192.0.2.1 tor4': '192.0.2.1/32' });
    expect(onNode(explain(fabric, []), 'n1')).not.toHaveProperty('healthCheck');
  });

  test('a node without a NodeState is silent', () => {
    const explanation = explain(fabric, [state('n1', up)]);
    expect(onNode(explanation, 'n2').problem).toEqual(reason('AgentSilent', { node: 'n2' }));
    expect(matrix(onNode(explanation, 'n2'))).toMatchObject({ '192.0.2.1 tor4': 'AgentSilent', '2001:db8::1 tor6': 'AgentSilent' });
    expect(matrix(onNode(explanation, 'n1'))).toMatchObject({ '192.0.2.1 tor4': '192.0.2.1/32' });
  });

  test('a session that is down shows its state and its last error', () => {
    const down = [session('tor4', 'Active', 'the peer refused: bad peer AS'), session('tor6')];
    const explanation = explain(fabric, [state('n1', down), state('n2', up)]);
    const [first] = onNode(explanation, 'n1').addresses;
    expect(first?.peers[0]).toMatchObject({
      peer: 'tor4',
      prefixes: ['192.0.2.1/32'],
      reason: reason('SessionDown', { peer: 'tor4', state: 'Active', lastError: 'the peer refused: bad peer AS' }),
    });
    expect(matrix(onNode(explanation, 'n1'))).toMatchObject({ '2001:db8::1 tor6': '2001:db8::1/128' });
  });

  test('a session without BFD warns at the addresses that it serves', () => {
    const details = { router: '', local: '', since: '', latest: '', why: 'no answer', profile: 'fast', tcpWorks: true };
    const warning = reason('BFDDown', { peer: 'tor4', ...details });
    const explanation = explain(fabric, [state('n1', [{ ...session('tor4'), warning }, session('tor6')]), state('n2', up)]);
    const warned = onNode(explanation, 'n1').addresses.flatMap(({ address, peers }) =>
      peers.flatMap((one) => (one.warning ? [address] : [])),
    );
    expect(warned).toEqual(['192.0.2.1']);
    expect(renderService(explanation, 'brief').join('\n')).toContain('warning: BFD with "tor4"');
  });

  test('a session without a family is advised to carry it only when no other session with the AS does', () => {
    const notCarried = (literal: ClusterLiteral): string[] => {
      const six = onNode(explain(literal, [state('n1', up)]), 'n1').addresses.find(({ address }) => address === '2001:db8::1');
      const found = six?.peers.find(({ peer }) => peer === 'tor4')?.reason;
      return found === undefined ? [] : [reasonText(found), remedyText(found)];
    };
    const [tor4 = { name: 'tor4' }, tor6 = { name: 'tor6' }] = fabric.peers ?? [];
    const lacks = 'the session with "tor4" does not carry IPv6';
    expect(notCarried(fabric)).toEqual([`${lacks}; BGPPeers of the same AS that carry it: "tor6"`, '']);
    const advice = 'set dualStackAddressFamily: true on BGPPeer "tor4", or add a BGPPeer with an IPv6 address';
    expect(notCarried({ ...fabric, peers: [tor4] })).toEqual([lacks, advice]);
    expect(notCarried({ ...fabric, peers: [tor4, { ...tor6, peerASN: 65999 }] })).toEqual([lacks, advice]);
    expect(notCarried({ ...fabric, peers: [tor4, { ...tor6, adminDown: true }] })).toEqual([lacks, advice]);
    expect(notCarried({ ...fabric, advertisements: [{ name: 'all', peers: ['tor4'] }] })).toEqual([
      lacks,
      'set dualStackAddressFamily: true on BGPPeer "tor4", or name in spec.peers of BGPAdvertisement all a BGPPeer of this router that carries IPv6',
    ]);
  });

  test('a family that was not negotiated is the reason of the addresses of that family only', () => {
    const because = reason('PeerFamilyNotNegotiated', { peer: 'tor4', router: '', local: '', family: 'IPv6', isAdded: true });
    const both = { ...fabric, peers: [{ name: 'tor4', peerAddress: '10.0.0.254', dualStackAddressFamily: true }] };
    const differing = [{ service: key, aspect: 'Announced' as const, reason: because }];
    expect(matrix(onNode(explain(both, [state('n1', [session('tor4')], differing)]), 'n1'))).toMatchObject({
      '192.0.2.1 tor4': '192.0.2.1/32',
      '2001:db8::1 tor4': 'PeerFamilyNotNegotiated',
    });
  });

  test('a reason for one prefix, or for one prefix at one peer, is shown only there', () => {
    const about = (because: Reason): NodeState['differing'][number] => ({ service: key, aspect: 'Announced', reason: because });
    const unprotected = about(reason('UnreachableRouteMissing', { prefix: '192.0.2.1/32', error: 'no' }));
    expect(matrix(onNode(explain(fabric, [state('n1', up, [unprotected])]), 'n1'))).toMatchObject({
      '192.0.2.1 tor4': 'UnreachableRouteMissing',
      '2001:db8::1 tor6': '2001:db8::1/128',
    });
    const impossible = about(reason('RouteNotPossible', { peer: 'tor6', prefix: '2001:db8::1/128', why: 'no' }));
    expect(matrix(onNode(explain(fabric, [state('n1', up, [impossible])]), 'n1'))).toMatchObject({
      '192.0.2.1 tor4': '192.0.2.1/32',
      '2001:db8::1 tor6': 'RouteNotPossible',
    });
  });

  test('a session that is up although its Secret is missing has a warning', () => {
    const [, tor6] = fabric.peers ?? [];
    const peers = [{ name: 'tor4', passwordSecret: { namespace: 'herald', name: 'bgp' } }, ...(tor6 === undefined ? [] : [tor6])];
    const since = '2026-01-01T00:00:00Z';
    const explanation = explain({ ...fabric, peers }, [
      state(
        'n1',
        up.map((session) => ({ ...session, since })),
      ),
      state('n2', up),
    ]);
    expect(onNode(explanation, 'n1').addresses[0]?.peers[0]).toMatchObject({
      prefixes: ['192.0.2.1/32'],
      warning: { code: 'PeerPasswordGone' },
    });
    expect(renderService(explanation).join('\n')).toContain('    warning: Secret herald/bgp of "tor4" cannot be used: it does not exist; ');
    expect(onNode(explanation, 'n2').addresses[0]?.peers[0]).toMatchObject({ reason: { code: 'PeerPasswordMissing' } });
  });

  test('a session that the agent does not know yet is down', () => {
    const explanation = explain(fabric, [state('n1', [session('tor6')])]);
    expect(onNode(explanation, 'n1').addresses[0]?.peers[0]?.reason).toMatchObject({
      code: 'SessionDown',
      details: { state: 'unknown to the agent', lastError: '' },
    });
  });

  test('a session that the agent does not report is unknown when the agent is of another version', () => {
    const { version: _, ...older } = state('n1', [session('tor6')]);
    const explanation = explain(fabric, [older]);
    const because = onNode(explanation, 'n1').addresses[0]?.peers[0]?.reason;
    expect(because).toMatchObject({
      code: 'AgentOtherVersion',
      details: { node: 'n1', version: '', what: 'a session with BGPPeer "tor4"' },
    });
    expect(because && reasonText(because)).toBe(
      'the agent of node "n1" is of an older version and does not report a session with BGPPeer "tor4"',
    );
    expect(renderService(explanation).join('\n')).not.toContain('check on both sides: address');
  });

  test('a damped session shows until when, how often it flapped, and how to retry now', () => {
    const flapping = {
      ...session('tor4', 'Idle', 'reset by the peer'),
      damping: { penalty: 4000, flapsInLastHour: 4, until: '2026-01-01T00:00:20Z' },
    };
    const explanation = explain(fabric, [state('n1', [flapping, session('tor6')])]);
    expect(onNode(explanation, 'n1').addresses[0]?.peers[0]?.reason).toMatchObject({ code: 'SessionHeldBack' });
    // The end of the hold and the count change, and the line is the text of the condition.
    expect(explanation.verdict.line).not.toMatch(/2026|\b4 times/);
    const told = renderService(explanation).join('\n');
    expect(told).toContain(
      'the session with "tor4" is held back until 2026-01-01T00:00:20Z, because it went down 4 times in the last hour, last because: reset by the peer',
    );
    expect(told).toMatch(/fix: .*flapDamping: false in BGPPeer "tor4"/);
  });

  test('a session that waits for BFD says so, and names what to check', () => {
    const bfd = { state: 'Down', since: '2026-01-01T00:00:00Z', awaited: 'it is Down, control detection time expired' } as const;
    const damping = { penalty: 4000, flapsInLastHour: 4, until: '2026-01-01T00:00:20Z' };
    const explanation = explain(fabric, [state('n1', [{ ...session('tor4', 'Idle', 'closed by us'), bfd, damping }, session('tor6')])]);
    expect(onNode(explanation, 'n1').addresses[0]?.peers[0]?.reason).toMatchObject({ code: 'BFDAwaited' });
    const told = renderService(explanation).join('\n');
    expect(told).toContain('the session with "tor4" waits for BFD (bfdStrict): it is Down, control detection time expired');
    expect(told).toMatch(/fix: .*UDP port 3784.*bfdStrict from BGPPeer "tor4"/);
  });

  const quarantined = (frontend: string): NodeState['differing'][number] => ({
    service: key,
    aspect: 'Programmed',
    reason: reason('FrontendQuarantined', { frontend, error: 'No space left on device' }),
  });
  const held = (frontend: string): NodeState['differing'][number] => ({
    service: key,
    aspect: 'Announced',
    reason: reason('NotProgrammed', { frontend }),
  });

  test('a quarantined frontend is shown under forwarding; the other port still attracts traffic', () => {
    const explanation = explain(fabric, [state('n1', up, [quarantined('192.0.2.1 TCP 80')])]);
    const node = onNode(explanation, 'n1');
    expect(node.forwarding).toEqual([quarantined('192.0.2.1 TCP 80').reason]);
    expect(matrix(node)).toMatchObject({ '192.0.2.1 tor4': '192.0.2.1/32' });
  });

  test('an address without any frontend in the kernel is held back, and the other address is not', () => {
    const differing = [quarantined('192.0.2.1 TCP 80'), quarantined('192.0.2.1 UDP 80'), held('192.0.2.1 TCP 80')];
    const node = onNode(explain(fabric, [state('n1', up, differing)]), 'n1');
    expect(matrix(node)).toMatchObject({ '192.0.2.1 tor4': 'NotProgrammed', '2001:db8::1 tor6': '2001:db8::1/128' });
  });

  test('an address that the agent does not name is found by its quarantined frontends', () => {
    const all = ['192.0.2.1 TCP 80', '192.0.2.1 UDP 80', '2001:db8::1 TCP 80', '2001:db8::1 UDP 80'];
    const node = onNode(explain(fabric, [state('n1', up, [...all.map(quarantined), held('192.0.2.1 TCP 80')])]), 'n1');
    expect(matrix(node)).toMatchObject({ '192.0.2.1 tor4': 'NotProgrammed', '2001:db8::1 tor6': 'NotProgrammed' });
  });

  test('reports about other Services are ignored', () => {
    const other = { ...held('192.0.2.1 TCP 80'), service: 'shop/other' as const };
    expect(matrix(onNode(explain(fabric, [state('n1', up, [other])]), 'n1'))).toMatchObject({ '192.0.2.1 tor4': '192.0.2.1/32' });
  });

  test('an agent without a Node object is reported', () => {
    const explanation = explain(fabric, [state('stray', up)]);
    expect(matrix(onNode(explanation, 'stray'))).toMatchObject({ '192.0.2.1': 'NodeUnknown' });
  });

  test('a Service without an address announces nothing and has a reason', () => {
    const [web] = fabric.services ?? [];
    const explanation = explain({ ...fabric, services: [{ ...web, name: key, assigned: [] }] }, [state('n1', up)]);
    expect(onNode(explanation, 'n1').reason?.code).toBe('NoAddress');
  });

  test('a password never appears', () => {
    const secret = {
      ...fabric,
      peers: [
        { name: 'tor4', password: 'correct-horse' },
        { name: 'tor6', peerAddress: 'fd00::254' },
      ],
    };
    expect(JSON.stringify(explain(secret, [state('n1', up)]))).not.toContain('correct-horse');
  });

  test('a stale report does not count, but its age is shown', () => {
    const last = state('n1', up);
    const stale = explainService({ ...cluster(fabric), nodeStates: new Map([['n1', last]]) }, 'shop/web', now + 91_000);
    expect(stale?.nodes.find(({ node }) => node === 'n1')).toMatchObject({ problem: { code: 'AgentSilent' }, reportedSecondsAgo: 91 });
    const fresh = explainService({ ...cluster(fabric), nodeStates: new Map([['n1', last]]) }, 'shop/web', now + 90_000);
    expect(fresh?.nodes.find(({ node }) => node === 'n1')).not.toHaveProperty('problem');
  });

  test('an agent that was stopped is reported once for the node', () => {
    const stopped: NodeState = {
      ...state('n1', [session('tor4', 'Idle', 'closed by us')]),
      problem: reason('AgentStopped', { node: 'n1' }),
    };
    const { problem, addresses } = onNode(explain(fabric, [stopped]), 'n1');
    expect(problem?.code).toBe('AgentStopped');
    expect(new Set(addresses.flatMap(({ peers }) => peers.map((peer) => peer.reason?.code)))).toContain('AgentStopped');
  });
});
