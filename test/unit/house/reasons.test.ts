import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { reasonsPage } from '../../../scripts/generate/reasons-page.ts';
import { allReasons } from '../../support/built-in-providers.ts';

test('docs/reference/reasons.md is what npm run generate writes', () => {
  expect(readFileSync(join(import.meta.dirname, '../../../docs/reference/reasons.md'), 'utf8')).toBe(reasonsPage());
});

test('the page has every reason once', () => {
  const codes = [...reasonsPage().matchAll(/^\| `(\w+)` \|/gm)].map(([, code = '']) => code);
  expect(codes.toSorted()).toEqual(Object.keys(allReasons).toSorted());
});
