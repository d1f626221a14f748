import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { reasonsPage } from './reasons-page.ts';

/** Writes docs/reference/reasons.md from the catalogue; with --check only says whether it is up to date. */
const file = join(import.meta.dirname, '../docs/reference/reasons.md');
const page = reasonsPage();

if (!process.argv.includes('--check')) writeFileSync(file, page);
else if (readFileSync(file, 'utf8') !== page) {
  console.error('docs/reference/reasons.md is out of date: run node scripts/write-reasons.ts');
  process.exitCode = 1;
}
