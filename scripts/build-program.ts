/**
 * Bundles `herald` into few files of JavaScript, for the container image:
 *
 *   node scripts/build-program.ts [--folder FOLDER]
 *
 * FOLDER, by default `program`, gets `herald.js` and the files that it loads, and THIRD-PARTY-LICENSES. The program needs Node.js 24 and, for
 * agents, the package koffi. bin/herald runs it where it exists. The same sources give the same octets.
 */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { bundleProgram } from './program-bundle.ts';

const root = join(import.meta.dirname, '..');
const { values } = parseArgs({ options: { folder: { type: 'string' } } });
const folder = resolve(values.folder ?? join(root, 'program'));
const { files, licences } = await bundleProgram(root);
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
for (const { name, content } of files) writeFileSync(join(folder, name), content);
writeFileSync(join(folder, 'THIRD-PARTY-LICENSES'), licences);
const octets = files.reduce((sum, { content }) => sum + Buffer.byteLength(content), 0);
console.log(`${folder}: ${files.length} files, ${(octets / 1_000_000).toFixed(1)} MB`);
