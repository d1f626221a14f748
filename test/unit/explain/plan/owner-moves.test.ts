import { expect, test } from 'vitest';
import { sessionChange } from '../../../../src/agent/sessions/session-change.ts';
import { findFailures } from '../../../../src/explain/plan/fail-on.ts';
import { planChanges, type Plan } from '../../../../src/explain/plan/plan.ts';
import { renderPlan } from '../../../../src/explain/plan/render-plan.ts';
import { cluster, matching, type ClusterLiteral } from '../../decisions/fixtures.ts';

const lan = { eth0: ['192.0.2.0/24'] };
const web = { name: 'shop/web', ports: ['http:80/TCP'], assigned: ['192.0.2.100'] } as const;

/** The preference makes n1 the best candidate. */
const office: ClusterLiteral = {
  services: [web],
  slices: [{ service: 'shop/web', ports: ['http:8080/TCP'], endpoints: ['10.244.1.1@n1', '10.244.2.1@n2'] }],
  pools: [{ name: 'office', addresses: ['192.0.2.100-192.0.2.109'] }],
  l2Advertisements: [{ name: 'office', preferredNodeSelectors: [{ weight: 100, preference: matching({ place: '1' }) }] }],
  nodes: [{ name: 'n1', labels: { place: '1' } }, { name: 'n2' }],
  links: { n1: lan, n2: lan },
};

const plan = (proposed: ClusterLiteral, current = office): Plan =>
  planChanges(cluster(current), cluster(proposed), { classify: sessionChange });

test('equal manifests move no address', () => {
  expect(plan(office).owners).toEqual([]);
});

test.each<[string, ClusterLiteral, string]>([
  ['label', { ...office, nodes: [{ name: 'n1' }, { name: 'n2', labels: { place: '1' } }] }, 'n1 (eth0) -> n2 (eth0)'],
  [
    'nodeSelector of the L2Advertisement',
    {
      ...office,
      l2Advertisements: [{ name: 'office', nodeSelectors: [matching({ place: '2' })] }],
      nodes: [{ name: 'n1' }, { name: 'n2', labels: { place: '2' } }],
    },
    'n1 (eth0) -> n2 (eth0)',
  ],
  [
    'drain of a node',
    { ...office, nodes: [{ name: 'n1', labels: { place: '1' }, drain: 'force' }, { name: 'n2' }] },
    'n1 (eth0) -> n2 (eth0)',
  ],
  ['deleted L2Advertisement', { ...office, l2Advertisements: [] }, 'n1 (eth0) -> none'],
])('a %s that moves an address is listed with both nodes', (_, proposed, move) => {
  const changes = plan(proposed);
  expect(renderPlan(changes).join('\n')).toContain(`Owners by ARP and NDP\n  192.0.2.100 (shop/web): ${move}`);
  expect(findFailures(changes, [], new Set(['owner-moved']))).toEqual([{ kind: 'owner-moved', what: `192.0.2.100 ${move}` }]);
});

test('an interface that no node has is listed with the reason', () => {
  const text = renderPlan(plan({ ...office, l2Advertisements: [{ name: 'office', interfaces: ['eht0'] }] })).join('\n');
  expect(text).toContain('192.0.2.100 (shop/web): n1 (eth0) -> none: none of 2 nodes can announce the address for L2Advertisement office');
});

test('an address that no node answers before and after is not counted as moved', () => {
  const changes = plan({ ...office, l2Advertisements: [{ name: 'office', interfaces: ['eht0'] }] }, { ...office, l2Advertisements: [] });
  const lines = renderPlan(changes);
  expect(lines).toContainEqual(expect.stringContaining('192.0.2.100 (shop/web): none, as now: none of 2 nodes can announce the address'));
  expect(lines.join('\n')).not.toMatch(/none -> none|another owner/);
  expect(lines).toContain('1 address would have no owner by ARP and NDP, as now, for the reason above.');
});

test('a first L2Advertisement cannot tell the owner before nodes report their links', () => {
  const changes = plan({ ...office, links: {} }, { ...office, l2Advertisements: [], links: {} });
  expect(changes.owners).toEqual([{ address: '192.0.2.100', services: ['shop/web'], unknown: true }]);
  const text = renderPlan(changes).join('\n');
  expect(text).toContain('none -> not known before nodes report their links');
  expect(text).not.toContain('another owner');
  expect(text).toContain('The owner of 1 address by ARP and NDP would be known after nodes have reported their links.');
  expect(findFailures(changes, [], new Set(['owner-moved']))).toEqual([]);
});
