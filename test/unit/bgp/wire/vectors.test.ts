import { describe, expect, test } from 'vitest';
import { formatAddress, addressFromBytes } from '../../../../src/net/address.ts';
import { formatPrefix } from '../../../../src/net/prefix.ts';
import { keepaliveMessage } from '../../../../src/bgp/wire/message.ts';
import { readNlri } from '../../../../src/bgp/wire/nlri.ts';
import { decodeRouteRefresh, encodeRouteRefresh } from '../../../../src/bgp/wire/refresh.ts';
import { decodeUpdate, encodeEndOfRib, type UpdateSession } from '../../../../src/bgp/wire/update.ts';
import { hex, marker, toHex } from '../hex.ts';

const session: UpdateSession = { fourOctetAsn: true, internal: false, families: [4, 6] };

describe('UPDATE', () => {
  test.each([
    [4, `${marker} 0017 02 0000 0000`],
    [6, `${marker} 001d 02 0000 0006 800f03 000201`],
  ] as const)('End-of-RIB of IPv%i, both ways', (family, bytes) => {
    expect(toHex(encodeEndOfRib(family))).toBe(toHex(hex(bytes)));
    expect(decodeUpdate(hex(bytes).subarray(19), session)).toMatchObject({
      ok: true,
      value: { endOfRib: family, announced: [], withdrawn: [] },
    });
  });

  test('decodes what another speaker sends', () => {
    const result = decodeUpdate(
      hex(
        '0004 18c00002 0035 40010100 40020a 0202 0000fde9 0000fdea 4003040a000001 80040400000007 c00808 fde90064 ffffff01 c01008 0002fde900000064 180a0102',
      ),
      session,
    );
    if (!result.ok) throw new Error(result.fault.problem);
    const { attributes, announced, withdrawn, faults } = result.value;
    expect(faults).toEqual([]);
    expect(attributes).toMatchObject({ origin: 0, med: 7, asPath: [{ kind: 'sequence', asns: [65001, 65002] }] });
    expect(attributes.communities).toEqual([
      { kind: 'standard', value: 0xfde90064 },
      { kind: 'standard', value: 0xffffff01 },
    ]);
    expect([...readNlri(4, announced[0]?.bytes ?? hex(''))].map(formatPrefix)).toEqual(['10.1.2.0/24']);
    expect([...readNlri(4, withdrawn[0]?.bytes ?? hex(''))].map(formatPrefix)).toEqual(['192.0.2.0/24']);
    expect(formatAddress(addressFromBytes(announced[0]?.nextHop ?? hex('')))).toBe('10.0.0.1');
  });
});

/** RFC 7606, one row a rule. `good` completes the mandatory attributes. */
describe('errors in an UPDATE', () => {
  const good = '40010100 40020602010000fde9 4003040a000001';
  const update = (attributes: string, nlri = '180a0102', withdrawn = ''): Uint8Array => {
    const length = (text: string): string => hex(text).length.toString(16).padStart(4, '0');
    return hex(`${length(withdrawn)}${withdrawn}${length(attributes)}${attributes}${nlri}`);
  };

  test.each([
    ['withdrawn routes overrun', hex('0005 18c00002 0000'), 1],
    ['attributes overrun', hex('0000 0005 400101'), 1],
    ['a prefix of /33', update(good, '21c000020100'), 10],
    ['a prefix that is cut off', update(good, '18c000'), 10],
    ['a withdrawn prefix of /33', update('', '', '21c000020100'), 10],
    ['two MP_REACH_NLRI', update(`${good} 800e05 0002010000 800e05 0002010000`), 1],
    ['two MP_UNREACH_NLRI', update('800f03 000201 800f03 000201', ''), 1],
    ['MP_REACH_NLRI with a next hop of 9', update(`${good} 800e0e 000201 09 ${'00'.repeat(9)} 00`), 9],
    ['MP_REACH_NLRI that is cut off', update(`${good} 800e06 000201 10 0000`), 9],
    ['MP_UNREACH_NLRI with a prefix that is cut off', update('800f05 000201 2020', ''), 9],
    ['a wrong attribute where there are no routes', update('40010109', ''), 1],
  ])('%s: the session is reset', (_, body, subcode) => {
    expect(decodeUpdate(body, session)).toMatchObject({ ok: false, fault: { disposition: 'reset', code: 3, subcode } });
  });

  test.each([
    ['ORIGIN 3', '40010103 40020602010000fde9 4003040a000001'],
    ['ORIGIN of two octets', '4001020000 40020602010000fde9 4003040a000001'],
    ['ORIGIN with wrong flags', 'c0010100 40020602010000fde9 4003040a000001'],
    ['no ORIGIN', '40020602010000fde9 4003040a000001'],
    ['no AS_PATH', '40010100 4003040a000001'],
    ['no NEXT_HOP', '40010100 40020602010000fde9'],
    ['AS_PATH with an unknown segment', '40010100 40020609010000fde9 4003040a000001'],
    ['AS_PATH with an empty segment', '40010100 4002020200 4003040a000001'],
    ['AS_PATH that overruns', '40010100 40020602020000fde9 4003040a000001'],
    ['AS_PATH with AS 0', '40010100 400206020100000000 4003040a000001'],
    ['NEXT_HOP 0.0.0.0', '40010100 40020602010000fde9 40030400000000'],
    ['NEXT_HOP 224.0.0.1', '40010100 40020602010000fde9 400304e0000001'],
    ['NEXT_HOP of five octets', '40010100 40020602010000fde9 4003050a00000100'],
    ['MED of three octets', `${good} 800403000001`],
    ['COMMUNITIES of five octets', `${good} c008050000000100`],
    ['COMMUNITIES of none', `${good} c00800`],
    ['LARGE_COMMUNITY of 13 octets', `${good} c0200d${'00'.repeat(13)}`],
    ['an unknown well-known attribute', `${good} 406301 00`],
    ['an attribute that overruns the list', `${good} 800404`],
  ])('%s: the routes count as withdrawn', (_, attributes) => {
    expect(decodeUpdate(update(attributes), session)).toMatchObject({ ok: true, value: { treatAsWithdraw: true } });
  });

  test.each([
    ['ATOMIC_AGGREGATE with a value', `${good} 40060100`, 1],
    ['AGGREGATOR of six octets from a 4-octet peer', `${good} c00706 fde90a000001`, 1],
    ['LOCAL_PREF from an external peer', `${good} 40050400000064`, 1],
    ['a second ORIGIN', `${good} 40010101`, 1],
    ['an unknown optional transitive attribute', `${good} c0630100`, 0],
    ['an unknown optional non-transitive attribute', `${good} 80630100`, 0],
    ['MP_REACH_NLRI of a family that was not negotiated', `${good} 800e05 0019460000`, 0],
  ])('%s: the routes stay', (_, attributes, faults) => {
    const result = decodeUpdate(update(attributes), session);
    expect(result).toMatchObject({ ok: true, value: { treatAsWithdraw: false, announced: [{ count: 1 }] } });
    expect(result.ok && result.value.faults.length).toBe(faults);
  });
});

test('KEEPALIVE and ROUTE-REFRESH', () => {
  expect(toHex(keepaliveMessage)).toBe(`${marker}001304`);
  const refresh = { afi: 2, subtype: 0, safi: 1 };
  expect(toHex(encodeRouteRefresh(refresh))).toBe(`${marker}00170500020001`);
  expect(decodeRouteRefresh(hex('00020001'))).toEqual(refresh);
});
