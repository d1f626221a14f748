import { describe, expect, test } from 'vitest';
import { limits } from '../../../src/console/limits.ts';
import { historyView, momentView } from '../../../src/console/views/history.ts';
import type { RecalledHistory } from '../../../src/console/picture.ts';
import type { AttributedEntry } from '../../../src/explain/history/merged-history.ts';

const at = (second: number): string => `2026-01-01T00:00:${String(second).padStart(2, '0')}.000Z`;

function entry(second: number, by: string, what: string, more: Partial<AttributedEntry> = {}): AttributedEntry {
  return { at: at(second), by, kind: 'Service', name: 'shop/web', what, text: `${what} then`, ...more };
}

const route = (peer: string): Pick<AttributedEntry, 'routes'> => ({ routes: [{ peer, prefix: '192.0.2.1/32' }] });
const told = [{ who: 'the agent of node1', by: 'node1', since: at(0), version: '1' }];
const of = (entries: readonly AttributedEntry[], more: Partial<RecalledHistory> = {}): RecalledHistory => ({
  entries,
  told,
  unasked: [],
  ...more,
});

/** node1 announces to two routers, loses the session with one, and withdraws from the other. */
const service = of([
  entry(1, 'controller', 'AddressAssigned'),
  entry(2, 'node1', 'Programmed'),
  entry(3, 'node1', 'Announced', { routes: ['tor1', 'tor2'].map((peer) => ({ peer, prefix: '192.0.2.1/32' })) }),
  entry(6, 'node1', 'Withdrawn', { ...route('tor2'), reason: { code: 'NoEndpoints', message: 'there are no endpoints', fix: '' } }),
  entry(7, 'node1', 'Removed'),
]);
const sessions = of([entry(5, 'node1', 'SessionDown', { kind: 'BGPPeer', name: 'tor1', text: 'the hold timer expired' })]);

describe('the path at a moment', () => {
  const drawn = (second: number): readonly string[] =>
    momentView(at(second), service, sessions).routes.map(({ node, peer, health, words }) => `${node} ${peer} ${health} ${words}`);

  test('has the routes that were announced by then, over the sessions that were up', () => {
    expect(drawn(2)).toEqual([]);
    expect(drawn(4)).toEqual(['node1 tor1 good 192.0.2.1/32', 'node1 tor2 good 192.0.2.1/32']);
    expect(drawn(5)).toEqual(['node1 tor1 bad the session was down: the hold timer expired', 'node1 tor2 good 192.0.2.1/32']);
    expect(drawn(9)[1]).toBe('node1 tor2 bad withdrawn: there are no endpoints');
  });

  test('has the last words of each process on its forwarding and addresses', () => {
    const before = momentView(at(4), service, sessions);
    expect(before.nodes).toEqual([{ node: 'node1', health: 'good', words: [{ at: at(2), what: 'Programmed', text: 'Programmed then' }] }]);
    expect(before.controller).toEqual([{ at: at(1), what: 'AddressAssigned', text: 'AddressAssigned then' }]);
    expect(momentView(at(8), service, sessions).nodes).toMatchObject([{ node: 'node1', health: 'off', words: [{ what: 'Removed' }] }]);
  });

  test('says which processes cannot know the moment', () => {
    const unasked = [{ who: 'the agent of node2', why: 'no answer', fix: '' }];
    const late = of([entry(9, 'node1', 'Announced', { ...route('tor1'), moreRoutes: 3 })], {
      told: told.map((one) => ({ ...one, since: at(20) })),
      unasked,
    });
    expect(momentView(at(10), late, sessions).gaps).toEqual([
      `the agent of node1 was started later, at ${at(20)}`,
      'node1 announced more routes than it recorded',
      'the agent of node2 was not queried: no answer',
    ]);
  });
});

test('an answer has the newest events up to the limit, and the number of older ones', () => {
  const many = of(Array.from({ length: limits.historyEntries + 5 }, (_, index) => entry(1, `node${index}`, 'Programmed')));
  const { entries, left } = historyView(many);
  expect([entries.length, left, entries[0]?.by, 'moment' in historyView(many)]).toEqual([limits.historyEntries, 5, 'node5', false]);
});
