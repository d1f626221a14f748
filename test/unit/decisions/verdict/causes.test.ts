import { expect, test } from 'vitest';
import { causeKey } from '../../../../src/decisions/verdict/causes/causes.ts';
import { objectOfReason } from '../../../../src/decisions/verdict/object-of-reason.ts';
import { reason } from '../../../../src/model/reasons.ts';
import { service } from '../fixtures.ts';

const common = { peer: 'tor1', router: '10.1.0.1', local: '10.1.0.11', since: '2026-01-01T00:00:00Z', latest: '' };
const details = { ...common, by: 'peer', field: 'spec.myASN', value: '64512', said: 0 } as const;
const onNode1 = reason('PeerASMismatch', details);
const onNode2 = reason('PeerASMismatch', { ...details, local: '10.1.0.12', since: '2026-01-01T00:00:07Z', latest: 'no answer' });
const ofTor2 = reason('PeerASMismatch', { ...details, peer: 'tor2', router: '10.2.0.1' });

test('the cause of one router is the same on nodes with different addresses, times and symptoms', () => {
  expect(causeKey(onNode2)).toBe(causeKey(onNode1));
  expect(causeKey(ofTor2)).not.toBe(causeKey(onNode1));
});

test('the object and the field of a refused AS number are those of the BGPPeer', () => {
  expect(objectOfReason(service({ name: 'shop/web' }), onNode1)).toEqual({ object: 'BGPPeer/tor1', field: 'spec.myASN' });
});
