import { readdir, readFile } from 'node:fs/promises';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { PageFile } from '../../../console/server.ts';
import { UsageError } from '../../context/command-context.ts';

/** Where `npm run build:console` writes the page. From dist/ it is dist/console/built. */
const folder = new URL('../../../../console/built/', import.meta.url);

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** Reads the files of the page. Bundles of the program contain them: scripts/console-bundle.ts replaces this module. */
export async function readPageFiles(): Promise<readonly PageFile[]> {
  const names = await readdir(folder).catch(() => []);
  const files = names.filter((name) => types[extname(name)] !== undefined).toSorted();
  if (!files.includes('index.html'))
    throw new UsageError(`the page of the console is not in ${fileURLToPath(folder)}: npm run build:console makes it`);
  return Promise.all(
    files.map(async (name) => ({ name, type: types[extname(name)] ?? '', content: await readFile(new URL(name, folder), 'utf8') })),
  );
}
