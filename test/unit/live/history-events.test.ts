import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { toneOf } from '../../../src/console/contract.ts';
import { eventTable } from '../../../src/controller/events/event-table.ts';
import { historyEvents } from '../../../src/live/history-events.ts';
import { catalogue } from '../../../src/model/reasons.ts';

const sources = ['agent-history', 'l2-history'].map((file) =>
  readFileSync(join(import.meta.dirname, `../../../src/agent/live/${file}.ts`), 'utf8'),
);
const agents = new Set(sources.flatMap((text) => [...text.matchAll(/'([A-Z][A-Za-z]+)'/g)].map(([, name = '']) => name)));
for (const other of ['Service', 'BGPPeer', 'Node', 'NodeDrained']) agents.delete(other);
const controller = Object.values(eventTable).flatMap((kind) => (kind.about === 'Service' && 'reason' in kind ? [kind.reason] : []));

describe('the names of the events of the history', () => {
  test('are those that agents record, and the reasons of Events about Services', () => {
    const codes = Object.keys(historyEvents).filter((name) => Object.hasOwn(catalogue, name));
    expect(agents.size).toBeGreaterThan(10);
    expect(Object.keys(historyEvents).toSorted()).toEqual([...new Set([...agents, ...controller, ...codes])].toSorted());
  });

  test.each([
    ['NotOwner', 'bad'],
    ['Owner', 'good'],
    ['Withdrawn', 'bad'],
    ['ConflictEnded', 'good'],
    ['Changed', ''],
    ['PoolFull', ''],
    ['constructor', ''],
  ])('%s has the tone %j in the console', (name, tone) => {
    expect(toneOf(name)).toBe(tone);
  });

  test.each(Object.entries(historyEvents))('%s has a tone', (name, tone) => {
    expect(['good', 'bad', '']).toContain(tone);
    expect(toneOf(name)).toBe(tone);
  });
});
