/**
 * Builds src/bgp and the leaves that it imports as a package of its own, which needs neither TypeScript nor the rest of Herald.
 *
 *   node scripts/build-bgp.ts [FOLDER]   default: dist-bgp; replaces an earlier build there
 */
import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const name = 'herald-bgp';
const root = join(import.meta.dirname, '..');
const folder = resolve(process.argv[2] ?? join(root, 'dist-bgp'));

if (existsSync(folder) && readdirSync(folder).length > 0 && !isEarlierBuild()) {
  console.error(`${folder} is not empty and not an earlier build of this package: nothing was written`);
  process.exit(1);
}
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
const compiler = spawnSync(join(root, 'node_modules/.bin/tsc'), ['-p', join(root, 'tsconfig.bgp.json'), '--outDir', folder], {
  stdio: 'inherit',
});
if (compiler.status !== 0) process.exit(1);
copyFileSync(join(root, 'LICENSE'), join(folder, 'LICENSE'));
writeFileSync(join(folder, 'README.md'), readme());
writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest(), undefined, 2)}\n`);

function isEarlierBuild(): boolean {
  const file = join(folder, 'package.json');
  return existsSync(file) && (JSON.parse(readFileSync(file, 'utf8')) as { readonly name?: string }).name === name;
}

function manifest(): object {
  const { version, license, engines, dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    readonly version: string;
    readonly license: string;
    readonly engines: object;
    readonly dependencies: Readonly<Record<string, string>>;
  };
  const entry = (file: string): object => ({ types: `./bgp/${file}.d.ts`, default: `./bgp/${file}.js` });
  return {
    name,
    version,
    description: 'A BGP-4 speaker that announces routes: typed, without dependencies. Its message codec can be used alone.',
    license,
    type: 'module',
    sideEffects: false,
    engines,
    exports: { '.': entry('index'), './wire': entry('wire/index'), './testing': entry('testing'), './package.json': './package.json' },
    // koffi sets socket options that Node has no API for. Without it the speaker runs on plain sockets and reports the missing options.
    optionalDependencies: { koffi: dependencies['koffi'] },
  };
}

/** Returns the README of src/bgp with the package's name, without links to files that the package does not contain. */
function readme(): string {
  const text = readFileSync(join(root, 'src/bgp/README.md'), 'utf8');
  return text.replaceAll('herald/bgp', name).replaceAll(/\[([^\]]+)\]\(\.\.\/[^)]*\)/g, '$1');
}
