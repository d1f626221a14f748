import { describe, expect, test } from 'vitest';
import { formatAddress, addressFromBytes } from '../../../../src/net/address.ts';
import { formatPrefix, prefix } from '../../../../src/net/prefix.ts';
import { keepaliveMessage } from '../../../../src/bgp/wire/header.ts';
import { nlriOf, readPaths, type Nlri } from '../../../../src/bgp/wire/nlri.ts';
import { decodeRouteRefresh, encodeRouteRefresh } from '../../../../src/bgp/wire/route-refresh.ts';
import {
  decodeUpdate,
  encodeEndOfRib,
  encodeUpdateMessage,
  type UpdateContent,
  type UpdateMessage,
  type UpdateSession,
} from '../../../../src/bgp/wire/update.ts';
import { hex, marker, toHex } from '../hex.ts';

const session: UpdateSession = { fourOctetAsn: true, internal: false, families: [4, 6] };

/** Builds the body of an UPDATE. */
function body(attributes: string, nlri = '180a0102', withdrawn = ''): Uint8Array {
  const length = (text: string): string => hex(text).length.toString(16).padStart(4, '0');
  return hex(`${length(withdrawn)}${withdrawn}${length(attributes)}${attributes}${nlri}`);
}

function decodedOf(bytes: Uint8Array, change: Partial<UpdateSession> = {}): UpdateMessage {
  const result = decodeUpdate(bytes, { ...session, ...change });
  if (!result.ok) throw new Error(result.fault.problem);
  return result.value;
}

const texts = (nlri: Nlri | undefined): string[] => {
  if (nlri === undefined) throw new Error('no prefixes');
  const paths = [...readPaths(nlri)].map(({ prefix, pathId }) => `${formatPrefix(prefix)}${pathId === undefined ? '' : ` ${pathId}`}`);
  expect(paths).toHaveLength(nlri.count);
  return paths;
};

const good = '40010100 40020602010000fde9 4003040a000001';
const withoutNextHop = '40010100 40020602010000fde9';
const nextHop6 = '20010db8000000000000000000000002';

describe('decoding an UPDATE', () => {
  test('all known attributes are decoded', () => {
    const { attributes, announced, withdrawn, faults, treatAsWithdraw } = decodedOf(
      body(
        `40010102 400210 0202 0000fde9 0000fdea 0101 0000fdeb 4003040a000001 80040400000007 40050400000064 400600
         c00708 0000fde9 0a000009 c00808 fde90064 ffffff01 8009040a000003 800a08 0a000004 0a000005
         c01010 4004fde9 4cbebc20 0002fde9 00000064 c0200c 0000fde9 00000001 00000002 c02304 0000fdea c06302 abcd`,
        '180a0102',
        '18c00002',
      ),
      { internal: true },
    );
    expect({ faults, treatAsWithdraw }).toEqual({ faults: [], treatAsWithdraw: false });
    expect(attributes).toEqual({
      origin: 2,
      asPath: [
        { kind: 'sequence', asns: [65001, 65002] },
        { kind: 'set', asns: [65003] },
      ],
      nextHop: hex('0a000001'),
      med: 7,
      localPref: 100,
      atomicAggregate: true,
      aggregator: { asn: 65001, routerId: 0x0a000009 },
      communities: [
        { kind: 'standard', value: 0xfde90064 },
        { kind: 'standard', value: 0xffffff01 },
        { kind: 'extended', type: 0x40, subtype: 4, value: 0xfde9_4cbe_bc20 },
        { kind: 'extended', type: 0, subtype: 2, value: 0xfde9_0000_0064 },
        { kind: 'large', globalAdministrator: 65001, localData1: 1, localData2: 2 },
      ],
      originatorId: 0x0a000003,
      clusterList: [0x0a000004, 0x0a000005],
      onlyToCustomer: 65002,
      other: [{ flags: 0xc0, type: 0x63, value: hex('abcd') }],
    });
    expect(texts(announced[0])).toEqual(['10.1.2.0/24']);
    expect(texts(withdrawn[0])).toEqual(['192.0.2.0/24']);
    expect(formatAddress(addressFromBytes(announced[0]?.nextHop ?? hex('')))).toBe('10.0.0.1');
  });

  test('AS4_PATH and AS4_AGGREGATOR of a 2-octet peer are decoded', () => {
    const bytes = body('40010100 400204 0201 5ba0 4003040a000001 c00706 5ba0 0a000009 c01106 0201 fa56ea00 c01208 fa56ea00 0a000009');
    expect(decodedOf(bytes, { fourOctetAsn: false })).toMatchObject({
      faults: [],
      attributes: {
        asPath: [{ kind: 'sequence', asns: [23456] }],
        aggregator: { asn: 23456, routerId: 0x0a000009 },
        as4Path: [{ kind: 'sequence', asns: [4_200_000_000] }],
        as4Aggregator: { asn: 4_200_000_000, routerId: 0x0a000009 },
      },
    });
  });

  test('prefixes of both families are decoded from all four fields', () => {
    const reach = `800e1b 0002 01 10 ${nextHop6} 00 20 20010db8 00`;
    const { announced, withdrawn } = decodedOf(body(`${reach} 800f08 000201 20 20010db9 ${good}`, '00 20c0000201 11ffff80', '090a00'));
    expect(withdrawn.map((nlri) => [nlri.family, nlri.multiprotocol, ...texts(nlri)])).toEqual([
      [4, false, '10.0.0.0/9'],
      [6, true, '2001:db9::/32'],
    ]);
    expect(announced.map((nlri) => [nlri.family, nlri.multiprotocol, nlri.nextHop?.length, ...texts(nlri)])).toEqual([
      [6, true, 16, '2001:db8::/32', '::/0'],
      [4, false, 4, '0.0.0.0/0', '192.0.2.1/32', '255.255.128.0/17'],
    ]);
  });

  test('IPv4 with an IPv6 next hop (RFC 8950), and with a link-local one beside it, is decoded', () => {
    const reach = `800e2a 0001 01 20 ${nextHop6} fe800000000000000000000000000001 00 20c0000201`;
    expect(decodedOf(body(`${reach} ${withoutNextHop}`, '')).announced).toMatchObject([{ family: 4, count: 1, multiprotocol: true }]);
  });

  test('prefix bits beyond the length are ignored', () => {
    const paths = [...readPaths({ family: 4, bytes: hex('09 0aff'), pathIds: false })];
    expect(paths.map(({ prefix }) => formatPrefix(prefix))).toEqual(['10.128.0.0/9']);
  });

  test('path identifiers are decoded in the families that have them (RFC 7911)', () => {
    const both = body(`800e1e 0002 01 10 ${nextHop6} 00 00000009 20 20010db8 ${good}`, '00000001 20c0000201 ffffffff 20c0000201');
    const { announced } = decodedOf(both, { addPathReceive: [4, 6] });
    expect(announced.map(texts)).toEqual([['2001:db8::/32 9'], ['192.0.2.1/32 1', '192.0.2.1/32 4294967295']]);
    const withdrawn = decodedOf(body('', '', '00000007 20c0000201'), { addPathReceive: [4] }).withdrawn;
    expect(withdrawn.map(texts)).toEqual([['192.0.2.1/32 7']]);
    const plain = decodedOf(body(good, '20c0000201'), { addPathReceive: [6] });
    expect(plain.announced.map(texts)).toEqual([['192.0.2.1/32']]);
  });
});

interface Vector {
  readonly name: string;
  readonly content: Partial<UpdateContent>;
  readonly bytes: string;
  readonly session?: Partial<UpdateSession>;
}

const attributes = { origin: 0, asPath: [{ kind: 'sequence' as const, asns: [64512] }] };
const paths = (...list: string[]) => list.map((text) => ({ prefix: prefix(text) }));

const vectors: readonly Vector[] = [
  {
    name: 'IPv4 in the fields of RFC 4271',
    content: {
      withdrawn: [nlriOf(4, paths('192.0.2.0/24'))],
      announced: [nlriOf(4, paths('192.0.2.1/32', '198.51.100.0/24', '0.0.0.0/0', '10.0.0.0/9'), hex('0a000002'))],
      attributes: { ...attributes, nextHop: hex('0a000002'), med: 5 },
    },
    bytes: `${marker} 0043 02 0004 18c00002 001b 40010100 40020602010000fc00 4003040a000002 80040400000005  20c0000201 18c63364 00 090a00`,
  },
  {
    name: 'IPv6 in MP_REACH_NLRI, which comes first',
    content: { announced: [nlriOf(6, paths('2001:db8::/33', '::/0'), hex(nextHop6))], attributes },
    bytes: `${marker} 0043 02 0000 002c  800e1c 0002 01 10 ${nextHop6} 00 2120010db800 00  40010100 40020602010000fc00`,
  },
  {
    name: 'IPv4 with an IPv6 next hop',
    content: { announced: [nlriOf(4, paths('192.0.2.1/32'), hex(nextHop6))], attributes },
    bytes: `${marker} 0041 02 0000 002a  800e1a 0001 01 10 ${nextHop6} 00 20c0000201  40010100 40020602010000fc00`,
  },
  {
    name: 'BGP-090 a withdrawal of IPv4',
    content: { withdrawn: [nlriOf(4, paths('192.0.2.1/32'))] },
    bytes: `${marker} 001c 02 0005 20c0000201 0000`,
  },
  {
    name: 'BGP-090 a withdrawal of IPv6',
    content: { withdrawn: [nlriOf(6, paths('2001:db8::/32'))] },
    bytes: `${marker} 0022 02 0000 000b 800f08 000201 2020010db8`,
  },
  {
    name: 'an UPDATE with path identifiers',
    content: {
      announced: [nlriOf(4, [{ prefix: prefix('192.0.2.1/32'), pathId: 258 }], hex('0a000002'))],
      attributes: { ...attributes, nextHop: hex('0a000002') },
    },
    bytes: `${marker} 0034 02 0000 0014 40010100 40020602010000fc00 4003040a000002  00000102 20c0000201`,
    session: { addPathReceive: [4] },
  },
  {
    name: 'BGP-023 AS_TRANS, AS4_PATH and AS4_AGGREGATOR for a 2-octet peer',
    content: {
      announced: [nlriOf(4, paths('10.0.0.0/8'), hex('0a000002'))],
      attributes: {
        origin: 0,
        asPath: [{ kind: 'sequence', asns: [4_200_000_000] }],
        nextHop: hex('0a000002'),
        aggregator: { asn: 4_200_000_000, routerId: 1 },
      },
    },
    bytes: `${marker} 0048 02 0000 002f 40010100 400204 0201 5ba0 4003040a000002 c00706 5ba0 00000001 c01106 0201 fa56ea00 c01208 fa56ea00 00000001 080a`,
    session: { fourOctetAsn: false },
  },
];

describe('encoding an UPDATE', () => {
  test.each(vectors.map((vector) => [vector.name, vector] as const))(
    '%s is encoded and decoded',
    (_, { content, bytes, session: change = {} }) => {
      const update = { withdrawn: [], announced: [], attributes: {}, ...content };
      const encoded = encodeUpdateMessage(update, { ...session, ...change });
      expect(toHex(encoded)).toBe(toHex(hex(bytes)));
      const { withdrawn, announced, attributes, faults } = decodedOf(encoded.subarray(19), change);
      expect(faults).toEqual([]);
      expect({ withdrawn: withdrawn.map(texts), announced: announced.map(texts) }).toEqual({
        withdrawn: update.withdrawn.map(texts),
        announced: update.announced.map(texts),
      });
      expect(attributes).toMatchObject(change.fourOctetAsn === false ? {} : update.attributes);
    },
  );

  test.each([
    [4, `${marker} 0017 02 0000 0000`],
    [6, `${marker} 001d 02 0000 0006 800f03 000201`],
  ] as const)('BGP-082 BGP-090 End-of-RIB of IPv%i is encoded and decoded', (family, bytes) => {
    expect(toHex(encodeEndOfRib(family))).toBe(toHex(hex(bytes)));
    const update = decodedOf(hex(bytes).subarray(19));
    expect(update).toMatchObject({ endOfRib: family, announced: [], withdrawn: [], faults: [], treatAsWithdraw: false });
    expect(toHex(encodeUpdateMessage(update, session))).toBe(toHex(hex(bytes)));
  });

  test('BGP-092 attributes of up to 255 octets have a one-octet length, longer ones two octets', () => {
    const other = (length: number) => ({ other: [{ flags: 0xc0, type: 99, value: new Uint8Array(length) }] });
    const encode = (length: number): string =>
      toHex(encodeUpdateMessage({ withdrawn: [], announced: [], attributes: other(length) }, session)).slice(2 * 23, 2 * 27);
    expect(encode(255)).toBe('c063ff00');
    expect(encode(256)).toBe('d0630100');
  });

  test('BGP-100 a hundred communities use the extended length, both ways', () => {
    const communities = Array.from({ length: 100 }, (_, value) => ({ kind: 'standard' as const, value }));
    const encoded = encodeUpdateMessage(
      { withdrawn: [], announced: [], attributes: { ...attributes, nextHop: hex('0a000002'), communities } },
      session,
    );
    expect(toHex(encoded)).toContain('d0080190');
    expect(decodedOf(encoded.subarray(19)).attributes.communities).toEqual(communities);
  });

  test('an AS sequence of more than 255 ASNs is written as two segments', () => {
    const asns = Array.from({ length: 300 }, (_, i) => i + 1);
    const encoded = encodeUpdateMessage({ withdrawn: [], announced: [], attributes: { asPath: [{ kind: 'sequence', asns }] } }, session);
    expect(decodedOf(encoded.subarray(19)).attributes.asPath?.map((segment) => segment.asns.length)).toEqual([255, 45]);
  });

  test('an UPDATE with impossible content throws', () => {
    const nlri = nlriOf(4, paths('192.0.2.1/32'));
    expect(() => encodeUpdateMessage({ withdrawn: [nlri, nlri], announced: [], attributes: {} }, session)).toThrow('one place');
    const announced = [{ ...nlriOf(6, paths('::/0')), multiprotocol: false }];
    expect(() => encodeUpdateMessage({ withdrawn: [], announced, attributes: {} }, session)).toThrow('IPv4 only');
    expect(() => encodeUpdateMessage({ withdrawn: [], announced: [nlriOf(6, paths('::/0'))], attributes: {} }, session)).toThrow(
      'next hop',
    );
    expect(() => nlriOf(6, paths('192.0.2.1/32'))).toThrow('IPv4 among those of IPv6');
  });
});

/** RFC 7606; each row is one rule. */
describe('errors in an UPDATE', () => {
  test.each([
    ['BGP-064 withdrawn routes overrun', hex('0005 18c00002 0000'), 1, ''],
    ['BGP-064 attributes overrun', hex('0000 0005 400101'), 1, ''],
    ['BGP-064 a message without a complete length field', hex('0000 00'), 1, ''],
    ['BGP-065 a prefix of /33', body(good, '21c000020100'), 10, ''],
    ['BGP-065 a truncated prefix', body(good, '18c000'), 10, ''],
    ['BGP-065 a withdrawn prefix of /33', body('', '', '21c000020100'), 10, ''],
    ['BGP-065 an IPv6 prefix of /129', body(`800e27 0002 01 10 ${nextHop6} 00 81 ${'00'.repeat(17)} ${withoutNextHop}`, ''), 10, ''],
    ['BGP-065 a withdrawn IPv6 prefix of /129', body(`800f15 000201 81 ${'00'.repeat(17)}`, ''), 10, ''],
    ['BGP-065 a truncated IPv6 prefix', body(`800e17 0002 01 10 ${nextHop6} 00 2020 ${withoutNextHop}`, ''), 10, ''],
    [
      'BGP-065 a prefix of /33 beside valid IPv6 prefixes',
      body(`800e1a 000201 10 ${nextHop6} 00 20 20010db8 ${good}`, '21c000020100'),
      10,
      '',
    ],
    ['BGP-068 a truncated MP_UNREACH_NLRI beside valid prefixes', body(`800f05 000201 2020 ${good}`), 9, '800f05 000201 2020'],
    ['BGP-066 two MP_REACH_NLRI', body(`${good} 800e05 0002010000 800e05 0002010000`), 1, ''],
    ['BGP-066 two MP_UNREACH_NLRI', body('800f03 000201 800f03 000201', ''), 1, ''],
    [
      'BGP-067 MP_REACH_NLRI with a next hop of 9 octets',
      body(`${good} 800e0e 000201 09 ${'00'.repeat(9)} 00`),
      9,
      `800e0e 000201 09 ${'00'.repeat(10)}`,
    ],
    [
      'BGP-067 MP_REACH_NLRI with a next hop of 64 octets',
      body(`${good} 800e45 000201 40 ${'00'.repeat(65)}`),
      9,
      `800e45 000201 40 ${'00'.repeat(65)}`,
    ],
    ['BGP-067 MP_REACH_NLRI with a truncated next hop', body(`${good} 800e06 000201 10 0000`), 9, '800e06 000201 10 0000'],
    ['BGP-067 MP_REACH_NLRI of four octets', body(`${good} 800e04 000201 00`), 9, '800e04 000201 00'],
    ['BGP-067 MP_REACH_NLRI that overruns the attributes', body(`${good} 800e20 000201`), 1, ''],
    ['BGP-068 MP_UNREACH_NLRI with a truncated prefix', body('800f05 000201 2020', ''), 9, '800f05 000201 2020'],
    ['BGP-067 MP_REACH_NLRI of four octets and with wrong flags', body(`${good} c00e04 000201 00`), 9, 'c00e04 000201 00'],
    ['BGP-068 MP_UNREACH_NLRI of two octets', body('800f02 0002', ''), 9, '800f02 0002'],
    ['BGP-068 MP_UNREACH_NLRI that overruns the attributes', body('800f09 000201', ''), 1, ''],
    ['BGP-069 ORIGIN 9 without routes', body('40010109', ''), 6, '40010109'],
    ['BGP-069 ORIGIN of two octets without routes', body('4001020000', ''), 5, '4001020000'],
    ['BGP-069 MED with wrong flags beside withdrawals only', body('40040400000001', '', '18c00002'), 4, '40040400000001'],
    ['BGP-069 an unknown well-known attribute without routes', body('406301ab', ''), 2, '406301ab'],
    ['BGP-069 MP_UNREACH_NLRI with wrong flags', body('400f08 000201 20 20010db8', ''), 4, '400f08 000201 20 20010db8'],
    ['BGP-069 MP_REACH_NLRI without prefixes and ORIGIN 9', body(`800e15 0002 01 10 ${nextHop6} 00 40010109`, ''), 6, '40010109'],
  ])('%s resets the session', (_, bytes, subcode, data) => {
    const result = decodeUpdate(bytes, session);
    expect(result).toMatchObject({ ok: false, fault: { disposition: 'reset', code: 3, subcode } });
    expect(result.ok ? '' : toHex(result.fault.data)).toBe(toHex(hex(data)));
  });

  const path = '40020602010000fde9';
  const hop = '4003040a000001';
  test.each<[string, string, number, string, Partial<UpdateSession>?]>([
    ['BGP-070 ORIGIN 3', `40010103 ${path} ${hop}`, 6, '40010103'],
    ['BGP-070 ORIGIN of two octets', `4001020000 ${path} ${hop}`, 5, '4001020000'],
    ['BGP-070 ORIGIN with wrong flags', `c0010100 ${path} ${hop}`, 4, 'c0010100'],
    ['BGP-070 AS_PATH with wrong flags', `40010100 c0020602010000fde9 ${hop}`, 4, 'c0020602010000fde9'],
    ['BGP-070 MED with wrong flags', `${good} c0040400000001`, 4, 'c0040400000001'],
    ['BGP-070 ATOMIC_AGGREGATE with wrong flags', `${good} c00600`, 4, 'c00600'],
    ['BGP-070 COMMUNITIES with wrong flags', `${good} 80080400000001`, 4, '80080400000001'],
    ['BGP-071 no ORIGIN', `${path} ${hop}`, 3, '01'],
    ['BGP-071 no AS_PATH', `40010100 ${hop}`, 3, '02'],
    ['BGP-071 no NEXT_HOP', withoutNextHop, 3, '03'],
    ['BGP-072 AS_PATH with an unknown segment', `40010100 40020609010000fde9 ${hop}`, 11, ''],
    ['BGP-072 AS_PATH with an empty segment', `40010100 4002020200 ${hop}`, 11, ''],
    ['BGP-072 AS_PATH that overruns', `40010100 40020602020000fde9 ${hop}`, 11, ''],
    ['BGP-072 AS_PATH with a surplus octet', `40010100 40020702010000fde902 ${hop}`, 11, ''],
    ['BGP-072 AS_PATH with AS 0', `40010100 400206020100000000 ${hop}`, 11, ''],
    ['BGP-072 AS_PATH with a confederation segment from an external peer', `40010100 40020603010000fde9 ${hop}`, 11, ''],
    ['BGP-073 NEXT_HOP 0.0.0.0', `${withoutNextHop} 40030400000000`, 8, '40030400000000'],
    ['BGP-073 NEXT_HOP 127.0.0.1', `${withoutNextHop} 4003047f000001`, 8, '4003047f000001'],
    ['BGP-073 NEXT_HOP 224.0.0.1', `${withoutNextHop} 400304e0000001`, 8, '400304e0000001'],
    ['BGP-073 NEXT_HOP of five octets', `${withoutNextHop} 4003050a00000100`, 5, '4003050a00000100'],
    ['BGP-074 MED of three octets', `${good} 800403000001`, 5, '800403000001'],
    ['BGP-074 LOCAL_PREF of three octets from an internal peer', `${good} 400503000001`, 5, '400503000001', { internal: true }],
    ['BGP-074 COMMUNITIES of five octets', `${good} c008050000000100`, 5, 'c008050000000100'],
    ['BGP-074 COMMUNITIES without a community', `${good} c00800`, 5, 'c00800'],
    ['BGP-074 EXTENDED COMMUNITIES of seven octets', `${good} c01007${'00'.repeat(7)}`, 5, `c01007${'00'.repeat(7)}`],
    ['BGP-074 EXTENDED COMMUNITIES without a community', `${good} c01000`, 5, 'c01000'],
    ['BGP-074 LARGE_COMMUNITY of 13 octets', `${good} c0200d${'00'.repeat(13)}`, 5, `c0200d${'00'.repeat(13)}`],
    ['BGP-074 LARGE_COMMUNITY without a community', `${good} c02000`, 5, 'c02000'],
    ['BGP-074 IPv6 EXTENDED COMMUNITIES of 19 octets', `${good} c01913${'00'.repeat(19)}`, 5, `c01913${'00'.repeat(19)}`],
    ['BGP-074 ORIGINATOR_ID of five octets from an internal peer', `${good} 8009050000000001`, 5, '8009050000000001', { internal: true }],
    ['BGP-074 CLUSTER_LIST of five octets from an internal peer', `${good} 800a050000000001`, 5, '800a050000000001', { internal: true }],
    ['BGP-074 an empty CLUSTER_LIST from an internal peer', `${good} 800a00`, 5, '800a00', { internal: true }],
    ['BGP-074 ONLY_TO_CUSTOMER of three octets', `${good} c023030000fd`, 5, 'c023030000fd'],
    ['BGP-075 an attribute that overruns the list', `${good} 800404`, 1, ''],
    ['BGP-075 an attribute without a length', `${good} 8004`, 1, ''],
    ['BGP-075 an attribute of one octet', `${good} 80`, 1, ''],
    ['BGP-079 an unknown well-known attribute', `${good} 406301ab`, 2, '406301ab'],
  ])('%s withdraws the routes and keeps the session', (_, attributes, subcode, data, change = {}) => {
    const update = decodedOf(body(attributes), change);
    expect(update).toMatchObject({ treatAsWithdraw: true, announced: [{ family: 4, count: 1 }] });
    expect(update.faults.map((fault) => [fault.disposition, fault.code, fault.subcode, toHex(fault.data)])).toEqual([
      ['withdraw', 3, subcode, toHex(hex(data))],
    ]);
  });

  test('BGP-070 MP_REACH_NLRI with wrong flags withdraws its routes', () => {
    const update = decodedOf(body(`c00e1a 0002 01 10 ${nextHop6} 00 20 20010db8 ${withoutNextHop}`, ''));
    expect(update).toMatchObject({ treatAsWithdraw: true, announced: [{ family: 6, count: 1 }], faults: [{ subcode: 4 }] });
  });

  test('BGP-071 NEXT_HOP is neither required nor checked when all prefixes are in MP_REACH_NLRI', () => {
    const reach = `800e1a 0002 01 10 ${nextHop6} 00 20 20010db8`;
    for (const hop of ['', '40030400000000']) {
      expect(decodedOf(body(`${reach} ${withoutNextHop} ${hop}`, ''))).toMatchObject({ treatAsWithdraw: false, faults: [] });
    }
    expect(decodedOf(body(reach, '')).faults.map(({ subcode, data }) => [subcode, ...data])).toEqual([
      [3, 1],
      [3, 2],
    ]);
  });

  test.each<[string, string, number, Partial<UpdateSession>?]>([
    ['BGP-076 ATOMIC_AGGREGATE with a value', '40060100', 1],
    ['BGP-076 AGGREGATOR of six octets from a 4-octet peer', 'c00706 fde90a000001', 1],
    ['BGP-076 AGGREGATOR of eight octets from a 2-octet peer', 'c00708 0000fde90a000001', 1, { fourOctetAsn: false }],
    ['BGP-076 AGGREGATOR with AS 0', 'c00708 000000000a000001', 1],
    ['BGP-076 AS4_AGGREGATOR of six octets', 'c01206 fde90a000001', 1, { fourOctetAsn: false }],
    ['BGP-076 a malformed AS4_PATH', 'c01103 020100', 1, { fourOctetAsn: false }],
    ['BGP-076 AS4_PATH from a 4-octet peer', 'c01106 02010000fde9', 1],
    ['BGP-076 AS4_AGGREGATOR from a 4-octet peer', 'c01208 0000fde90a000001', 1],
    ['BGP-076 ORIGINATOR_ID from an external peer', '80090400000001', 1],
    ['BGP-076 CLUSTER_LIST from an external peer', '800a0400000001', 1],
    ['BGP-076 BGP-081 LOCAL_PREF from an external peer', '40050400000064', 1],
    ['BGP-076 LOCAL_PREF of a wrong length from an external peer', '4005020064', 1],
    ['BGP-078 an unknown optional transitive attribute', 'c0630100', 0],
    ['BGP-078 an unknown optional non-transitive attribute', '80630100', 0],
    ['BGP-080 MP_REACH_NLRI of an unknown family', '800e05 0019460000', 1],
    ['BGP-080 MP_UNREACH_NLRI of an unknown family', '800f03 001946', 1],
    ['BGP-080 MP_REACH_NLRI of a family that was not negotiated', `800e1a 0002 01 10 ${nextHop6} 00 20 20010db8`, 1, { families: [4] }],
  ])('%s keeps the routes', (_, attributes, faults, change = {}) => {
    const path = change.fourOctetAsn === false ? '4002040201fde9' : '40020602010000fde9';
    const update = decodedOf(body(`40010100 ${path} 4003040a000001 ${attributes}`), change);
    expect(update).toMatchObject({ treatAsWithdraw: false, announced: [{ count: 1 }] });
    expect(update.faults.map(({ disposition, code }) => [disposition, code])).toEqual(Array.from({ length: faults }, () => ['discard', 3]));
  });

  test('BGP-076 an attribute discarded because of its sender is reported with its octets', () => {
    const [fault] = decodedOf(body(`${good} 40050400000064`)).faults;
    expect(fault).toEqual({
      disposition: 'discard',
      code: 3,
      subcode: 9,
      data: hex('40050400000064'),
      problem: 'LOCAL_PREF from an external peer',
    });
  });

  test('BGP-077 the first of two equal attributes counts', () => {
    const update = decodedOf(body(`${good} 40010102`));
    expect(update).toMatchObject({ treatAsWithdraw: false, attributes: { origin: 0 }, faults: [{ disposition: 'discard' }] });
  });

  test('BGP-080 IPv4 prefixes are ignored, announced or withdrawn, when IPv4 was not negotiated', () => {
    const update = decodedOf(body(good, '180a0102', '18c00002'), { families: [6] });
    expect(update).toMatchObject({ announced: [], withdrawn: [], treatAsWithdraw: false, faults: [{}, {}] });
  });

  test('BGP-080 an error beside ignored prefixes does not reset the session', () => {
    const update = decodedOf(body('800e05 0019460000 40010109', ''));
    expect(update).toMatchObject({ treatAsWithdraw: true, announced: [] });
  });

  test.each([
    ['our own AS in the path', '40010100 40020a02020000fde90000fc00 4003040a000001'],
    ['a path that starts with an AS other than the peer', '40010100 40020602010000ffff 4003040a000001'],
    ['an empty path', '40010100 400200 4003040a000001'],
  ])('BGP-081 %s is no error', (_, attributes) => {
    expect(decodedOf(body(attributes))).toMatchObject({ treatAsWithdraw: false, faults: [], announced: [{ count: 1 }] });
  });

  test.each([
    ['of a family that was not negotiated', '800f03 000201', [4]],
    ['beside another attribute', '800f03 000201 c0630100', [4, 6]],
    ['with a prefix', '800f04 000201 00', [4, 6]],
  ] as const)('BGP-082 MP_UNREACH_NLRI %s is no End-of-RIB', (_, attributes, families) => {
    expect(decodedOf(body(attributes, ''), { families }).endOfRib).toBeUndefined();
  });

  test('BGP-082 an empty MP_UNREACH_NLRI beside IPv4 prefixes is no End-of-RIB', () => {
    for (const bytes of [body('800f03 000201', '00'), body('800f03 000201', '', '00')]) {
      for (const families of [[4, 6], [6]] as const) {
        const result = decodeUpdate(bytes, { ...session, families });
        expect(result.ok && result.value.endOfRib).toBeUndefined();
      }
    }
  });

  test('BGP-082 End-of-RIB may have the extended length, and IPv4 may use MP_UNREACH_NLRI', () => {
    expect(decodedOf(body('900f0003 000201', '')).endOfRib).toBe(6);
    expect(decodedOf(body('800f03 000101', '')).endOfRib).toBe(4);
    expect(decodedOf(body('', ''), { families: [6] }).endOfRib).toBeUndefined();
  });

  test('the strongest fault decides, whatever the order and the number of faults', () => {
    const many = 'c0060100'.repeat(50); // ATOMIC_AGGREGATE with wrong flags, then the same attribute 49 times more
    expect(decodedOf(body(`${good} ${many}`)).faults).toHaveLength(32);
    const twice = '40060100'.repeat(50);
    const update = decodedOf(body(`${good} ${twice} 800403000001`));
    expect(update.treatAsWithdraw).toBe(true);
    expect(update.faults).toHaveLength(32);
    expect(update.faults.at(-1)).toMatchObject({ disposition: 'withdraw', subcode: 5 });
    expect(decodeUpdate(body(`${good} ${twice} 800403000001 800e04 00020100`), session)).toMatchObject({
      ok: false,
      fault: { subcode: 9 },
    });
  });
});

test('KEEPALIVE and ROUTE-REFRESH have their octets', () => {
  expect(toHex(keepaliveMessage)).toBe(`${marker}001304`);
  const refresh = { afi: 2, subtype: 1, safi: 1 };
  expect(toHex(encodeRouteRefresh(refresh))).toBe(`${marker}00170500020101`);
  expect(decodeRouteRefresh(hex('00020101'))).toEqual(refresh);
});
