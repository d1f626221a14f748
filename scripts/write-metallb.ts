import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { metallbPage } from './metallb-page.ts';

/** Writes docs/reference/metallb-compatibility.md from the tables of the translator; with --check only says whether it is up to date. */
const file = join(import.meta.dirname, '../docs/reference/metallb-compatibility.md');
const page = metallbPage();

if (!process.argv.includes('--check')) writeFileSync(file, page);
else if (readFileSync(file, 'utf8') !== page) {
  console.error('docs/reference/metallb-compatibility.md is out of date: run node scripts/write-metallb.ts');
  process.exitCode = 1;
}
