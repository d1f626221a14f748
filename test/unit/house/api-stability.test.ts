import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';

const root = join(import.meta.dirname, '../../..');

interface Definition {
  readonly kind: string;
  readonly spec: {
    readonly names: { readonly kind: string };
    readonly versions: readonly {
      readonly schema: { readonly openAPIV3Schema: { readonly properties: Readonly<Record<string, { readonly properties?: object }>> } };
    }[];
  };
}

const definitions = globSync('manifests/crds/*.yaml', { cwd: root })
  .map((file) => parse(readFileSync(join(root, file), 'utf8')) as Definition)
  .filter(({ kind }) => kind === 'CustomResourceDefinition');

/** The rows of the table of fields: a kind, its settled fields, and the others. */
const rows = new Map(
  readFileSync(join(root, 'docs/reference/api-stability.md'), 'utf8')
    .split('\n')
    .map((line) => line.split('|').map((cell) => cell.trim()))
    .map(([, kind = '', ...cells]) => [kind, cells.flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name))]),
);

// Agents write NodeState, and the page makes no promise about it.
const kinds = definitions.filter(({ spec }) => spec.names.kind !== 'NodeState');

test.each(kinds.map(({ spec }) => [spec.names.kind, spec.versions] as const))(
  'the page about stability has each field of %s once, as settled or not',
  (kind, versions) => {
    const fields = versions.flatMap(({ schema }) => Object.keys(schema.openAPIV3Schema.properties['spec']?.properties ?? {}));
    expect(fields.length).toBeGreaterThan(0);
    expect(rows.get(kind)?.toSorted()).toEqual(fields.toSorted());
  },
);
