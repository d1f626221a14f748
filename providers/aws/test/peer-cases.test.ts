import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { awsPage } from '../../../scripts/generate/aws-peer-cases.ts';
import { named, replaceParts } from './support/peer-cases/compare.ts';
import { peerReasons, peerTables, type Parts, type PeerCase, type PeerTable } from './support/peer-cases/case-files.ts';
import { outcomeOf } from './support/peer-cases/outcome.ts';

const tables = peerTables();
const { differences, outOfScope } = peerReasons();

describe.each(tables.filter(({ cases }) => cases.length > 0).map((table) => [`${table.file}: ${table.source}`, table] as const))(
  '%s',
  (_, table) => {
    test.each(table.cases.filter((one) => one.outOfScope === undefined).map((one) => [one.name, one] as const))('%s', async (_, one) => {
      const outcome = await outcomeOf(table, one);
      const expected = one.expect ?? {};
      const instead = Object.values(one.differs ?? {});
      const herald = instead.reduce<Parts>(replaceParts, expected);
      expect(named(outcome, { ...expected, ...herald })).toEqual(herald);
      // A difference that no longer exists must be removed here.
      for (const parts of instead) expect(replaceParts(expected, parts)).not.toEqual(expected);
    });
  },
);

describe('the cases of other controllers', () => {
  const casesOf = (table: PeerTable): readonly PeerCase[] => table.cases;
  const used = tables.flatMap(casesOf).flatMap(({ differs = {} }) => Object.keys(differs));
  const excluded = tables.flatMap((table) => [table.outOfScope, ...table.cases.map((one) => one.outOfScope)]);

  test('every difference has a documented reason, and every documented reason a case', () => {
    expect([...new Set(used)].toSorted()).toEqual(Object.keys(differences).toSorted());
  });

  test('every case that is out of scope has a documented reason, and every documented reason a case', () => {
    expect([...new Set(excluded)].filter((key) => key !== undefined).toSorted()).toEqual(Object.keys(outOfScope).toSorted());
  });

  test('every case names its check, or the reason why it is out of scope', () => {
    const empty = tables.flatMap(casesOf).filter((one) => (one.outOfScope === undefined) === (Object.keys(one.expect ?? {}).length === 0));
    expect(empty.map(({ name }) => name)).toEqual([]);
  });

  test('docs/reference/aws.md is what npm run generate writes', () => {
    expect(readFileSync(join(import.meta.dirname, '../../../docs/reference/aws.md'), 'utf8')).toBe(awsPage());
  });
});
