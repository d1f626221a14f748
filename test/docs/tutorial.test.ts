import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { namespacesOf, sweep } from '../lab/teardown.ts';
import { follow } from './follow.ts';

/** Removes the lab that a failure left running. Normally the page takes it down itself. */
async function takeDown(directory: string): Promise<void> {
  const log = join(directory, 'demo.log');
  const id = existsSync(log) ? /\bhl[0-9a-z]{4}\b/.exec(readFileSync(log, 'utf8'))?.[0] : undefined;
  if (id === undefined) return;
  await sweep({ kept: id });
  expect(namespacesOf(id)).toEqual([]);
}

test('docs/tutorial.md', async () => {
  const bed = { entrance: [], variables: {}, checkout: true, close: takeDown };
  expect(await follow('docs/tutorial.md', bed)).toBeGreaterThan(0);
});
