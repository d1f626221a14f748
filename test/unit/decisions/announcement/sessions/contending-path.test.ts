import { describe, expect, test } from 'vitest';
import {
  isForeignNextHop,
  isOfOtherSpeaker,
  ownSpeakers,
  prefixContended,
} from '../../../../../src/decisions/announcement/sessions/contending-path.ts';
import { reasonText } from '../../../../../src/model/reasons.ts';
import type { HostInterface } from '../../../../../src/system/host.ts';
import { cluster, type ClusterLiteral } from '../../fixtures.ts';

const ours = { asns: new Set([64_512]), routerIDs: () => new Set(['10.1.0.11', '10.1.0.12']), isForeign: () => false };
const path = { own: '192.0.2.1/32', prefix: '192.0.2.1/32', nextHops: ['10.1.0.99'] };
const session = { peerASN: 65_101, address: '10.1.0.1' };

test.each([
  ['another AS behind the router', { asPath: [65_101, 64_999] }, true],
  ['another node of the cluster', { asPath: [65_101, 64_512] }, false],
  ['a node behind another router', { asPath: [65_101, 65_201, 64_512] }, false],
  ['an aggregate of the router, or its AS in place of ours', { asPath: [65_101] }, false],
  ['another speaker of the same AS', { asPath: [], originatorId: '10.9.0.1' }, true],
  ['a node of the same AS, by a route reflector', { asPath: [], originatorId: '10.1.0.12' }, false],
  ['a route of the same AS without a name', { asPath: [] }, false],
])('%s is another speaker, or not', (_, parts, expected) => {
  expect(isOfOtherSpeaker({ ...path, ...parts }, session, ours)).toBe(expected);
});

describe('a path with an AS of this cluster', () => {
  const interfaces: readonly HostInterface[] = [
    { name: 'tor1', address: '10.1.0.11', length: 24 },
    { name: 'tor1', address: 'fd00:1::11', length: 64 },
    { name: 'tor2', address: '10.2.0.11', length: 24 },
    { name: 'lan', address: '10.7.0.11', length: 32 },
  ];
  const peers = [
    { name: 'tor1', peerAddress: '10.1.0.1' },
    { name: 'tor9', peerAddress: '10.1.0.9' },
  ];
  const nodes = [
    { name: 'n1', internalIPs: ['10.0.0.11'] },
    { name: 'n2', internalIPs: ['10.0.0.12', '10.1.0.22'], externalIPs: ['10.1.0.32'] },
  ];
  const reports = { n2: { tor1: ['10.1.0.12/24', 'fd00:1::12/64'], tor2: ['10.2.0.12/24'] } };
  const literal = { nodes, peers, interfaces: reports, routers: { n2: ['10.1.0.8'] } };

  const isOther = (
    nextHops: readonly string[],
    parts: Partial<typeof session & { asPath: number[] }> = {},
    of: ClusterLiteral = literal,
  ) => {
    const { asPath = [65_101, 64_512], ...further } = parts;
    const speakers = ownSpeakers(cluster(of), { node: 'n1', interfaces: () => interfaces });
    return isOfOtherSpeaker({ nextHops, asPath }, { ...session, ...further }, { ...speakers, asns: new Set([64_512]) });
  };

  test.each([
    ['no Node has its next hop', ['10.1.0.99'], true],
    ['another node reports its next hop', ['10.1.0.12'], false],
    ['it is the InternalIP of a Node', ['10.1.0.22'], false],
    ['it is the ExternalIP of a Node', ['10.1.0.32'], false],
    ['it is this node', ['10.1.0.11'], false],
    ['it is the router', ['10.1.0.1'], false],
    ['it is another router, by a BGPPeer', ['10.1.0.9'], false],
    ['it is another router, by a report', ['10.1.0.8'], false],
    ['it is on no link of this node', ['10.3.0.99'], false],
    ['it has an address of this node without a network', ['10.7.0.11'], false],
    ['it has none', [], false],
    ['it is of the other family than the session', ['fd00:1::99'], false],
  ])('is %s', (_, nextHops, expected) => {
    expect(isOther(nextHops)).toBe(expected);
  });

  test.each([
    ['no Node has its global next hop', ['fd00:1::99'], true],
    ['the same, beside a link-local one', ['fd00:1::99', 'fe80::99'], true],
    ['it has a link-local next hop only', ['fe80::99'], false],
    ['another node reports it', ['fd00:1::12', 'fe80::12'], false],
    ['it is the router', ['fd00:1::1'], false],
  ])('over IPv6: %s', (_, nextHops, expected) => {
    expect(isOther(nextHops, { address: 'fd00:1::1' })).toBe(expected);
  });

  test.each([
    ['prepended by both', [65_101, 65_101, 64_512, 64_512], true],
    ['from behind another router, which may put itself into its place', [65_101, 65_000, 64_512], false],
    ['without the router, as of internal BGP', [64_512], false],
    ['from behind the speaker of that AS', [65_101, 64_512, 64_999], false],
  ])('is a direct neighbour of the router: %s', (_, asPath, expected) => {
    expect(isOther(['10.1.0.99'], { asPath })).toBe(expected);
  });

  test('tells nothing while addresses of a node are unknown that may announce on this link', () => {
    const silent = { nodes, peers, routers: {} };
    const elsewhere = { ...silent, nodes: [nodes[0], { name: 'n2', internalIPs: ['10.0.0.12'] }].flatMap((one) => one ?? []) };
    expect(isOther(['10.1.0.99'], {}, silent)).toBe(true);
    expect(isOther(['10.1.0.99'], {}, elsewhere)).toBe(false);
    const unselected = peers.map((peer) => ({ ...peer, nodeSelectors: [{ matchLabels: { rack: 'a' }, matchExpressions: [] }] }));
    expect(isOther(['10.1.0.99'], {}, { ...elsewhere, peers: unselected })).toBe(true);
    const many = Object.fromEntries(Array.from({ length: 100 }, (_, at) => [`eth${at}`, ['10.5.0.12/24']]));
    expect(isOther(['10.1.0.99'], {}, { ...elsewhere, interfaces: { n2: many } })).toBe(false);
  });

  test('is said to have that AS', () => {
    const reason = (asPath: readonly number[]) => prefixContended({ ...path, asPath }, { peer: 'tor1', router: '10.1.0.1' }, ours);
    expect(reasonText(reason([65_101, 64_512]))).toContain('which has the AS number of this cluster; the next hop is no Node of it');
    expect(reasonText(reason([65_101, 64_999]))).not.toContain('of this cluster');
  });
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
