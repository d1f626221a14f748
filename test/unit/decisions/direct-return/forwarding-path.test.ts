import { describe, expect, test } from 'vitest';
import { defined } from '../../../../src/lang/defined.ts';
import { directReturnNode, forwardingPathTo, segmentThroughTunnels } from '../../../../src/decisions/direct-return/forwarding-path.ts';
import { planDirectReturn } from '../../../../src/decisions/direct-return/plan.ts';
import type { DirectReturnMode } from '../../../../src/model/kinds/types.ts';
import type { DirectReturnReport, NodeState } from '../../../../src/model/objects/node-state.ts';
import type { Snapshot } from '../../../../src/model/store/snapshot.ts';
import { address, formatAddress } from '../../../../src/net/address.ts';
import type { Frontend } from '../../../../src/net/frontend.ts';
import { prefix } from '../../../../src/net/prefix.ts';
import { cluster, metadata, service, type ClusterLiteral } from '../fixtures.ts';

const able: DirectReturnReport = {
  receives: ['link', 'vxlan'],
  passes: ['l2', 'route', 'vxlan'],
  networks: [prefix('10.0.0.0/24')],
  linkAddresses: [],
  interfaces: ['eth0'],
};
/** Changes to the reports of nodes a, b and c. Undefined removes a report. */
type Reports = Readonly<Record<string, Partial<DirectReturnReport> | undefined>>;

function nodes(reports: Reports, mode: DirectReturnMode = 'auto', more: ClusterLiteral = {}): Snapshot {
  const snapshot = cluster({
    nodes: ['a', 'b', 'c'].map((name, index) => ({ name, internalIPs: [`10.0.${name === 'c' ? 9 : 0}.${index + 1}`] })),
    config: { directReturnMode: mode, directReturn: true },
    ...more,
  });
  const state = (name: string, directReturn: DirectReturnReport): NodeState => ({
    kind: 'NodeState',
    metadata: metadata(name),
    updated: '2020-01-01T00:00:00Z',
    consumed: {},
    sessions: [],
    differing: [],
    directReturn,
  });
  const states = ['a', 'b', 'c'].flatMap((name, index) => {
    const linkAddresses = [`02:00:00:00:00:0${index + 1}`];
    const base = { ...able, linkAddresses, networks: [prefix(`10.0.${name === 'c' ? 9 : 0}.0/24`)] };
    return name in reports && reports[name] === undefined ? [] : [[name, state(name, { ...base, ...reports[name] })] as const];
  });
  return { ...snapshot, nodeStates: new Map(states) };
}

const way = (snapshot: Snapshot, to = 'b'): unknown => {
  const target = snapshot.nodes.get(to)?.internalIPs[0] ?? address('10.0.0.2');
  const answer = forwardingPathTo(snapshot, 'a', to, target);
  return 'passing' in answer ? answer.passing : answer.reason.code;
};

describe('the path from node a to b on its link, or to c behind a router', () => {
  test.each<[string, Reports, DirectReturnMode, string, unknown]>([
    ['to b at ingress, with fragments by route', {}, 'auto', 'b', { ingress: true, routed: 'link' }],
    ['to c through the tunnel', {}, 'auto', 'c', { ingress: false, routed: 'vxlan' }],
    ['mode l2', {}, 'l2', 'b', { ingress: true, routed: 'link' }],
    ['mode l2 over a router', {}, 'l2', 'c', 'DirectReturnNoWay'],
    ['mode route', {}, 'route', 'b', { ingress: false, routed: 'link' }],
    ['mode route over a router, which would loop', {}, 'route', 'c', 'DirectReturnNoWay'],
    ['mode vxlan on a link', {}, 'vxlan', 'b', { ingress: false, routed: 'vxlan' }],
    ['a cannot pass on at ingress', { a: { passes: ['route', 'vxlan'] } }, 'auto', 'b', { ingress: false, routed: 'link' }],
    ['mode l2, a cannot pass on at ingress', { a: { passes: ['route'] } }, 'l2', 'b', 'DirectReturnNoWay'],
    ['routed packets of a are dropped', { a: { passes: ['l2'] } }, 'auto', 'b', { ingress: true }],
    ['b receives nothing from its link', { b: { receives: ['vxlan'] } }, 'auto', 'b', { ingress: false, routed: 'vxlan' }],
    ['b receives nothing', { b: { receives: [] } }, 'auto', 'b', 'DirectReturnNoWay'],
    ['b has not reported', { b: undefined }, 'auto', 'b', 'DirectReturnNotReported'],
    ['a has not reported', { a: undefined }, 'auto', 'b', 'DirectReturnNotReported'],
  ])('%s', (_, reports, mode, to, expected) => {
    expect(way(nodes(reports, mode), to)).toEqual(expected);
  });

  test('a node knows the link addresses of all other reporting nodes and not its own', () => {
    const known = directReturnNode(nodes({ b: { receives: [], linkAddresses: ['02:00:00:00:00:02', '02:00:00:00:00:01'] } }), 'a');
    expect(known?.linkAddresses).toEqual(['02:00:00:00:00:02', '02:00:00:00:00:03']);
    expect(known?.targets.map(({ node }) => formatAddress(node))).toEqual(['10.0.9.3']);
  });

  test('every target is known by its link address, so two nodes never pass a packet back and forth', () => {
    const snapshot = nodes({});
    for (const [from, to] of [
      ['a', 'b'],
      ['b', 'a'],
    ] as const) {
      const known = directReturnNode(snapshot, from);
      expect(known?.targets.map(({ node }) => formatAddress(node))).toContain(to === 'b' ? '10.0.0.2' : '10.0.0.1');
      for (const linkAddress of snapshot.nodeStates.get(to)?.directReturn?.linkAddresses ?? [])
        expect(known?.linkAddresses).toContain(linkAddress);
    }
  });
});

describe('the largest segment through the tunnels to a', () => {
  test.each<[string, Reports, DirectReturnMode, 4 | 6, number | undefined]>([
    ['c sends through a tunnel', {}, 'auto', 4, 1410],
    ['c has a link of jumbo frames', { c: { mtu: 9000 } }, 'auto', 4, 8910],
    ['the smallest MTU counts', { b: { mtu: 1400 }, c: { mtu: 9000 } }, 'vxlan', 4, 1310],
    ['no node sends through a tunnel', { c: undefined }, 'auto', 4, undefined],
    ['no node sends through a tunnel in this mode', {}, 'l2', 4, undefined],
    ['a does not receive from tunnels', { a: { receives: ['link'] } }, 'auto', 4, undefined],
    ['a has no address of the family', {}, 'auto', 6, undefined],
  ])('%s', (_, reports, mode, family, expected) => {
    expect(segmentThroughTunnels(nodes(reports, mode), 'a', family)).toBe(expected);
  });
});

describe('the frontends of a Service with direct server return', () => {
  const vip = { kind: 'address', address: address('192.0.2.1'), protocol: 'TCP', port: 80 } as const;
  const backend = (last: number, node: string): Frontend['backends'][number] => ({
    address: address(`10.244.0.${last}`),
    port: 8080,
    local: node === '10.0.0.1',
    node: address(node),
  });
  const hashed: Frontend = {
    match: vip,
    scope: 'external',
    policy: 'Cluster',
    backends: [backend(1, '10.0.0.1'), backend(2, '10.0.0.2')],
    localBackends: [],
    slots: { hashed: 'connection', backendOf: new Uint16Array(251) },
  };
  const { slots: _, ...random } = hashed;
  const nodePort: Frontend = { ...random, match: { kind: 'nodePort', family: 4, protocol: 'TCP', port: 30_080 } };
  const slices = [{ service: 'web', ports: ['8080'], endpoints: ['10.244.0.1@a', '10.244.0.2@b'] }];
  const plan = (snapshot: Snapshot, frontends: readonly Frontend[], directReturn?: boolean): ReturnType<typeof planDirectReturn> =>
    planDirectReturn(snapshot, service({ name: 'web', ...defined({ directReturn }) }), 'a', frontends);

  test('backends on other nodes get a path, and nothing else changes', () => {
    const { frontends, reasons } = plan(nodes({}, 'auto', { slices }), [hashed, nodePort]);
    expect(reasons).toEqual([]);
    expect(frontends[1]).toBe(nodePort);
    expect(frontends[0]?.directReturn).toEqual({ segmentSize: 1410 });
    expect(frontends[0]?.backends.map(({ path: passing }) => passing)).toEqual([undefined, { ingress: true, routed: 'link' }]);
  });

  test('packets for a node that cannot receive are translated, with a reason', () => {
    const { frontends, reasons } = plan(nodes({ b: { receives: [] } }, 'auto', { slices }), [hashed]);
    expect(reasons).toMatchObject([{ code: 'DirectReturnNoWay', details: { node: 'b' } }]);
    expect(frontends[0]?.directReturn).toEqual({ segmentSize: 1410 });
    expect(frontends[0]?.backends.map(({ path: passing }) => passing)).toEqual([undefined, undefined]);
  });

  test('frontends stay unchanged when this node has not reported or the Service opts out', () => {
    const { frontends, reasons } = plan(nodes({ a: undefined }, 'auto', { slices }), [hashed]);
    expect(frontends).toEqual([hashed]);
    expect(reasons).toMatchObject([{ code: 'DirectReturnNotReported', details: { node: 'a' } }]);
    expect(plan(nodes({}, 'auto', { slices }), [hashed], false)).toEqual({ frontends: [hashed], reasons: [] });
  });

  test('a Service that asks for direct server return itself needs consistent hashing', () => {
    expect(plan(nodes({}, 'auto', { slices }), [random], true).reasons).toMatchObject([{ code: 'DirectReturnNeedsHashing' }]);
    expect(plan(nodes({}, 'auto', { slices }), [random]).reasons).toEqual([]);
  });
});
