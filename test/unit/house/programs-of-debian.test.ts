import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '../../..');
const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { readonly scripts: Readonly<Record<string, string>> };

/** Returns the programs that the set-up of an npm script installs besides those of `scripts/setup.sh` itself. */
const installedBy = (script: string): readonly string[] =>
  [...(scripts[script] ?? '').matchAll(/ [\w.+-]+=([\w.+-]+)/g)].map(([, program = '']) => program);

// A program that a developer once installed by hand hides that the set-up lacks it: the suite fails on a new machine only.
test.each([
  ['test:lab', 'test/lab/**/*.ts'],
  ['test:docs', 'test/docs/**/*.ts'],
  ['test:conformance', 'test/conformance/**/*.ts'],
])('%s installs each optional program of Debian that its tests start', (script, files) => {
  const optional = new Set(Object.keys(scripts).flatMap(installedBy));
  const text = globSync(files, { cwd: root })
    .map((file) => readFileSync(join(root, file), 'utf8'))
    .join('\n');
  const started = [...optional].filter((program) => text.includes(`'${program}'`));
  expect(started.filter((program) => !installedBy(script).includes(program))).toEqual([]);
});
