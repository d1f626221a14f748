import { describe, expect, test } from 'vitest';
import { parseObject } from '../../../../src/model/parse.ts';
import type { HeraldObject } from '../../../../src/model/store/snapshot.ts';
import { Store } from '../../../../src/model/store/store.ts';
import { address } from '../../../../src/net/address.ts';
import { ours, service, slice } from '../parse/manifests.ts';

function object(raw: unknown, resourceVersion = '1'): HeraldObject {
  const result = parseObject(raw, { resourceVersion });
  if (result.object === undefined) throw new Error(JSON.stringify(result.problems));
  return result.object;
}

const named = (name: string, owner: string): unknown =>
  slice({ metadata: { name, namespace: 'shop', labels: { 'kubernetes.io/service-name': owner } } });
const endpoints = {
  apiVersion: 'v1',
  kind: 'Endpoints',
  metadata: { name: 'web', namespace: 'shop' },
  subsets: [{ addresses: [{ ip: '10.0.0.1' }], ports: [{ port: 80 }] }],
};

describe('store', () => {
  test('returns one change when an object appears, differs or goes, and none for a new version only', () => {
    const store = new Store();
    const change = [{ kind: 'Service', key: 'shop/web' }];
    expect(store.upsert(object(service()))).toEqual(change);
    expect(store.upsert(object(service(), '2'))).toEqual([]);
    expect(store.services.get('shop/web')?.metadata.resourceVersion).toBe('2');
    expect(store.upsert(object(service({ ports: [{ port: 81 }] })))).toEqual(change);
    expect(store.remove('Service', 'shop/web')).toEqual(change);
    expect(store.remove('Service', 'shop/web')).toEqual([]);
    expect(store.services.size).toBe(0);
  });

  test('returns the slices of a Service in order of their names', () => {
    const store = new Store();
    store.upsert(object(named('web-2', 'web')));
    store.upsert(object(named('web-1', 'web')));
    store.upsert(object(named('api-1', 'api')));
    expect(store.endpointSlices('shop/web').map(({ metadata }) => metadata.name)).toEqual(['web-1', 'web-2']);
    expect(store.remove('EndpointSlice', 'shop/web-1')).toEqual([{ kind: 'EndpointSlice', key: 'shop/web-1', services: ['shop/web'] }]);
    store.remove('EndpointSlice', 'shop/web-2');
    expect(store.endpointSlices('shop/web')).toEqual([]);
  });

  test('names both Services when a slice changes its owner', () => {
    const store = new Store();
    store.upsert(object(named('s', 'web')));
    expect(store.upsert(object(named('s', 'api')))).toEqual([{ kind: 'EndpointSlice', key: 'shop/s', services: ['shop/web', 'shop/api'] }]);
    expect(store.endpointSlices('shop/web')).toEqual([]);
    expect(store.endpointSlices('shop/api')).toHaveLength(1);
  });

  test('uses mirrored Endpoints only when there is no other slice', () => {
    const store = new Store();
    store.upsert(object(endpoints));
    expect(store.endpointSlices('shop/web').map(({ metadata }) => metadata.name)).toEqual(['web-mirror']);
    store.upsert(object(named('web-1', 'web')));
    expect(store.endpointSlices('shop/web').map(({ metadata }) => metadata.name)).toEqual(['web-1']);
    store.remove('EndpointSlice', 'shop/web-1');
    expect(store.endpointSlices('shop/web').map(({ metadata }) => metadata.name)).toEqual(['web-mirror']);
  });

  test('recorded addresses replace those of the manifest until the record is removed', () => {
    const store = new Store();
    const manual = { ...service({ type: 'LoadBalancer' }), status: { loadBalancer: { ingress: [{ ip: '192.0.2.9' }] } } };
    const addresses = (): unknown => store.services.get('shop/web')?.ingress.map(({ address }) => address);
    expect(store.setIngress('shop/web', [{ address: address('192.0.2.1'), ipMode: 'VIP' }])).toEqual([]);
    store.upsert(object(manual));
    expect(addresses()).toEqual([address('192.0.2.1')]);
    expect(store.setIngress('shop/web', [])).toEqual([{ kind: 'Service', key: 'shop/web' }]);
    expect(addresses()).toEqual([]);
    expect(store.setIngress('shop/web', [])).toEqual([]);
    store.setIngress('shop/web', undefined);
    expect(addresses()).toEqual([address('192.0.2.9')]);
  });

  test('returns the default configuration when there is no HeraldConfig', () => {
    const store = new Store();
    expect(store.config).toMatchObject({ services: 'all', masqueradeBit: 14 });
    store.upsert(object(ours('HeraldConfig', { masqueradeBit: 20 }, 'default')));
    expect(store.config.masqueradeBit).toBe(20);
    store.remove('HeraldConfig', 'default');
    expect(store.config.masqueradeBit).toBe(14);
  });

  test('the slices of a Service are the same list until one changes, so derived results stay valid', () => {
    const store = new Store();
    store.upsert(object(named('web-1', 'web')));
    const before = store.endpointSlices('shop/web');
    store.upsert(object(named('api-1', 'api')));
    expect(store.endpointSlices('shop/web')).toBe(before);
    store.upsert(object(named('web-2', 'web')));
    const after = store.endpointSlices('shop/web');
    expect(after).not.toBe(before);
    expect([before.length, after.length]).toEqual([1, 2]);
    store.remove('EndpointSlice', 'shop/web-2');
    expect(store.endpointSlices('shop/web')).not.toBe(after);
  });
});
