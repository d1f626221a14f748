/**
 * Says whether a suite of `.ci/run` must run again: `.ci/passed` has, for each suite that not every change runs, a digest of the files on which it depends.
 *
 *   node scripts/suite-inputs.ts SUITE            exits with 0 when these files are as in the last run that passed, otherwise with 1
 *   node scripts/suite-inputs.ts --write SUITE... writes the digests of suites that passed
 *   node scripts/suite-inputs.ts --list SUITE     prints the files
 *
 * The variable CI_PASSED names another file in place of `.ci/passed`.
 */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { withImports } from './imports.ts';

const root = join(import.meta.dirname, '..');
const record = process.env['CI_PASSED'] ?? join(root, '.ci/passed');

/** The tests of a suite and the pages and manifests that they follow. Imported files belong to them. */
const inputs: Readonly<Record<string, readonly string[]>> = {
  docs: [
    'test/docs/**/*',
    'docs/{quick-start,tutorial}.md',
    'docs/how-to/*.md',
    'scripts/site/*.ts',
    'docs/.vitepress/**/*.ts',
    'examples/**/*',
    'manifests/**/*',
    'package-lock.json',
  ],
  console: ['console/**/*', 'src/console/**/*.ts', 'src/live/**/*.ts', 'package-lock.json'],
  differential: ['test/differential/**/*', 'package-lock.json'],
  metallb: ['test/differential/metallb/**/*', 'test/differential/main.ts', 'src/model/metallb/**/*', 'package-lock.json'],
};

/** Returns a digest of the files of a suite: their paths and contents. */
export function digestOf(suite: string): string {
  const hash = createHash('sha256');
  for (const file of filesOf(suite))
    hash
      .update(`${file}\0`)
      .update(readFileSync(join(root, file)))
      .update('\0');
  return hash.digest('hex');
}

export function filesOf(suite: string): string[] {
  const patterns = inputs[suite];
  if (patterns === undefined) throw new Error(`${suite}: one of ${Object.keys(inputs).join(', ')}`);
  return withImports(patterns).filter((file) => statSync(join(root, file)).isFile() && !file.startsWith('console/built/'));
}

/** Returns suite to digest, as the last full run wrote them. */
export function passed(): Map<string, string> {
  const lines = existsSync(record) ? readFileSync(record, 'utf8').trim().split('\n') : [];
  return new Map(lines.filter((line) => !line.startsWith('#')).map((line) => line.split(' ') as [string, string]));
}

if (process.argv[1] === import.meta.filename) {
  const [first = '', ...suites] = process.argv.slice(2);
  if (first === '--write') {
    const all = passed();
    for (const suite of suites) if (suite in inputs) all.set(suite, digestOf(suite));
    const lines = [...all].map((row) => row.join(' ')).toSorted();
    writeFileSync(
      record,
      ['# Written by `TIER=full .ci/run`: the files of each suite when it last passed (scripts/suite-inputs.ts).', ...lines, ''].join('\n'),
    );
  } else if (first === '--list') console.log(filesOf(suites[0] ?? '').join('\n'));
  else process.exitCode = passed().get(first) === digestOf(first) ? 0 : 1;
}
