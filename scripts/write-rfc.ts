import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { rfcPage } from './rfc-page.ts';

/**
 * Writes docs/reference/rfc.md from the requirements and the names of the tests; with --check only says whether it is up to date. Branches
 * that add numbers at the same time conflict in the page and nowhere else: take either side and run this again.
 */
const file = join(import.meta.dirname, '../docs/reference/rfc.md');
const page = rfcPage();

if (!process.argv.includes('--check')) writeFileSync(file, page);
else if (readFileSync(file, 'utf8') !== page) {
  console.error('docs/reference/rfc.md is out of date: run node scripts/write-rfc.ts');
  process.exitCode = 1;
}
