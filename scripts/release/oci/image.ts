import { compress, sha256 } from '../files/archive.ts';
import { tarOf, type Node } from '../files/tree.ts';
import { mediaTypes, type Blobs, type Descriptor } from './layout.ts';

export interface Layer {
  /** For `history`: what the layer holds. */
  readonly what: string;
  readonly tree: ReadonlyMap<string, Node>;
}

export interface ImageOptions {
  readonly labels: Readonly<Record<string, string>>;
  readonly user: string;
  readonly entrypoint: readonly string[];
  readonly created: Date;
}

/** Adds the image of one architecture (https://github.com/opencontainers/image-spec), and returns its manifest. */
export function addImage(blobs: Blobs, architecture: string, layers: readonly Layer[], options: ImageOptions): Descriptor {
  const { labels, user, entrypoint, created } = options;
  const written = layers.map(({ tree }) => {
    const content = tarOf(tree, created);
    return { diffId: `sha256:${sha256(content)}`, descriptor: blobs.add(mediaTypes.layer, compress(content)) };
  });
  const time = seconds(created);
  const config = blobs.addJson(mediaTypes.config, {
    created: time,
    architecture,
    os: 'linux',
    config: {
      User: user,
      Env: ['PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'],
      Entrypoint: entrypoint,
      WorkingDir: '/',
      Labels: labels,
    },
    rootfs: { type: 'layers', diff_ids: written.map(({ diffId }) => diffId) },
    history: layers.map(({ what }) => ({ created: time, created_by: what })),
  });
  const manifest = { schemaVersion: 2, mediaType: mediaTypes.manifest, config, layers: written.map(({ descriptor }) => descriptor) };
  return { ...blobs.addJson(mediaTypes.manifest, { ...manifest, annotations: labels }), platform: { os: 'linux', architecture } };
}

/** Adds the index of the images of all architectures. */
export function addIndex(blobs: Blobs, manifests: readonly Descriptor[], annotations: Readonly<Record<string, string>>): Descriptor {
  return blobs.addJson(mediaTypes.index, { schemaVersion: 2, mediaType: mediaTypes.index, manifests, annotations });
}

/** RFC 3339 without milliseconds. */
export function seconds(date: Date): string {
  return date.toISOString().replace('.000', '');
}
