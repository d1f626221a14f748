import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { sourceFiles } from '../../../scripts/source-files.ts';

const root = join(import.meta.dirname, '../../..');
const files = sourceFiles();

test('the search finds source files', () => {
  expect(files.length).toBeGreaterThan(100);
});

/** Longer files, with their present number of lines. They may only become shorter. */
const longer: Readonly<Record<string, number>> = {};

test('no file in src has more than 400 lines', () => {
  const long = files.map((file) => [file, readFileSync(join(root, file), 'utf8').trimEnd().split('\n').length] as const);
  expect(long.filter(([file, lines]) => lines > (longer[file] ?? 400))).toEqual([]);
});

test('no folder or file has a vague name such as utils or helpers', () => {
  const vague = /(^|\/)(utils?|common|helpers?|misc)(\/|\.ts$)/;
  expect(vague.test('src/utils/x.ts') && vague.test('src/bgp/helpers.ts') && !vague.test('src/net/communities.ts')).toBe(true);
  expect([...files, ...globSync('{test,scripts}/**/*.ts', { cwd: root })].filter((file) => vague.test(file))).toEqual([]);
});
