import { address } from '../../../../../src/net/address.ts';
import { describe, expect, test } from 'vitest';
import { readConditionRecord, readServiceRecord } from '../../../../../src/model/parse/service/service-record.ts';

const condition = (status: string, reason: string, message: string) => ({ type: 'herald.dev/AddressAssigned', status, reason, message });
const sharing = 'The Service has the addresses it asks for and may share them: key "k", ports 80/TCP';

describe("the record of a Service's right to its addresses", () => {
  test.each<[string, unknown, object]>([
    ['the terms of sharing', [condition('True', 'Assigned', sharing)], { recordedTerms: 'key "k", ports 80/TCP' }],
    [
      'the terms of sharing before the pools',
      [condition('True', 'Assigned', `${sharing} (of pool a: 192.0.2.1)`)],
      { recordedTerms: 'key "k", ports 80/TCP', recordedPools: [{ address: address('192.0.2.1'), pool: 'a', labels: {} }] },
    ],
    [
      'the pools of a refused request',
      [condition('False', 'HeldOutsidePools', 'The address is in no pool (of pool a [t=x]: 192.0.2.1)')],
      { recordedPools: [{ address: address('192.0.2.1'), pool: 'a', labels: { t: 'x' } }] },
    ],
    ['no pools from another condition', [{ type: 'herald.dev/Announced', status: 'False', message: 'No (of pool a: 192.0.2.1)' }], {}],
    ['no terms without sharing', [condition('True', 'Assigned', 'The Service has the addresses it asks for')], {}],
    ['no terms of a condition that is False', [condition('False', 'PoolFull', sharing)], {}],
    ['an address of another Service', [condition('False', 'AddressTaken', 'The requested address is in use')], { addressTaken: true }],
    ['nothing from another condition', [{ ...condition('True', 'Assigned', sharing), type: 'herald.dev/Programmed' }], {}],
    ['nothing from broken conditions', [7, null, { ...condition('True', 'Assigned', ''), message: 7 }], {}],
    ['nothing without conditions', undefined, {}],
  ])('has %s', (_, conditions, expected) => {
    expect(readConditionRecord(conditions)).toEqual(expected);
  });

  test('is part of the record in a directory', () => {
    const status = { loadBalancer: { ingress: [{ ip: '192.0.2.1' }] }, conditions: [condition('True', 'Assigned', sharing)] };
    expect(readServiceRecord({ status })).toMatchObject({ recordedTerms: 'key "k", ports 80/TCP', problems: [] });
  });
});
