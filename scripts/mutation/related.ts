import { globSync } from 'node:fs';
import { join } from 'node:path';
import { importsOf } from '../imports.ts';
import { isUnitTest } from '../source-files.ts';

const root = join(import.meta.dirname, '../..');

/** Returns the unit tests that load a file, directly or through others: those with the fewest imports in between first. */
export function relatedTests(): (file: string) => readonly string[] {
  const importers = new Map<string, string[]>();
  for (const file of globSync('{src,providers,console,test,scripts,examples}/**/*.ts', { cwd: root }))
    for (const imported of importsOf(file)) importers.set(imported, [...(importers.get(imported) ?? []), file]);
  return (file) => {
    // A breadth-first search from the file to what imports it.
    const seen = new Set([file]);
    for (const each of seen) for (const importer of importers.get(each) ?? []) seen.add(importer);
    return [...seen].filter((each) => isUnitTest(each));
  };
}
