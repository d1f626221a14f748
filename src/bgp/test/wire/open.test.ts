import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decodeCapability, encodeCapability, type Capability } from '../../../../src/bgp/wire/capability.ts';
import { decodeOpen, encodeOpen, type OpenMessage } from '../../../../src/bgp/wire/open.ts';
import { hex, marker, toHex } from '../hex.ts';
import { capability } from './arbitraries.ts';

const openOf = (capabilities: readonly Capability[]): OpenMessage => ({
  version: 4,
  asn: 64512,
  holdTime: 90,
  routerId: 0x0a000001,
  capabilities,
});

/** Builds the body of an OPEN with these optional parameters; fills in their length. */
const withParameters = (parameters: string): Uint8Array => {
  const length = hex(parameters).length.toString(16).padStart(2, '0');
  return hex(`04 0001 005a 0a000001 ${length} ${parameters}`);
};

const openVectors: readonly { name: string; open: OpenMessage; bytes: string }[] = [
  {
    name: 'both families, refresh, 4-octet ASN',
    open: openOf([
      { kind: 'multiprotocol', afi: 1, safi: 1 },
      { kind: 'multiprotocol', afi: 2, safi: 1 },
      { kind: 'routeRefresh' },
      { kind: 'fourOctetAsn', asn: 64512 },
    ]),
    bytes: `${marker} 0033 01 04 fc00 005a 0a000001 16  02 14  0104 00010001  0104 00020001  0200  4104 0000fc00`,
  },
  {
    name: 'no capabilities',
    open: { version: 4, asn: 1, holdTime: 0, routerId: 1, capabilities: [] },
    bytes: `${marker} 001d 01 04 0001 0000 00000001 00`,
  },
];

describe('OPEN', () => {
  test.each(openVectors.map((vector) => [vector.name, vector] as const))(
    'BGP-032 an OPEN is encoded and decoded: %s',
    (_, { open, bytes }) => {
      expect(toHex(encodeOpen(open))).toBe(toHex(hex(bytes)));
      expect(decodeOpen(hex(bytes).subarray(19))).toEqual({ ok: true, value: open });
    },
  );

  test.each([
    ['BGP-012 version 3', '03 0001 005a 0a000001 00', 1, '0004'],
    ['BGP-012 version 5 without further fields', '05', 1, '0004'],
    ['BGP-019 an optional parameter of type 1', '04 0001 005a 0a000001 02 0100', 4, ''],
    ['BGP-019 an optional parameter of type 77', '04 0001 005a 0a000001 02 4d00', 4, ''],
    ['BGP-020 parameters longer than the message', '04 0001 005a 0a000001 09 0200', 0, ''],
    ['BGP-020 parameters shorter than the message', '04 0001 005a 0a000001 00 0200', 0, ''],
    ['BGP-020 a parameter that overruns', '04 0001 005a 0a000001 02 0205', 0, ''],
    ['BGP-020 a parameter without a length', '04 0001 005a 0a000001 01 02', 0, ''],
    ['BGP-020 a capability that overruns', '04 0001 005a 0a000001 04 0202 0104', 0, ''],
    ['BGP-020 a capability without a length', '04 0001 005a 0a000001 03 0201 02', 0, ''],
    ['BGP-024 a multiprotocol capability of three octets', '04 0001 005a 0a000001 07 0205 0103 000100', 0, ''],
    ['BGP-024 a 4-octet ASN capability of two octets', '04 0001 005a 0a000001 06 0204 4102 0001', 0, ''],
    ['BGP-026 the form of RFC 9072 with a wrong length', '04 0001 005a 0a000001 ff ff 0006 02 0002 0200', 0, ''],
    ['BGP-026 a truncated form of RFC 9072', '04 0001 005a 0a000001 ff ff 00', 0, ''],
    ['a body that is too short', '04 0001 005a 0a0000', 0, ''],
  ])('%s is a fault', (_, bytes, subcode, data) => {
    const result = decodeOpen(hex(bytes));
    expect(result).toMatchObject({ ok: false, fault: { disposition: 'reset', code: 2, subcode, data: hex(data) } });
  });

  test.each<[string, string, readonly Capability[]]>([
    [
      'BGP-021 several capabilities in one parameter',
      '0208 0104 00010001 0200',
      [{ kind: 'multiprotocol', afi: 1, safi: 1 }, { kind: 'routeRefresh' }],
    ],
    [
      'BGP-021 one capability per parameter',
      '0206 0104 00010001 0202 0200',
      [{ kind: 'multiprotocol', afi: 1, safi: 1 }, { kind: 'routeRefresh' }],
    ],
    [
      'BGP-021 a duplicate capability',
      '020c 0104 00010001 0104 00010001',
      [
        { kind: 'multiprotocol', afi: 1, safi: 1 },
        { kind: 'multiprotocol', afi: 1, safi: 1 },
      ],
    ],
    ['BGP-021 a parameter without capabilities', '0200', []],
    ['BGP-022 an unknown capability', '0204 f002 abcd', [{ kind: 'other', code: 0xf0, data: hex('abcd') }]],
    ['BGP-023 an OPEN without parameters', '', []],
  ])('%s is accepted', (_, parameters, capabilities) => {
    expect(decodeOpen(withParameters(parameters))).toMatchObject({ ok: true, value: { capabilities } });
  });

  test.each([
    ['both lengths 255', 'ff ff 0005 02 0002 0200'],
    ['a first length other than 255, which is ignored', '05 ff 0005 02 0002 0200'],
  ])('BGP-026 the form of RFC 9072 is accepted below 256 octets too: %s', (_, parameters) => {
    const result = decodeOpen(hex(`04 0001 005a 0a000001 ${parameters}`));
    expect(result).toMatchObject({ ok: true, value: { capabilities: [{ kind: 'routeRefresh' }] } });
  });

  const filled = (length: number): Capability[] => [{ kind: 'other', code: 201, data: new Uint8Array(length).fill(7) }];

  test('BGP-026 the form of RFC 9072 is sent only above 255 octets of parameters', () => {
    const longest = openOf(filled(251)); // 255 octets: parameter header 2, capability header 2
    expect(toHex(encodeOpen(longest).subarray(28, 33))).toBe('ff02fdc9fb');
    expect(decodeOpen(encodeOpen(longest).subarray(19))).toEqual({ ok: true, value: longest });
    const longer = openOf(filled(252));
    expect(toHex(encodeOpen(longer).subarray(28, 37))).toBe('ffff01010200fec9fc');
    expect(decodeOpen(encodeOpen(longer).subarray(19))).toEqual({ ok: true, value: longer });
    const two = openOf([...filled(150), ...filled(150)]);
    expect(toHex(encodeOpen(two).subarray(28, 35))).toBe('ffff0133020130');
    expect(decodeOpen(encodeOpen(two).subarray(19))).toEqual({ ok: true, value: two });
  });
});

const known: readonly [string, Capability, string][] = [
  ['multiprotocol (RFC 4760 8)', { kind: 'multiprotocol', afi: 25, safi: 70 }, '0104 0019 00 46'],
  ['route refresh (RFC 2918 2)', { kind: 'routeRefresh' }, '0200'],
  [
    'extended next hop (RFC 8950 4)',
    {
      kind: 'extendedNextHop',
      tuples: [
        { afi: 1, safi: 1, nextHopAfi: 2 },
        { afi: 1, safi: 128, nextHopAfi: 2 },
      ],
    },
    '050c 0001 0001 0002 0001 0080 0002',
  ],
  ['extended message (RFC 8654 3)', { kind: 'extendedMessage' }, '0600'],
  ['role (RFC 9234 4.1)', { kind: 'role', role: 3 }, '0901 03'],
  [
    'graceful restart (RFC 4724 3, RFC 8538 2)',
    {
      kind: 'gracefulRestart',
      restarted: true,
      notification: true,
      restartTime: 120,
      families: [
        { afi: 1, safi: 1, forwardingPreserved: true },
        { afi: 2, safi: 1, forwardingPreserved: false },
      ],
    },
    '400a c078 0001 01 80 0002 01 00',
  ],
  [
    'graceful restart of a helper',
    { kind: 'gracefulRestart', restarted: false, notification: false, restartTime: 4095, families: [] },
    '4002 0fff',
  ],
  ['4-octet ASN (RFC 6793 3)', { kind: 'fourOctetAsn', asn: 4_200_000_000 }, '4104 fa56ea00'],
  [
    'ADD-PATH (RFC 7911 4)',
    {
      kind: 'addPath',
      families: [
        { afi: 1, safi: 1, receive: true, send: false },
        { afi: 2, safi: 1, receive: false, send: true },
        { afi: 1, safi: 128, receive: true, send: true },
      ],
    },
    '450c 0001 01 01 0002 01 02 0001 80 03',
  ],
  ['enhanced route refresh (RFC 7313 3.1)', { kind: 'enhancedRouteRefresh' }, '4600'],
  [
    'long-lived graceful restart (RFC 9494 3)',
    { kind: 'longLivedGracefulRestart', families: [{ afi: 1, safi: 1, forwardingPreserved: true, staleTime: 0x010203 }] },
    '4707 0001 01 80 010203',
  ],
  ['FQDN (draft-walton)', { kind: 'fqdn', hostName: 'tor-1', domainName: 'example.net' }, '4912 05 746f722d31 0b 6578616d706c652e6e6574'],
  ['FQDN without a domain', { kind: 'fqdn', hostName: 'r', domainName: '' }, '4903 01 72 00'],
  ['software version', { kind: 'softwareVersion', version: 'FRRouting/10.3' }, '4b0f 0e 465252 6f7574696e67 2f31302e33'],
  ['an unknown capability', { kind: 'other', code: 128, data: hex('0102') }, '8002 0102'],
];

describe('capabilities', () => {
  test.each(known)('BGP-031 a capability is encoded and decoded: %s', (_, capability, bytes) => {
    expect(toHex(encodeCapability(capability))).toBe(toHex(hex(bytes)));
    const [code = 0, , ...data] = hex(bytes);
    expect(decodeCapability(code, Uint8Array.from(data))).toEqual(capability);
  });

  test.each([
    ['multiprotocol', 1, [0, 3, 5]],
    ['route refresh', 2, [1]],
    ['extended next hop', 5, [1, 5, 7]],
    ['extended message', 6, [1]],
    ['role', 9, [0, 2]],
    ['4-octet ASN', 65, [0, 2, 3, 5, 8]],
    ['enhanced route refresh', 70, [1]],
  ])('BGP-024 a %s capability of a wrong length refuses the OPEN', (_, code, lengths) => {
    for (const length of lengths) {
      const value = `${code.toString(16).padStart(2, '0')}${length.toString(16).padStart(2, '0')}${'01'.repeat(length)}`;
      const parameter = withParameters(`02 ${hex(value).length.toString(16).padStart(2, '0')} ${value}`);
      expect(decodeOpen(parameter)).toMatchObject({ ok: false, fault: { code: 2, subcode: 0 } });
    }
  });

  test.each([
    ['BGP-029 graceful restart', 64, ['', '00', '007800', '0078000101', '00780001018000']],
    ['ADD-PATH', 69, ['00', '00010100', '00010104', '000101', '00010101000201ff']],
    ['long-lived graceful restart', 71, ['00', '000101800000']],
    ['FQDN', 73, ['', '01', '0161', '026100', '016101', '01610000', '01ff00']],
    ['software version', 75, ['', '01', '016100', '01ff']],
  ])('a malformed %s capability counts as absent', (_, code, values) => {
    for (const value of values) expect(decodeCapability(code, hex(value))).toEqual({ kind: 'other', code, data: hex(value) });
  });

  test('text in capabilities loses its control characters and is cut to the maximum length', () => {
    expect(decodeCapability(75, hex('04 611b5b62'))).toEqual({ kind: 'softwareVersion', version: 'a [b' });
    expect(encodeCapability({ kind: 'softwareVersion', version: 'ö'.repeat(200) })).toHaveLength(2 + 1 + 254);
    expect(encodeCapability({ kind: 'fqdn', hostName: 'h'.repeat(300), domainName: 'd'.repeat(300) })).toHaveLength(2 + 255);
  });

  test('a capability value too large for its length field throws', () => {
    expect(() => encodeCapability({ kind: 'other', code: 200, data: new Uint8Array(256) })).toThrow('a capability of 256 octets');
    expect(() =>
      encodeCapability({ kind: 'gracefulRestart', restarted: false, notification: false, restartTime: 4096, families: [] }),
    ).toThrow('a restart time of 4096 s');
  });
});

test('every OPEN survives encoding and decoding', () => {
  const open: fc.Arbitrary<OpenMessage> = fc.record({
    version: fc.constant(4),
    asn: fc.nat(0xffff),
    holdTime: fc.nat(0xffff),
    routerId: fc.nat(0xffff_ffff),
    capabilities: fc.array(capability, { maxLength: 12 }),
  });
  fc.assert(
    fc.property(open, (open) => {
      expect(decodeOpen(encodeOpen(open).subarray(19))).toEqual({ ok: true, value: open });
    }),
  );
});
