/**
 * Names each dead link of the repository's pages, and exits with status 1 when there is one: `npm run docs:links`.
 *
 *   node scripts/site/check-links.ts [FOLDER]   the pages of another folder
 */
import { join } from 'node:path';
import { deadLinks } from './links.ts';
import { readPages } from './pages.ts';

const root = process.argv[2] ?? join(import.meta.dirname, '../..');
const dead = deadLinks(root, readPages(root));
for (const link of dead) console.error(`dead link in ${link}`);
if (dead.length > 0) process.exitCode = 1;
