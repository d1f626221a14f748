import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, globSync, mkdirSync, readdirSync, renameSync, rmSync, statSync, utimesSync } from 'node:fs';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { run } from '../../lab/command.ts';
import { cacheDirectory } from '../programs.ts';
import type { ClusterNode } from './node.ts';

/** An archive that `ctr images import` reads. */
export interface ImageFile {
  readonly path: string;
}

/** The most folders that are kept from earlier clusters, the last used ones. Each takes up to a gigabyte, part of which it shares. */
const keptFolders = 8;

/** Enough to copy a gigabyte on a busy disk. */
const copyTimeoutMs = 900_000;

/**
 * Returns a folder with containerd's data that has the images of these archives, for the nodes to copy: to unpack them takes minutes on a busy
 * machine, to copy them takes seconds. Folders are kept. A missing one is made by the node, which must have no data yet, from one with fewer images.
 */
export async function unpackedImages(node: ClusterNode, archives: readonly ImageFile[], progress: (line: string) => void): Promise<string> {
  let folder: string | undefined;
  for (const [index, archive] of archives.entries()) {
    const wanted = folderOf(archives.slice(0, index + 1));
    if (!existsSync(wanted)) {
      progress(`unpacking ${archive.path}, once`);
      await unpack(node, archive, folder, wanted);
    }
    const now = new Date();
    utimesSync(wanted, now, now);
    folder = wanted;
  }
  if (folder === undefined) throw new Error('a cluster needs at least the image of the sandbox of its pods');
  return folder;
}

const folders = join(cacheDirectory, 'containerd');

function folderOf(archives: readonly ImageFile[]): string {
  const digest = createHash('sha256');
  for (const { path } of archives) {
    const { size, mtimeMs } = statSync(path);
    digest.update(`${path} ${size} ${mtimeMs}\n`);
  }
  return join(folders, digest.digest('hex').slice(0, 16));
}

async function unpack(node: ClusterNode, archive: ImageFile, base: string | undefined, folder: string): Promise<void> {
  if (base !== undefined) await copyImages(base, node.containerdRoot);
  await node.boot();
  await node.startContainerd();
  const { code, stderr } = await node.ctr('images', 'import', archive.path);
  if (code !== 0) throw new Error(`${archive.path} was not imported: ${stderr}`);
  await node.end();
  mkdirSync(folders, { recursive: true });
  removeOld();
  // Another process may make the same folder now.
  const made = `${folder}.${process.pid}`;
  await run(['mv', node.containerdRoot, made], { timeoutMs: copyTimeoutMs });
  if (existsSync(folder)) rmSync(made, { recursive: true });
  else renameSync(made, folder);
}

/**
 * Copies a folder of unpackedImages for a node. Blobs and layers of images never change, so the copy has links to them. containerd's databases change.
 */
export async function copyImages(folder: string, containerdRoot: string): Promise<void> {
  mkdirSync(dirname(containerdRoot), { recursive: true });
  const { code } = await run(['cp', '-al', folder, containerdRoot], { timeoutMs: copyTimeoutMs, check: false });
  if (code !== 0) {
    // Another file system.
    rmSync(containerdRoot, { recursive: true, force: true });
    await run(['cp', '-a', folder, containerdRoot], { timeoutMs: copyTimeoutMs });
  }
  for (const database of globSync('io.containerd.*/*.db', { cwd: containerdRoot })) {
    const path = join(containerdRoot, database);
    copyFileSync(path, `${path}.own`);
    renameSync(`${path}.own`, path);
  }
}

function removeOld(): void {
  const byAge = readdirSync(folders)
    .filter((name) => /^[0-9a-f]{16}$/.test(name))
    .map((name) => join(folders, name))
    .toSorted((a, b) => statSync(b).mtimeMs - statSync(a).mtimeMs);
  for (const old of byAge.slice(keptFolders - 1)) rmSync(old, { recursive: true });
}
