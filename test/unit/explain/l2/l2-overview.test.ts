import { expect, test } from 'vitest';
import { l2Overview, renderL2Overview } from '../../../../src/explain/l2/l2-overview.ts';
import { cluster, matching, type ClusterLiteral } from '../../decisions/fixtures.ts';

const lan = { eth0: ['192.0.2.0/24'] };
/** The preference makes n1 the owner of what both can have. */
const office: ClusterLiteral = {
  services: [
    { name: 'shop/web', ports: ['http:80/TCP'], assigned: ['192.0.2.100'] },
    { name: 'shop/api', ports: ['http:80/TCP'], assigned: ['192.0.2.101'] },
    { name: 'shop/far', ports: ['http:80/TCP'], assigned: ['198.51.100.1'] },
  ],
  slices: ['web', 'api', 'far'].map((name) => ({
    service: `shop/${name}` as const,
    name,
    ports: ['http:8080/TCP'],
    endpoints: ['10.244.1.1@n1'],
  })),
  pools: [
    { name: 'office', addresses: ['192.0.2.100-192.0.2.109'] },
    { name: 'far', addresses: ['198.51.100.0/24'] },
  ],
  l2Advertisements: [{ name: 'office', preferredNodeSelectors: [{ weight: 100, preference: matching({ place: '1' }) }] }],
  nodes: [{ name: 'n1', labels: { place: '1' } }, { name: 'n2' }],
  links: { n1: lan, n2: { eth0: ['192.0.2.0/24'], eth1: [] } },
};

function overview(literal: ClusterLiteral) {
  const snapshot = cluster(literal);
  return l2Overview(snapshot, new Date(snapshot.nodeStates.get('n1')?.updated ?? 0).getTime());
}

test('status counts the addresses of each node, and those for which none answers', () => {
  const found = overview(office);
  expect(found).toEqual({
    addresses: 3,
    unowned: 1,
    nodes: [
      { node: 'n1', owned: 2, links: 'eth0 (192.0.2.0/24)' },
      { node: 'n2', owned: 0, links: 'eth0 (192.0.2.0/24), eth1' },
    ],
  });
  expect(found && renderL2Overview(found, false)).toEqual(['ARP, NDP    3 addresses, 1 of them without a node: n1 2, n2 0']);
  expect(found && renderL2Overview(found, true)).toEqual([
    'ARP, NDP    3 addresses, 1 of them without a node',
    '            n1 answers for 2; its links: eth0 (192.0.2.0/24)',
    '            n2 answers for 0; its links: eth0 (192.0.2.0/24), eth1',
  ]);
});

test('status has nothing of it without an L2Advertisement', () => {
  expect(overview({ ...office, l2Advertisements: [] })).toBeUndefined();
});
