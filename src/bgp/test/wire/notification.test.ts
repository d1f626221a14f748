import { describe, expect, test } from 'vitest';
import { errorName, errorNumbers } from '../../../../src/bgp/wire/codes.ts';
import {
  ceaseNotification,
  decodeNotification,
  describeNotification,
  encodeNotification,
  hardReset,
  innermost,
  maximumPrefixesNotification,
  shutdownMessageOf,
} from '../../../../src/bgp/wire/notification.ts';
import { hex, marker, toHex } from '../hex.ts';

describe('NOTIFICATION', () => {
  test('BGP-048 a shutdown text is encoded and decoded', () => {
    const bytes = encodeNotification(ceaseNotification(2, 'Wartung: Köln'));
    expect(toHex(bytes)).toBe(toHex(hex(`${marker} 0024 03 06 02 0e 57617274756e673a204bc3b66c6e`)));
    expect(describeNotification(decodeNotification(bytes.subarray(19)))).toBe('Cease: Administrative Shutdown (6/2): "Wartung: Köln"');
  });

  test('a long shutdown text is cut at 255 octets, between characters', () => {
    const { data } = ceaseNotification(2, 'ö'.repeat(300));
    expect(data.length).toBe(255);
    expect(shutdownMessageOf({ code: 6, subcode: 2, data })).toBe('ö'.repeat(127));
  });

  test.each([
    ['no octets', '', undefined],
    ['a length beyond the data', '09 6162', undefined],
    ['invalid UTF-8', '03 61ff62', 'a\ufffdb'],
    ['control characters', '05 611b5b0a62', 'a [ b'],
    ['only control characters', '02 1b0a', undefined],
    ['a code that has no text', undefined, undefined],
  ])('BGP-011 a shutdown text with %s is read safely', (_, data, text) => {
    const notification = data === undefined ? { code: 6, subcode: 5, data: hex('0161') } : { code: 6, subcode: 2, data: hex(data) };
    expect(shutdownMessageOf(notification)).toBe(text);
  });

  test.each(['', '00', '0000', 'ffff', '0101ff', '0609', '060906', '0601', '060100'])(
    'BGP-011 the malformed body "%s" is decoded and described',
    (body) => {
      const notification = decodeNotification(hex(body));
      expect(toHex(Uint8Array.of(notification.code, notification.subcode, ...notification.data))).toBe(body.padEnd(4, '0'));
      expect(describeNotification(notification)).toMatch(/\(\d+\/\d+\)/);
    },
  );

  test('Peer De-configured carries no text', () => {
    expect(ceaseNotification(3, 'text').data).toHaveLength(0);
  });

  test('data that does not fit the longest message is truncated', () => {
    const data = new Uint8Array(70_000).fill(7);
    expect(encodeNotification({ code: 3, subcode: 9, data })).toHaveLength(4096);
    expect(encodeNotification({ code: 3, subcode: 9, data }, 65_535)).toHaveLength(65_535);
  });

  test('BGP-104 a Hard Reset carries the real reason, both ways', () => {
    const notification = hardReset(ceaseNotification(2, 'bye'));
    const bytes = encodeNotification(notification);
    expect(toHex(bytes)).toBe(toHex(hex(`${marker} 001b 03 06 09 06 02 03 627965`)));
    const received = decodeNotification(bytes.subarray(19));
    expect(received).toEqual(notification);
    expect(innermost(received)).toEqual(ceaseNotification(2, 'bye'));
    expect(describeNotification(received)).toBe('Cease: Hard Reset (6/9) of Cease: Administrative Shutdown (6/2): "bye"');
  });

  test('BGP-104 a Hard Reset without a reason is described as such; a nested one is not unwrapped', () => {
    const empty = { code: 6, subcode: 9, data: hex('06') };
    expect(innermost(empty)).toBe(empty);
    expect(describeNotification(empty)).toBe('Cease: Hard Reset (6/9)');
    const nested = { code: 6, subcode: 9, data: new Uint8Array(65_514).map((_, at) => (at % 2 === 0 ? 6 : 9)) };
    expect(describeNotification(nested)).toBe('Cease: Hard Reset (6/9) of Cease: Hard Reset (6/9)');
  });

  test.each([
    [4, '0001 01 0000000a', 'at most 10 of IPv4 unicast'],
    [6, '0002 01 0000000a', 'at most 10 of IPv6 unicast'],
  ] as const)('BGP-085 the Cease for too many IPv%i prefixes carries family and maximum (RFC 4486 4)', (family, data, text) => {
    const notification = maximumPrefixesNotification(family, 10);
    expect(notification).toEqual({ code: 6, subcode: 1, data: hex(data) });
    expect(describeNotification(notification)).toBe(`Cease: Maximum Number of Prefixes Reached (6/1): ${text}`);
  });

  test('an unknown family is described by its numbers, and data of a wrong length is not read', () => {
    const notification = { code: 6, subcode: 1, data: hex('0019 46 00000001') };
    expect(describeNotification(notification)).toBe('Cease: Maximum Number of Prefixes Reached (6/1): at most 1 of AFI 25 SAFI 70');
    expect(describeNotification({ ...notification, data: hex('0019') })).toBe('Cease: Maximum Number of Prefixes Reached (6/1)');
  });

  test.each([
    [1, 1, 'Message Header Error: Connection Not Synchronized (1/1)'],
    [2, 11, 'OPEN Message Error: Role Mismatch (2/11)'],
    [3, 5, 'UPDATE Message Error: Attribute Length Error (3/5)'],
    [4, 0, 'Hold Timer Expired (4/0)'],
    [5, 3, 'Finite State Machine Error: Unexpected Message in Established State (5/3)'],
    [6, 1, 'Cease: Maximum Number of Prefixes Reached (6/1)'],
    [6, 2, 'Cease: Administrative Shutdown (6/2)'],
    [6, 3, 'Cease: Peer De-configured (6/3)'],
    [6, 4, 'Cease: Administrative Reset (6/4)'],
    [6, 5, 'Cease: Connection Rejected (6/5)'],
    [6, 6, 'Cease: Other Configuration Change (6/6)'],
    [6, 7, 'Cease: Connection Collision Resolution (6/7)'],
    [6, 8, 'Cease: Out of Resources (6/8)'],
    [6, 9, 'Cease: Hard Reset (6/9)'],
    [6, 10, 'Cease: BFD Down (6/10)'],
    [7, 1, 'ROUTE-REFRESH Message Error: Invalid Message Length (7/1)'],
    [8, 0, 'Send Hold Timer Expired (8/0)'],
  ])('%i/%i has its name, both ways', (code, subcode, name) => {
    expect(errorName(code, subcode)).toBe(name);
    expect(errorNumbers(name)).toEqual({ code, subcode });
  });

  test('unknown codes and subcodes are described by their numbers', () => {
    expect(errorName(99, 7)).toBe('Unknown Error (99/7)');
    expect(errorName(6, 99)).toBe('Cease (6/99)');
    expect(errorNumbers('Unknown Error (99/7)')).toBeUndefined();
    expect(errorNumbers('Cease: No Such Thing')).toBeUndefined();
  });
});
