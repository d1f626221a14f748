/**
 * Builds the page of `herald ui`:
 *
 *   node scripts/build-console.ts [--folder FOLDER]
 *
 * FOLDER is console/built by default, where the program finds the page when it runs from the sources. The bundles of build-program.ts and
 * build-kubectl.ts contain the page, and need no folder.
 */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { gzipSync } from 'node:zlib';
import { bundleConsole } from './console-bundle.ts';

const root = join(import.meta.dirname, '..');
const { values } = parseArgs({ options: { folder: { type: 'string' } } });
const folder = resolve(values.folder ?? join(root, 'console/built'));
const { files, licences } = await bundleConsole(root);
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
for (const { name, content } of files) writeFileSync(join(folder, name), content);
writeFileSync(join(folder, 'THIRD-PARTY-LICENSES'), licences);
const compressed = files.reduce((sum, { content }) => sum + gzipSync(content).length, 0);
console.log(`${folder}: ${files.length} files, ${(compressed / 1000).toFixed(0)} KB compressed`);
