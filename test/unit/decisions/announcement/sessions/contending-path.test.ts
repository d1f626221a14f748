import { expect, test } from 'vitest';
import { isForeignNextHop, isOfOtherSpeaker } from '../../../../../src/decisions/announcement/sessions/contending-path.ts';
import { cluster } from '../../fixtures.ts';

const ours = { asns: new Set([64_512]), routerIDs: () => new Set(['10.1.0.11', '10.1.0.12']) };
const path = { own: '192.0.2.1/32', prefix: '192.0.2.1/32', nextHops: ['10.1.0.99'] };

test.each([
  ['another AS behind the router', { asPath: [65_101, 64_999] }, true],
  ['another node of the cluster', { asPath: [65_101, 64_512] }, false],
  ['a node behind another router', { asPath: [65_101, 65_201, 64_512] }, false],
  ['an aggregate of the router, or its AS in place of ours', { asPath: [65_101] }, false],
  ['another speaker of the same AS', { asPath: [], originatorId: '10.9.0.1' }, true],
  ['a node of the same AS, by a route reflector', { asPath: [], originatorId: '10.1.0.12' }, false],
  ['a route of the same AS without a name', { asPath: [] }, false],
])('%s is another speaker, or not', (_, parts, expected) => {
  expect(isOfOtherSpeaker({ ...path, ...parts }, 65_101, ours)).toBe(expected);
});

test.each([
  ['no Node has it', '10.1.0.99', true],
  ['no Node has it, over IPv6', 'fd00:1::99', true],
  ['a Node has it by its report', '10.1.0.12', false],
  ['a Node has it', '10.1.0.22', false],
  ['a BGPPeer has it', '10.1.0.1', false],
  ['it is on no link of nodes, as of a router behind others', '10.8.1.2', false],
  ['it is an interface', 'eth0', false],
])('a next hop of a router is foreign, or not: %s', (_, hop, expected) => {
  const nodes = [{ name: 'n1' }, { name: 'n2', internalIPs: ['10.1.0.22'] }];
  const interfaces = { n1: { tor1: ['10.1.0.11/24'] }, n2: { tor1: ['10.1.0.12/24', 'fd00:1::12/64'] } };
  const snapshot = cluster({ nodes, interfaces, peers: [{ name: 'tor1', peerAddress: '10.1.0.1' }] });
  expect(isForeignNextHop(snapshot, hop)).toBe(expected);
});
