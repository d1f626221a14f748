import { expect, test } from 'vitest';
import { rawObject, type RawObject } from '../../../../src/kube/raw-object.ts';
import { address } from '../../../../src/net/address.ts';
import { conditionsPatch, isRecorded, statusPatch } from '../../../../src/sources/kubernetes/service-status.ts';

const now = new Date('2026-11-21T12:00:00.123Z');
const metadata = { name: 'web', namespace: 'shop', uid: 'u1', resourceVersion: '7' };
const service = (status?: object): RawObject => rawObject({ metadata, ...(status === undefined ? {} : { status }) });
const assigned = { type: 'herald.dev/AddressAssigned', status: 'True', reason: 'Assigned', message: 'It has what it asks for' } as const;
const wanted = { ingress: [{ address: address('192.0.2.7'), ipMode: 'VIP' as const }], conditions: [assigned] };
const written = {
  loadBalancer: { ingress: [{ ipMode: 'VIP', ip: '192.0.2.7' }] },
  conditions: [{ ...assigned, lastTransitionTime: '2026-01-01T00:00:00Z' }],
};
const foreign = { type: 'example.net/Checked', status: 'True', reason: 'Ok', message: '', lastTransitionTime: '2026-01-01T00:00:00Z' };

test('a first status names the Service and the version that it is about', () => {
  expect(statusPatch(service(), wanted, now)).toEqual({
    metadata: { uid: 'u1', resourceVersion: '7' },
    status: {
      loadBalancer: { ingress: [{ ip: '192.0.2.7', ipMode: 'VIP' }] },
      conditions: [{ ...assigned, lastTransitionTime: '2026-11-21T12:00:00Z' }],
    },
  });
});

test('what is there already is not written', () => {
  expect(statusPatch(service(written), wanted, now)).toBeUndefined();
  expect(statusPatch(service(), { ingress: [], conditions: [] }, now)).toBeUndefined();
  expect(statusPatch(service({ loadBalancer: {} }), undefined, now)).toBeUndefined();
});

test('a condition keeps its time while its status is the same', () => {
  const other = { ...assigned, reason: 'StillAssigned' };
  expect(statusPatch(service(written), { ...wanted, conditions: [other] }, now)).toMatchObject({
    status: { conditions: [{ reason: 'StillAssigned', lastTransitionTime: '2026-01-01T00:00:00Z' }] },
  });
  expect(statusPatch(service(written), { ...wanted, conditions: [{ ...assigned, status: 'False' }] }, now)).toMatchObject({
    status: { conditions: [{ lastTransitionTime: '2026-11-21T12:00:00Z' }] },
  });
});

test('conditions of others stay, also when ours go', () => {
  const both = service({ ...written, conditions: [foreign, ...written.conditions] });
  expect(statusPatch(both, wanted, now)).toBeUndefined();
  expect(statusPatch(both, undefined, now)).toMatchObject({ status: { loadBalancer: { ingress: null }, conditions: [foreign] } });
  expect(statusPatch(service(written), undefined, now)).toMatchObject({ status: { conditions: null } });
});

test('an address that somebody else wrote is replaced', () => {
  const changed = { ...written, loadBalancer: { ingress: [{ ip: '192.0.2.8', ipMode: 'VIP' }] } };
  expect(statusPatch(service(changed), wanted, now)).toMatchObject({ status: { loadBalancer: { ingress: [{ ip: '192.0.2.7' }] } } });
});

test('a status is ours when it has a condition of ours', () => {
  expect(isRecorded(service(written))).toBe(true);
  expect(isRecorded(service({ loadBalancer: { ingress: [{ ip: '192.0.2.7' }] }, conditions: [foreign] }))).toBe(false);
  expect(isRecorded(service())).toBe(false);
});

test('conditions of an object of ours are the whole list', () => {
  const accepted = { type: 'Accepted', status: 'True', reason: 'Accepted', message: '' } as const;
  const pool = rawObject({ metadata, status: { conditions: [{ ...accepted, lastTransitionTime: '2026-01-01T00:00:00Z' }] } });
  expect(conditionsPatch(pool, [accepted], now)).toBeUndefined();
  expect(conditionsPatch(rawObject({ metadata }), [accepted], now)).toMatchObject({ metadata: { resourceVersion: '7' } });
});
