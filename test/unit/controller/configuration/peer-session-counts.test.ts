import { expect, test } from 'vitest';
import { PeerSessionCounts } from '../../../../src/controller/configuration/peer-session-counts.ts';
import { cluster } from '../../decisions/fixtures.ts';

const names = ['n1', 'n2', 'n3'];
const peers = [{ name: 'tor', routerID: '10.0.0.1' }];
const withNodes = (...nodes: readonly string[]) =>
  cluster({
    nodes: nodes.map((name) => ({ name })),
    peers,
    running: Object.fromEntries(nodes.map((name) => [name, { tor: '10.0.0.254' }])),
  });
const now = new Date('2026-01-01T00:00:05Z').getTime();

test('nodes still share a router ID when one of three leaves, and no longer when the second leaves', () => {
  const counts = new PeerSessionCounts();
  counts.updateAllNodes(withNodes(...names), now);
  expect(counts.of('tor')).toMatchObject({ nodes: 3, established: 3, sharedID: { routerID: '10.0.0.1', nodes: ['n1', 'n2'] } });
  counts.updateAllNodes(withNodes('n2', 'n3'), now);
  expect(counts.of('tor')).toMatchObject({ nodes: 2, established: 2, sharedID: { routerID: '10.0.0.1', nodes: ['n2', 'n3'] } });
  counts.updateAllNodes(withNodes('n3'), now);
  expect(counts.of('tor')).toEqual({ nodes: 1, expected: 1, established: 1 });
});
