import { expect, test } from 'vitest';
import { receivedReport, renderReceived } from '../../../../src/explain/routes/received-report.ts';
import type { LiveNode } from '../../../../src/explain/sessions/live-view.ts';
import type { LiveReceivedRoute } from '../../../../src/live/contract.ts';

const route = (peer: string, prefix: string, reason?: LiveReceivedRoute['reason']): LiveReceivedRoute => ({
  peer,
  family: 'IPv4',
  prefix,
  nextHops: ['10.1.0.1'],
  asPath: [65_101, 65_000],
  localPref: 100,
  communities: ['65001:7'],
  installed: reason === undefined,
  ...(reason === undefined ? {} : { reason }),
});
const answered = (received?: readonly LiveReceivedRoute[]): LiveNode => ({
  started: '2026-01-01T00:00:00Z',
  sessions: [],
  ...(received === undefined ? {} : { received }),
});
const refused = { code: 'ReceivedRouteInsideCluster', message: 'it lies in pods', fix: '' };

test('each accepted route is a row, sorted by node, peer and prefix, with its state', () => {
  const report = receivedReport(
    new Map([
      ['node2', answered([route('tor1', '10.9.0.0/16')])],
      ['node1', answered([route('tor2', '0.0.0.0/0'), route('tor1', '10.244.0.0/24', refused), route('tor1', '10.9.0.0/16')])],
    ]),
  );
  expect(renderReceived(report, false)).toEqual([
    'Node   Peer  Prefix         Next Hop  State                       AS Path      Communities',
    'node1  tor1  10.9.0.0/16    10.1.0.1  installed                   65101 65000  65001:7',
    'node1  tor1  10.244.0.0/24  10.1.0.1  ReceivedRouteInsideCluster  65101 65000  65001:7',
    'node1  tor2  0.0.0.0/0      10.1.0.1  installed                   65101 65000  65001:7',
    'node2  tor1  10.9.0.0/16    10.1.0.1  installed                   65101 65000  65001:7',
  ]);
  expect(renderReceived(report, true)[2]).toMatch(/ 100 .* it lies in pods$/);
});

test('an agent that could not be queried is named, and one of an older version has no routes', () => {
  const unasked = [{ who: 'the agent of node1', node: 'node1', why: 'no process answers', fix: '' }];
  expect(renderReceived(receivedReport(new Map([['node2', answered()]]), unasked), false)).toEqual([
    'No agent has accepted a route: the BGPPeer needs spec.import.',
    '',
    'the agent of node1 could not be queried: no process answers',
  ]);
});
