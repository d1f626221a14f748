import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { numberedNames, numberedTests, requirementsOf, rfcPage, testFiles } from '../../../scripts/rfc-page.ts';
import { chapters, requirements, rfcs } from '../../bgp-requirements.ts';

const all = Array.from({ length: 106 }, (_, index) => index + 1);

test('docs/reference/rfc.md is what node scripts/write-rfc.ts writes', () => {
  expect(readFileSync(join(import.meta.dirname, '../../../docs/reference/rfc.md'), 'utf8')).toBe(rfcPage());
});

test('every requirement is in the list once, in order, and in one chapter', () => {
  expect(requirements.map(({ number }) => number)).toEqual(all);
  expect(chapters.flatMap(({ first, last }) => all.slice(first - 1, last))).toEqual(all);
});

test('what is met has a test that carries its number', () => {
  const proven = new Set(numberedTests().flatMap(({ numbers }) => numbers));
  expect(requirements.filter(({ number, status }) => status.kind === 'met' && !proven.has(number)).map(({ number }) => number)).toEqual([]);
});

test('no test carries the number of a requirement that does not exist', () => {
  expect(numberedTests().filter(({ numbers }) => numbers.some((number) => !all.includes(number)))).toEqual([]);
});

test('numbers have three digits and stand at the start of a name, where the page finds them', () => {
  const stray = testFiles().flatMap(({ file, text }) =>
    text
      .split('\n')
      .filter(
        (line) => /\b(?:test|it|describe)[.(].*\bBGP-?\d{2}|\bBGP-\d{2}(?!\d)|\bBGP-\d{4}/.test(line) && numberedNames(line).length === 0,
      )
      .map((line) => `${file}: ${line.trim()}`),
  );
  expect(stray).toEqual([]);
});

test('every RFC that a requirement cites is in the table, and every RFC of the table has a status', () => {
  const known = new Set(rfcs.map(({ number }) => String(number)));
  expect(requirements.flatMap(({ sources }) => sources).filter((source) => !known.has(source.split(' ')[0] ?? ''))).toEqual([]);
  expect(rfcs.filter((rfc) => rfc.status === undefined && requirementsOf(rfc).length === 0)).toEqual([]);
});

test('finds the numbers of names in every kind of string, and only there', () => {
  const text = [
    `test('BGP-014 AS 0 is refused', () => {`,
    `  // BGP-015 is elsewhere`,
    `test.each([['BGP-016 BGP-038 hold time \\'0\\'']])('%s', () => {`,
    'describe(`BGP-057 collision`, () => {',
    `test('not BGP-018', () => {`,
  ].join('\n');
  expect(numberedNames(text)).toEqual([
    { numbers: [14], name: 'AS 0 is refused' },
    { numbers: [16, 38], name: "hold time '0'" },
    { numbers: [57], name: 'collision' },
  ]);
});
