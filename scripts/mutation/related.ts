import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { isUnitTest } from '../source-files.ts';

const root = join(import.meta.dirname, '../..');
const statement = /\b(?:import|export)\b[^'";]*?from\s+'([^']+)'|\bimport\(\s*'([^']+)'|^\s*import\s+'([^']+)'/gm;

/** Returns the unit tests that load a file, directly or through others: those with the fewest imports in between first. */
export function relatedTests(): (file: string) => readonly string[] {
  const importers = new Map<string, string[]>();
  for (const file of globSync('{src,providers,test,scripts,examples}/**/*.ts', { cwd: root }))
    for (const imported of importsOf(file)) importers.set(imported, [...(importers.get(imported) ?? []), file]);
  return (file) => {
    // A breadth-first search from the file to what imports it.
    const seen = new Set([file]);
    for (const each of seen) for (const importer of importers.get(each) ?? []) seen.add(importer);
    return [...seen].filter((each) => isUnitTest(each));
  };
}

function importsOf(file: string): string[] {
  const text = readFileSync(join(root, file), 'utf8');
  return [...text.matchAll(statement)]
    .map((match) => match[1] ?? match[2] ?? match[3] ?? '')
    .filter((target) => target.startsWith('.'))
    .map((target) => normalize(join(dirname(file), target)))
    .filter((target) => existsSync(join(root, target)));
}
