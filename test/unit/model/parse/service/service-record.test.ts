import { describe, expect, test } from 'vitest';
import { readPrecedence, readServiceRecord } from '../../../../../src/model/parse/service/service-record.ts';

const condition = (status: string, reason: string, message: string) => ({ type: 'herald.dev/AddressAssigned', status, reason, message });
const sharing = 'The Service has the addresses it asks for and may share them: key "k", ports 80/TCP';

describe("the record of a Service's right to its addresses", () => {
  test.each<[string, unknown, object]>([
    ['the terms of sharing', [condition('True', 'Assigned', sharing)], { recordedTerms: 'key "k", ports 80/TCP' }],
    ['no terms without sharing', [condition('True', 'Assigned', 'The Service has the addresses it asks for')], {}],
    ['no terms of a condition that is False', [condition('False', 'PoolFull', sharing)], {}],
    ['an address of another Service', [condition('False', 'AddressTaken', 'The requested address is in use')], { addressTaken: true }],
    ['nothing from another condition', [{ ...condition('True', 'Assigned', sharing), type: 'herald.dev/Programmed' }], {}],
    ['nothing from broken conditions', [7, null, { ...condition('True', 'Assigned', ''), message: 7 }], {}],
    ['nothing without conditions', undefined, {}],
  ])('has %s', (_, conditions, expected) => {
    expect(readPrecedence(conditions)).toEqual(expected);
  });

  test('is part of the record in a directory', () => {
    const status = { loadBalancer: { ingress: [{ ip: '192.0.2.1' }] }, conditions: [condition('True', 'Assigned', sharing)] };
    expect(readServiceRecord({ status })).toMatchObject({ recordedTerms: 'key "k", ports 80/TCP', problems: [] });
  });
});
