import { describe, expect, test } from 'vitest';
import { objectOfReason } from '../../../../src/decisions/verdict/object-of-reason.ts';
import { annotationTable } from '../../../../src/model/annotations.ts';
import { kinds } from '../../../../src/model/kinds.ts';
import type { Reason, ReasonCode } from '../../../../src/model/reasons.ts';
import type { Schema } from '../../../../src/model/schema/schema.ts';
import { service } from '../fixtures.ts';
import { allReasons } from '../../../support/built-in-providers.ts';

const web = service({ name: 'shop/web' });
const names = { pool: 'public', peer: 'tor1', node: 'node-a', advertisement: 'rack' };
const codes = Object.keys(allReasons) as ReasonCode[];
const placeOf = (code: ReasonCode) => objectOfReason(web, { code, details: names } as unknown as Reason);

/** The fields of the Service API that a fix may name. */
const serviceFields = new Set([
  'spec.type',
  'spec.loadBalancerClass',
  'spec.ipFamilies',
  'spec.selector',
  'spec.externalTrafficPolicy',
  'spec.ports',
]);
const annotations = Object.values(annotationTable);

function has(kind: string, field: string): boolean {
  if (kind === 'Node') return ['metadata.labels', 'metadata.annotations'].includes(field);
  if (kind === 'Service')
    return serviceFields.has(field) || annotations.some(({ name, on }) => on === 'Service' && field === `metadata.annotations[${name}]`);
  let schema: Schema | undefined = kinds.find((one) => one.kind === kind)?.spec;
  for (const part of field.replace(/^spec\./, '').split('.')) schema = schema?.kind === 'object' ? schema.fields[part] : undefined;
  return schema !== undefined;
}

describe('the object and the field that fix a reason', () => {
  test('every reason names an object, and only fields that this object has', () => {
    const objects = new Set(['IPAddressPool/public', 'BGPPeer/tor1', 'Node/node-a', 'BGPAdvertisement/rack', 'Service/shop/web']);
    const wrong = codes.filter((code) => {
      const { object = '', field } = placeOf(code);
      return !objects.has(object) || (field !== undefined && !has(object.split('/')[0] ?? '', field));
    });
    expect(wrong).toEqual([]);
  });

  test.each([
    ['PoolFull', { object: 'IPAddressPool/public', field: 'spec.addresses' }],
    ['SessionDown', { object: 'BGPPeer/tor1' }],
    ['AgentSilent', { object: 'Node/node-a' }],
    ['UnknownCommunity', { object: 'BGPAdvertisement/rack', field: 'spec.communities' }],
    ['OtherLoadBalancerClass', { object: 'Service/shop/web', field: 'spec.loadBalancerClass' }],
    ['ServiceDrained', { object: 'Service/shop/web', field: 'metadata.annotations[herald.dev/drain]' }],
  ] as const)('%s points at %j', (code, place) => {
    expect(placeOf(code)).toEqual(place);
  });

  test('the Service is named when the reason does not name its pool', () => {
    expect(objectOfReason(web, { code: 'NoPoolFits', details: {} } as unknown as Reason)).toEqual({ object: 'Service/shop/web' });
  });

  test('a request that cannot be read is named by its own field', () => {
    const unreadable = { code: 'InvalidRequest', details: { field: 'spec.loadBalancerIP' } } as unknown as Reason;
    expect(objectOfReason(web, unreadable)).toEqual({ object: 'Service/shop/web', field: 'spec.loadBalancerIP' });
  });

  test('the family of the session is the field only when no other BGPPeer of the AS carries it', () => {
    const others = (value: string) =>
      objectOfReason(web, { code: 'PeerFamilyNotCarried', details: { peer: 'tor1', others: value } } as unknown as Reason);
    expect(others('carry')).toEqual({ object: 'BGPPeer/tor1' });
    expect(others('none')).toEqual({ object: 'BGPPeer/tor1', field: 'spec.dualStackAddressFamily' });
  });
});
