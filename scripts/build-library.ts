/**
 * Builds src/bgp or src/bfd and the leaves that it imports as a package of its own, which needs neither TypeScript nor the rest of Herald.
 *
 *   node scripts/build-library.ts bgp|bfd [FOLDER [SOURCE]]
 *
 * - FOLDER: default dist-bgp or dist-bfd. Replaces an earlier build there.
 * - SOURCE: the address of the repository, for `repository` of package.json. npm publishes provenance only if the two agree.
 */
import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import process from 'node:process';

interface Library {
  readonly description: string;
  readonly keywords: readonly string[];
  /** The modules that users import, by their names in `exports`. */
  readonly entries: Readonly<Record<string, string>>;
  /** koffi calls functions of the kernel that Node has no API for. */
  readonly koffi: 'dependencies' | 'optionalDependencies';
}

const libraries: Readonly<Record<string, Library>> = {
  bgp: {
    description: 'A BGP-4 speaker that announces routes: typed, without dependencies. Its message codec can be used alone.',
    keywords: ['bgp', 'bgp4', 'border-gateway-protocol', 'anycast', 'routing', 'rfc4271', 'network'],
    entries: {
      '.': 'index',
      './wire': 'wire/index',
      './testing': 'testing',
      './bmp': 'extensions/bmp/index',
      './tcp-ao': 'extensions/tcp-ao/index',
    },
    // Without koffi the speaker runs on plain sockets and reports the missing options.
    koffi: 'optionalDependencies',
  },
  bfd: {
    description: 'BFD for Linux: detects within a fraction of a second that the path to a peer is lost. Runs in a thread of its own.',
    keywords: ['bfd', 'bidirectional-forwarding-detection', 'routing', 'rfc5880', 'failover', 'network'],
    entries: { '.': 'index' },
    koffi: 'dependencies',
  },
};

/**
 * Older than the Node.js that Herald itself needs: nothing in these rooms needs 24. From this version on, `require` loads ES modules without an
 * option. test/release/packages.test.ts runs the packages there.
 */
const engines = { node: '>=22.12' };

const [room = '', target, source] = process.argv.slice(2);
const library = libraries[room];
if (library === undefined) {
  console.error(`usage: node scripts/build-library.ts ${Object.keys(libraries).join('|')} [FOLDER [SOURCE]]`);
  process.exit(2);
}
const name = `herald-${room}`;
const root = join(import.meta.dirname, '..');
const folder = resolve(target ?? join(root, `dist-${room}`));

if (existsSync(folder) && readdirSync(folder).length > 0 && !isEarlierBuild()) {
  console.error(`${folder} is not empty and not an earlier build of this package: nothing was written`);
  process.exit(1);
}
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
const compiler = spawnSync(join(root, 'node_modules/.bin/tsc'), ['-p', join(root, `tsconfig.${room}.json`), '--outDir', folder], {
  stdio: 'inherit',
});
if (compiler.status !== 0) process.exit(1);
copyFileSync(join(root, 'LICENSE'), join(folder, 'LICENSE'));
writeFileSync(join(folder, 'README.md'), readme());
writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest(library), undefined, 2)}\n`);

function isEarlierBuild(): boolean {
  const file = join(folder, 'package.json');
  return existsSync(file) && (JSON.parse(readFileSync(file, 'utf8')) as { readonly name?: string }).name === name;
}

function manifest({ description, keywords, entries, koffi }: Library): object {
  const { version, homepage, license, dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    readonly version: string;
    readonly homepage: string;
    readonly license: string;
    readonly dependencies: Readonly<Record<string, string>>;
  };
  const entry = (file: string): object => ({ types: `./${room}/${file}.d.ts`, default: `./${room}/${file}.js` });
  return {
    name,
    version,
    description,
    keywords,
    homepage,
    ...(source === undefined ? {} : { repository: { type: 'git', url: `git+${source}`, directory: `src/${room}` } }),
    license,
    type: 'module',
    sideEffects: false,
    engines,
    files: ['**/*.js', '**/*.d.ts'],
    exports: {
      ...Object.fromEntries(Object.entries(entries).map(([path, file]) => [path, entry(file)])),
      './package.json': './package.json',
    },
    [koffi]: { koffi: dependencies['koffi'] },
  };
}

/** Returns the README of the room with the package's name, without links to files that the package does not contain. */
function readme(): string {
  const text = readFileSync(join(root, 'src', room, 'README.md'), 'utf8');
  return text.replaceAll(`herald/${room}`, name).replaceAll(/\[([^\]]+)\]\(\.\.\/[^)]*\)/g, '$1');
}
