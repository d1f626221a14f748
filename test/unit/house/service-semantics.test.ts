import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';

const root = join(import.meta.dirname, '../../..');
const page = readFileSync(join(root, 'docs/reference/service-semantics.md'), 'utf8');
/** Rows of the form "| 16 | behaviour | answer | how, and the test |". */
const rows = [...page.matchAll(/^\| (?<number>\d+) \| (?<behaviour>[^|]+) \| (?<answer>[^|]+) \| (?<how>[^|]*)\|$/gm)].map(
  ({ groups }) => groups ?? {},
);
/** Cited tests of the form '[unit/a.test.ts](../../test/unit/a.test.ts): "title, or a part of it as in the source"'. */
const proofs = [...page.matchAll(/\[(?<file>[^\]]+)\]\(\.\.\/\.\.\/test\/(?<target>[^)]+)\): "(?<name>[^"]+)"/g)].map(
  ({ groups }) => groups ?? {},
);

describe('docs/reference/service-semantics.md', () => {
  test('the page has each row once', () => {
    expect(rows.map(({ number }) => Number(number)).toSorted((a, b) => a - b)).toEqual(Array.from({ length: 75 }, (_, index) => index + 1));
  });

  test('every answer is yes, no or differs, and every yes has a test', () => {
    for (const { number, answer, how } of rows) {
      expect([number, answer]).toEqual([number, expect.stringMatching(/^(yes|no|differs)$/)]);
      if (answer === 'yes') expect([number, how]).toEqual([number, expect.stringContaining('](../../test/')]);
    }
  });

  test('every cited test exists', () => {
    expect(proofs.length).toBeGreaterThan(50);
    const missing = proofs.filter(({ file, target, name }) => {
      const path = join(root, 'test', target ?? '');
      return file !== target || !existsSync(path) || !readFileSync(path, 'utf8').includes(name ?? '');
    });
    expect(missing).toEqual([]);
  });
});
