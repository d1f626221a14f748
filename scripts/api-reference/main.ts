/**
 * Writes the API reference of the packages herald-bgp and herald-bfd as a site, from the types and comments that the packages contain.
 *
 *   node scripts/api-reference/main.ts [FOLDER]   default: dist-api; each package gets a folder in it
 *
 * Fails if an exported type refers to one that is not exported: a user could not name it. TypeDoc is installed once, into ~/.cache/herald,
 * because it needs another TypeScript than this repository.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { cache } from '../release/debian/download.ts';

const root = join(import.meta.dirname, '../..');

const target = resolve(process.argv[2] ?? join(root, 'dist-api'));
const typedoc = installTypeDoc();
const scratch = mkdtempSync(join(tmpdir(), 'herald-api-reference-'));
try {
  for (const room of ['bgp', 'bfd']) writeReference(room);
} finally {
  rmSync(scratch, { recursive: true });
}

/** Returns the path of TypeDoc's program, of the version in the lock file beside this script. */
function installTypeDoc(): string {
  const folder = join(cache, '../api-reference');
  const files = ['package.json', 'package-lock.json'];
  const text = (place: string): string[] => files.map((name) => readFileSync(join(place, name), 'utf8'));
  const program = join(folder, 'node_modules/typedoc/bin/typedoc');
  if (existsSync(program) && text(folder).join('') === text(import.meta.dirname).join('')) return program;
  mkdirSync(folder, { recursive: true });
  for (const name of files) copyFileSync(join(import.meta.dirname, name), join(folder, name));
  execFileSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] });
  return program;
}

function writeReference(room: string): void {
  const folder = join(scratch, `herald-${room}`);
  execFileSync(process.execPath, [join(root, 'scripts/build-library.ts'), room, folder], { stdio: ['ignore', 'ignore', 'inherit'] });
  const { name, version, exports } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
    readonly name: string;
    readonly version: string;
    readonly exports: Readonly<Record<string, { readonly types?: string }>>;
  };
  const entries = Object.values(exports).flatMap(({ types }) => (types === undefined ? [] : [join(folder, types)]));
  const configuration = join(scratch, 'tsconfig.json');
  const { lib, target: language } = compilerOptions();
  const compiler = {
    target: language,
    lib,
    module: 'nodenext',
    types: ['node'],
    typeRoots: [join(root, 'node_modules/@types')],
    strict: true,
  };
  writeFileSync(configuration, JSON.stringify({ compilerOptions: compiler, files: entries }));
  const options = {
    tsconfig: configuration,
    entryPoints: entries,
    out: join(target, name),
    name: `${name} ${version}`,
    readme: join(folder, 'README.md'),
    disableSources: true,
    excludePrivate: true,
    treatWarningsAsErrors: true,
    logLevel: 'Warn',
  };
  writeFileSync(join(scratch, 'typedoc.json'), JSON.stringify(options));
  const { status } = spawnSync(process.execPath, [typedoc, '--options', join(scratch, 'typedoc.json')], { cwd: scratch, stdio: 'inherit' });
  if (status !== 0) process.exitCode = 1;
}

/** The language of the sources: the types of the packages are written in it. */
function compilerOptions(): { readonly lib: readonly string[]; readonly target: string } {
  const { compilerOptions: options } = JSON.parse(readFileSync(join(root, 'tsconfig.json'), 'utf8')) as {
    readonly compilerOptions: { readonly lib: readonly string[]; readonly target: string };
  };
  return options;
}
