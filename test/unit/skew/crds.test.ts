import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parseDocument } from 'yaml';
import { documentsIn, type Document } from './documents.ts';
import { narrowings } from './narrowings.ts';

const files = readdirSync(new URL('v0/crds', import.meta.url));
const v0 = (file: string): Document => documentsIn(`v0/crds/${file}`)[0] ?? {};

test.each(files)('%s accepts every object that the previous version accepted, with the same meaning', (file) => {
  const [now = {}] = documentsIn(`../../../manifests/crds/${file}`);
  expect(narrowings(v0(file), now)).toEqual([]);
});

/** Returns the CRD with one value changed, or removed when it is undefined. Numbers in paths are list indexes. */
function changed(path: string, value: unknown): Document {
  const document = parseDocument(readFileSync(new URL('v0/crds/ipaddresspools.yaml', import.meta.url), 'utf8'));
  const parts = path.split('.').map((part) => (/^[0-9]+$/.test(part) ? Number(part) : part));
  if (value === undefined) document.deleteIn(parts);
  else document.setIn(parts, document.createNode(value));
  return document.toJS() as Document;
}

describe('detection of CRD changes that break stored objects', () => {
  const schema = 'spec.versions.0.schema.openAPIV3Schema.properties.spec';
  const addresses = `${schema}.properties.addresses`;
  const autoAssign = `${schema}.properties.autoAssign`;
  const expression = `${schema}.properties.serviceAllocation.properties.namespaceSelectors.items.properties.matchExpressions.items.properties`;

  test.each<[string, string, unknown, string]>([
    ['a removed field', autoAssign, undefined, '.spec: autoAssign is gone'],
    ['a changed type', `${autoAssign}.type`, 'string', '.spec.autoAssign: type is another one'],
    ['a changed default', `${autoAssign}.default`, false, '.spec.autoAssign: default is another one'],
    ['a lowered maximum', `${addresses}.maxItems`, 10, '.spec.addresses: maxItems is lower'],
    ['a raised minimum', `${addresses}.minItems`, 2, '.spec.addresses: minItems is higher'],
    ['a new bound', `${autoAssign}.maxLength`, 10, '.spec.autoAssign: maxLength is lower'],
    ['an additional rule', `${addresses}.x-kubernetes-validations`, [{ rule: 'false' }], '.spec.addresses: has a rule more: false'],
    ['a newly required field', `${schema}.required`, ['addresses', 'autoAssign'], '.spec: autoAssign is required'],
    [
      'a removed enum value',
      `${expression}.operator.enum`,
      ['In', 'NotIn'],
      '.spec.serviceAllocation.namespaceSelectors[].matchExpressions[].operator: enum has fewer values',
    ],
    ['a version that is no longer served', 'spec.versions.0.served', false, 'v1alpha1 is not served any more'],
    ['a changed scope', 'spec.scope', 'Namespaced', 'scope is another one'],
    ['a removed short name', 'spec.names.shortNames', [], 'names.shortNames lacks hpool'],
  ])('finds %s', (_, path, value, text) => {
    expect(narrowings(v0('ipaddresspools.yaml'), changed(path, value))).toEqual([text]);
  });

  test('a new field breaks nothing', () => {
    expect(narrowings(v0('ipaddresspools.yaml'), changed(`${schema}.properties.sharding`, { type: 'string' }))).toEqual([]);
  });
});
