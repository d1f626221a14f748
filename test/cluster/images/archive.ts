import { createHash } from 'node:crypto';
import { copyFileSync, createReadStream, linkSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { run } from '../../lab/command.ts';

export interface ImageContents {
  /** Its names with registry and tag. */
  readonly names: readonly string[];
  /** Uncompressed tar files, the lowest first. */
  readonly layers: readonly string[];
  readonly entrypoint?: readonly string[];
  readonly command?: readonly string[];
  readonly user?: string;
}

/** The same bytes for the same contents. */
const created = '2026-01-01T00:00:00Z';
const path = 'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/**
 * Writes a docker-archive (the format of `docker save`, which `ctr images import` reads): the layers, a configuration for each image and
 * manifest.json. Images share layers. The archive appears only when it is complete.
 */
export async function writeArchive(archive: string, images: readonly ImageContents[]): Promise<void> {
  const directory = mkdtempSync(join(dirname(archive), 'archive-'));
  try {
    const manifest: unknown[] = [];
    const files = new Set<string>(['manifest.json']);
    for (const image of images) {
      const digests: string[] = [];
      for (const layer of image.layers) digests.push(await sha256(layer));
      for (const [index, digest] of digests.entries()) {
        if (files.has(`${digest}.tar`)) continue;
        files.add(`${digest}.tar`);
        linkOrCopy(image.layers[index] ?? '', join(directory, `${digest}.tar`));
      }
      const configuration = configurationOf(image, digests);
      const name = `${createHash('sha256').update(configuration).digest('hex')}.json`;
      files.add(name);
      writeFileSync(join(directory, name), configuration);
      manifest.push({ Config: name, RepoTags: image.names, Layers: digests.map((digest) => `${digest}.tar`) });
    }
    writeFileSync(join(directory, 'manifest.json'), JSON.stringify(manifest));
    await run(['tar', '-C', directory, '-cf', join(directory, 'whole'), ...files], { timeoutMs: 300_000 });
    renameSync(join(directory, 'whole'), archive);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function configurationOf(image: ImageContents, digests: readonly string[]): string {
  return JSON.stringify({
    architecture: process.arch === 'arm64' ? 'arm64' : 'amd64',
    os: 'linux',
    created,
    config: { Entrypoint: image.entrypoint, Cmd: image.command, Env: [path], User: image.user ?? '', WorkingDir: '/' },
    rootfs: { type: 'layers', diff_ids: digests.map((digest) => `sha256:${digest}`) },
    history: digests.map(() => ({ created })),
  });
}

async function sha256(file: string): Promise<string> {
  const digest = createHash('sha256');
  for await (const part of createReadStream(file)) digest.update(part as Buffer);
  return digest.digest('hex');
}

function linkOrCopy(from: string, to: string): void {
  try {
    linkSync(from, to);
  } catch {
    copyFileSync(from, to);
  }
}
