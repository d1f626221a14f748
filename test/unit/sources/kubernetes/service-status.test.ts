import { expect, test } from 'vitest';
import { defined } from '../../../../src/lang/defined.ts';
import { rawObject, type RawObject } from '../../../../src/kube/raw-object.ts';
import { address } from '../../../../src/net/address.ts';
import {
  datedConditions,
  isRecorded,
  ourConditions,
  sameConditions,
  statusPatch,
} from '../../../../src/sources/kubernetes/records/service-status.ts';

const now = new Date('2026-11-21T12:00:00.123Z');
const metadata = { name: 'web', namespace: 'shop', uid: 'u1', resourceVersion: '7' };
const service = (status?: object): RawObject => rawObject({ metadata, ...defined({ status }) });
const assigned = { type: 'herald.dev/AddressAssigned', status: 'True', reason: 'Assigned', message: 'It has what it asks for' } as const;
const recorded = { ...assigned, lastTransitionTime: '2026-01-01T00:00:00Z' };
const ingress = [{ address: address('192.0.2.7'), ipMode: 'VIP' as const }];
const foreign = { type: 'example.net/Checked', status: 'True', reason: 'Ok', message: '', lastTransitionTime: '2026-01-01T00:00:00Z' };

test('a patch names the Service and version that the decision was based on', () => {
  expect(statusPatch({ uid: 'u1', resourceVersion: '7' }, { ingress, conditions: [recorded], before: [] })).toEqual({
    metadata: { uid: 'u1', resourceVersion: '7' },
    status: { loadBalancer: { ingress: [{ ip: '192.0.2.7', ipMode: 'VIP' }] }, conditions: [recorded] },
  });
});

test('a patch removes addresses and our conditions explicitly', () => {
  const programmed = { ...recorded, type: 'herald.dev/Programmed' };
  expect(
    statusPatch({ uid: 'u1', resourceVersion: '7' }, { ingress: [], conditions: [recorded], before: [recorded, programmed] }),
  ).toMatchObject({
    status: { loadBalancer: { ingress: null }, conditions: [recorded, { $patch: 'delete', type: 'herald.dev/Programmed' }] },
  });
});

test('a condition keeps its time while its status is the same', () => {
  const time = (change: object): unknown => datedConditions([{ ...assigned, ...change }], [recorded], now)[0]?.lastTransitionTime;
  expect(time({ reason: 'StillAssigned' })).toBe('2026-01-01T00:00:00Z');
  expect(time({ status: 'False' })).toBe('2026-11-21T12:00:00Z');
  expect(time({ type: 'herald.dev/Announced' })).toBe('2026-11-21T12:00:00Z');
});

test('only our own recorded conditions are compared, in any order', () => {
  const other = { ...recorded, type: 'herald.dev/Announced' };
  const read = ourConditions(service({ conditions: [foreign, other, { ...recorded, unknown: 3 }] }));
  expect(sameConditions(read, [recorded, other])).toBe(true);
  expect(sameConditions(read, [recorded])).toBe(false);
});

test('a status is ours when it has one of our conditions', () => {
  expect(isRecorded(service({ conditions: [recorded] }))).toBe(true);
  expect(isRecorded(service({ loadBalancer: { ingress: [{ ip: '192.0.2.7' }] }, conditions: [foreign] }))).toBe(false);
  expect(isRecorded(service())).toBe(false);
});
