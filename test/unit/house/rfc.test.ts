import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import {
  catalogues,
  numberedNames,
  numberedTests,
  requirementPages,
  requirementsOf,
  testFiles,
} from '../../../scripts/generate/rfc-page.ts';
import { label } from '../../support/requirement.ts';

const sizes: Readonly<Record<string, number>> = { BGP: 132, BFD: 36, L2: 32 };
const each = catalogues.map((catalogue) => [catalogue.prefix, catalogue] as const);
const numbersTo = (last: number): number[] => Array.from({ length: last }, (_, index) => index + 1);
const labels = new Set(catalogues.flatMap((catalogue) => catalogue.requirements.map(({ number }) => label(catalogue, number))));

test.each(requirementPages())('%s is what npm run generate writes', (path, text) => {
  expect(readFileSync(join(import.meta.dirname, '../../..', path), 'utf8')).toBe(text);
});

test.each(each)('every requirement of %s is listed once, in order, in one chapter', (prefix, { requirements, chapters }) => {
  const all = numbersTo(sizes[prefix] ?? 0);
  expect(requirements.map(({ number }) => number)).toEqual(all);
  expect(chapters.flatMap(({ first, last }) => all.slice(first - 1, last))).toEqual(all);
});

test.each(each)('every met requirement of %s has a test with its number', (_, catalogue) => {
  const proven = new Set(numberedTests().flatMap(({ labels }) => labels));
  const unproven = catalogue.requirements.filter(({ number, status }) => status.kind === 'met' && !proven.has(label(catalogue, number)));
  expect(unproven.map(({ number }) => number)).toEqual([]);
});

test('every number in a test title belongs to a requirement', () => {
  expect(numberedTests().filter((test) => test.labels.some((label) => !labels.has(label)))).toEqual([]);
});

test('numbers of BGP and BFD have three digits and begin the test title', () => {
  const stray = testFiles().flatMap(({ file, text }) =>
    text
      .split('\n')
      .filter(
        (line) =>
          /\b(?:test|it|describe)[.(].*\bB(?:GP|FD)-?\d{2}|\bB(?:GP|FD)-\d{2}(?!\d)|\bB(?:GP|FD)-\d{4}/.test(line) &&
          numberedNames(line).length === 0,
      )
      .map((line) => `${file}: ${line.trim()}`),
  );
  expect(stray).toEqual([]);
});

test.each(each)('RFCs that requirements of %s cite are in the table, and all in the table have a status', (_, catalogue) => {
  const { requirements, rfcs } = catalogue;
  const known = new Set(rfcs.map(({ number }) => String(number)));
  expect(requirements.flatMap(({ sources }) => sources).filter((source) => !known.has(source.split(' ')[0] ?? ''))).toEqual([]);
  expect(rfcs.filter((rfc) => rfc.status === undefined && requirementsOf(catalogue, rfc).length === 0)).toEqual([]);
});

test.each(each)('every deviation of %s concerns a requirement and an RFC of the table', (_, { requirements, rfcs, deviations = [] }) => {
  const numbers = new Set(requirements.map(({ number }) => number));
  const known = new Set(rfcs.map(({ number }) => String(number)));
  const stray = deviations.filter(({ requirement, source }) => !numbers.has(requirement) || !known.has(source.split(' ')[0] ?? ''));
  expect(stray).toEqual([]);
});

test('numbered test titles are found in every kind of string and nowhere else', () => {
  const text = [
    `test('BGP-014 AS 0 is refused', () => {`,
    `  // BGP-015 is elsewhere`,
    `test.each([['BGP-016 BGP-038 hold time \\'0\\'']])('%s', () => {`,
    'describe(`BGP-057 BFD-021 collision`, () => {',
    `test('not BGP-018', () => {`,
  ].join('\n');
  expect(numberedNames(text)).toEqual([
    { labels: ['BGP-014'], name: 'AS 0 is refused' },
    { labels: ['BGP-016', 'BGP-038'], name: "hold time '0'" },
    { labels: ['BGP-057', 'BFD-021'], name: 'collision' },
  ]);
});
