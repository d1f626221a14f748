import { parseArgs } from 'node:util';
import { fillSlots, type SlotCandidate } from '../../../src/decisions/forwarding/slot-table.ts';
import { slotTableSizes } from '../../../src/net/frontend.ts';
import { median } from '../runner/statistics.ts';
import { conditionLines, conditions } from '../runner/conditions.ts';
import { maglev, rendezvous, type Fill } from './peers.ts';

/**
 * Measures how many slots move when endpoints change, how even the load is, and how long a table takes to compute: our algorithm, Maglev
 * and plain rendezvous hashing over the same Services.
 *
 *   npm run bench:hashing
 *   npm run bench:hashing -- --services 100      default 20
 *   npm run bench:hashing -- --json              for machines
 */
const { values } = parseArgs({ options: { json: { type: 'boolean', default: false }, services: { type: 'string', default: '20' } } });
const services = Number(values.services);
const counts = [2, 3, 5, 10, 25, 50, 100, 250];
const algorithms: Readonly<Record<string, Fill>> = { ours: fillSlots, maglev, rendezvous };

interface Figures {
  readonly algorithm: string;
  readonly slots: number;
  readonly endpoints: number;
  /**
   * The share of slots that move although neither their old nor their new endpoint was added or removed: mean, and of the worst Service.
   */
  readonly unrelated: { readonly removed: number; readonly added: number; readonly worst: number };
  /** How far the fullest endpoint exceeds its share: mean. */
  readonly imbalance: number;
  /** Microseconds, median. */
  readonly fill: number;
}

const endpoints = (count: number): SlotCandidate[] =>
  Array.from({ length: count }, (_, index) => ({ name: `10.244.${index >> 8}.${index & 255}`, weight: 1 }));

function measure(algorithm: string, slots: number, count: number): Figures {
  const fill = algorithms[algorithm] ?? fillSlots;
  const rounds = count * slots > 1_000_000 ? Math.min(services, 5) : services;
  const [removed, added, imbalances, times]: [number[], number[], number[], number[]] = [[], [], [], []];
  for (let service = 0; service < rounds; service++) {
    const salt = `uid-${service}`;
    const all = endpoints(count);
    const started = performance.now();
    const table = fill(salt, all, slots);
    times.push(1000 * (performance.now() - started));
    imbalances.push(Math.max(...loads(table, count)) / (slots / count) - 1);
    const gone = (service * 7) % count;
    const fewer = all.filter((_, index) => index !== gone);
    if (count > 1) removed.push(unrelated(all, table, fewer, fill(salt, fewer, slots)) / slots);
    const more = endpoints(count + 1);
    added.push(unrelated(all, table, more, fill(salt, more, slots)) / slots);
  }
  const unrelatedMoves = { removed: mean(removed), added: mean(added), worst: Math.max(...removed, ...added) };
  return { algorithm, slots, endpoints: count, unrelated: unrelatedMoves, imbalance: mean(imbalances), fill: median(times) };
}

function unrelated(before: readonly SlotCandidate[], old: Uint16Array, after: readonly SlotCandidate[], next: Uint16Array): number {
  const [was, is] = [before, after].map((list) => new Set(list.map(({ name }) => name)));
  let moved = 0;
  for (const [slot, index] of old.entries()) {
    const [from = '', to = ''] = [before[index]?.name, after[next[slot] ?? 0]?.name];
    if (from !== to && is?.has(from) === true && was?.has(to) === true) moved++;
  }
  return moved;
}

function loads(table: Uint16Array, count: number): number[] {
  const loads = Array.from({ length: count }, () => 0);
  for (const index of table) loads[index] = (loads[index] ?? 0) + 1;
  return loads;
}

const mean = (list: readonly number[]): number => list.reduce((sum, each) => sum + each, 0) / Math.max(1, list.length);
const percent = (share: number): string => (100 * share).toFixed(share > 0 && share < 0.001 ? 2 : 1);

const figures: Figures[] = [];
for (const slots of slotTableSizes) {
  for (const count of counts.filter((count) => 4 * count <= slots)) {
    for (const algorithm of Object.keys(algorithms)) figures.push(measure(algorithm, slots, count));
  }
}

function report(): string {
  const of = (slots: number, count: number): Figures[] => figures.filter((each) => each.slots === slots && each.endpoints === count);
  const cell = (list: readonly Figures[], write: (figures: Figures) => string): string => list.map(write).join(' / ');
  const rows = slotTableSizes.flatMap((slots) =>
    counts.flatMap((count) => {
      const list = of(slots, count);
      if (list.length === 0) return [];
      return [
        `| ${slots} | ${count} | ${cell(list, ({ unrelated: { removed } }) => percent(removed))} | ${cell(list, ({ unrelated: { added } }) => percent(added))} | ${cell(list, ({ unrelated: { worst } }) => percent(worst))} | ${cell(list, ({ imbalance }) => percent(imbalance))} | ${cell(list, ({ fill }) => Math.round(fill).toString())} |`,
      ];
    }),
  );
  return [
    conditionLines(conditions({})),
    `${services} Services. Maglev and rendezvous hashing are those of test/bench/hashing/peers.ts.`,
    '',
    `Each cell: ${Object.keys(algorithms).join(' / ')}.`,
    '',
    '| slots | endpoints | one goes: others moved, % | one comes: others moved, % | worst Service, % | fullest above its share, % | fill, µs |',
    '|---:|---:|---:|---:|---:|---:|---:|',
    ...rows,
  ].join('\n');
}

process.stdout.write(`${values.json ? JSON.stringify({ conditions: conditions({}), services, figures }) : report()}\n`);
