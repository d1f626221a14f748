import { expect, test } from 'vitest';
import { MergedObjects, sourceKey } from '../../../../src/model/metallb/merge.ts';
import { parseAnyObject } from '../../../../src/model/metallb/read.ts';
import type { HeraldObject } from '../../../../src/model/store/snapshot.ts';
import { Store } from '../../../../src/model/store/store.ts';
import { ours } from '../parse/manifests.ts';
import { metallb } from './metallb-manifests.ts';

const read = (raw: unknown, namespace = 'metallb-system'): HeraldObject => {
  const { object } = parseAnyObject(raw, { compat: ['metallb'], namespace });
  if (object === undefined) throw new Error('cannot be read');
  return object;
};
const pool = (addresses: string) => ({ addresses: [addresses] });

test('an object of herald.dev hides the MetalLB object of the same name until it is removed', () => {
  const store = new Store();
  const objects = new MergedObjects(store);
  const theirs = read(metallb('IPAddressPool', pool('192.0.2.0/24')));
  const own = read(ours('IPAddressPool', pool('198.51.100.0/24')));
  expect(objects.upsert(theirs)).toEqual([{ kind: 'IPAddressPool', key: 'main' }]);
  expect(objects.shadowed()).toEqual([]);
  expect(objects.upsert(own)).toEqual([{ kind: 'IPAddressPool', key: 'main' }]);
  expect(store.pools.get('main')).toBe(own);
  expect(objects.shadowed()).toEqual([{ origin: theirs.metadata.origin, by: 'IPAddressPool/main of herald.dev' }]);
  expect(objects.remove('IPAddressPool', sourceKey(own))).toEqual([{ kind: 'IPAddressPool', key: 'main' }]);
  expect(store.pools.get('main')).toBe(theirs);
  expect(objects.shadowed()).toEqual([]);
  expect(objects.remove('IPAddressPool', sourceKey(theirs))).toHaveLength(1);
  expect(store.pools.size).toBe(0);
});

test('changes and removal of a hidden object cause no change', () => {
  const store = new Store();
  const objects = new MergedObjects(store);
  objects.upsert(read(ours('BGPAdvertisement', {})));
  expect(objects.upsert(read(metallb('BGPAdvertisement', {})))).toEqual([]);
  expect(objects.upsert(read(metallb('BGPAdvertisement', { localPref: 7 })))).toEqual([]);
  expect(objects.remove('BGPAdvertisement', 'metallb-system/main')).toEqual([]);
  expect(store.advertisements.get('main')).toMatchObject({ localPref: 0 });
});

test.each([
  ['a', 'b'],
  ['b', 'a'],
])('of two MetalLB objects the one whose namespace sorts first is used, added in order %s, %s', (...namespaces) => {
  const store = new Store();
  const objects = new MergedObjects(store);
  for (const namespace of namespaces)
    objects.upsert(read(metallb('IPAddressPool', pool('192.0.2.0/24'), 'main', { namespace }), namespace));
  expect(store.pools.get('main')?.metadata.origin?.namespace).toBe('a');
  expect(objects.shadowed()).toMatchObject([{ origin: { namespace: 'b' }, by: 'IPAddressPool.metallb.io/a/main' }]);
});

test('objects with the same name but different kinds do not hide each other', () => {
  const store = new Store();
  const objects = new MergedObjects(store);
  objects.upsert(read(metallb('IPAddressPool', pool('192.0.2.0/24'))));
  objects.upsert(read(metallb('BGPAdvertisement', {})));
  expect([store.pools.size, store.advertisements.size, objects.shadowed()]).toEqual([1, 1, []]);
});
