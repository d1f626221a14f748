import { describe, expect, test } from 'vitest';
import { address } from '../../../../src/net/address.ts';
import { prefix } from '../../../../src/net/prefix.ts';
import { updateFormatOf } from '../../../../src/bgp/rib/update-format.ts';
import type { Negotiated } from '../../../../src/bgp/negotiation/negotiate.ts';
import { AdjRibOut } from '../../../../src/bgp/rib/adj-rib-out.ts';
import {
  BLACKHOLE,
  GRACEFUL_SHUTDOWN,
  LLGR_STALE,
  NO_ADVERTISE,
  NO_EXPORT,
  NO_EXPORT_SUBCONFED,
  NO_LLGR,
} from '../../../../src/bgp/wire/attributes/well-known-communities.ts';
import type { Community, Route } from '../../../../src/bgp/route.ts';
import { hex, marker, toHex } from '../hex.ts';
import { host, negotiated, formatFor } from './receiver.ts';

const routes = (...texts: string[]): Route[] => texts.map((text) => ({ prefix: prefix(text) }));

/** Returns the messages of a session for the routes, in hexadecimal. */
function sent(rib: AdjRibOut, change: Partial<Negotiated> = {}, localAsn = 64512): string[] {
  const session = formatFor(change, localAsn);
  const messages: string[] = [];
  for (let message = rib.next(session); message !== undefined; message = rib.next(session)) messages.push(toHex(message));
  return messages;
}

function ribOf(...routes: readonly Route[]): AdjRibOut {
  const rib = new AdjRibOut();
  rib.replaceRoutes(routes);
  return rib;
}

const same = (...texts: string[]): string[] => texts.map((text) => toHex(hex(text)));
const standard = (value: number): Community => ({ kind: 'standard', value });

/** Returns the attribute block of the UPDATE that announces 0.0.0.0/0 with these attributes. */
function attributesOf(change: Partial<Negotiated>, localAsn: number, extra: Omit<Route, 'prefix'>): string {
  const [message = '', ...others] = sent(ribOf({ prefix: prefix('0.0.0.0/0'), ...extra }), change, localAsn);
  expect(others).toEqual([]);
  const length = Number.parseInt(message.slice(42, 46), 16);
  expect(message.slice(46 + 2 * length)).toBe('00');
  return message.slice(46, 46 + 2 * length);
}

describe('encoded path attributes', () => {
  test.each([
    [
      'BGP-086 BGP-087 an external 4-octet peer gets ORIGIN, AS_PATH and NEXT_HOP',
      {},
      64512,
      {},
      '400101 00  400206 0201 0000fc00  400304 0a000002',
    ],
    [
      'BGP-086 BGP-087 an internal peer gets an empty AS_PATH and LOCAL_PREF',
      { internal: true },
      64512,
      {},
      '400101 00  400200  400304 0a000002  400504 00000064',
    ],
    [
      'BGP-087 LOCAL_PREF is not sent to an external peer',
      {},
      64512,
      { localPref: 500 },
      '400101 00  400206 0201 0000fc00  400304 0a000002',
    ],
    [
      'BGP-087 a MED and two prepends are encoded',
      {},
      64512,
      { med: 5, asPathPrepend: 2 },
      '40010100 40020e 0203 0000fc00 0000fc00 0000fc00 400304 0a000002 800404 00000005',
    ],
    ['BGP-087 a 2-octet peer gets a 2-octet AS_PATH', { fourOctetAsn: false }, 64512, {}, '40010100 400204 0201 fc00 400304 0a000002'],
    [
      'BGP-023 BGP-087 a 2-octet peer gets AS_TRANS, and AS4_PATH with the 4-octet number',
      { fourOctetAsn: false },
      4_200_000_000,
      {},
      '40010100 400204 0201 5ba0 400304 0a000002 c01106 0201 fa56ea00',
    ],
    [
      'BGP-100 communities of all kinds are sorted and sent once',
      {},
      1,
      {
        communities: [
          standard(0xfde8_0002),
          { kind: 'extended', type: 0x43, subtype: 0, value: 1 },
          { kind: 'extended', type: 0, subtype: 2, value: 0xfc00_0000_0001 },
          { kind: 'large', globalAdministrator: 1, localData1: 2, localData2: 3 },
          standard(1),
          { kind: 'extended', type: 0, subtype: 2, value: 0xfc00_0000_0001 },
          standard(0xfde8_0002),
        ],
      },
      '40010100 400206 0201 00000001 400304 0a000002 c00808 00000001 fde80002 c01010 0002fc0000000001 4300000000000001 c0200c 000000010000000200000003',
    ],
    [
      'a link bandwidth of 10 Gbit/s is encoded after a route target',
      {},
      64512,
      { linkBandwidth: 1.25e9, communities: [{ kind: 'extended', type: 0, subtype: 2, value: 1 }] },
      '40010100 400206 0201 0000fc00 400304 0a000002 c01010 0002000000000001 4004fc004e9502f9',
    ],
    [
      'a link bandwidth has AS_TRANS for a 4-octet AS number',
      {},
      4_200_000_000,
      { linkBandwidth: 0 },
      '40010100 400206 0201 fa56ea00 400304 0a000002 c01008 40045ba000000000',
    ],
    [
      'a link bandwidth that is also among the communities is sent once',
      {},
      64512,
      { linkBandwidth: 1.25e9, communities: [{ kind: 'extended', type: 0x40, subtype: 4, value: 0xfc00_4e95_02f9 }] },
      '40010100 400206 0201 0000fc00 400304 0a000002 c01008 4004fc004e9502f9',
    ],
    [
      'BGP-101 BGP-105 well-known communities are sent unchanged',
      {},
      1,
      { communities: [NO_EXPORT, NO_ADVERTISE, NO_EXPORT_SUBCONFED, GRACEFUL_SHUTDOWN, BLACKHOLE, LLGR_STALE, NO_LLGR] },
      '40010100 400206 0201 00000001 400304 0a000002 c0081c ffff0000 ffff0006 ffff0007 ffff029a ffffff01 ffffff02 ffffff03',
    ],
  ] as const)('%s', (_, change, asn, extra, bytes) => {
    expect(attributesOf(change, asn, extra)).toBe(toHex(hex(bytes)));
  });

  test.each([
    [63, 'c008fc'],
    [64, 'd0080100'],
  ])('BGP-100 a header of %i communities uses the extended length only when needed', (count, header) => {
    const communities = Array.from({ length: count }, (_, n) => standard(n));
    const block = attributesOf({}, 1, { communities: [...communities, ...communities] });
    const list = communities.map((community) => ('value' in community ? community.value.toString(16).padStart(8, '0') : ''));
    expect(block.endsWith(header + list.join(''))).toBe(true);
  });

  test('communities in another order are the same attributes', () => {
    const rib = ribOf({ prefix: host(1), communities: [standard(1), standard(2)] });
    expect(sent(rib)).toHaveLength(1);
    rib.replaceRoutes([{ prefix: host(1), communities: [standard(2), standard(1)] }]);
    expect(sent(rib)).toEqual([]);
    rib.replaceRoutes([{ prefix: host(1), communities: [standard(2), standard(3)] }]);
    expect(sent(rib)).toHaveLength(1);
  });
});

describe('packed UPDATEs', () => {
  test('BGP-087 two nodes send the same octets except for the next hop', () => {
    const all = [...routes('192.0.2.1/32', '192.0.2.2/32', '2001:db8::1/128')].map((route) => ({
      ...route,
      med: 3,
      linkBandwidth: 1e9,
      communities: [NO_EXPORT, BLACKHOLE],
    }));
    const [first, second] = ['2', '3'].map((host) => {
      const hops = { ipv4: address(`10.0.0.${host}`), ipv6: address(`2001:db8::${host}`) };
      const rib = ribOf(...all);
      const session = updateFormatOf(negotiated, 64512, undefined, hops);
      return [rib.next(session), rib.next(session)].map((message) => toHex(message ?? hex('')));
    });
    expect(first).not.toEqual(second);
    expect(first?.map((text) => text.replace('0a000002', '0a000003').replace(/(20010db80{23})2/, '$13'))).toEqual(second);
  });

  test('BGP-088 IPv4 prefixes are in the NLRI field', () => {
    expect(sent(ribOf(...routes('192.0.2.1/32', '198.51.100.0/24', '0.0.0.0/0', '10.0.0.0/9')))).toEqual(
      same(`${marker} 0038 02 0000 0014 40010100 40020602010000fc00 4003040a000002  20c0000201 18c63364 00 090a00`),
    );
  });

  test('BGP-089 IPv6 prefixes are in MP_REACH_NLRI, the first attribute', () => {
    expect(sent(ribOf(...routes('2001:db8::/33', '::/0')))).toEqual(
      same(
        `${marker} 0043 02 0000 002c  800e1c 0002 01 10 20010db8000000000000000000000002 00 2120010db800 00  40010100 40020602010000fc00`,
      ),
    );
  });

  test('BGP-090 IPv4 withdrawals use the withdrawn routes field, IPv6 withdrawals MP_UNREACH_NLRI', () => {
    const rib = ribOf(...routes('192.0.2.1/32', '2001:db8::/32'));
    sent(rib);
    rib.replaceRoutes([]);
    expect(sent(rib)).toEqual(same(`${marker} 001c 02 0005 20c0000201 0000`, `${marker} 0022 02 0000 000b 800f08 000201 2020010db8`));
  });

  test('BGP-128 with ADD-PATH the path identifier 1 precedes each prefix, also in a withdrawal', () => {
    const rib = ribOf(...routes('192.0.2.1/32', '0.0.0.0/0', '2001:db8::/33', '::/0'));
    const change = { addPathSend: [4, 6] } as const;
    expect(sent(rib, change)).toEqual(
      same(
        `${marker} 0039 02 0000 0014 40010100 40020602010000fc00 4003040a000002  00000001 20c0000201 00000001 00`,
        `${marker} 004b 02 0000 0034  800e24 0002 01 10 20010db8000000000000000000000002 00 00000001 2120010db800 00000001 00
         40010100 40020602010000fc00`,
      ),
    );
    rib.replaceRoutes([]);
    expect(sent(rib, change)).toEqual(
      same(
        `${marker} 0025 02 000e 00000001 20c0000201 00000001 00 0000`,
        `${marker} 002c 02 0000 0015 800f12 000201 00000001 2120010db800 00000001 00`,
      ),
    );
  });

  test('BGP-128 a family without ADD-PATH has no path identifiers beside one that has them', () => {
    const [ipv4, ipv6] = sent(ribOf(...routes('192.0.2.1/32', '::/0')), { addPathSend: [6] });
    expect(ipv4).toMatch(/4003040a00000220c0000201$/);
    expect(ipv6).toContain('0200000000010040010100');
  });

  test('BGP-128 the routes of a peer are encoded as they were sent, for a later BMP collector', () => {
    const rib = ribOf(...routes('192.0.2.1/32', '0.0.0.0/0'));
    const change = { addPathSend: [4] } as const;
    const messages = sent(rib, change);
    expect(messages).toHaveLength(1);
    expect(rib.advertisedUpdates(formatFor(change, 64512), 4, 0, 10).updates.map((each) => toHex(each))).toEqual(messages);
  });

  test.each([false, true])(
    'BGP-092 BGP-128 path identifiers count in the length of a message (extended messages: %s)',
    (extendedMessages) => {
      const rib = ribOf(...Array.from({ length: 20_000 }, (_, n) => ({ prefix: host(n) })));
      for (const fixed of [19 + 4 + 20, 19 + 4]) {
        const maximum = extendedMessages ? 65_535 : 4096;
        const each = Math.floor((maximum - fixed) / 9);
        const full = Math.floor(20_000 / each);
        const lengths = sent(rib, { extendedMessages, addPathSend: [4] }).map((message) => message.length / 2);
        expect(lengths).toEqual([...Array<number>(full).fill(fixed + 9 * each), fixed + 9 * (20_000 - full * each)]);
        rib.replaceRoutes([]);
      }
    },
  );

  test('MP_REACH_NLRI and MP_UNREACH_NLRI use the extended length only when needed', () => {
    for (const count of [13, 14, 15, 16]) {
      const rib = ribOf(...Array.from({ length: count }, (_, n) => ({ prefix: host(n, 6) })));
      const value = 21 + 17 * count;
      expect(sent(rib)[0]?.slice(46, 54)).toBe(value > 255 ? `900e0${value.toString(16)}` : `800e${value.toString(16)}00`);
      rib.replaceRoutes([]);
      const withdrawn = 3 + 17 * count;
      expect(sent(rib)[0]?.slice(46, 54)).toBe(withdrawn > 255 ? `900f0${withdrawn.toString(16)}` : `800f${withdrawn.toString(16)}00`);
    }
  });

  test.each([
    [{ extendedMessages: false }, 4096],
    [{ extendedMessages: true }, 65_535],
  ])('BGP-007 BGP-091 BGP-092 messages are as long as the session allows: %j', (change, maximum) => {
    const rib = ribOf(...Array.from({ length: 20_000 }, (_, n) => ({ prefix: host(n) })));
    const lengths = (): number[] => sent(rib, change).map((message) => message.length / 2);
    for (const fixed of [19 + 4 + 20, 19 + 4]) {
      const each = Math.floor((maximum - fixed) / 5);
      const full = Math.floor(20_000 / each);
      expect(lengths()).toEqual([...Array<number>(full).fill(fixed + 5 * each), fixed + 5 * (20_000 - full * each)]);
      rib.replaceRoutes([]);
    }
  });
});
