import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';

const root = join(import.meta.dirname, '..');
const statement = /\b(?:import|export)\b[^'";]*?from\s+'([^']+)'|\bimport\(\s*'([^']+)'|^\s*import\s+'([^']+)'/gm;

/** Returns the files of the repository that a file imports, from the root of the repository. */
export function importsOf(file: string): string[] {
  const text = readFileSync(join(root, file), 'utf8');
  return [...text.matchAll(statement)]
    .map((match) => match[1] ?? match[2] ?? match[3] ?? '')
    .filter((target) => target.startsWith('.'))
    .map((target) => normalize(join(dirname(file), target)))
    .filter((target) => existsSync(join(root, target)));
}

/** Returns the files that match a pattern, and all that they import, directly or through others. */
export function withImports(patterns: readonly string[]): string[] {
  const seen = new Set(globSync(patterns, { cwd: root }));
  for (const file of seen) if (/\.tsx?$/.test(file)) for (const imported of importsOf(file)) seen.add(imported);
  return [...seen].toSorted();
}
