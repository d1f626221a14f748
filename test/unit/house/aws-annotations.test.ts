import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { annotationTable } from '../../../providers/aws/annotations/table.ts';
import { awsAnnotationsPage } from '../../../scripts/generate/aws-annotations-page.ts';

test('docs/reference/aws-annotations.md is what npm run generate writes', () => {
  expect(readFileSync(join(import.meta.dirname, '../../../docs/reference/aws-annotations.md'), 'utf8')).toBe(awsAnnotationsPage());
});

test('every annotation that differs from upstream or is missing has a difference text', () => {
  const silent = Object.values(annotationTable).filter(
    (entry) => [entry.lbc, entry.cpa].some((fidelity) => fidelity === 'differs' || fidelity === 'no') && entry.difference === undefined,
  );
  expect(silent).toEqual([]);
});
