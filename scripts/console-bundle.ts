import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { rolldown, type OutputChunk, type Plugin } from 'rolldown';
import type { PageFile } from '../src/console/server.ts';
import { licencesOf } from './bundle-parts.ts';

export interface ConsoleBundle {
  readonly files: readonly PageFile[];
  /** Name, version and licence of every bundled package. */
  readonly licences: string;
}

/** Bundles the page of the console. It loads nothing from any other place. The same sources give the same octets. */
export async function bundleConsole(root: string): Promise<ConsoleBundle> {
  const folder = join(root, 'console');
  const build = await rolldown({
    input: { app: join(folder, 'src/main.tsx') },
    platform: 'browser',
    tsconfig: join(folder, 'tsconfig.json'),
    logLevel: 'warn',
  });
  try {
    const { output } = await build.generate({
      format: 'esm',
      minify: true,
      entryFileNames: '[name].js',
      chunkFileNames: '[name]-[hash].js',
    });
    const chunks = output.filter((one): one is OutputChunk => one.type === 'chunk');
    const scripts = chunks.map(({ fileName, code }) => ({ name: fileName, type: 'text/javascript; charset=utf-8', content: code }));
    return { files: [...scripts, ...fixedFiles(folder)], licences: licencesOf(chunks) };
  } finally {
    await build.close();
  }
}

const fixed = [
  { name: 'index.html', type: 'text/html; charset=utf-8' },
  { name: 'app.css', type: 'text/css; charset=utf-8' },
  { name: 'icon.svg', type: 'image/svg+xml' },
] as const;

function fixedFiles(folder: string): PageFile[] {
  return fixed.map(({ name, type }) => ({ name, type, content: readFileSync(join(folder, name), 'utf8') }));
}

/** Puts the page into a bundle of the program: a program in one file has no folder beside it. */
export function containedPage(files: readonly PageFile[]): Plugin {
  const id = '\0files of the console';
  return {
    name: 'contain the files of the console',
    resolveId: (source) => (source.endsWith('/page-files.ts') ? id : null),
    load: (source) => (source === id ? `export const readPageFiles = async () => ${JSON.stringify(files)};` : null),
  };
}
