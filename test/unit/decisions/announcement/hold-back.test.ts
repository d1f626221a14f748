import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decideAnnouncement } from '../../../../src/decisions/announcement/decision.ts';
import type { OwnState } from '../../../../src/decisions/announcement/node-drain.ts';
import type { HeldBackFamily, NodeDrainReport } from '../../../../src/model/objects/node-state.ts';
import { reason, reasonText, remedyText } from '../../../../src/model/reasons.ts';
import { cluster, type ClusterLiteral, type NodeLiteral } from '../fixtures.ts';

const peer = { tor: '10.0.0.254' };
const base: ClusterLiteral = {
  services: [{ name: 'web', assigned: ['192.0.2.1', '2001:db8::1'], ipFamilies: [4, 6] }],
  slices: [
    { service: 'web', name: 'web-4', endpoints: ['10.1.0.1@a', '10.1.0.2@b'] },
    { service: 'web', name: 'web-6', endpoints: ['fd10::1@a', 'fd10::2@b'] },
  ],
  pools: [{ name: 'prod', addresses: ['192.0.2.0/24', '2001:db8::/64'] }],
  advertisements: [{ name: 'ad' }],
  peers: [{ name: 'tor', dualStackAddressFamily: true }],
  nodes: [{ name: 'a' }, { name: 'b' }],
  running: { a: peer, b: peer },
};
const why = reason('KernelSettingWrong', {
  setting: 'net.ipv4.ip_forward',
  value: '0',
  wanted: '1',
  why: 'the node drops every IPv4 packet that is not its own',
  error: '',
});
const held = (family: 'IPv4' | 'IPv6' = 'IPv4', settled = true): HeldBackFamily => ({
  family,
  since: '2026-01-01T00:00:00Z',
  settled,
  reason: why,
});

/** Returns, for both addresses of the Service: "announced", with the reason why a route stays, or the reason why there is none. */
function outcomesAt(change: ClusterLiteral, node: string, view?: OwnState): string[] {
  const snapshot = cluster({ ...base, ...change });
  const [web] = snapshot.services.values();
  if (web === undefined) throw new RangeError('no service');
  const { addresses } = decideAnnouncement(snapshot, web, node, view);
  return addresses.flatMap(({ type, result }) => {
    if (type !== 'LoadBalancer') return [];
    if (!result.announce) return [result.reason.code];
    return [['announced', ...[result.heldBack, result.drain].flatMap((each) => each?.code ?? [])].join(' ')];
  });
}

describe('a node that cannot forward', () => {
  test('it withdraws the routes of that family and keeps those of the other', () => {
    expect(outcomesAt({ heldBack: { a: [held()] } }, 'a')).toEqual(['NodeHeldBack', 'announced']);
    expect(outcomesAt({ heldBack: { a: [held('IPv6')] } }, 'a')).toEqual(['announced', 'NodeHeldBack']);
    expect(outcomesAt({ heldBack: { a: [held()] } }, 'b')).toEqual(['announced', 'announced']);
  });

  test('it announces with a reason until the problem has settled', () => {
    expect(outcomesAt({ heldBack: { a: [held('IPv4', false)] } }, 'a')).toEqual(['announced HoldBackPending', 'announced']);
  });

  test("the agent's own view wins over its report", () => {
    expect(outcomesAt({}, 'a', { heldBack: [held()] })).toEqual(['NodeHeldBack', 'announced']);
    expect(outcomesAt({ heldBack: { a: [held()] } }, 'a', { heldBack: [] })).toEqual(['announced', 'announced']);
  });

  test('it keeps announcing when HeraldConfig has hostProblems: report', () => {
    expect(outcomesAt({ heldBack: { a: [held()] }, config: { hostProblems: 'report' } }, 'a')).toEqual(['announced', 'announced']);
  });

  test('the reason names the node, the cause and the command that repairs it', () => {
    const snapshot = cluster({ ...base, heldBack: { a: [held()] } });
    const [web] = snapshot.services.values();
    const result = web && decideAnnouncement(snapshot, web, 'a').addresses.find(({ type }) => type === 'LoadBalancer')?.result;
    if (result?.announce !== false) throw new RangeError('it is announced');
    expect(reasonText(result.reason)).toBe(
      'node "a" does not forward IPv4 (net.ipv4.ip_forward is 0 and should be 1: the node drops every IPv4 packet that is not its own): it has withdrawn its IPv4 routes',
    );
    expect(remedyText(result.reason)).toBe('run on the node: sysctl -w net.ipv4.ip_forward=1');
  });
});

describe('a node that cannot forward and is the sole next hop', () => {
  const stays = ['announced HeldBackLastNextHop', 'announced'];

  test('it stays when there is no other node', () => {
    expect(outcomesAt({ nodes: [{ name: 'a' }], heldBack: { a: [held()] } }, 'a')).toEqual(stays);
  });

  test('all nodes stay when none can forward, settled or not', () => {
    for (const settled of [true, false]) {
      expect(outcomesAt({ heldBack: { a: [held()], b: [held('IPv4', settled)] } }, 'a')).toEqual(stays);
    }
  });

  test('it stays under policy Local when no other node has an endpoint', () => {
    const local: ClusterLiteral = {
      services: [{ name: 'web', assigned: ['192.0.2.1'], externalTrafficPolicy: 'Local' }],
      slices: [{ service: 'web', endpoints: ['10.1.0.1@a'] }],
    };
    expect(outcomesAt({ ...local, heldBack: { a: [held()] } }, 'a')).toEqual(['announced HeldBackLastNextHop']);
  });

  test('it stays when no other node has a session or a recent report', () => {
    expect(outcomesAt({ running: { a: peer }, heldBack: { a: [held()] } }, 'a')).toEqual(stays);
    expect(outcomesAt({ running: { a: peer, b: {} }, heldBack: { a: [held()] } }, 'a')).toEqual(stays);
    // oxlint-disable-next-line no-restricted-globals -- reading a date from text is pure
    const written = Date.parse('2026-01-01T00:00:00Z');
    expect(outcomesAt({ heldBack: { a: [held()] } }, 'a', { now: written + 91_000 })).toEqual(stays);
  });

  test('it stays when the only other node is drained by force', () => {
    const nodes: readonly NodeLiteral[] = [{ name: 'a' }, { name: 'b', drain: 'force' }];
    expect(outcomesAt({ nodes, heldBack: { a: [held()] } }, 'a')).toEqual(stays);
  });
});

describe('a drain beside a node that cannot forward', () => {
  const drained: NodeDrainReport = { phase: 'Settled', since: '2026-01-01T00:00:00Z', kept: 0 };
  const nodes: readonly NodeLiteral[] = [{ name: 'a' }, { name: 'b', drain: 'keepLast' }];

  test('the drained node stays for IPv4, because it forwards, and the other withdraws', () => {
    const change: ClusterLiteral = { nodes, drains: { b: drained }, heldBack: { a: [held()] } };
    expect(outcomesAt(change, 'a')).toEqual(['NodeHeldBack', 'announced']);
    expect(outcomesAt(change, 'b')).toEqual(['announced LastNextHop', 'NodeDrained']);
  });

  test('the drained node withdraws when it cannot forward either', () => {
    const change: ClusterLiteral = { nodes, drains: { b: drained }, heldBack: { a: [held()], b: [held()] } };
    expect(outcomesAt(change, 'a')).toEqual(['announced HeldBackLastNextHop', 'announced']);
    expect(outcomesAt(change, 'b')).toEqual(['NodeDrained', 'NodeDrained']);
  });
});

test('some node keeps announcing an announced address when any nodes are held back, drained or silent', () => {
  const name = fc.constantFrom<string>('a', 'b', 'c', 'd');
  const mix = fc.record({
    settled: fc.uniqueArray(name),
    pending: fc.uniqueArray(name),
    drains: fc.uniqueArray(name),
    silent: fc.uniqueArray(name, { maxLength: 3 }),
  });
  fc.assert(
    fc.property(mix, ({ settled, pending, drains, silent }) => {
      const all = ['a', 'b', 'c', 'd'];
      const heldBack = Object.fromEntries([
        ...pending.map((node) => [node, [held('IPv4', false)]] as const),
        ...settled.map((node) => [node, [held()]] as const),
      ]);
      const change: ClusterLiteral = {
        nodes: all.map((node) => (drains.includes(node) ? { name: node, drain: 'keepLast' } : { name: node })),
        running: Object.fromEntries(all.map((node) => [node, silent.includes(node) ? {} : peer])),
        drains: Object.fromEntries(drains.map((node) => [node, { phase: 'Settled', since: `2026-01-01T00:00:00Z`, kept: 0 } as const])),
        heldBack,
      };
      const heard = all.filter((node) => !silent.includes(node));
      const announcing = heard.filter((node) => outcomesAt(change, node)[0]?.startsWith('announced'));
      expect(announcing.length).toBeGreaterThan(0);
      // A node that forwards and is not drained makes every settled node withdraw.
      const good = heard.filter((node) => heldBack[node] === undefined && !drains.includes(node));
      if (good.length > 0) for (const node of settled) expect(outcomesAt(change, node)[0]).not.toMatch(/^announced/);
    }),
  );
});
