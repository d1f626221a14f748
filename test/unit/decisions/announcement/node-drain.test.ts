import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { defined } from '../../../../src/lang/defined.ts';
import { formatCommunity } from '../../../../src/decisions/announcement/communities.ts';
import { decideAnnouncement } from '../../../../src/decisions/announcement/decision.ts';
import { withGracefulShutdownAttributes } from '../../../../src/decisions/announcement/last-resort.ts';
import type { OwnState } from '../../../../src/decisions/announcement/node-drain.ts';
import type { NodeDrainReport } from '../../../../src/model/objects/node-state.ts';
import { formatPrefix } from '../../../../src/net/prefix.ts';
import { cluster, matching, type ClusterLiteral, type NodeLiteral } from '../fixtures.ts';
import { runs } from '../../../support/property.ts';

const peer = { tor: '10.0.0.254' };
const base: ClusterLiteral = {
  services: [{ name: 'web', assigned: ['192.0.2.1'] }],
  slices: [{ service: 'web', endpoints: ['10.1.0.1@a', '10.1.0.2@b'] }],
  pools: [{ name: 'prod', addresses: ['192.0.2.0/24', '2001:db8::/64'] }],
  advertisements: [{ name: 'ad', localPref: 200, communities: ['64512:1'] }],
  peers: [{ name: 'tor' }],
  running: { a: peer, b: peer },
};
const drained = (phase: NodeDrainReport['phase'], since = '2026-01-01T00:00:00Z'): NodeDrainReport => ({ phase, since, kept: 0 });

/** Prints the routes of the Service's one address with their attributes and reason, or the reason why there are none. */
function outcomeAt(change: ClusterLiteral, node: string, view?: OwnState): string {
  const snapshot = cluster({ ...base, ...change });
  const [web] = snapshot.services.values();
  if (web === undefined) throw new RangeError('no service');
  const result = decideAnnouncement(snapshot, web, node, view).addresses.find(({ type }) => type === 'LoadBalancer')?.result;
  if (result === undefined) throw new RangeError('no address');
  if (!result.announce) return result.reason.code;
  const routes = result.peers.flatMap((toPeer) =>
    'routes' in toPeer.result ? toPeer.result.routes.map(withGracefulShutdownAttributes) : [],
  );
  const texts = routes.map(({ prefix, communities, localPref, asPathPrepend }) => {
    const prepended = asPathPrepend === 0 ? [] : [`prepend ${asPathPrepend}`];
    return [formatPrefix(prefix), ...communities.map(formatCommunity), `pref ${localPref}`, ...prepended].join(' ');
  });
  return [...texts, ...(result.drain === undefined ? [] : [result.drain.code])].join(', ');
}

const usual = '192.0.2.1/32 64512:1 pref 200';
const last = '192.0.2.1/32 64512:1 65535:0 pref 0 prepend 4';

describe('a draining node', () => {
  const nodes: readonly NodeLiteral[] = [{ name: 'a', drain: 'keepLast' }, { name: 'b' }];

  test('it first announces its routes as the last resort', () => {
    expect(outcomeAt({ nodes }, 'a')).toBe(`${last}, NodeDraining`);
    expect(outcomeAt({ nodes, drains: { a: drained('Draining') } }, 'a')).toBe(`${last}, NodeDraining`);
  });

  test.each(['Settled', 'Withdrawn', 'Drained'] as const)('it withdraws when its agent reports %s', (phase) => {
    expect(outcomeAt({ nodes, drains: { a: drained(phase) } }, 'a')).toBe('NodeDrained');
  });

  test("the agent's own view of the settle time wins over its report", () => {
    expect(outcomeAt({ nodes }, 'a', { settled: true })).toBe('NodeDrained');
    expect(outcomeAt({ nodes, drains: { a: drained('Withdrawn') } }, 'a', { settled: false })).toBe(`${last}, NodeDraining`);
  });

  test('other nodes change nothing, and the end of the drain restores its routes', () => {
    expect(outcomeAt({ nodes, drains: { a: drained('Withdrawn') } }, 'b')).toBe(usual);
    expect(outcomeAt({ nodes: [{ name: 'a' }, { name: 'b' }], drains: { a: drained('Withdrawn') } }, 'a')).toBe(usual);
  });

  test('a node is drained by the taint that HeraldConfig names and by no other', () => {
    const tainted: readonly NodeLiteral[] = [{ name: 'a', taints: ['example.com/maintenance', 'node.kubernetes.io/unschedulable'] }];
    const nodeDrain = { settleSeconds: 10, deadlineSeconds: 300 };
    expect(outcomeAt({ nodes: tainted }, 'a')).toBe(usual);
    expect(outcomeAt({ nodes: tainted, config: { nodeDrain: { ...nodeDrain, taint: 'example.com/other' } } }, 'a')).toBe(usual);
    expect(outcomeAt({ nodes: tainted, config: { nodeDrain: { ...nodeDrain, taint: 'example.com/maintenance' } } }, 'a')).toBe(
      `${last}, NodeDraining`,
    );
  });
});

describe('a drained node that is the sole next hop', () => {
  const settled = { a: drained('Settled') };
  const two: readonly NodeLiteral[] = [{ name: 'a', drain: 'keepLast' }, { name: 'b' }];
  const kept = `${last}, LastNextHop`;

  test('it stays when there is no other node', () => {
    expect(outcomeAt({ nodes: [{ name: 'a', drain: 'keepLast' }], drains: settled }, 'a')).toBe(kept);
  });

  test('it stays under policy Local when no other node has an endpoint', () => {
    const local: ClusterLiteral = {
      services: [{ name: 'web', assigned: ['192.0.2.1'], externalTrafficPolicy: 'Local' }],
      slices: [{ service: 'web', endpoints: ['10.1.0.1@a'] }],
    };
    expect(outcomeAt({ ...local, nodes: two, drains: settled }, 'a')).toBe(kept);
    expect(
      outcomeAt({ ...local, slices: [{ service: 'web', endpoints: ['10.1.0.1@a', '10.1.0.2@b'] }], nodes: two, drains: settled }, 'a'),
    ).toBe('NodeDrained');
  });

  test('it stays when no advertisement selects another node', () => {
    const advertisements = [{ name: 'ad', localPref: 200, communities: ['64512:1'], nodeSelectors: [matching({ rack: 'one' })] }];
    const nodes: readonly NodeLiteral[] = [{ name: 'a', labels: { rack: 'one' }, drain: 'keepLast' }, { name: 'b' }];
    expect(outcomeAt({ nodes, advertisements, drains: settled }, 'a')).toBe(kept);
  });

  test('it stays when the other agent does not report or has no session', () => {
    expect(outcomeAt({ nodes: two, running: { a: peer }, drains: settled }, 'a')).toBe(kept);
    expect(outcomeAt({ nodes: two, running: { a: peer, b: {} }, drains: settled }, 'a')).toBe(kept);
    expect(outcomeAt({ nodes: two, running: { a: peer, b: { other: '10.0.0.253' } }, drains: settled }, 'a')).toBe(kept);
  });

  test("it stays when the other node's report does not list all Services that differ", () => {
    expect(outcomeAt({ nodes: two, drains: settled, truncatedReports: ['a'] }, 'a')).toBe('NodeDrained');
    expect(outcomeAt({ nodes: two, drains: settled, truncatedReports: ['b'] }, 'a')).toBe(kept);
  });

  test("it stays when the other node's report is too old", () => {
    // oxlint-disable-next-line no-restricted-globals -- reading a date from text is pure
    const written = Date.parse('2026-01-01T00:00:00Z');
    expect(outcomeAt({ nodes: two, drains: settled }, 'a', { now: written + 90_000 })).toBe('NodeDrained');
    expect(outcomeAt({ nodes: two, drains: settled }, 'a', { now: written + 91_000 })).toBe(kept);
  });

  test('it withdraws when the drain is forced', () => {
    expect(outcomeAt({ nodes: [{ name: 'a', drain: 'force' }], drains: settled }, 'a')).toBe('NodeDrained');
  });

  test('the node asked last stays when two drain, and none announces again for it', () => {
    const nodes: readonly NodeLiteral[] = [
      { name: 'a', drain: 'keepLast' },
      { name: 'b', drain: 'keepLast' },
    ];
    const drains = { a: drained('Settled', '2026-01-01T00:00:05Z'), b: drained('Settled', '2026-01-01T00:00:01Z') };
    expect([outcomeAt({ nodes, drains }, 'a'), outcomeAt({ nodes, drains }, 'b')]).toEqual([kept, 'NodeDrained']);
    // A node that has not yet reported when it was asked counts as asked last.
    expect([outcomeAt({ nodes, drains: settled }, 'a'), outcomeAt({ nodes, drains: settled }, 'b')]).toEqual([
      'NodeDrained',
      `${last}, NodeDraining`,
    ]);
  });

  test('it stays when the only other node is drained by force', () => {
    const nodes: readonly NodeLiteral[] = [
      { name: 'a', drain: 'keepLast' },
      { name: 'b', drain: 'force' },
    ];
    expect(outcomeAt({ nodes, drains: settled }, 'a')).toBe(kept);
  });
});

describe('random drains of a cluster', () => {
  const names = ['a', 'b', 'c', 'd'];
  const literal = fc.record({
    wish: fc.constantFrom(undefined, 'keepLast' as const, 'force' as const),
    excluded: fc.boolean(),
    session: fc.boolean(),
    phase: fc.constantFrom(undefined, 'Draining' as const, 'Settled' as const, 'Withdrawn' as const, 'Drained' as const),
    second: fc.integer({ min: 0, max: 3 }),
  });
  const clusters = fc.array(literal, { minLength: 1, maxLength: names.length }).map((some): ClusterLiteral => {
    const of = some.map((each, index) => ({ ...each, name: names[index] ?? '' }));
    return {
      ...base,
      nodes: of.map(({ name, wish, excluded }) => ({
        name,
        labels: excluded ? { 'node.kubernetes.io/exclude-from-external-load-balancers': '' } : {},
        ...defined({ drain: wish }),
      })),
      running: Object.fromEntries(of.map(({ name, session }) => [name, session ? peer : {}])),
      drains: Object.fromEntries(
        of.flatMap(({ name, wish, phase, second }) =>
          wish === undefined || phase === undefined ? [] : [[name, drained(phase, `2026-01-01T00:00:0${second}Z`)]],
        ),
      ),
    };
  });
  const undrained = (of: ClusterLiteral): ClusterLiteral => ({
    ...of,
    nodes: (of.nodes ?? []).map(({ name, labels }) => ({ name, labels: labels ?? {} })),
  });
  const announces = (text: string): boolean => text.startsWith('192.0.2.1/32');

  test('an address that unforced nodes announced is still announced by a node with a session', () => {
    fc.assert(
      fc.property(clusters, (of) => {
        const nodes = of.nodes ?? [];
        const isHeard = (name: string): boolean => Object.keys(of.running?.[name] ?? {}).length > 0;
        const before = nodes.filter(({ name, drain }) => drain !== 'force' && isHeard(name) && announces(outcomeAt(undrained(of), name)));
        if (before.length === 0) return;
        expect(nodes.some(({ name }) => isHeard(name) && announces(outcomeAt(of, name)))).toBe(true);
      }),
      { numRuns: runs(500) },
    );
  });

  test('other nodes announce the same, and a draining node announces only a last resort', () => {
    fc.assert(
      fc.property(clusters, (of) => {
        for (const { name, drain } of of.nodes ?? []) {
          const [with_, without] = [outcomeAt(of, name), outcomeAt(undrained(of), name)];
          if (drain === undefined) expect(with_).toBe(without);
          else if (announces(with_)) expect(with_).toMatch(/65535:0 pref 0 prepend 4, (NodeDraining|LastNextHop)$/);
          // A drain takes routes away and never adds one.
          if (announces(with_)) expect(announces(without)).toBe(true);
        }
      }),
      { numRuns: runs(300) },
    );
  });

  test('at most one node keeps an address as sole next hop, and none beside an undrained node', () => {
    fc.assert(
      fc.property(clusters, (of) => {
        const isHeard = (name: string): boolean => Object.keys(of.running?.[name] ?? {}).length > 0;
        const heard = (of.nodes ?? []).filter(({ name }) => isHeard(name) && announces(outcomeAt(of, name)));
        const kept = heard.filter(({ name }) => outcomeAt(of, name).endsWith('LastNextHop'));
        expect(kept.length).toBeLessThanOrEqual(1);
        if (heard.some(({ drain }) => drain === undefined)) expect(kept).toEqual([]);
      }),
      { numRuns: runs(500) },
    );
  });
});
