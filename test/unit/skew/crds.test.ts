import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parseDocument } from 'yaml';
import { documentsIn, type Document } from './documents.ts';
import { narrowings } from './narrowings.ts';

const files = readdirSync(new URL('v0/crds', import.meta.url));
const v0 = (file: string): Document => documentsIn(`v0/crds/${file}`)[0] ?? {};

test.each(files)('%s takes every object that the version before took, and reads it in the same way', (file) => {
  const [now = {}] = documentsIn(`../../../manifests/crds/${file}`);
  expect(narrowings(v0(file), now)).toEqual([]);
});

/** The same CRD with one value in another place or form; undefined: without it. Numbers in paths are places in lists. */
function changed(path: string, value: unknown): Document {
  const document = parseDocument(readFileSync(new URL('v0/crds/ipaddresspools.yaml', import.meta.url), 'utf8'));
  const parts = path.split('.').map((part) => (/^[0-9]+$/.test(part) ? Number(part) : part));
  if (value === undefined) document.deleteIn(parts);
  else document.setIn(parts, document.createNode(value));
  return document.toJS() as Document;
}

describe('what would break stored objects is found', () => {
  const schema = 'spec.versions.0.schema.openAPIV3Schema.properties.spec';
  const addresses = `${schema}.properties.addresses`;
  const autoAssign = `${schema}.properties.autoAssign`;
  const expression = `${schema}.properties.serviceAllocation.properties.namespaceSelectors.items.properties.matchExpressions.items.properties`;

  test.each<[string, string, unknown, string]>([
    ['a field that is gone', autoAssign, undefined, '.spec: autoAssign is gone'],
    ['another type', `${autoAssign}.type`, 'string', '.spec.autoAssign: type is another one'],
    ['another default', `${autoAssign}.default`, false, '.spec.autoAssign: default is another one'],
    ['a lower bound', `${addresses}.maxItems`, 10, '.spec.addresses: maxItems is lower'],
    ['a higher one', `${addresses}.minItems`, 2, '.spec.addresses: minItems is higher'],
    ['a bound that is new', `${autoAssign}.maxLength`, 10, '.spec.autoAssign: maxLength is lower'],
    ['a further rule', `${addresses}.x-kubernetes-validations`, [{ rule: 'false' }], '.spec.addresses: has a rule more: false'],
    ['a field that is required', `${schema}.required`, ['addresses', 'autoAssign'], '.spec: autoAssign is required'],
    [
      'a choice less',
      `${expression}.operator.enum`,
      ['In', 'NotIn'],
      '.spec.serviceAllocation.namespaceSelectors[].matchExpressions[].operator: enum has fewer values',
    ],
    ['a version that is not served', 'spec.versions.0.served', false, 'v1alpha1 is not served any more'],
    ['another scope', 'spec.scope', 'Namespaced', 'scope is another one'],
    ['a short name less', 'spec.names.shortNames', [], 'names.shortNames lacks hpool'],
  ])('%s', (_, path, value, text) => {
    expect(narrowings(v0('ipaddresspools.yaml'), changed(path, value))).toEqual([text]);
  });

  test('a field that is new is none of that', () => {
    expect(narrowings(v0('ipaddresspools.yaml'), changed(`${schema}.properties.sharding`, { type: 'string' }))).toEqual([]);
  });
});
