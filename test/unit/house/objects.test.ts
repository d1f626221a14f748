import { addBuiltInProviders } from '../../support/built-in-providers.ts';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { generatedFiles } from '../../../scripts/generate/objects/generated-files.ts';
import { kinds } from '../../../src/model/kinds.ts';
import type { KindDefinition } from '../../../src/model/schema/kind.ts';
import type { Schema } from '../../../src/model/schema/schema.ts';

addBuiltInProviders();

const root = join(import.meta.dirname, '../../..');
const files = generatedFiles();

test.each([...files.keys()])('%s is what npm run generate writes', (path) => {
  expect(existsSync(join(root, path)) && readFileSync(join(root, path), 'utf8') === files.get(path), 'run npm run generate').toBe(true);
});

test('manifests has no CRD and no JSON schema that is not generated', () => {
  expect(globSync('manifests/{crds,schema}/**/*.{yaml,json}', { cwd: root }).filter((path) => !files.has(path))).toEqual([]);
});

test('manifests/base includes the CRDs', () => {
  const { resources } = parse(readFileSync(join(root, 'manifests/base/kustomization.yaml'), 'utf8')) as { resources: string[] };
  expect(resources).toContain('../crds');
});

interface Found {
  readonly path: string;
  readonly schema: Schema;
}

/** Returns every schema of a kind with its path. */
function allOf(schema: Schema, path: string): Found[] {
  if (schema.kind === 'list') return [{ path, schema }, ...allOf(schema.items, `${path}[]`)];
  if (schema.kind === 'map') return [{ path, schema }, ...allOf(schema.values, `${path}{}`)];
  if (schema.kind !== 'object') return [{ path, schema }];
  return [{ path, schema }, ...Object.entries(schema.fields).flatMap(([name, field]) => allOf(field, `${path}.${name}`))];
}

describe.each(kinds as readonly KindDefinition[])('$kind', (kind) => {
  const all = [...(kind.spec === undefined ? [] : allOf(kind.spec, 'spec')), ...allOf(kind.status, 'status')];

  test('every field has a description', () => {
    const fields = all.filter(({ path }) => path.includes('.') && !/(\[\]|\{\})$/.test(path));
    expect(fields.length).toBeGreaterThan(0);
    expect(fields.filter(({ schema }) => schema.description === undefined).map(({ path }) => path)).toEqual([]);
  });

  test('names and short names are unique, and status has conditions', () => {
    const names = (kinds as readonly KindDefinition[]).flatMap(({ plural, shortNames }) => [plural, ...shortNames]);
    for (const name of [kind.plural, ...kind.shortNames]) expect(names.filter((other) => other === name)).toHaveLength(1);
    expect(all.map(({ path }) => path)).toContain('status.conditions');
  });

  test('schemas use only known options', () => {
    const known = new Set(
      'kind description required unset rules maxLength default format secret grammar min max zeroIsUnset values items maxItems unique orText key maxEntries fields relations open impliedDefaults called'.split(
        ' ',
      ),
    );
    expect(all.flatMap(({ path, schema }) => Object.keys(schema).flatMap((name) => (known.has(name) ? [] : [`${path}: ${name}`])))).toEqual(
      [],
    );
  });
});

interface Structural {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, Structural>>;
  readonly items?: Structural;
  readonly additionalProperties?: Structural;
  readonly [keyword: string]: unknown;
}

/** Returns the paths of a structural schema that have no bound. */
function unbounded(schema: Structural, path: string): string[] {
  const bounds: Readonly<Record<string, string | undefined>> = { array: 'maxItems', string: 'maxLength' };
  const bound = schema.additionalProperties === undefined ? bounds[schema.type ?? ''] : 'maxProperties';
  const closed = schema['enum'] !== undefined || bound === undefined || schema[bound] !== undefined;
  return [
    ...(closed ? [] : [path]),
    ...Object.entries(schema.properties ?? {}).flatMap(([name, property]) => unbounded(property, `${path}.${name}`)),
    ...(schema.items === undefined ? [] : unbounded(schema.items, `${path}[]`)),
    ...(schema.additionalProperties === undefined ? [] : unbounded(schema.additionalProperties, `${path}{}`)),
  ];
}

test.each(globSync('manifests/crds/*s.yaml', { cwd: root }))('%s bounds every text, list and map', (path) => {
  const { spec } = parse(readFileSync(join(root, path), 'utf8')) as {
    spec: { versions: { schema: { openAPIV3Schema: { properties: Record<string, Structural> } } }[] };
  };
  const { spec: written = {}, status = {} } = spec.versions[0]?.schema.openAPIV3Schema.properties ?? {};
  expect(Object.keys(status).length).toBeGreaterThan(0);
  expect([...unbounded(written, 'spec'), ...unbounded(status, 'status')]).toEqual([]);
});
