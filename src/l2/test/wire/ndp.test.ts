import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { address, formatAddress, type Address } from '../../../../src/net/address.ts';
import { decodeFrame } from '../../../../src/l2/wire/frame.ts';
import { formatMac } from '../../../../src/l2/wire/mac.ts';
import { allNodes, multicastMac, solicitedNodeGroup } from '../../../../src/l2/wire/multicast.ts';
import {
  decodeNdp,
  encodeAdvertisement,
  encodeSolicitation,
  type NdpFault,
  type NeighborSolicitation,
} from '../../../../src/l2/wire/ndp.ts';
import { hex, toHex } from '../../../bgp/test/hex.ts';
import { advertisement, client, hostileFrame, hostMac, mac, patched, solicitation, unicast6, withChecksum } from '../frames.ts';
import { runs } from '../../../../test/support/property.ts';

/** A solicitation as Linux sends it, with its source link-layer address. */
const fromLinux =
  '3333ff000010 020000000099 86dd 60000000 0020 3a ff 20010db8000000000000000000000001 ff0200000000000000000001ff000010' +
  '87 00 3b0c 00000000 20010db8000000000000000000000010 01 01 020000000099';

describe('groups', () => {
  test('L2-20 the group of an address has its low 24 bits, and the MAC of the group its low 32 bits', () => {
    const group = solicitedNodeGroup(address('4037::1:800:200e:8c6c'));
    expect([formatAddress(group), formatMac(multicastMac(group))]).toEqual(['ff02::1:ff0e:8c6c', '33:33:ff:0e:8c:6c']);
  });

  test('L2-21 addresses with equal low 24 bits share a group', () => {
    expect(solicitedNodeGroup(address('2001:db8::5:1'))).toEqual(solicitedNodeGroup(address('2001:db8:ffff::aa05:1')));
    expect(solicitedNodeGroup(address('2001:db8::5:1'))).not.toEqual(solicitedNodeGroup(address('2001:db8::6:1')));
  });
});

describe('NDP frames', () => {
  test('L2-14 a solicitation is decoded and encoded with all its fields (RFC 4861 4.3)', () => {
    const correct = withChecksum(hex(fromLinux));
    const decoded = decodeFrame(correct) as NeighborSolicitation;
    expect(decoded).toMatchObject({ kind: 'solicitation', sourceLink: mac('02:00:00:00:00:99'), etherSource: mac('02:00:00:00:00:99') });
    expect([decoded.source, decoded.destination, decoded.target].map(formatAddress)).toEqual([
      '2001:db8::1',
      'ff02::1:ff00:10',
      '2001:db8::10',
    ]);
    expect(toHex(encodeSolicitation(decoded))).toBe(toHex(correct));
  });

  test('L2-15 an advertisement is encoded with its flags and target link-layer address (RFC 4861 4.4)', () => {
    const text = toHex(advertisement());
    expect(text.slice(108)).toMatch(/^8800.{4}2000000020010db80000000000000000000000100201020000000099$/);
    expect(toHex(withChecksum(advertisement()))).toBe(text);
  });

  test('L2-14 every message survives encoding and decoding', () => {
    const flags = fc.record({ router: fc.boolean(), override: fc.boolean() });
    const link = fc.option(hostMac, { nil: undefined });
    fc.assert(
      fc.property(unicast6, unicast6, hostMac, hostMac, link, flags, (source, target, etherSource, etherDestination, link, flags) => {
        const common = { etherSource, etherDestination, source, target };
        const solicitation = { ...common, destination: solicitedNodeGroup(target), ...(link === undefined ? {} : { sourceLink: link }) };
        expect(decodeNdp(encodeSolicitation(solicitation))).toEqual({ kind: 'solicitation', ...solicitation });
        const answer = { ...common, ...flags, destination: source, solicited: true, ...(link === undefined ? {} : { targetLink: link }) };
        expect(decodeNdp(encodeAdvertisement(answer))).toEqual({ kind: 'advertisement', ...answer });
      }),
    );
  });

  const withOption = (octets: readonly number[]): Uint8Array => {
    const frame = new Uint8Array(78 + octets.length);
    frame.set(solicitation());
    frame.set(octets, 78);
    frame[19] = 24 + octets.length;
    return withChecksum(frame);
  };

  test.each<readonly [string, Uint8Array, NdpFault]>([
    ['hop limit 254', patched(solicitation(), { 21: 254 }), 'ndpHopLimit'],
    ['code 1', withChecksum(patched(solicitation(), { 55: 1 })), 'ndpCode'],
    ['a wrong checksum', patched(solicitation(), { 57: 1 }), 'ndpChecksum'],
    ['a length below 24', patched(solicitation(), { 19: 23 }), 'ndpTruncated'],
    ['a length beyond the frame', patched(solicitation(), { 19: 25 }), 'ndpTruncated'],
    ['IP version 4', patched(solicitation(), { 14: 0x45 }), 'ndpVersion'],
    ['another protocol', patched(solicitation(), { 20: 17 }), 'ndpMessage'],
    ['an extension header', patched(solicitation(), { 20: 0 }), 'ndpMessage'],
    ['the type of a router solicitation', withChecksum(patched(solicitation(), { 54: 133 })), 'ndpMessage'],
    ['a multicast target', solicitation({ target: address('ff02::1') }), 'ndpTarget'],
    ['no target', solicitation({ target: address('::') }), 'ndpTarget'],
    ['an option of length 0', withOption([1, 0, 0, 0, 0, 0, 0, 0]), 'ndpOption'],
    ['an option longer than the message', withOption([1, 2, 0, 0, 0, 0, 0, 0]), 'ndpOption'],
    ['half an option', withOption([14, 1, 0, 0]), 'ndpOption'],
    ['no source and a unicast destination', solicitation({ source: address('::'), destination: address('2001:db8::10') }), 'ndpSource'],
    ['no source and a source link-layer address', solicitation({ source: address('::'), sourceLink: client }), 'ndpSource'],
    ['no source and all nodes as destination', solicitation({ source: address('::'), destination: allNodes }), 'ndpSource'],
    ['a multicast source', solicitation({ source: address('ff02::1') }), 'ndpSource'],
    ['the group of another address', solicitation({ destination: solicitedNodeGroup(address('::11')) }), 'ndpSource'],
    ['a group as source link-layer address', solicitation({ sourceLink: mac('33:33:00:00:00:01') }), 'ndpLinkAddress'],
    ['zero as source link-layer address', solicitation({ sourceLink: 0 }), 'ndpLinkAddress'],
    ['an advertisement without a source', advertisement({ source: address('::') }), 'ndpSource'],
  ])('L2-14 a message with %s is refused (RFC 4861 7.1.1)', (_, frame, fault) => {
    expect(decodeFrame(frame)).toBe(fault);
  });

  test('L2-19 an advertisement with the Solicited flag to a group is refused (RFC 4861 7.1.2)', () => {
    expect(decodeFrame(advertisement({ solicited: true }))).toBe('ndpSolicited');
    expect(decodeFrame(advertisement({ solicited: true, destination: address('2001:db8::1') }))).toMatchObject({ solicited: true });
  });

  test('L2-14 a message that is cut at any octet is refused', () => {
    const frame = solicitation({ sourceLink: client });
    for (let length = 14; length < frame.length; length++) expect(decodeFrame(frame.subarray(0, length))).toBe('ndpTruncated');
  });

  test('L2-16 a solicitation without a source is accepted (RFC 4862 5.4.3)', () => {
    expect(decodeFrame(solicitation({ source: address('::') }))).toMatchObject({ kind: 'solicitation', source: { value: 0n } });
  });

  test('L2-18 a solicitation to the address itself is accepted', () => {
    expect(decodeFrame(solicitation({ destination: address('2001:db8::10') }))).toMatchObject({ kind: 'solicitation' });
  });

  test('L2-14 an option that is not known is skipped (RFC 4861 9)', () => {
    const nonce = [14, 1, 1, 2, 3, 4, 5, 6];
    expect(decodeFrame(withOption([...nonce, 1, 1, 2, 0, 0, 0, 0, 0x99]))).toMatchObject({ sourceLink: client });
  });
});

describe('hostile frames', () => {
  test('L2-32 the decoder returns a frame or a reason for any octets and never throws', () => {
    const faults = new Set<string>();
    fc.assert(
      fc.property(hostileFrame, (octets) => {
        const result = decodeFrame(octets);
        if (typeof result === 'string') return void faults.add(result);
        // Whatever is accepted means the same after encoding.
        const { kind } = result;
        const again = kind === 'advertisement' ? encodeAdvertisement(result) : undefined;
        if (again !== undefined) expect(decodeFrame(again)).toEqual(result);
        return undefined;
      }),
      { numRuns: runs(20_000) },
    );
    expect(faults.size).toBeGreaterThan(10);
  });

  test('addresses in messages are of the right family', () => {
    const families = (message: { readonly source: Address; readonly target: Address }): number[] => [
      message.source.family,
      message.target.family,
    ];
    expect(families(decodeFrame(solicitation()) as NeighborSolicitation)).toEqual([6, 6]);
  });
});
