import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '../../..');
const sleeping = /\b(?:setTimeout|setInterval|timers\/promises)\b/;
/** A Date of a given time reads no clock. */
const reading = /\b(?:Date\.now|performance\.now|new Date\b(?!\([^)]))/;

/** What deals with sockets of the kernel, and programs of their own. */
const real = /^(?:src\/bgp\/transport|test\/unit\/bgp\/transport)\/|package\.test\.ts$|time\.test\.ts$/;

function filesWith(text: RegExp, pattern: string): string[] {
  return globSync(pattern, { cwd: root }).filter((file) => !real.test(file) && text.test(readFileSync(join(root, file), 'utf8')));
}

test('BGP-050 the protocol knows no clock but the one it is given, and none of its tests sleeps', () => {
  expect(globSync('src/bgp/**/*.ts', { cwd: root }).length).toBeGreaterThan(40);
  expect([...filesWith(reading, 'src/bgp/**/*.ts'), ...filesWith(sleeping, '{src,test/unit}/bgp/**/*.ts')]).toEqual([]);
});
