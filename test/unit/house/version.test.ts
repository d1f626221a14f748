import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { version } from '../../../src/cli/version.ts';

test('the program and package.json have the same version', () => {
  const text = readFileSync(join(import.meta.dirname, '../../../package.json'), 'utf8');
  expect((JSON.parse(text) as { version: string }).version).toBe(version);
});

test.each(['README.md', 'docs/quick-start.md', 'docs/how-to/install.md'])('%s names the files and images of this version', (page) => {
  const text = readFileSync(join(import.meta.dirname, '../../..', page), 'utf8');
  const named = [...text.matchAll(/herald(?:-chart-|-|:)(\d+\.\d+\.\d+)/g)].map(([, one]) => one);
  expect(named.length).toBeGreaterThan(0);
  expect(new Set(named)).toEqual(new Set([version]));
});
