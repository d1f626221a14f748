import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { tools } from '../../../../../../src/cli/commands/import/tools/all-tools.ts';
import type { SourceField, SourceKind } from '../../../../../../src/cli/commands/import/tools/reading/source-kind.ts';
import { importServices } from '../../../../../../src/model/metallb/import-services.ts';
import { documentsOf, imports } from '../documents.ts';

const groups: Readonly<Record<string, string>> = {
  Cilium: 'cilium.io/v2',
  Calico: 'projectcalico.org/v3',
  PureLB: 'purelb.io/v1',
  OpenELB: 'network.kubesphere.io/v1alpha2',
  MetalLB: 'metallb.io/v1beta1',
  'MetalLB operator': 'metallb.io/v1beta1',
};

/** Makes a document of a kind, with `value` where the table of the kind begins. */
function documentOf({ tool, kind, root }: SourceKind, value: unknown): unknown {
  const container = (image: string, more: object): object => ({
    apiVersion: 'apps/v1',
    kind: 'DaemonSet',
    metadata: { name: 'a' },
    spec: { template: { spec: { containers: [{ image, ...more }] } } },
  });
  const entries = Object.entries(typeof value === 'object' && value !== null ? value : {});
  if (root === 'env.') return container('kube-vip', { env: entries.map(([name, one]) => ({ name, value: one as unknown })) });
  if (tool === 'kube-proxy' && root === '') return { apiVersion: 'kubeproxy.config.k8s.io/v1alpha1', kind, ...(value as object) };
  if (tool === 'kube-proxy') return container('kube-proxy', { args: entries.map(([name, one]) => `--${name}=${String(one)}`) });
  if (root === '--') return container('kube-router', { args: entries.map(([name, one]) => `--${name}=${String(one)}`) });
  if (root === 'data.')
    return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'kubevip', namespace: 'kube-system' }, data: value };
  if (kind.startsWith('BGPConfiguration ('))
    return { apiVersion: 'bgp.purelb.io/v1', kind: 'BGPConfiguration', metadata: { name: 'a' }, spec: value };
  if (kind === 'IPPool')
    return { apiVersion: groups[tool], kind, metadata: { name: 'a' }, spec: { allowedUses: ['LoadBalancer'], ...(value as object) } };
  if (root === '') return { 'address-pools': [], ...(value as object) };
  return { apiVersion: groups[tool], kind, metadata: { name: 'a' }, spec: value };
}

/** Puts a value at a path such as "blocks[].cidr". */
function at(field: string, value: unknown): unknown {
  const [first = '', ...rest] = field.replace('*', 'x').split('.');
  const inner = rest.length === 0 ? value : at(rest.join('.'), value);
  return first.endsWith('[]') ? { [first.slice(0, -2)]: [inner] } : { [first]: inner };
}

const kinds = tools.flatMap((tool) => tool.kinds).filter(({ kind }) => !kind.startsWith('DaemonSet svclb'));
const rows = kinds.flatMap((kind) =>
  kind.fields.map((field): [string, string, SourceKind, SourceField] => [kind.kind, field.field, kind, field]),
);
/** A value that no field takes for "off", and few take for right. */
const strange = ['a strange value', { matchLabels: { a: 'b' } }, ['x'], 7, true];

const lines = (document: unknown): string[] =>
  documentsOf(document).flatMap((one) => one.remarks.map(({ level, field, message }) => `${level} ${field}: ${message}`));

describe('the tables of herald import', () => {
  test.each(rows)('%s: %s never crashes, and is reported when it is lost', (_, field, kind, row) => {
    const found = strange.map((value) => lines(documentOf(kind, at(field, value))));
    const isReported = (one: readonly string[]): boolean => one.some((line) => line.startsWith('differs') && line.includes(row.text));
    const isUnknown = (one: readonly string[]): boolean => one.some((line) => line.includes('is not a field of'));
    expect(found.filter((one) => (row.does === 'lost' && !isReported(one)) || (row.does !== 'translated' && isUnknown(one)))).toEqual([]);
  });

  test.each(kinds.map((kind): [string, SourceKind] => [kind.kind, kind]))('%s: a field that no table has is reported', (_, kind) => {
    expect(lines(documentOf(kind, { somethingNew: 'x' }))).toContainEqual(
      expect.stringContaining(`differs ${kind.root}somethingNew: is not a field of ${kind.kind}`),
    );
  });

  test('a table has each field once, and each lost or kept field says why', () => {
    for (const { kind, fields } of kinds) {
      expect([kind, fields.map(({ field }) => field)]).toEqual([kind, [...new Set(fields.map(({ field }) => field))]]);
      for (const { field, text } of fields) expect([kind, field, text]).not.toEqual([kind, field, '']);
    }
  });

  test('any document of any kind is read without a crash, and no manifest of it is broken', () => {
    const kind = fc.constantFrom(...kinds);
    const odd = fc.oneof(fc.jsonValue({ maxDepth: 3 }), fc.constantFrom('192.0.2.0/24', '2001:db8::1', 64_512, 'true', '0.0.0.0', [], {}));
    const document = kind.chain((one) =>
      fc.dictionary(fc.constantFrom(...one.fields.map(({ field }) => field)), odd, { maxKeys: 6 }).map((fields) => {
        const value: Record<string, unknown> = {};
        for (const [field, inner] of Object.entries(fields)) Object.assign(value, at(field, inner) as object);
        return documentOf(one, value);
      }),
    );
    fc.assert(
      fc.property(fc.array(document, { maxLength: 4 }), (documents) => {
        imports(...documents);
        importServices(documents.map((raw) => ({ raw })));
      }),
    );
  });
});
