import { describe, expect, test } from 'vitest';
import { updateHistory, emptyCursor } from '../../../../src/explain/history/history-updates.ts';
import { limits } from '../../../../src/explain/limits.ts';
import { mergeHistory, type ProcessHistory } from '../../../../src/explain/history/merged-history.ts';
import { renderEntries, renderHistory } from '../../../../src/explain/history/render-history.ts';
import type { HistoryEntry } from '../../../../src/live/contract.ts';

const of = { kind: 'Service', name: 'shop/web' } as const;
const entry = (second: number, more: Partial<HistoryEntry> = {}): HistoryEntry => ({
  at: `2026-01-01T00:00:0${second}.000Z`,
  ...of,
  what: 'Programmed',
  text: '2 frontends',
  ...more,
});
const telling = (by: string, entries: readonly HistoryEntry[], since = '2026-01-01T00:00:00.000Z'): ProcessHistory => ({
  who: `the agent of ${by}`,
  by,
  since,
  version: '1.2.3',
  entries,
});
const away = { who: 'the agent of node1', node: 'node1', why: 'its pod is Pending', fix: 'look at it' };
const texts = (tellings: readonly ProcessHistory[]): string[] =>
  tellings.flatMap(({ by, entries }) => entries.map(({ at }) => `${by} ${at.slice(17, 19)}`));

describe('updateHistory', () => {
  test('only new entries are returned, even if two are equal and the oldest was dropped', () => {
    const first = updateHistory(emptyCursor, [telling('node1', [entry(1), entry(2), entry(2)])], []);
    expect(texts(first.fresh)).toEqual(['node1 01', 'node1 02', 'node1 02']);
    const same = updateHistory(first.followed, [telling('node1', [entry(2), entry(2)])], []);
    expect({ fresh: texts(same.fresh), notes: same.notes }).toEqual({ fresh: [], notes: [] });
    const more = updateHistory(same.followed, [telling('node1', [entry(2), entry(2), entry(2), entry(3)])], []);
    expect(texts(more.fresh)).toEqual(['node1 02', 'node1 03']);
  });

  test('a process that was away repeats nothing, and notes say when it went and returned', () => {
    const both = updateHistory(emptyCursor, [telling('node1', [entry(1)]), telling('node2', [entry(1)])], []);
    const without = updateHistory(both.followed, [telling('node2', [entry(1)])], [away]);
    expect(without.notes).toEqual(['not queried: the agent of node1: its pod is Pending']);
    const still = updateHistory(without.followed, [telling('node2', [entry(1)])], [away]);
    expect(still.notes).toEqual([]);
    const back = updateHistory(still.followed, [telling('node1', [entry(1), entry(2)]), telling('node2', [entry(1)])], []);
    expect({ fresh: texts(back.fresh), notes: back.notes }).toEqual({ fresh: ['node1 02'], notes: ['the agent of node1 answers again'] });
    const gone = updateHistory(back.followed, [telling('node2', [entry(1)])], []);
    expect(gone.notes).toEqual(['the agent of node1 does not answer any more']);
  });

  test('all entries of a restarted or new process are new', () => {
    const first = updateHistory(emptyCursor, [telling('node1', [entry(1)])], []);
    const later = '2026-01-01T00:00:05.000Z';
    const second = updateHistory(first.followed, [telling('node1', [entry(6)], later), telling('node2', [entry(1)])], []);
    expect(texts(second.fresh)).toEqual(['node1 06', 'node2 01']);
    expect(second.notes).toEqual([
      `the agent of node1 was restarted at ${later}: it knows nothing from before`,
      'the agent of node2 answers, and knows what happened since 2026-01-01T00:00:00.000Z',
    ]);
    expect(second.followed.tellings).toHaveLength(2);
  });

  test('the cursor keeps a limited number of processes, those that answer first', () => {
    let followed = emptyCursor;
    for (let n = 0; n < limits.followedProcesses + 5; n++) ({ followed } = updateHistory(followed, [telling(`node${n}`, [])], []));
    expect(followed.tellings).toHaveLength(limits.followedProcesses);
    expect(followed.tellings[0]?.by).toBe(`node${limits.followedProcesses + 4}`);
  });
});

describe('renderHistory', () => {
  const routes = [
    { peer: 'tor2', prefix: '192.0.2.1/32' },
    { peer: 'tor1', prefix: '192.0.2.1/32' },
    { peer: 'tor1', prefix: '2001:db8::1/128' },
  ];
  const announced = entry(2, {
    what: 'Announced',
    text: 'announced 192.0.2.1/32 to tor1, tor2; 2001:db8::1/128 to tor1 and 4 more',
    causes: [{ kind: 'EndpointSlice', name: 'shop/web-1', resourceVersion: '4712' }],
    routes,
    moreRoutes: 4,
  });
  const history = mergeHistory(of, [telling('node10', [announced]), telling('node1', [entry(1)])], [away]);

  test('entries are sorted by time with their causes, followed by the processes queried and not queried', () => {
    expect(renderHistory(history, false)).toEqual([
      'Service shop/web',
      '',
      '2026-01-01T00:00:01.000Z  node1   Programmed: 2 frontends',
      '2026-01-01T00:00:02.000Z  node10  Announced: announced 192.0.2.1/32 to tor1, tor2; 2001:db8::1/128 to tor1 and 4 more',
      '                                  after EndpointSlice shop/web-1 changed (version 4712)',
      '',
      'the agent of node1 knows what happened since 2026-01-01T00:00:00.000Z, the latest of each object',
      'the agent of node10 knows what happened since 2026-01-01T00:00:00.000Z, the latest of each object',
      'not queried: the agent of node1: its pod is Pending',
      '    fix: look at it',
    ]);
  });

  test('wide output adds the routes of each peer, and the Herald version of each process', () => {
    const lines = renderHistory(history, true);
    const margin = ' '.repeat(34);
    expect(lines).toEqual(
      expect.arrayContaining([
        `${margin}tor1: 192.0.2.1/32, 2001:db8::1/128`,
        `${margin}tor2: 192.0.2.1/32`,
        `${margin}and 4 more routes`,
        'the agent of node1, Herald 1.2.3, knows what happened since 2026-01-01T00:00:00.000Z, the latest of each object',
      ]),
    );
  });

  test('later entries align with earlier ones while the same processes answer', () => {
    const { fresh } = updateHistory(
      updateHistory(emptyCursor, [telling('node10', []), telling('node1', [])], []).followed,
      [telling('node10', []), telling('node1', [entry(1)])],
      [],
    );
    expect(renderEntries(mergeHistory(of, fresh, []), false)).toEqual(['2026-01-01T00:00:01.000Z  node1   Programmed: 2 frontends']);
  });

  test('an empty history says how to check the name; without processes it says so', () => {
    expect(renderHistory(mergeHistory(of, [], [away]), false)).toContain('No process could be queried.');
    const nothing = (kind: 'Service' | 'BGPPeer', name: string) =>
      renderHistory(mergeHistory({ kind, name }, [telling('node1', [])], []), false)[2];
    expect(nothing('Service', 'shop/wbe')).toBe(
      'The queried processes know of nothing that happened to it. To check its name: herald explain service shop/wbe',
    );
    expect(nothing('BGPPeer', 'rooter')).toContain('herald explain peer rooter');
  });
});
