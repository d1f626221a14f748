/**
 * Builds `kubectl herald` as one file that Node.js 24 runs without anything beside it, and what krew needs to install it.
 *
 *   node scripts/build-kubectl.ts [--folder FOLDER] [--uri URI]
 *
 * FOLDER (default: dist-kubectl): `kubectl-herald`, the licences of what is in it, `kubectl-herald.tar.gz` with both, and `herald.yaml`, the manifest for krew.
 * URI: where that .tar.gz will be. By default an address that leads nowhere, to be replaced.
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
  console.error(`--uri ${uri}: must be https://... and end in .tar.gz, as krew fetches it and knows by its name how to unpack it`);
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
if (values.uri === undefined) console.log(`herald.yaml says ${uri}, where nothing is: --uri says where you put kubectl-herald.tar.gz`);
