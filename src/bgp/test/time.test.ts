import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { sourceFiles } from '../../../scripts/source-files.ts';

const root = join(import.meta.dirname, '../../..');
const sleeping = /\b(?:setTimeout|setInterval|timers\/promises)\b/;
/** Matches code that reads a clock; a Date built from a given time does not. */
const reading = /\b(?:Date\.now|performance\.now|new Date\b(?!\([^)]))/;

/** Files that may use real time: they handle kernel sockets or run other programs. */
const real = /^(?:src\/bgp\/transport|src\/bgp\/test\/transport)\/|package\.test\.ts$|time\.test\.ts$/;

function filesWith(text: RegExp, files: readonly string[]): string[] {
  return files.filter((file) => !real.test(file) && text.test(readFileSync(join(root, file), 'utf8')));
}

test('BGP-050 the protocol reads no clock except the injected one, and its tests do not sleep', () => {
  expect(sourceFiles('src/bgp').length).toBeGreaterThan(40);
  expect([
    ...filesWith(reading, sourceFiles('src/bgp')),
    ...filesWith(sleeping, [...sourceFiles('src/bgp'), ...globSync('src/bgp/test/**/*.ts', { cwd: root })]),
  ]).toEqual([]);
});
