import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { architectures } from './debian/pinned.ts';
import { billOfImage, billOfPlugin, type Bill } from './describe/components.ts';
import { cycloneDx } from './describe/cyclonedx.ts';
import { checksums, namesOf, notes, readme } from './describe/pages.ts';
import { provenance } from './describe/provenance.ts';
import { spdx } from './describe/spdx.ts';
import { contentOf } from './files/tree.ts';
import { addImage, addIndex, seconds } from './oci/image.ts';
import { Blobs } from './oci/layout.ts';
import { chartLayout, packChart } from './parts/chart.ts';
import { buildProgram, layersOf } from './parts/image.ts';
import { kustomize, manifestOf } from './parts/kustomize.ts';
import { buildPlugin, packLibrary } from './parts/packages.ts';
import type { Artifacts, Release } from './release.ts';

export interface Built {
  readonly artifacts: Artifacts;
  /** The digest of the image's index. */
  readonly image: string;
  /** The digest of the chart's manifest. */
  readonly chart: string;
}

/** The name of a step, for progress. */
export type Say = (step: string) => void;

/** Builds all files of a release in memory. `changes` are those of CHANGELOG.md. */
export function build(release: Release, changes: string, say: Say): Built {
  const artifacts: Artifacts = new Map();
  const image = addImages(release, artifacts, say);
  say('chart and manifests');
  const chart = addChart(release, artifacts);
  addManifests(release, artifacts);
  say('kubectl herald');
  const { files, licences } = buildPlugin(release);
  for (const [name, content] of files) artifacts.set(name, content);
  addBill(release, artifacts, billOfPlugin(release, licences));
  say('npm packages');
  for (const room of ['bgp', 'bfd'] as const) artifacts.set(`herald-${room}-${release.version}.tgz`, packLibrary(release, room));
  say('provenance and digests');
  artifacts.set('release-notes.md', Buffer.from(notes(release, changes)));
  artifacts.set('README.md', Buffer.from(readme(release, { image, chart })));
  const index = { name: release.addresses.image, sha256: image.replace('sha256:', '') };
  artifacts.set(namesOf(release.version).provenance, Buffer.from(provenance(release, artifacts, [index])));
  artifacts.set('SHA256SUMS', Buffer.from(checksums(artifacts)));
  return { artifacts, image, chart };
}

/** Adds the image of all architectures and its bills of materials. Returns its digest. */
function addImages(release: Release, artifacts: Artifacts, say: Say): string {
  const { version, created } = release;
  say('program');
  const program = buildProgram(release);
  const licences = contentOf(program, 'THIRD-PARTY-LICENSES').toString();
  const options = { labels: labelsOf(release), user: '65532:65532', entrypoint: ['/usr/local/bin/herald'], created };
  const blobs = new Blobs();
  const manifests = architectures.map((architecture) => {
    say(`image for ${architecture}`);
    const bill = billOfImage(release, architecture, licences);
    addBill(release, artifacts, bill);
    return addImage(blobs, architecture, layersOf(release, architecture, program, cycloneDx(bill, release)), options);
  });
  const index = addIndex(blobs, manifests, options.labels);
  artifacts.set(namesOf(version).image, blobs.layout(index, { repository: release.addresses.image, tag: version }, created));
  return index.digest;
}

function addChart(release: Release, artifacts: Artifacts): string {
  const names = namesOf(release.version);
  const chart = packChart(release);
  const { content, digest } = chartLayout(chart, release, labelsOf(release));
  artifacts.set(names.chart, chart);
  artifacts.set(names.chartLayout, content);
  return digest;
}

function addManifests({ sources, version, addresses }: Release, artifacts: Artifacts): void {
  const names = namesOf(version);
  const folders = {
    [names.definitions]: 'crds',
    [names.besideKubeProxy]: 'overlays/beside-kube-proxy',
    [names.withoutKubeProxy]: 'overlays/without-kube-proxy',
  };
  for (const [name, folder] of Object.entries(folders)) {
    const objects = kustomize(join(sources, 'manifests', folder));
    artifacts.set(name, Buffer.from(manifestOf(objects, `herald:${version}`, `${addresses.image}:${version}`)));
  }
}

function addBill(release: Release, artifacts: Artifacts, bill: Bill): void {
  artifacts.set(`${bill.name}.cdx.json`, Buffer.from(cycloneDx(bill, release)));
  artifacts.set(`${bill.name}.spdx.json`, Buffer.from(spdx(bill, release)));
}

/** The labels that OCI defines (https://github.com/opencontainers/image-spec/blob/main/annotations.md). */
function labelsOf({ version, commit, created, addresses, sources }: Release): Readonly<Record<string, string>> {
  const { description } = JSON.parse(readFileSync(join(sources, 'package.json'), 'utf8')) as { readonly description: string };
  const values = {
    title: 'herald',
    description,
    licenses: 'Apache-2.0',
    version,
    revision: commit,
    created: seconds(created),
    source: addresses.source,
    url: addresses.homepage,
    documentation: `${addresses.homepage}/docs/README.md`,
  };
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [`org.opencontainers.image.${name}`, value]));
}
