import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { containerLabFiles } from '../../../scripts/generate/container-lab/files.ts';
import { address } from '../../../src/net/address.ts';
import { prefix, prefixContains } from '../../../src/net/prefix.ts';

/** The files are run in test/lab/container-lab.test.ts. */
const folder = join(import.meta.dirname, '../../../examples/containerlab');
const files = containerLabFiles();

interface Containerlab {
  readonly topology: {
    readonly nodes: Readonly<Record<string, { readonly image: string; readonly binds: readonly string[] }>>;
    readonly links: readonly { readonly endpoints: readonly string[] }[];
  };
}

interface Compose {
  readonly services: Readonly<
    Record<
      string,
      {
        readonly image: string;
        readonly volumes: readonly string[];
        readonly networks?: Readonly<Record<string, { readonly ipv4_address: string; readonly ipv6_address: string }>>;
      }
    >
  >;
  readonly networks: Readonly<
    Record<string, { readonly ipam: { readonly config: readonly { readonly subnet: string; readonly gateway: string }[] } }>
  >;
}

const read = (path: string): unknown => parse(readFileSync(join(folder, path), 'utf8'));
const clab = (read('topology.clab.yml') as Containerlab).topology;
const compose = read('compose.yaml') as Compose;

test.each([...files])('examples/containerlab/%s is what npm run generate writes', (path, wanted) => {
  expect(readFileSync(join(folder, path), 'utf8')).toBe(wanted);
});

test('examples/containerlab holds no other files than generated ones and the guide', () => {
  const found = globSync(['**/*.*', '*/daemons'], { cwd: folder, exclude: ['manifests/**', 'clab-herald/**'] });
  expect(found.toSorted()).toEqual([...files.keys(), 'README.md'].toSorted());
});

test('every image is chosen by the user', () => {
  const images = [...Object.values(clab.nodes), ...Object.values(compose.services)].map(({ image }) => image);
  expect(new Set(images)).toEqual(new Set(['${FRR_IMAGE}', '${HERALD_IMAGE}', '${FRR_IMAGE:?}', '${HERALD_IMAGE:?}']));
});

test('every mounted file exists at a path that both programs resolve alike', () => {
  const binds = [...Object.values(clab.nodes), ...Object.values(compose.services)].flatMap((one) =>
    'binds' in one ? one.binds : one.volumes,
  );
  const paths = new Set(binds.map((bind) => bind.split(':')[0] ?? '').filter((path) => !/^(\.\/)?manifests$/.test(path)));
  expect([...paths].filter((path) => !existsSync(join(folder, path)))).toEqual([]);
});

test('each end of a link is a separate interface of an existing container', () => {
  const ends = clab.links.flatMap(({ endpoints }) => endpoints);
  expect(new Set(ends).size).toBe(ends.length);
  expect(new Set(ends.map((end) => end.split(':')[0]))).toEqual(new Set(Object.keys(clab.nodes).filter((name) => name !== 'control')));
});

test('compose has the same containers, and addresses are unique and inside their networks', () => {
  expect(Object.keys(compose.services)).toEqual(Object.keys(clab.nodes));
  for (const [name, { ipam }] of Object.entries(compose.networks)) {
    const members = Object.values(compose.services).flatMap(({ networks }) => networks?.[name] ?? []);
    expect(members.length).toBeGreaterThan(1);
    for (const [index, { subnet, gateway }] of ipam.config.entries()) {
      const addresses = [...members.map((member) => (index === 0 ? member.ipv4_address : member.ipv6_address)), gateway];
      expect(addresses.filter((one) => !prefixContains(prefix(subnet), address(one)))).toEqual([]);
      expect(new Set(addresses).size).toBe(addresses.length);
    }
  }
});
