import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { address, formatAddress } from '../../../../src/net/address.ts';
import { decodeArp, encodeArp, type ArpFault, type ArpPacket } from '../../../../src/l2/wire/arp.ts';
import { decodeFrame } from '../../../../src/l2/wire/frame.ts';
import { formatMac, isGroupMac, isHostMac, parseMac } from '../../../../src/l2/wire/mac.ts';
import { hex, toHex } from '../../../bgp/test/hex.ts';
import { arpRequest, hostMac, ipv4, mac, patched } from '../frames.ts';

const request = 'ffffffffffff 020000000099 0806 0001 0800 06 04 0001 020000000099 c0000201 000000000000 c000020a';
const reply = '020000000099 020000000001 0806 0001 0800 06 04 0002 020000000001 c000020a 020000000099 c0000201';

describe('MAC addresses', () => {
  test('text and number are the same address', () => {
    fc.assert(fc.property(fc.integer({ min: 0, max: 0xffff_ffff_ffff }), (value) => parseMac(formatMac(value)) === value));
    expect(formatMac(mac('02:AB:00:00:00:01'))).toBe('02:ab:00:00:00:01');
  });

  test.each(['', '02:00:00:00:00', '02-00-00-00-00-01', '02:00:00:00:00:0g', '02:00:00:00:00:01:02'])('%j is not one', (text) => {
    expect(parseMac(text)).toBeUndefined();
  });

  test('a group, the broadcast address and zero are no host', () => {
    expect(['01:00:5e:00:00:01', '33:33:00:00:00:01', 'ff:ff:ff:ff:ff:ff'].map((text) => isGroupMac(mac(text)))).toEqual([
      true,
      true,
      true,
    ]);
    expect(['00:00:00:00:00:00', 'ff:ff:ff:ff:ff:ff', 'fe:00:00:00:00:01'].map((text) => isHostMac(mac(text)))).toEqual([
      false,
      false,
      true,
    ]);
  });
});

describe('ARP frames', () => {
  test('L2-1 a request and a reply are decoded and encoded with all their fields (RFC 826)', () => {
    const decoded = decodeFrame(hex(request)) as ArpPacket;
    expect(decoded).toMatchObject({ kind: 'arp', operation: 'request', senderMac: mac('02:00:00:00:00:99'), targetMac: 0 });
    expect([formatAddress(decoded.sender), formatAddress(decoded.target)]).toEqual(['192.0.2.1', '192.0.2.10']);
    expect(toHex(encodeArp(decoded))).toBe(toHex(hex(request)));
    expect(toHex(encodeArp(decodeArp(hex(reply)) as ArpPacket))).toBe(toHex(hex(reply)));
  });

  test('L2-1 every packet survives encoding and decoding, with padding', () => {
    const packet = fc.record({
      etherSource: hostMac,
      etherDestination: hostMac,
      operation: fc.constantFrom('request' as const, 'reply' as const),
      senderMac: hostMac,
      sender: ipv4,
      targetMac: fc.integer({ min: 0, max: 0xffff_ffff_ffff }),
      target: ipv4,
    });
    fc.assert(
      fc.property(packet, fc.nat({ max: 18 }), (packet, padding) => {
        const octets = new Uint8Array(42 + padding);
        octets.set(encodeArp(packet));
        expect(decodeArp(octets)).toEqual({ kind: 'arp', ...packet });
      }),
    );
  });

  test('L2-2 a frame that is cut at any octet is refused', () => {
    for (let length = 14; length < 42; length++) expect(decodeFrame(arpRequest().subarray(0, length))).toBe('arpTruncated');
    for (let length = 0; length < 14; length++) expect(decodeFrame(arpRequest().subarray(0, length))).toBe('frameTruncated');
  });

  test.each<readonly [string, Readonly<Record<number, number>>, ArpFault]>([
    ['hardware type 6', { 15: 6 }, 'arpHardwareType'],
    ['another protocol', { 16: 0x86, 17: 0xdd }, 'arpProtocolType'],
    ['hardware length 8', { 18: 8 }, 'arpHardwareLength'],
    ['protocol length 16', { 19: 16 }, 'arpProtocolLength'],
    ['operation 0', { 21: 0 }, 'arpOperation'],
    ...[3, 4, 5, 6, 7, 8, 9].map((operation) => [`operation ${operation}`, { 21: operation }, 'arpOperation'] as const),
    ['operation 257', { 20: 1 }, 'arpOperation'],
    ['the broadcast address as sender', { 22: 255, 23: 255, 24: 255, 25: 255, 26: 255, 27: 255 }, 'arpSender'],
    ['a group as sender', { 22: 1 }, 'arpSender'],
    ['zero as sender', { 22: 0, 27: 0 }, 'arpSender'],
  ])('L2-2 a request with %s is refused', (_, changes, fault) => {
    expect(decodeFrame(patched(arpRequest(), changes))).toBe(fault);
  });

  test('L2-3 a probe has no sender address (RFC 5227 1.1)', () => {
    expect(decodeFrame(arpRequest({ sender: address('0.0.0.0') }))).toMatchObject({ sender: { family: 4, value: 0n } });
  });
});
