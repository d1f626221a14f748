import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { fieldClass, type StreamedEvent } from '../../../src/bgp/index.ts';

const readme = readFileSync(join(import.meta.dirname, '../../../src/bgp/README.md'), 'utf8');

/** Returns the cells of each row of the first table in a chapter, without the table's head. */
function table(chapter: string): string[][] {
  const [, text = ''] = readme.split(`\n## ${chapter}\n`);
  const lines = text.split('\n## ')[0]?.split('\n') ?? [];
  const start = lines.findIndex((line) => line.startsWith('|---'));
  const rows = lines.slice(start + 1);
  return rows.slice(0, rows.indexOf('')).map((line) => line.split(/(?<!\\)\|/).map((cell) => cell.trim()));
}

const code = (cell: string | undefined): string => cell?.replaceAll('`', '') ?? '';

test('the README lists every peer option and the effect of changing it', () => {
  expect(Object.fromEntries(table('Peer options').map(([, name, , change]) => [code(name), change]))).toEqual(fieldClass);
});

test('the README lists every event', () => {
  const types: Readonly<Record<StreamedEvent['type'], true>> = {
    state: true,
    established: true,
    down: true,
    notification: true,
    refresh: true,
    endOfRib: true,
    routes: true,
    lost: true,
  };
  expect(table('Events').map(([, type]) => code(type))).toEqual(Object.keys(types));
});
