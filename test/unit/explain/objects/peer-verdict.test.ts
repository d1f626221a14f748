import { describe, expect, test } from 'vitest';
import { explainPeer, renderPeer } from '../../../../src/explain/objects/peer.ts';
import { renderSessions } from '../../../../src/explain/sessions/render-sessions.ts';
import { sessionProblems } from '../../../../src/explain/overview/session-problems.ts';
import { causesOf } from '../../../../src/explain/sessions/session-causes.ts';
import { sessionReport } from '../../../../src/explain/sessions/session-report.ts';
import type { NodeState, SessionStatus } from '../../../../src/model/objects/node-state.ts';
import { reason, type Reason } from '../../../../src/model/reasons.ts';
import type { Snapshot } from '../../../../src/model/store/snapshot.ts';
import { cluster, metadata, type PeerLiteral } from '../../decisions/fixtures.ts';

const now = Date.UTC(2026, 0, 1, 12);
const names = ['n1', 'n2', 'n3'];
const tors: readonly PeerLiteral[] = [
  { name: 'tor1-v4', peerAddress: '10.1.0.1', peerASN: 65101, bfdProfile: 'fast' },
  { name: 'tor1-v6', peerAddress: 'fd00:1::1', peerASN: 65101 },
];

/** Nodes with addresses 10.0.0.1, 10.0.0.2, ..., and a report of each. `sessionOf` changes the session with a peer. */
function snapshotOf(
  sessionOf: (node: string, peer: string) => Partial<SessionStatus>,
  peers = tors,
  silent: readonly string[] = [],
): Snapshot {
  const literal = {
    nodes: names.map((name, index) => ({ name, internalIPs: [`10.0.0.${index + 1}`] })),
    peers,
    bfdProfiles: [{ name: 'fast' }],
  };
  const states = names
    .filter((name) => !silent.includes(name))
    .map((name): NodeState => ({
      kind: 'NodeState',
      metadata: metadata(name),
      updated: '2026-01-01T11:59:55Z',
      consumed: {},
      sessions: peers.map((peer) => ({
        peer: peer.name,
        address: peer.peerAddress ?? '',
        state: 'Established',
        since: '2026-01-01T09:00:00Z',
        localASN: 64512,
        peerASN: 65101,
        prefixesSent: 0,
        ...sessionOf(name, peer.name),
      })),
      differing: [],
    }));
  return { ...cluster(literal), nodeStates: new Map(states.map((one) => [one.metadata.name, one])) };
}

function lines(snapshot: Snapshot, peer = 'tor1-v4', node?: string): string[] {
  const found = explainPeer(snapshot, peer, now, { only: node });
  if (found === undefined) throw new Error('there is no such peer');
  return renderPeer(found, false);
}

const mismatch = (node: string, peer: string): Reason => {
  const local = peer.endsWith('6') ? `fd00:1::${node.slice(1)}` : `10.1.0.1${node.slice(1)}`;
  const router = peer.endsWith('6') ? 'fd00:1::1' : '10.1.0.1';
  const since = `2026-01-01T11:00:0${node.slice(1)}Z`;
  return reason('PeerASMismatch', { peer, router, local, since, latest: '', by: 'peer', field: 'spec.myASN', value: '64512', said: 0 });
};
const down = (cause: Reason): Partial<SessionStatus> => ({ state: 'Idle', cause, lastError: 'in words' });

describe('the first line of herald explain peer', () => {
  test('counts the sessions when all are up', () => {
    expect(lines(snapshotOf(() => ({})))[0]).toBe('Up: 3 of 3 sessions.');
  });

  test('names all nodes at once, the cause and the line of the router for each of them', () => {
    const snapshot = snapshotOf((node, peer) => down(mismatch(node, peer)));
    expect(lines(snapshot)[0]).toBe(
      'Down: 0 of 3 sessions. All 3 nodes: the router 10.1.0.1 refuses AS 64512 (spec.myASN of BGPPeer "tor1-v4"): it expects another AS number of this node. ' +
        'Configure on the router: neighbor 10.1.0.11 remote-as 64512; or set spec.myASN of BGPPeer "tor1-v4" to the number that the router expects (likewise for 10.1.0.12, 10.1.0.13).',
    );
    // The cause is told once, not for each node.
    expect(lines(snapshot).filter((line) => /refuses|in words/.test(line))).toHaveLength(1);
    expect(lines(snapshot).join('\n')).not.toContain('herald explain peer');
  });

  test('has the most frequent cause, and the others follow one a line with their fixes', () => {
    const unreachable = {
      peer: 'tor1-v4',
      router: '10.1.0.1',
      local: '',
      since: '',
      latest: '',
      port: 179,
      why: 'no route',
      wasUp: true,
      hints: '',
    };
    const snapshot = snapshotOf((node, peer) => down(node === 'n3' ? reason('PeerUnreachable', unreachable) : mismatch(node, peer)));
    expect(lines(snapshot).slice(0, 3)).toEqual([
      expect.stringMatching(/^Down: 0 of 3 sessions\. Nodes n1, n2: .* Another cause below\.$/),
      '  node n3: the router 10.1.0.1 of BGPPeer "tor1-v4" does not answer at TCP port 179: no route',
      expect.stringContaining('fix: check that the router runs'),
    ]);
  });

  test('says partly up, and how many sessions are', () => {
    const snapshot = snapshotOf((node, peer) => (node === 'n2' ? down(mismatch(node, peer)) : {}));
    expect(lines(snapshot)[0]).toMatch(/^Partly up: 2 of 3 sessions\. Node n2: the router 10\.1\.0\.1 refuses AS 64512/);
  });

  test('is about the one node that is asked for', () => {
    const snapshot = snapshotOf((node, peer) => (node === 'n2' ? down(mismatch(node, peer)) : {}));
    const [up, ...others] = lines(snapshot, 'tor1-v4', 'n1');
    expect(up).toBe('Up on node n1: 1 of 1 sessions.');
    expect(others.filter((line) => line.startsWith('Node '))).toEqual([expect.stringMatching(/^Node n1 /)]);
    expect(lines(snapshot, 'tor1-v4', 'n2')[0]).toMatch(/^Down on node n2: 0 of 1 sessions\. The router 10\.1\.0\.1 refuses AS 64512/);
    const shared = { name: 'tor1-v4', peerAddress: '10.1.0.1', routerID: '10.9.9.9' };
    expect(
      lines(
        snapshotOf(() => ({}), [shared]),
        'tor1-v4',
        'n1',
      )[0],
    ).toMatch(/^Up on node n1: 1 of 1 sessions, but nodes "n1" and "n2" both use router ID/);
  });

  test('covers all nodes of the peer when its nodeSelectors do not match the requested node', () => {
    const elsewhere = { name: 'tor1-v4', nodeSelectors: [{ matchLabels: { 'kubernetes.io/hostname': 'n2' }, matchExpressions: [] }] };
    expect(
      lines(
        snapshotOf(() => ({}), [elsewhere]),
        'tor1-v4',
        'n1',
      ).at(-1),
    ).toBe('Not selected by its nodeSelectors: n1, n2, n3');
  });

  test('names no single node when several agents are silent', () => {
    const snapshot = snapshotOf(() => ({}), tors, names);
    expect(lines(snapshot)[0]).toBe(
      'Down: 0 of 3 sessions. All 3 nodes: the agent of the node does not report. Start the agent: the pod of DaemonSet herald-agent on NODE; outside a cluster, herald agent --node NODE.',
    );
  });

  test('says that nodeSelectors select no node', () => {
    const nowhere = { name: 'tor1-v4', nodeSelectors: [{ matchLabels: { rack: 'z' }, matchExpressions: [] }] };
    expect(lines(snapshotOf(() => ({}), [nowhere]))[0]).toMatch(
      /^Down: 0 of 0 sessions\. NodeSelectors of BGPPeer "tor1-v4" select no node\. Change/,
    );
  });

  test('names two nodes with one router ID', () => {
    const shared = { name: 'tor1-v4', peerAddress: '10.1.0.1', routerID: '10.9.9.9' };
    expect(lines(snapshotOf(() => ({}), [shared]))[0]).toMatch(
      /^Up: 3 of 3 sessions, but on all 3 nodes: nodes "n1" and "n2" both use router ID 10\.9\.9\.9 .*Remove routerID from BGPPeer "tor1-v4"/,
    );
  });
});

describe('BFD that is down while TCP works', () => {
  const bfd = (state: 'Up' | 'Down' | 'AdminDown', since: string, why?: string) => ({
    bfd: { state, since, ...(why === undefined ? {} : { reason: why }) },
  });
  const old = '2026-01-01T09:00:00Z';

  test('is a warning with its own code and fix, and the session counts as up', () => {
    const snapshot = snapshotOf((_, peer) => (peer === 'tor1-v4' ? bfd('Down', old, 'control detection time expired') : {}));
    expect(lines(snapshot)[0]).toMatch(
      /^Up: 3 of 3 sessions, but on all 3 nodes: BFD with "tor1-v4" \(10\.1\.0\.1\) is down \(control detection time expired\) although the TCP connection works: .*Open UDP port 3784 \(4784 .*BFDProfile "fast"/,
    );
    const rows = sessionReport(snapshot, now).sessions;
    expect(rows.filter(({ warning }) => warning?.code === 'BFDDown')).toHaveLength(3);
    expect(sessionProblems(rows)).toMatchObject([
      { object: 'BGPPeer/tor1-v4', code: 'BFDDown', line: expect.stringMatching(/^On n1, n2 and n3: BFD/) },
    ]);
    expect(renderSessions({ sessions: rows }, true).join('\n')).toContain('although the TCP connection works');
  });

  test.each([
    ['is up', bfd('Up', old)],
    ['is switched off', bfd('AdminDown', old)],
    ['began a moment ago', bfd('Down', '2026-01-01T11:59:55Z')],
  ])('no warning when BFD %s', (_, changes) => {
    expect(lines(snapshotOf((__, peer) => (peer === 'tor1-v4' ? changes : {})))[0]).toBe('Up: 3 of 3 sessions.');
  });
});

test('sessions with one router over both families share a cause', () => {
  const { sessions } = sessionReport(
    snapshotOf((node, peer) => down(mismatch(node, peer))),
    now,
  );
  expect(causesOf(sessions)).toMatchObject([{ peers: ['tor1-v4', 'tor1-v6'], nodes: names }]);
  expect(sessionProblems(sessions)).toMatchObject([
    {
      object: 'BGPPeer/tor1-v4',
      code: 'PeerASMismatch',
      line: expect.stringMatching(
        /^Every session with tor1-v4 and tor1-v6 .* is down, on 3 nodes: .*\(likewise for fd00:1::1, 10\.1\.0\.12, fd00:1::2, /,
      ),
      others: ['BGPPeer/tor1-v6'],
    },
  ]);
});

test('a dead router is one problem, whatever each node noticed first, and a refusing router another', () => {
  const common = { router: '', local: '', since: '', latest: '' };
  const noticed = (node: string, peer: string): Reason => {
    if (node === 'n1') return reason('HoldTimeExpired', { ...common, peer, kind: 'us', seconds: 9 });
    if (node === 'n2') return reason('BFDDown', { ...common, peer, why: 'no answer', profile: 'fast', tcpWorks: false });
    return reason('PeerUnreachable', { ...common, peer, port: 179, why: peer, wasUp: true, hints: '' });
  };
  const dead = snapshotOf((node, peer) => down(noticed(node, peer)));
  expect(sessionProblems(sessionReport(dead, now).sessions)).toMatchObject([
    { line: expect.stringMatching(/^Every session with tor1-v4 and tor1-v6 .* is down, on 3 nodes: /), others: ['BGPPeer/tor1-v6'] },
  ]);
  const refused = snapshotOf((node, peer) => down(peer === 'tor1-v6' ? mismatch(node, peer) : noticed(node, peer)));
  expect(sessionProblems(sessionReport(refused, now).sessions).map(({ code }) => code)).toEqual(['HoldTimeExpired', 'PeerASMismatch']);
  // The verdict of one BGPPeer keeps what each node noticed.
  expect(explainPeer(dead, 'tor1-v4', now)?.verdict.causes).toHaveLength(3);
});
