import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  bmpLength,
  bmpText,
  decodeBmpMessage,
  encodeBmpMessage,
  type BmpMessage,
  type BmpPeer,
} from '../../../../../src/bgp/wire/bmp/bmp-message.ts';
import { address } from '../../../../../src/net/address.ts';
import { hex, toHex } from '../../hex.ts';

const peer: BmpPeer = {
  address: address('192.0.2.1'),
  asn: 65_001,
  routerId: 0x0a00_0001,
  postPolicy: false,
  twoOctetAsPath: false,
  adjRibOut: false,
  at: 1_700_000_000_250,
};
const peerHex = `00 00 ${'00'.repeat(8)} ${'00'.repeat(12)}c0000201 0000fde9 0a000001 6553f100 0003d090`;
const keepalive = `${'ff'.repeat(16)}001304`;

const vectors: readonly (readonly [string, BmpMessage, string])[] = [
  [
    'initiation (RFC 7854 4.3)',
    { kind: 'initiation', information: [bmpText(1, 'Herald'), bmpText(2, 'n1')] },
    '03 00000016 04  0001 0006 486572616c64  0002 0002 6e31',
  ],
  ['termination (4.5)', { kind: 'termination', information: [{ type: 1, value: hex('0002') }] }, '03 0000000c 05  0001 0002 0002'],
  ['route monitoring (4.6)', { kind: 'routeMonitoring', peer, update: hex(keepalive) }, `03 00000043 00 ${peerHex} ${keepalive}`],
  ['peer down with a NOTIFICATION (4.9)', { kind: 'peerDown', peer, reason: 1, data: hex('0602') }, `03 00000033 02 ${peerHex} 01 0602`],
  [
    'peer up (4.10)',
    {
      kind: 'peerUp',
      peer,
      localAddress: address('192.0.2.2'),
      localPort: 179,
      remotePort: 40_000,
      sentOpen: hex(keepalive),
      receivedOpen: hex(keepalive),
      information: [bmpText(0, 'x')],
    },
    `03 0000006f 03 ${peerHex} ${'00'.repeat(12)}c0000202 00b3 9c40 ${keepalive} ${keepalive} 0000 0001 78`,
  ],
  [
    'statistics report (4.8)',
    { kind: 'statisticsReport', peer, statistics: [{ type: 7, value: hex('00000000 00000003') }] },
    `03 00000040 01 ${peerHex} 00000001 0007 0008 0000000000000003`,
  ],
];

describe('BMP messages', () => {
  it.each(vectors)('encodes and decodes %s', (_, message, octets) => {
    expect(toHex(encodeBmpMessage(message))).toBe(octets.replaceAll(' ', ''));
    expect(decodeBmpMessage(hex(octets))).toEqual(message);
    expect(bmpLength(hex(octets))).toBe(hex(octets).length);
  });

  it('marks IPv6, post-policy, two-octet AS_PATH and Adj-RIB-Out in the flags (RFC 7854 4.2, RFC 8671 4)', () => {
    const flagsOf = (change: Partial<BmpPeer>): number | undefined =>
      encodeBmpMessage({ kind: 'routeMonitoring', peer: { ...peer, ...change }, update: hex('') })[7];
    expect(flagsOf({})).toBe(0);
    expect(flagsOf({ address: address('2001:db8::1') })).toBe(0x80);
    expect(flagsOf({ postPolicy: true })).toBe(0x40);
    expect(flagsOf({ twoOctetAsPath: true })).toBe(0x20);
    expect(flagsOf({ adjRibOut: true })).toBe(0x10);
  });

  it('keeps an IPv6 address of 16 octets', () => {
    const message: BmpMessage = { kind: 'routeMonitoring', peer: { ...peer, address: address('2001:db8::1') }, update: hex('01') };
    expect(decodeBmpMessage(encodeBmpMessage(message))).toEqual(message);
  });

  it('refuses every truncation', () => {
    for (const [, , octets] of vectors) {
      const whole = hex(octets);
      for (let length = 0; length < whole.length; length++) expect(decodeBmpMessage(whole.subarray(0, length))).toBeUndefined();
    }
  });

  it('refuses another version, an unknown type and a count that does not match', () => {
    expect(decodeBmpMessage(hex('02 00000006 04'))).toBeUndefined();
    expect(decodeBmpMessage(hex('03 00000006 09'))).toBeUndefined();
    expect(decodeBmpMessage(hex(`03 00000034 01 ${peerHex} 00000001`))).toBeUndefined();
  });

  it('waits for a header, and refuses one that is none', () => {
    expect(bmpLength(hex('03 0000'))).toBeUndefined();
    expect(() => bmpLength(hex('03 ffffffff 00'))).toThrow('no BMP message: version 3, 4294967295 octets');
    expect(() => bmpLength(hex('04 00000006 00'))).toThrow(RangeError);
  });

  it('never throws for any octets', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), fc.integer({ min: 0, max: 6 }), (contents, type) => {
        const bytes = Uint8Array.of(3, 0, 0, 0, contents.length + 6, type, ...contents);
        const decoded = decodeBmpMessage(bytes);
        if (decoded !== undefined) expect(encodeBmpMessage(decoded)).toBeInstanceOf(Uint8Array);
      }),
    );
  });
});
