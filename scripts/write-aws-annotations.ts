import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { awsAnnotationsPage } from './aws-annotations-page.ts';

/** Writes docs/reference/aws-annotations.md from the table of annotations; with --check only says whether it is up to date. */
const file = join(import.meta.dirname, '../docs/reference/aws-annotations.md');
const page = awsAnnotationsPage();

if (!process.argv.includes('--check')) writeFileSync(file, page);
else if (readFileSync(file, 'utf8') !== page) {
  console.error('docs/reference/aws-annotations.md is out of date: run node scripts/write-aws-annotations.ts');
  process.exitCode = 1;
}
