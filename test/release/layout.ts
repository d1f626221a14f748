import { createHash } from 'node:crypto';
import { chmodSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { run } from '../lab/command.ts';

interface Descriptor {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
  readonly platform?: { readonly architecture: string };
  readonly annotations?: Readonly<Record<string, string>>;
}

interface Manifest {
  readonly config: Descriptor;
  readonly layers: readonly Descriptor[];
}

interface Config {
  readonly architecture: string;
  readonly created: string;
  readonly config: { readonly User: string; readonly Entrypoint: readonly string[]; readonly Labels: Readonly<Record<string, string>> };
  readonly rootfs: { readonly diff_ids: readonly string[] };
}

/** Reads an OCI layout with the system's tar, and checks each digest and size on the way. */
export class Layout {
  readonly #folder: string;
  readonly #top: Descriptor;

  private constructor(folder: string) {
    this.#folder = folder;
    const { manifests } = JSON.parse(readFileSync(join(folder, 'index.json'), 'utf8')) as { manifests: [Descriptor, ...Descriptor[]] };
    expect(manifests).toHaveLength(1);
    [this.#top] = manifests;
  }

  static async unpack(archive: string, folder: string): Promise<Layout> {
    mkdirSync(folder);
    await run(['tar', '-xf', archive, '-C', folder]);
    return new Layout(folder);
  }

  /** The tag. */
  get reference(): string | undefined {
    return this.#top.annotations?.['org.opencontainers.image.ref.name'];
  }

  /** The manifest of an artifact for all platforms. */
  get manifest(): Manifest {
    return this.#read(this.#top) as Manifest;
  }

  image(architecture: string): Manifest & { readonly config: Config } {
    const { manifests } = this.#read(this.#top) as { manifests: readonly Descriptor[] };
    const found = manifests.find(({ platform }) => platform?.architecture === architecture);
    if (found === undefined) throw new Error(`there is no image for ${architecture}`);
    const manifest = this.#read(found) as Manifest;
    return { ...manifest, config: this.#read(manifest.config) as Descriptor & Config };
  }

  /** Unpacks the layers, one over the other, after a check of their digests. */
  async unpackImage(architecture: string, folder: string): Promise<void> {
    mkdirSync(folder, { recursive: true });
    // Layers have no entry for the root. Runtimes create it so.
    chmodSync(folder, 0o755);
    const { layers, config } = this.image(architecture);
    for (const [index, layer] of layers.entries()) {
      const path = this.#path(layer);
      const { stdout } = await run(['sh', '-c', 'gzip -dc "$0" | sha256sum', path]);
      expect(`sha256:${stdout.split(' ')[0]}`).toBe(config.rootfs.diff_ids[index]);
      await run(['tar', '-xzf', path, '-C', folder, '--same-permissions']);
    }
  }

  #path({ digest, size }: Descriptor): string {
    const path = join(this.#folder, 'blobs', digest.replace(':', '/'));
    const content = readFileSync(path);
    expect([`sha256:${createHash('sha256').update(content).digest('hex')}`, content.length]).toEqual([digest, size]);
    return path;
  }

  #read(descriptor: Descriptor): unknown {
    return JSON.parse(readFileSync(this.#path(descriptor), 'utf8')) as unknown;
  }
}
