import { createHash } from 'node:crypto';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { cache } from '../debian/download.ts';
import { readTar } from '../files/read-tar.ts';
import type { Tree } from '../files/tree.ts';
import type { LockedPackage } from './lock-file.ts';

/**
 * Returns the files of a package as its author published it, after a check of its digest. node_modules lacks packages for other machines, so
 * npm downloads them, once.
 */
export function filesOfPackage(locked: readonly LockedPackage[], name: string): Tree {
  const one = locked.find(({ place }) => place === `node_modules/${name}`);
  if (one === undefined) throw new Error(`package-lock.json does not have ${name}`);
  const archive = archiveOf(one);
  const files = readTar(gunzipSync(archive));
  // All packages have one folder, and nearly all call it "package".
  return new Map([...files].map(([path, node]) => [path.replace(/^[^/]+\/?/, ''), node] as const).filter(([path]) => path !== ''));
}

function archiveOf({ name, version, integrity }: LockedPackage): Buffer {
  const path = join(cache, `${createHash('sha256').update(integrity).digest('hex')}.tgz`);
  if (existsSync(path)) {
    const content = readFileSync(path);
    if (integrityOf(content) === integrity) return content;
  }
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, 'npm-'));
  try {
    execFileSync('npm', ['pack', '--silent', '--ignore-scripts', `${name}@${version}`], {
      cwd: folder,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const [file = ''] = readdirSync(folder);
    const content = readFileSync(join(folder, file));
    if (integrityOf(content) !== integrity) throw new Error(`${name}@${version} has another digest than package-lock.json says`);
    renameSync(join(folder, file), path);
    return content;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function integrityOf(content: Buffer): string {
  return `sha512-${createHash('sha512').update(content).digest('base64')}`;
}
