/**
 * Builds `kubectl herald` as one file that Node.js 24 runs without other files, and the files that krew needs to install it.
 *
 *   node scripts/build-kubectl.ts [--folder FOLDER] [--uri URI]
 *
 * - FOLDER gets `kubectl-herald`, the licences of the bundled packages, `kubectl-herald.tar.gz` with both, and `herald.yaml`, the manifest
 *   for krew. Default: dist-kubectl.
 * - URI is the address from which krew will download the .tar.gz. Default: a placeholder, to be replaced.
 */
import { createHash } from 'node:crypto';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { stringify } from 'yaml';
import { bundle } from './kubectl-bundle.ts';
import { krewManifest } from './krew-manifest.ts';
import { tarball } from './tarball.ts';

const root = join(import.meta.dirname, '..');
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { readonly version: string };
const { values } = parseArgs({ options: { folder: { type: 'string' }, uri: { type: 'string' } } });
const folder = resolve(values.folder ?? 'dist-kubectl');
const uri = values.uri ?? `https://releases.example/herald/v${version}/kubectl-herald.tar.gz`;
if (!/^https:\/\/\S+\.tar\.gz$/.test(uri)) {
  console.error(`--uri ${uri}: must be https://... and end in .tar.gz, because krew downloads it and unpacks it by its name`);
  process.exit(2);
}

const { program, licences } = await bundle(root);
const archive = tarball([
  { name: 'kubectl-herald', content: Buffer.from(program), executable: true },
  { name: 'LICENSE', content: readFileSync(join(root, 'LICENSE')), executable: false },
  { name: 'THIRD-PARTY-LICENSES', content: Buffer.from(licences), executable: false },
]);
const sha256 = createHash('sha256').update(archive).digest('hex');

mkdirSync(folder, { recursive: true });
writeFileSync(join(folder, 'kubectl-herald'), program);
chmodSync(join(folder, 'kubectl-herald'), 0o755);
writeFileSync(join(folder, 'THIRD-PARTY-LICENSES'), licences);
writeFileSync(join(folder, 'kubectl-herald.tar.gz'), archive);
writeFileSync(join(folder, 'herald.yaml'), stringify(krewManifest({ version, uri, sha256 }), { lineWidth: 0 }));
console.log(`${folder}: kubectl-herald (${(Buffer.byteLength(program) / 2 ** 20).toFixed(1)} MB), kubectl-herald.tar.gz, herald.yaml`);
if (values.uri === undefined) console.log(`herald.yaml contains the placeholder ${uri}: set --uri to the address of kubectl-herald.tar.gz`);
