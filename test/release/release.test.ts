import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { Image } from '../conformance/container/image.ts';
import { testImage } from '../conformance/container/suite.ts';
import { programPath } from '../conformance/programs.ts';
import { run } from '../lab/command.ts';
import { testArchitectures } from './architectures.ts';
import { clone, git, release, traces, version } from './clone.ts';
import { Layout } from './layout.ts';

/** Builds a release twice, compares the files, and runs and installs each of them. Nothing leaves this machine. */
const directory = mkdtempSync(join(tmpdir(), 'herald-release-test-'));
const first = join(directory, 'first');
const second = join(directory, 'another/place/second');
/** The files of the first build. */
const built = join(first, 'dist-release');

const read = (name: string): string => readFileSync(join(built, name), 'utf8');
const digest = (name: string): string =>
  createHash('sha256')
    .update(readFileSync(join(built, name)))
    .digest('hex');

beforeAll(async () => {
  await clone(first);
  await clone(second, first);
  const { code, stdout, stderr } = await release(first, [version, '--dry-run']);
  console.log(stdout);
  expect({ code, stderr: stderr.replaceAll(/^npm warn .*\n/gm, '') }).toEqual({ code: 0, stderr: '' });
}, 1_800_000);

afterAll(() => rmSync(directory, { recursive: true, force: true }));

describe('the same commit', () => {
  test('in another folder, with other settings of the machine, it gives the same octets', async () => {
    const folder = join(directory, 'other-output');
    mkdirSync(join(directory, 'tmp'));
    const settings = { TZ: 'Asia/Tokyo', LC_ALL: 'C', LANG: 'C', TMPDIR: join(directory, 'tmp'), SOURCE_DATE_EPOCH: '1' };
    const { code } = await release(second, [version, '--dry-run', '--folder', folder], settings, [
      'sh',
      '-c',
      'umask 077 && exec "$@"',
      'sh',
    ]);
    expect(code).toBe(0);
    const digests = (of: string): string => readFileSync(join(of, 'SHA256SUMS'), 'utf8');
    expect(digests(folder)).toBe(digests(built));
    await run(['sha256sum', '--check', '--quiet', '--strict', 'SHA256SUMS'], { cwd: folder });
    expect(readdirSync(join(directory, 'tmp'))).toEqual([]);
  }, 1_800_000);

  test('a changed file changes no file of the earlier release, and prevents a new one', async () => {
    const before = digest('SHA256SUMS');
    writeFileSync(join(second, 'new.txt'), 'new');
    const { code, stderr } = await release(second, [version, '--dry-run', '--folder', built]);
    expect({ code, stderr }).toMatchObject({ code: 1, stderr: expect.stringContaining('the first is new.txt') });
    rmSync(join(second, 'new.txt'));
    expect(digest('SHA256SUMS')).toBe(before);
  });

  test('a tag of a later version prevents the release', async () => {
    await git(second, 'tag', 'v100.0.0');
    const { code, stderr } = await release(second, [version, '--dry-run']);
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: `release: ${version} does not come after the last tag, v100.0.0: choose a greater version\n`,
    });
  });

  test('a folder with other files is not overwritten', async () => {
    const { code, stderr } = await release(first, [version, '--dry-run', '--folder', 'docs']);
    expect({ code, stderr }).toMatchObject({ code: 1, stderr: expect.stringContaining('nothing was written') });
  });

  test('wrong arguments are refused with status 2, and the help has examples', async () => {
    expect(await release(first, [version])).toMatchObject({ code: 2, stderr: expect.stringContaining('--image is needed') });
    expect(await release(first, ['--help'])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('npm run release -- 0.2.0 --dry-run'),
    });
  });
});

describe('the folder', () => {
  test('SHA256SUMS and the provenance name every other file', () => {
    const names = readdirSync(built).toSorted();
    const listed = read('SHA256SUMS')
      .trim()
      .split('\n')
      .map((line) => line.split('  ')[1]);
    expect(listed).toEqual(names.filter((name) => name !== 'SHA256SUMS'));
    const statement = JSON.parse(read(`herald-${version}.provenance.intoto.json`)) as {
      subject: { name: string; digest: { sha256: string } }[];
    };
    const subjects = new Map(statement.subject.map(({ name, digest: { sha256 } }) => [name, sha256]));
    const last = ['SHA256SUMS', `herald-${version}.provenance.intoto.json`];
    for (const name of names.filter((one) => !last.includes(one))) expect([name, subjects.get(name)]).toEqual([name, digest(name)]);
    expect(subjects.size).toBe(names.length - last.length + 1);
  });

  test('no file names a folder of the machine that built it', () => {
    for (const name of readdirSync(built)) {
      const content = readFileSync(join(built, name));
      const plain = name.endsWith('gz') ? gunzipSync(content) : content;
      expect([name, traces.filter((trace) => plain.includes(trace))]).toEqual([name, []]);
    }
  });

  test('the notes and the README have the version, and the changes of CHANGELOG.md', () => {
    expect(read('release-notes.md')).toContain(`# Herald ${version}\n\n2026-01-02.`);
    expect(read('release-notes.md')).toMatch(/^- \S/m);
    for (const name of readdirSync(built).filter((one) => one !== 'README.md' && !/\.(cdx|spdx)\.json$/.test(one)))
      expect(read('README.md')).toContain(`\`${name}\``);
  });
});

describe('the bills of materials', () => {
  const schemas = join(import.meta.dirname, 'schemas');
  const bills = ['herald-image-amd64', 'herald-image-arm64', 'kubectl-herald'].map((name) =>
    name.replace('herald-image', `herald-${version}-image`).replace(/^kubectl-herald$/, `kubectl-herald-${version}`),
  );
  /** Validates by JSON schema. Schemas refer to each other by $id. */
  const script = `
import json, sys, warnings
warnings.simplefilter("ignore")
import jsonschema
schema, *others = [json.load(open(path)) for path in sys.argv[2:]]
resolver = jsonschema.RefResolver.from_schema(schema, store={one["$id"]: one for one in others})
kind = jsonschema.validators.validator_for(schema)
kind.check_schema(schema)
for error in kind(schema, resolver=resolver).iter_errors(json.load(open(sys.argv[1]))):
    print(error.json_path, error.message[:200])
`;
  const problems = async (file: string, ...names: readonly string[]): Promise<string> => {
    const { stdout } = await run(['python3', '-c', script, file, ...names.map((name) => join(schemas, name))]);
    return stdout;
  };
  const cycloneDx = ['bom-1.6.schema.json', 'spdx.schema.json', 'jsf-0.82.schema.json'];

  test.each(bills)(
    '%s is valid in both formats',
    async (name) => {
      expect(await problems(join(built, `${name}.cdx.json`), ...cycloneDx)).toBe('');
      expect(await problems(join(built, `${name}.spdx.json`), 'spdx-2.3.schema.json')).toBe('');
    },
    300_000,
  );

  test('the schemas find a mistake', async () => {
    const wrong = join(directory, 'wrong.json');
    writeFileSync(wrong, read(`${bills[2]}.cdx.json`).replace('"license": {', '"licence": {'));
    expect(await problems(wrong, ...cycloneDx)).toContain('$.metadata.component.licenses');
    writeFileSync(wrong, read(`${bills[2]}.spdx.json`).replace('"filesAnalyzed": false', '"filesAnalyzed": "no"'));
    expect(await problems(wrong, 'spdx-2.3.schema.json')).toContain('filesAnalyzed');
  }, 300_000);
});

describe('the image for both architectures', () => {
  testArchitectures({ archive: join(built, `herald-${version}-image.oci.tar`), directory });
});

describe('the image for amd64', () => {
  testImage(async () => {
    const layout = await Layout.unpack(join(built, `herald-${version}-image.oci.tar`), join(directory, 'image-to-run'));
    const folder = mkdtempSync('/var/tmp/herald-image-');
    await layout.unpackImage('amd64', folder);
    const { User, Entrypoint } = layout.image('amd64').config.config;
    return Image.unpacked(folder, User, Entrypoint);
  }, version);
});

describe('the manifests', () => {
  test.each(['beside-kube-proxy', 'without-kube-proxy'])('%s is what kubectl makes of the overlay', async (overlay) => {
    const objects = (text: string): unknown[] => parseAllDocuments(text).map((document) => document.toJS() as unknown);
    const { stdout } = await run([programPath('kubectl'), 'kustomize', join(first, 'manifests/overlays', overlay)]);
    const before = (JSON.parse(readFileSync(join(first, 'package.json'), 'utf8')) as { version: string }).version;
    const expected = objects(stdout.replaceAll(`image: herald:${before}\n`, `image: registry.example/herald:${version}\n`));
    const key = (object: unknown): string => JSON.stringify([(object as { kind: string }).kind, (object as { metadata: object }).metadata]);
    const sorted = (all: readonly unknown[]): unknown[] => all.toSorted((one, other) => (key(one) < key(other) ? -1 : 1));
    const canonical = (all: readonly unknown[]): unknown[] => sorted(all.map((one) => parse(JSON.stringify(one, sortedKeys)) as unknown));
    expect(canonical(objects(read(`herald-${version}-${overlay}.yaml`)))).toEqual(canonical(expected));
  });
});

describe('the chart', () => {
  const chart = join(built, `herald-chart-${version}.tgz`);

  test('Helm renders it with the image of the release', async () => {
    const { stdout } = await run([
      programPath('helm'),
      'template',
      'herald',
      chart,
      '--namespace',
      'herald-system',
      '--kube-version',
      '1.36.0',
    ]);
    const images = stdout.match(/image: .*/g) ?? [];
    expect([images.length, ...new Set(images)]).toEqual([2, `image: "registry.example/herald:${version}"`]);
    const { stdout: metadata } = await run([programPath('helm'), 'show', 'chart', chart]);
    expect(parse(metadata)).toMatchObject({ name: 'herald', version, appVersion: version });
    await run([programPath('helm'), 'lint', '--strict', chart]);
  });

  test('the OCI artifact contains the same chart', async () => {
    const layout = await Layout.unpack(join(built, `herald-chart-${version}.oci.tar`), join(directory, 'chart'));
    expect(layout.manifest.layers.map(({ digest: one }) => one)).toEqual([`sha256:${digest(`herald-chart-${version}.tgz`)}`]);
    expect(layout.reference).toBe(version);
  });
});

describe('kubectl herald', () => {
  test('the program in the archive for this machine has the version', async () => {
    const folder = join(directory, 'plugin');
    mkdirSync(folder);
    await run(['tar', '-xzf', join(built, 'kubectl-herald-linux-amd64.tar.gz'), '-C', folder]);
    const { stdout } = await run([join(folder, 'kubectl-herald'), '--version']);
    expect(stdout).toBe(`${version}\n`);
  });

  test('the manifest for krew has the digest of each archive', () => {
    const { spec } = parse(read('kubectl-herald.krew.yaml')) as { spec: { version: string; platforms: { uri: string; sha256: string }[] } };
    expect(spec.version).toBe(`v${version}`);
    expect(spec.platforms).toHaveLength(4);
    for (const { uri, sha256 } of spec.platforms) expect(digest(uri.split('/').at(-1) ?? '')).toBe(sha256);
    expect(new Set(spec.platforms.map(({ uri }) => uri)).size).toBe(3);
  });
});

describe('the npm packages', () => {
  test.each([
    ['herald-bgp', 'Speaker'],
    ['herald-bfd', 'Bfd'],
  ])(
    '%s is installed in an empty project and imported',
    async (name, exported) => {
      const project = join(directory, name);
      mkdirSync(project);
      writeFileSync(join(project, 'package.json'), '{ "private": true, "type": "module" }');
      const install = [
        'npm',
        'install',
        '--ignore-scripts',
        '--no-audit',
        '--no-fund',
        '--prefer-offline',
        join(built, `${name}-${version}.tgz`),
      ];
      await run(install, { cwd: project, timeoutMs: 300_000 });
      const { version: installed } = JSON.parse(readFileSync(join(project, 'node_modules', name, 'package.json'), 'utf8')) as {
        version: string;
      };
      expect(installed).toBe(version);
      expect(existsSync(join(project, 'node_modules/koffi'))).toBe(true);
      writeFileSync(join(project, 'program.js'), `import { ${exported} } from '${name}';\nconsole.log(typeof ${exported});\n`);
      const { stdout } = await run([process.execPath, 'program.js'], { cwd: project });
      expect(stdout).toBe('function\n');
    },
    300_000,
  );
});

/** A replacer that sorts the keys of every object. */
function sortedKeys(_: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1)));
}
