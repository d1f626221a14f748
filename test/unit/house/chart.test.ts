import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { chartFiles } from '../../../scripts/generate/chart-files.ts';
import { valuesOf } from '../../../scripts/generate/chart-readme.ts';
import { version } from '../../../src/model/objects/version.ts';

/** The output of kustomize and Helm is tested in test/conformance/install.test.ts. */
const root = join(import.meta.dirname, '../../..');
const text = (path: string): string => readFileSync(join(root, path), 'utf8');

test.each([...chartFiles()])('manifests/chart/%s is what npm run generate writes', (path, wanted) => {
  expect(text(`manifests/chart/${path}`)).toBe(wanted);
});

test('the chart and the images have the version of Herald', () => {
  expect(parse(text('manifests/chart/Chart.yaml'))).toMatchObject({ version, appVersion: version });
  for (const file of ['controller', 'agent']) expect(text(`manifests/base/${file}.yaml`)).toContain(`image: herald:${version}\n`);
});

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly $ref?: string;
  readonly additionalProperties?: unknown;
}

test('values.schema.json and values.yaml have the same fields', () => {
  const schema = JSON.parse(text('manifests/chart/values.schema.json')) as Schema;
  const compare = (of: Schema, value: unknown, path: string): string[] => {
    if (of.additionalProperties !== false || of.properties === undefined) return [];
    const has = Object.keys(value as object);
    const known = Object.keys(of.properties);
    return [
      ...has.filter((name) => !known.includes(name)).map((name) => `${path}${name} is not in the schema`),
      ...known.filter((name) => !has.includes(name)).map((name) => `${path}${name} is not in values.yaml`),
      ...known.flatMap((name) => compare(of.properties?.[name] ?? {}, (value as Record<string, unknown>)[name], `${path}${name}.`)),
    ];
  };
  expect(compare(schema, parse(text('manifests/chart/values.yaml')), '')).toEqual([]);
});

test('the README of the chart has a default and a meaning for each value', () => {
  const values = valuesOf(text('manifests/chart/values.yaml'));
  expect(values.length).toBeGreaterThan(60);
  expect(values.filter(({ meaning }) => meaning === '').map(({ key }) => key)).toEqual([]);
  const found = (key: string): unknown =>
    key.split('.').reduce<unknown>((value, name) => (value as Record<string, unknown>)[name], parse(text('manifests/chart/values.yaml')));
  for (const { key, standard } of values.filter((value) => value.standard !== ''))
    expect([key, JSON.parse(standard)]).toEqual([key, found(key)]);
});

test.each([
  ['# Head.\n\n# One.\na: 1\n', [{ key: 'a', standard: '1', meaning: 'One.' }]],
  ['# Two\n# lines.\na: { b: "c|d" }\n', [{ key: 'a', standard: '{"b":"c|d"}', meaning: 'Two lines.' }]],
  ['a:\n  # In a group.\n  b: []\n', [{ key: 'a.b', standard: '[]', meaning: 'In a group.' }]],
  [
    '# A group.\na:\n  b: x\n',
    [
      { key: 'a', standard: '', meaning: 'A group.' },
      { key: 'a.b', standard: '"x"', meaning: '' },
    ],
  ],
])('the values of %j are read with their comments', (yaml, expected) => {
  expect(valuesOf(yaml)).toEqual(expected);
});

test('the AWS overlay and examples/aws give the controller the same permissions', () => {
  const objects = (path: string): unknown[] => parseAllDocuments(text(path)).map((document) => document.toJS() as unknown);
  expect(objects('manifests/overlays/aws/controller-rbac.yaml')).toEqual(objects('examples/aws/10-controller.yaml'));
});

test('every overlay and component is a kustomization and is documented', () => {
  for (const kind of ['overlays', 'components']) {
    for (const name of readdirSync(join(root, 'manifests', kind))) {
      expect(text(`manifests/${kind}/${name}/kustomization.yaml`)).toMatch(/^kind: (Kustomization|Component)$/m);
      expect(text('docs/how-to/install.md')).toContain(`manifests/${kind}/${name}`);
    }
  }
});
