import { expect, test } from 'vitest';
import { address } from '../../../../src/net/address.ts';
import { updateFormatOf } from '../../../../src/bgp/rib/update-format.ts';
import { negotiated } from './receiver.ts';
import { hex } from '../hex.ts';

const v4 = address('10.0.0.2');
const v6 = address('2001:db8::2');
const linkLocal = address('fe80::2');
const extended = { extendedNextHop: true };
const [hex4, hex6, hexLinkLocal] = ['0a000002', '20010db8000000000000000000000002', 'fe800000000000000000000000000002'];

test.each([
  ['BGP-088 IPv4 over IPv4', 4, v4, {}, {}, 'classic', hex4],
  ['BGP-088 IPv4 over IPv6 without RFC 8950', 4, v6, {}, {}, 'impossible', ''],
  ['BGP-088 IPv4 over IPv6 with RFC 8950', 4, v6, extended, {}, 'multiprotocol', hex6],
  [
    'BGP-088 IPv4 over IPv6 with RFC 8950 on a shared link',
    4,
    v6,
    extended,
    { ipv6LinkLocal: linkLocal },
    'multiprotocol',
    hex6 + hexLinkLocal,
  ],
  ['BGP-088 IPv4 over IPv6 with a configured IPv4 next hop', 4, v6, extended, { ipv4: v4 }, 'classic', hex4],
  ['BGP-088 IPv4 over IPv6 with another IPv6 next hop', 4, address('2001:db8::9'), extended, { ipv6: v6 }, 'multiprotocol', hex6],
  ['BGP-088 IPv4 unnumbered', 4, linkLocal, extended, {}, 'multiprotocol', hexLinkLocal],
  ['BGP-088 IPv4 unnumbered without RFC 8950', 4, linkLocal, {}, {}, 'impossible', ''],
  ['BGP-089 IPv6 over IPv6', 6, v6, {}, {}, 'multiprotocol', hex6],
  ['BGP-089 IPv6 on a shared link', 6, v6, {}, { ipv6LinkLocal: linkLocal }, 'multiprotocol', hex6 + hexLinkLocal],
  ['BGP-089 IPv6 unnumbered', 6, linkLocal, {}, {}, 'multiprotocol', hexLinkLocal],
  ['BGP-089 IPv6 unnumbered with a global next hop', 6, linkLocal, {}, { ipv6: v6 }, 'multiprotocol', hex6],
  ['BGP-089 IPv6 over IPv4', 6, v4, {}, {}, 'impossible', ''],
  ['BGP-089 IPv6 over IPv4 with a configured next hop', 6, v4, {}, { ipv6: v6 }, 'multiprotocol', hex6],
  ['BGP-089 a link-local next hop on a session with global addresses', 6, v6, {}, { ipv6: linkLocal }, 'impossible', ''],
  ['IPv6 when it was not negotiated', 6, v6, { families: [4] as const }, {}, 'impossible', ''],
  ['an unknown local address', 4, undefined, {}, {}, 'impossible', ''],
] as const)('%s has its next hop encoding', (_, family, local, change, hops, kind, nextHop) => {
  const encoding = updateFormatOf({ ...negotiated, ...change }, 1, local, hops).nextHops[family];
  expect(encoding.kind).toBe(kind);
  expect('nextHop' in encoding ? encoding.nextHop : hex('')).toEqual(hex(nextHop));
});

test('BGP-007 messages are long only when both sides offered them', () => {
  const lengths = [false, true].map((extendedMessages) => updateFormatOf({ ...negotiated, extendedMessages }, 1, v4, {}).maximumLength);
  expect(lengths).toEqual([4096, 65535]);
});
