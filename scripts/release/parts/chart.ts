import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { chartRepository } from '../describe/pages.ts';
import { compressedTar } from '../files/archive.ts';
import { file, merge, type Tree } from '../files/tree.ts';
import { Blobs, mediaTypes } from '../oci/layout.ts';
import type { Release } from '../release.ts';
import { readFolder } from './image.ts';

/** Returns the chart as Helm packs it, with the repository of the image in its values. */
export function packChart({ sources, addresses, created }: Release): Buffer {
  const folder = join(sources, 'manifests/chart');
  const files = readFolder(folder);
  files.set('values.yaml', file(withRepository(readFileSync(join(folder, 'values.yaml'), 'utf8'), addresses.image)));
  const tree: Tree = new Map();
  merge(tree, files, 'herald');
  return compressedTar(tree, created);
}

/** Replaces image.repository. Throws when values.yaml has another line there. */
export function withRepository(values: string, repository: string): string {
  const before = /^image:\n(?:  #.*\n)*  repository: herald\n/m;
  if (!before.test(values)) throw new Error('values.yaml no longer begins image with "repository: herald"');
  return values.replace(before, `image:\n  # The image of this release.\n  repository: ${repository}\n`);
}

/** Returns the chart as an artifact that Helm installs from a registry (https://helm.sh/docs/topics/registries/). */
export function chartLayout(
  chart: Buffer,
  { sources, version, created, addresses }: Release,
  annotations: Readonly<Record<string, string>>,
): { readonly content: Buffer; readonly digest: string } {
  const blobs = new Blobs();
  const metadata = parse(readFileSync(join(sources, 'manifests/chart/Chart.yaml'), 'utf8')) as object;
  const config = blobs.addJson(mediaTypes.chartConfig, metadata);
  const layers = [blobs.add(mediaTypes.chart, chart)];
  const manifest = blobs.addJson(mediaTypes.manifest, { schemaVersion: 2, mediaType: mediaTypes.manifest, config, layers, annotations });
  return {
    content: blobs.layout(manifest, { repository: chartRepository(addresses.image), tag: version }, created),
    digest: manifest.digest,
  };
}
