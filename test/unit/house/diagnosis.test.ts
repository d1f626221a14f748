import { expect, test } from 'vitest';
import { codesWithoutRow } from '../../../scripts/generate/diagnosis-page.ts';

test('every code has a row in docs/reference/diagnosis.md or a test that names it', () => {
  expect(codesWithoutRow().get('no test by name')).toEqual([]);
});
