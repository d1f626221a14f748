import { describe, expect, test } from 'vitest';
import { History } from '../../../src/live/history.ts';
import { limits } from '../../../src/live/limits.ts';
import { LiveQuery } from '../../../src/live/query.ts';
import { reason } from '../../../src/model/reasons.ts';
import { VirtualClock } from '../../../src/system/virtual-clock.ts';

const happened = (text: string) => ({ what: 'Announced', text });
const texts = (history: History, name: string): string[] => history.entries({ kind: 'Service', name }).map(({ text }) => text);

describe('the history of a process', () => {
  test("an object's entries come oldest first, with reason and causes", () => {
    const clock = new VirtualClock();
    const history = new History(clock);
    history.record('Service', 'shop/web', happened('first'));
    clock.advance(1500);
    const cause = { kind: 'Node', name: 'n1', resourceVersion: '7' };
    history.record('Service', 'shop/web', {
      what: 'Withdrawn',
      text: 'second',
      reason: reason('DataPlaneFailed', { error: 'nft is broken' }),
      causes: [cause],
    });
    history.record('BGPPeer', 'shop/web', happened('of another kind'));
    const [first, second, ...more] = history.entries({ kind: 'Service', name: 'shop/web' });
    expect(more).toEqual([]);
    expect(first).toEqual({ at: expect.stringMatching(/\.\d{3}Z$/), kind: 'Service', name: 'shop/web', what: 'Announced', text: 'first' });
    expect(Date.parse(second?.at ?? '') - Date.parse(first?.at ?? '')).toBe(1500);
    expect(second).toMatchObject({
      causes: [cause],
      reason: { code: 'DataPlaneFailed', message: expect.stringContaining('nft is broken') },
    });
  });

  test('an entry lists the peers of each route, and counts the routes beyond the limit', () => {
    const history = new History(new VirtualClock());
    const routes = [
      { peer: 'tor1-v4', prefix: '192.0.2.1/32' },
      { peer: 'tor1-v6', prefix: '2001:db8::1/128' },
      { peer: 'tor2-v4', prefix: '192.0.2.1/32' },
      { peer: 'tor2-v4', prefix: '192.0.2.2/32' },
      { peer: 'tor1-v4', prefix: '192.0.2.2/32' },
    ];
    history.record('Service', 'a', { what: 'Announced', text: 'announced', routes, moreRoutes: 3 });
    expect(texts(history, 'a')).toEqual([
      'announced 192.0.2.1/32, 192.0.2.2/32 to tor1-v4, tor2-v4; 2001:db8::1/128 to tor1-v6 and 3 more',
    ]);
    expect(history.entries()[0]).toMatchObject({ routes, moreRoutes: 3 });
  });

  test('an object keeps its latest entries', () => {
    const history = new History(new VirtualClock(), { historyObjects: 10, historyEntries: 100, historyEntriesOfObject: 3 });
    for (let n = 0; n < 5; n++) history.record('Service', 'a/a', happened(String(n)));
    expect(texts(history, 'a/a')).toEqual(['2', '3', '4']);
  });

  test('a flapping Service evicts only its own entries', () => {
    const history = new History(new VirtualClock(), { historyObjects: 100, historyEntries: 40, historyEntriesOfObject: 24 });
    for (let n = 0; n < 10; n++) for (let i = 0; i < 2; i++) history.record('Service', `quiet/${n}`, happened(String(i)));
    for (let n = 0; n < 1000; n++) history.record('Service', 'loud/one', happened(String(n)));
    for (let n = 0; n < 1000; n++) history.record('Service', 'loud/two', happened(String(n)));
    for (let n = 0; n < 10; n++) expect(texts(history, `quiet/${n}`)).toEqual(['0', '1']);
    // The two share the remaining room equally.
    expect(texts(history, 'loud/one')).toEqual(Array.from({ length: 10 }, (_, n) => String(990 + n)));
    expect(texts(history, 'loud/two')).toEqual(Array.from({ length: 10 }, (_, n) => String(990 + n)));
    expect(history.entries()).toHaveLength(40);
  });

  test('deleted objects are evicted first, then the object that has been quiet the longest', () => {
    const history = new History(new VirtualClock(), { historyObjects: 3, historyEntries: 100, historyEntriesOfObject: 5 });
    for (const name of ['a', 'b', 'c']) history.record('Service', name, happened(name));
    history.markDeleted('Service', 'c');
    history.record('Service', 'd', happened('d'));
    expect(history.entries().map(({ name }) => name)).toEqual(['a', 'b', 'd']);
    history.record('Service', 'a', happened('again'));
    history.record('Service', 'e', happened('e'));
    expect(history.entries().map(({ name }) => name)).toEqual(['a', 'd', 'a', 'e']);
  });

  test('a recreated object no longer counts as deleted', () => {
    const history = new History(new VirtualClock(), { historyObjects: 2, historyEntries: 100, historyEntriesOfObject: 5 });
    history.record('Service', 'a', happened('1'));
    history.markDeleted('Service', 'a');
    history.record('Service', 'b', happened('1'));
    history.record('Service', 'a', happened('2'));
    history.record('Service', 'c', happened('1'));
    expect(history.entries().map(({ name }) => name)).toEqual(['a', 'a', 'c']);
  });

  test('the history never exceeds its bounds', () => {
    const history = new History(new VirtualClock(), { historyObjects: 7, historyEntries: 20, historyEntriesOfObject: 6 });
    let seed = 1;
    const next = (below: number): number => (seed = (seed * 48_271) % 2_147_483_647) % below;
    for (let n = 0; n < 5000; n++) {
      const name = `s${next(12)}`;
      if (next(5) === 0) history.markDeleted('Service', name);
      else history.record('Service', name, happened(String(n)));
      const all = history.entries();
      const byName = Map.groupBy(all, (entry) => entry.name);
      expect(all.length).toBeLessThanOrEqual(20);
      expect(byName.size).toBeLessThanOrEqual(7);
      for (const of of byName.values()) expect(of.length).toBeLessThanOrEqual(6);
    }
  });

  test('the live API serves the history in pages, by namespace, by object, and since a time', () => {
    const clock = new VirtualClock();
    const history = new History(clock);
    for (let n = 0; n < 5; n++) history.record('Service', `a/${n}`, happened(`a${n}`));
    clock.advance(60_000);
    history.record('Service', 'b/0', happened('b0'));
    const ask = (query: string) => history.list.items(new LiveQuery(new URLSearchParams(query), history.list.parameters));
    const names = (items: readonly unknown[]): unknown[] => items.map((item) => (item as { name: string }).name);
    const first = ask('limit=4');
    expect(names(first.items)).toEqual(['a/0', 'a/1', 'a/2', 'a/3']);
    expect(names(ask(`limit=4&after=${first.next}`).items)).toEqual(['a/4', 'b/0']);
    expect(names(ask('namespace=b').items)).toEqual(['b/0']);
    expect(names(ask('kind=Service&namespace=a&name=3').items)).toEqual(['a/3']);
    expect(ask('kind=BGPPeer').items).toEqual([]);
    expect(names(ask(`since=${new Date(clock.date().getTime() - 1000).toISOString()}`).items)).toEqual(['b/0']);
    expect(() => ask('kind=Pod')).toThrow('kind is "Pod"');
  });

  test('the bounds have room for ten thousand Services with entries', () => {
    expect(limits.historyObjects).toBeGreaterThanOrEqual(10_000);
    expect(limits.historyEntries).toBeGreaterThanOrEqual(4 * 10_000);
  });
});
