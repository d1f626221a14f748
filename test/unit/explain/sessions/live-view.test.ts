import { describe, expect, test } from 'vitest';
import { explainNode, renderNodeOverview } from '../../../../src/explain/objects/node.ts';
import { explainPeer, renderPeer } from '../../../../src/explain/objects/peer.ts';
import { explainLiveService } from '../../../../src/explain/service/live-service.ts';
import { renderService } from '../../../../src/explain/service/render-service.ts';
import { sourcesOf } from '../../../../src/explain/sessions/block-source.ts';
import { liveView, type LiveNode, type LiveNodes } from '../../../../src/explain/sessions/live-view.ts';
import { renderSessions } from '../../../../src/explain/sessions/render-sessions.ts';
import { sessionReport } from '../../../../src/explain/sessions/session-report.ts';
import type { LiveRoute } from '../../../../src/live/contract.ts';
import type { NodeState, SessionStatus } from '../../../../src/model/objects/node-state.ts';
import { reason } from '../../../../src/model/reasons.ts';
import type { Snapshot } from '../../../../src/model/store/snapshot.ts';
import { cluster, metadata } from '../../decisions/fixtures.ts';

const now = Date.UTC(2026, 0, 1, 12);
const ago = (seconds: number): string => new Date(now - seconds * 1000).toISOString();
const key = 'shop/web' as const;

const fabric = {
  services: [{ name: key, clusterIPs: ['10.96.0.1', 'fd00:96::1'], assigned: ['192.0.2.1', '2001:db8::1'] }],
  slices: [
    { service: key, ports: ['8080'], endpoints: ['10.244.1.1@n1'] },
    { service: key, ports: ['8080'], endpoints: ['fd00:244:1::1@n1'] },
  ],
  pools: [{ name: 'main', addresses: ['192.0.2.0/28', '2001:db8::/120'] }],
  peers: [{ name: 'tor', peerAddress: '10.0.0.254', dualStackAddressFamily: true }],
  advertisements: [{ name: 'all' }],
  nodes: [{ name: 'n1' }],
} as const;

function session(changes: Partial<SessionStatus> = {}): SessionStatus {
  return {
    peer: 'tor',
    address: '10.0.0.254',
    state: 'Established',
    since: ago(7200),
    localASN: 64512,
    peerASN: 64513,
    prefixesSent: 2,
    families: [
      { family: 'IPv4', sent: 1, received: 0 },
      { family: 'IPv6', sent: 1, received: 0 },
    ],
    ...changes,
  };
}

const idle = session({ state: 'Idle', since: ago(32), lastError: 'hold timer expired', prefixesSent: 0 });

function read(changes: Partial<NodeState>): Snapshot {
  const state: NodeState = {
    kind: 'NodeState',
    metadata: metadata('n1'),
    updated: ago(12),
    consumed: {},
    sessions: [session()],
    differing: [],
    ...changes,
  };
  return { ...cluster(fabric), nodeStates: new Map([['n1', state]]) };
}

const route = (prefix: string): LiveRoute => ({
  peer: 'tor',
  family: prefix.includes(':') ? 'IPv6' : 'IPv4',
  prefix,
  nextHops: ['10.1.0.11'],
  asPath: [64512],
  communities: [],
  services: [key],
});
const sent = [route('192.0.2.1/32'), route('2001:db8::1/128')];
const answer = (changes: Partial<LiveNode> = {}): LiveNodes =>
  new Map([['n1', { started: ago(600), sessions: [session()], routes: sent, ...changes }]]);
const none: LiveNodes = new Map();

const explained = (snapshot: Snapshot, live: LiveNodes) => {
  const explanation = explainLiveService(snapshot, key, now, { live });
  if (explanation === undefined) throw new RangeError('no such Service');
  return { explanation, text: renderService(explanation).join('\n') };
};

describe('the view of a node whose agent answers', () => {
  test('contains the sessions of the answer when the report has others', () => {
    const { explanation, text } = explained(read({ sessions: [idle] }), answer());
    expect(text).toContain('tor (10.0.0.254, AS 64513): Established for 2 h');
    expect(text).not.toMatch(/Idle|hold timer/);
    expect(text).toContain('Node n1  (asked now; forwarding reported 12 s ago)');
    expect(explanation.nodes[0]?.source).toEqual({
      sessions: 'asked now',
      routes: 'asked now',
      forwarding: 'reported',
      reportedSecondsAgo: 12,
    });
    expect(explanation.clients?.map(({ outcome }) => outcome)).toEqual(['announced', 'announced']);
  });

  test('shows a session as down when the agent answers so and its report says Established', () => {
    const { explanation, text } = explained(read({}), answer({ sessions: [idle], routes: [] }));
    expect(text).toContain('Idle for 32 s');
    expect(text).not.toContain('Established');
    expect(explanation.clients?.map(({ outcome }) => outcome)).toEqual(['unreachable', 'unreachable']);
  });

  test('says when and where an answer was last seen, also one that no report has yet', () => {
    const checks = [{ frontend: '192.0.2.1 TCP 80', service: key, answered: ago(12), endpoints: [] }];
    const { explanation, text } = explained(read({}), answer({ checks }));
    expect(explanation.clients?.map(({ outcome }) => outcome)).toEqual(['answered', 'announced']);
    expect(text).toContain('connections to 192.0.2.1:80/TCP via n1 were answered in the last 10 minutes (last seen 12 s ago on n1)\n');
  });

  test('has no forwarding from the report of an earlier process', () => {
    const problem = reason('AgentStopped', { node: 'n1' });
    for (const before of [{ updated: ago(700) }, { updated: ago(12), problem }]) {
      const differing = [{ service: key, aspect: 'Programmed' as const, reason: reason('NoEndpoints', { endpoints: 0 }) }];
      const { explanation, text } = explained(read({ ...before, sessions: [idle], differing }), answer());
      expect(text).toContain('Node n1  (asked now; forwarding as decided, no report)');
      expect(explanation.nodes[0]).toMatchObject({
        source: { sessions: 'asked now', routes: 'asked now', forwarding: 'decided' },
        forwarding: [],
      });
      expect(explanation.nodes[0]?.problem).toBeUndefined();
      expect(text).not.toMatch(/stopped|Idle/);
    }
  });

  test('a route that was decided and not sent makes the client unreachable', () => {
    const { explanation } = explained(read({}), answer({ routes: sent.slice(0, 1) }));
    expect(explanation.clients?.map(({ outcome }) => outcome)).toEqual(['announced', 'unreachable']);
  });

  test('shows the same sessions in explain node, explain peer and the table of peers', () => {
    const snapshot = read({ sessions: [idle] });
    const view = liveView(snapshot, answer(), now);
    const sources = sourcesOf(snapshot, 'n1', now, view);
    const node = explainNode(view.snapshot, 'n1', now, sources);
    const peer = explainPeer(view.snapshot, 'tor', now, { sourceOf: () => sources });
    const texts = [
      renderNodeOverview(node as NonNullable<typeof node>),
      renderPeer(peer as NonNullable<typeof peer>, false),
      renderSessions(sessionReport(view.snapshot, now, {}, view.live), true),
    ].map((lines) => lines.join('\n'));
    for (const text of texts) {
      expect(text).toMatch(/Established/);
      expect(text).toContain('asked now');
      expect(text).not.toContain('Idle');
    }
  });
});

describe('the view of a node whose agent does not answer', () => {
  test('contains only what its agent reported', () => {
    const { explanation, text } = explained(read({ sessions: [idle] }), none);
    expect(text).toContain('Node n1  (reported 12 s ago)');
    expect(text).toContain('Idle for 32 s');
    expect(explanation.nodes[0]?.source).toEqual({
      sessions: 'reported',
      routes: 'reported',
      forwarding: 'reported',
      reportedSecondsAgo: 12,
    });
  });

  test('is shown as decided when there is no current report', () => {
    const { explanation } = explained(read({ updated: ago(600) }), none);
    expect(explanation.nodes[0]?.source).toMatchObject({ sessions: 'decided', routes: 'decided', forwarding: 'decided' });
  });
});
