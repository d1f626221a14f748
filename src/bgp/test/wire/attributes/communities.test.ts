import { expect, test } from 'vitest';
import {
  decodeExtendedCommunities,
  encodeCommunities,
  linkBandwidthCommunity,
  linkBandwidthOf,
} from '../../../../../src/bgp/wire/attributes/communities.ts';
import { hex, toHex } from '../../hex.ts';

test('a link bandwidth community encodes an AS number and octets per second, both ways', () => {
  const community = linkBandwidthCommunity({ asn: 65001, bytesPerSecond: 1.25e8 });
  expect(toHex(encodeCommunities('extended', [community]))).toBe('4004fde94cee6b28');
  expect(linkBandwidthOf(community)).toEqual({ asn: 65001, bytesPerSecond: 1.25e8 });
});

test.each([
  ['the transitive form', '0004fde94cee6b28', { asn: 65001, bytesPerSecond: 1.25e8 }],
  ['a route target', '0002fde900000064', undefined],
  ['a community of another type', '4104fde94cee6b28', undefined],
])('the link bandwidth is read only from its own community: %s', (_, bytes, expected) => {
  const [community] = decodeExtendedCommunities(hex(bytes));
  expect(community && linkBandwidthOf(community)).toEqual(expected);
  expect(linkBandwidthOf({ kind: 'standard', value: 4 })).toBeUndefined();
});

test('48 bits of an extended community survive decoding and encoding', () => {
  const all = hex('ffff ffffffffffff 0000 000000000000 8006 800000000001');
  expect(toHex(encodeCommunities('extended', decodeExtendedCommunities(all)))).toBe(toHex(all));
});
