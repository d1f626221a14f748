import { expect, test } from 'vitest';
import { codesWithoutRow } from '../../../scripts/generate/diagnosis-page.ts';

/** Codes that no test names. They are to become fewer: a new code needs a row in the diagnosis, or a test that names it. */
const unnamed = new Set(['DirectReturnNotOnLink', 'NotSent']);

test('every code has a row in docs/reference/diagnosis.md or a test that names it, apart from those listed here', () => {
  const left = codesWithoutRow().get('no test by name') ?? [];
  expect(left.filter((code) => !unnamed.has(code))).toEqual([]);
});
