import { sha256 } from '../files/archive.ts';
import { file, tarOf, type Tree } from '../files/tree.ts';

/** Points to a blob (https://github.com/opencontainers/image-spec/blob/main/descriptor.md). */
export interface Descriptor {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
  readonly platform?: { readonly os: string; readonly architecture: string };
  readonly annotations?: Readonly<Record<string, string>>;
}

/** A name in a registry. */
export interface Reference {
  /** registry.example/herald */
  readonly repository: string;
  readonly tag: string;
}

/** Collects the blobs of an artifact by their digest. */
export class Blobs {
  readonly #tree: Tree = new Map();

  add(mediaType: string, content: Buffer): Descriptor {
    const digest = sha256(content);
    this.#tree.set(`blobs/sha256/${digest}`, file(content));
    return { mediaType, digest: `sha256:${digest}`, size: content.length };
  }

  addJson(mediaType: string, value: object): Descriptor {
    return this.add(mediaType, Buffer.from(JSON.stringify(value)));
  }

  /**
   * Returns an image layout (https://github.com/opencontainers/image-spec/blob/main/image-layout.md) as a tar archive, in which `top` has the
   * tag `tag`. containerd imports it under the name `repository:tag`, which needs no argument then (AnnotationImageName of containerd's package
   * core/images); `kind load image-archive` has none.
   */
  layout(top: Descriptor, { repository, tag }: Reference, modified: Date): Buffer {
    const annotations = { 'org.opencontainers.image.ref.name': tag, 'io.containerd.image.name': `${repository}:${tag}` };
    const index = { schemaVersion: 2, mediaType: mediaTypes.index, manifests: [{ ...top, annotations }] };
    const tree: Tree = new Map(this.#tree);
    tree.set('oci-layout', file('{"imageLayoutVersion":"1.0.0"}'));
    tree.set('index.json', file(JSON.stringify(index)));
    return tarOf(tree, modified);
  }
}

export const mediaTypes = {
  index: 'application/vnd.oci.image.index.v1+json',
  manifest: 'application/vnd.oci.image.manifest.v1+json',
  config: 'application/vnd.oci.image.config.v1+json',
  layer: 'application/vnd.oci.image.layer.v1.tar+gzip',
  chartConfig: 'application/vnd.cncf.helm.config.v1+json',
  chart: 'application/vnd.cncf.helm.chart.content.v1.tar+gzip',
} as const;
