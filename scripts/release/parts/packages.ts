import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { architectures } from '../debian/pinned.ts';
import { compressedTar } from '../files/archive.ts';
import { merge, type Tree } from '../files/tree.ts';
import type { Artifacts, Release } from '../release.ts';
import { nodeOf, readFolder } from './image.ts';

/** Returns a library as an npm package, as `npm pack` would, but with the time of the commit and without npm's own choices. */
export function packLibrary(
  { sources, scratch, created, addresses }: Pick<Release, 'sources' | 'scratch' | 'created' | 'addresses'>,
  room: 'bgp' | 'bfd',
): Buffer {
  const folder = join(scratch, `herald-${room}`);
  execFileSync(process.execPath, [join(sources, 'scripts/build-library.ts'), room, folder, addresses.source], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const tree: Tree = new Map();
  merge(tree, readFolder(folder), 'package');
  return compressedTar(tree, created);
}

/**
 * Builds kubectl's plugin for Linux with Node.js inside and for other systems without, and its manifest for krew. `licences` are those of the
 * bundled packages.
 */
export function buildPlugin(release: Release): { readonly files: Artifacts; readonly licences: string } {
  const { sources, scratch, addresses } = release;
  const folder = join(scratch, 'plugin');
  const nodes = architectures.flatMap((architecture) => {
    const { program, licence } = nodeOf(release, architecture);
    const place = join(scratch, `node-${architecture}`);
    mkdirSync(join(place, 'bin'), { recursive: true });
    writeFileSync(join(place, 'bin/node'), program, { mode: 0o755 });
    writeFileSync(join(place, 'LICENSE'), licence);
    return ['--node', join(place, 'bin/node')];
  });
  const script = join(sources, 'scripts/build-kubectl.ts');
  const uri = `${addresses.download}/kubectl-herald.tar.gz`;
  execFileSync(process.execPath, [script, '--folder', folder, '--uri', uri, ...nodes], { stdio: ['ignore', 'ignore', 'inherit'] });
  const archives = ['kubectl-herald.tar.gz', ...architectures.map((one) => `kubectl-herald-linux-${one}.tar.gz`)];
  const files: Artifacts = new Map(archives.map((name) => [name, readFileSync(join(folder, name))]));
  files.set('kubectl-herald.krew.yaml', readFileSync(join(folder, 'herald.yaml')));
  return { files, licences: readFileSync(join(folder, 'THIRD-PARTY-LICENSES'), 'utf8') };
}
