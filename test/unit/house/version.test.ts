import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { version } from '../../../src/cli/version.ts';

test('the program and package.json have the same version', () => {
  const text = readFileSync(join(import.meta.dirname, '../../../package.json'), 'utf8');
  expect((JSON.parse(text) as { version: string }).version).toBe(version);
});
