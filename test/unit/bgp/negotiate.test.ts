import { describe, expect, test } from 'vitest';
import { openOf, type Identity } from '../../../src/bgp/identity.ts';
import { negotiate } from '../../../src/bgp/negotiate.ts';
import { encodeOpen, type OpenMessage } from '../../../src/bgp/wire/open.ts';
import { toHex } from './hex.ts';

const ours: Identity = { localAsn: 64512, peerAsn: 65001, routerId: 1, holdTime: 90, families: [4, 6], overIpv6: false };
const theirs: Identity = { localAsn: 65001, peerAsn: 64512, routerId: 2, holdTime: 90, families: [4, 6], overIpv6: false };
const theirOpen = (change: Partial<Identity> = {}): OpenMessage => openOf({ ...theirs, ...change });

/** "2/2 002a problem" of a refusal; undefined where the OPEN is accepted. */
function refusal(open: OpenMessage, change: Partial<Identity> = {}): string | undefined {
  const result = negotiate(open, { ...ours, ...change });
  if (result.ok) return undefined;
  const { code, subcode, data, problem } = result.fault;
  return [`${code}/${subcode}`, toHex(data), problem].filter(Boolean).join(' ');
}

function agreed(open: OpenMessage, change: Partial<Identity> = {}) {
  const result = negotiate(open, { ...ours, ...change });
  if (!result.ok) throw new Error(result.fault.problem);
  return result.value;
}

describe('AS numbers', () => {
  test.each<[string, Identity['peerAsn'], number, string | undefined]>([
    ['the configured one', 65001, 65001, undefined],
    ['another', 65001, 65002, '2/2 peer says AS 65002, configured 65001'],
    ['external, and it is not ours', 'external', 65001, undefined],
    ['external, and it is ours', 'external', 64512, '2/2 peer says AS 64512, configured external, but that is our AS'],
    ['internal, and it is ours', 'internal', 64512, undefined],
    ['internal, and it is not', 'internal', 65001, '2/2 peer says AS 65001, configured internal (our AS 64512)'],
    ['auto, ours', 'auto', 64512, undefined],
    ['auto, another', 'auto', 4_200_000_000, undefined],
  ])('BGP-013 %s', (_, peerAsn, said, expected) => {
    expect(refusal(theirOpen({ localAsn: said }), { peerAsn })).toBe(expected);
    if (expected === undefined) expect(agreed(theirOpen({ localAsn: said }), { peerAsn }).peerAsn).toBe(said);
  });

  test('BGP-014 AS 0 in either place, and AS_TRANS without the real number, are refused', () => {
    expect(refusal({ ...theirOpen(), asn: 0 })).toMatch(/^2\/2 .*AS 0/);
    expect(refusal(theirOpen({ localAsn: 0 }), { peerAsn: 'auto' })).toMatch(/^2\/2 .*AS 0/);
    expect(refusal({ ...theirOpen(), asn: 23456, capabilities: [] }, { peerAsn: 'auto' })).toMatch(/^2\/2 .*AS_TRANS/);
  });
});

test.each([1, 2])('BGP-015 hold time %i is refused with the value as data', (holdTime) => {
  expect(refusal(theirOpen({ holdTime }))).toMatch(new RegExp(`^2/6 000${holdTime} `));
});

describe('BGP-017 a hold time below the configured minimum', () => {
  test.each([
    [10, 30, '2/6 000a peer says hold time 10 s, configured at least 30 s'],
    [0, 30, '2/6 0000 peer wants no hold time, configured at least 30 s'],
    [30, 30, undefined],
    [0, 0, undefined],
  ])('%i s with a minimum of %i s', (holdTime, minimumHoldTime, expected) => {
    expect(refusal(theirOpen({ holdTime }), { minimumHoldTime })).toBe(expected);
  });
});

test('BGP-018 router ID 0.0.0.0 is refused; our own is accepted of another AS, and refused inside ours', () => {
  expect(refusal(theirOpen({ routerId: 0 }))).toMatch(/^2\/3 /);
  expect(refusal(theirOpen({ routerId: 1 }))).toBeUndefined();
  expect(refusal(theirOpen({ routerId: 1, localAsn: 64512 }), { peerAsn: 'internal' })).toMatch(/^2\/3 /);
});

test('BGP-023 without any capability a peer has IPv4, AS numbers of two octets, and no refresh', () => {
  expect(agreed({ ...theirOpen(), capabilities: [] })).toEqual({
    peerAsn: 65001,
    peerRouterId: 2,
    internal: false,
    holdTime: 90,
    families: [4],
    fourOctetAsn: false,
    routeRefresh: false,
    enhancedRouteRefresh: false,
    extendedMessages: false,
    extendedNextHop: false,
    addPathReceive: [],
    longLivedFamilies: [],
  });
});

test('BGP-025 no family in common is refused, with what we want as data', () => {
  const evpn: OpenMessage = { ...theirOpen(), capabilities: [{ kind: 'multiprotocol', afi: 25, safi: 70 }] };
  expect(refusal(evpn)).toMatch(/^2\/7 010400010001010400020001 no address family in common: peer offers neither/);
  expect(refusal(theirOpen({ families: [6] }), { families: [4] })).toMatch(/^2\/7 010400010001 .*peer offers IPv6 unicast/);
});

describe('BGP-028 roles', () => {
  test.each<[Identity['role'], Identity['role'], boolean, string | undefined]>([
    ['customer', 'provider', false, undefined],
    ['provider', 'customer', true, undefined],
    ['peer', 'peer', true, undefined],
    ['routeServer', 'routeServerClient', true, undefined],
    ['customer', 'customer', false, '2/11 peer says BGP role customer, and ours (customer) demands provider'],
    ['peer', 'provider', false, '2/11 peer says BGP role provider, and ours (peer) demands peer'],
    ['customer', undefined, false, undefined],
    ['customer', undefined, true, '2/11 peer says no BGP role, and ours (customer) demands provider'],
    [undefined, 'customer', false, undefined],
  ])('ours %s, the peer says %s, strict: %s', (role, said, strictRole, expected) => {
    const own = role === undefined ? {} : { role };
    expect(refusal(theirOpen(said === undefined ? {} : { role: said }), { ...own, strictRole })).toBe(expected);
  });

  test('two roles that differ are refused, the same one twice is not', () => {
    const open = theirOpen({ role: 'provider' });
    const twice = (role: number): OpenMessage => ({ ...open, capabilities: [...open.capabilities, { kind: 'role', role }] });
    expect(refusal(twice(0), { role: 'customer' })).toBeUndefined();
    expect(refusal(twice(3), { role: 'customer' })).toMatch(/^2\/11 peer says BGP role provider and customer/);
  });

  test('the peer’s role is known where we said ours', () => {
    expect(agreed(theirOpen({ role: 'provider' }), { role: 'customer' }).peerRole).toBe('provider');
    expect(agreed(theirOpen({ role: 'provider' })).peerRole).toBeUndefined();
  });
});

test('BGP-030 of the next hop encodings only IPv4 unicast over IPv6 is acted upon', () => {
  const overIpv6 = { overIpv6: true };
  const offer = (afi: number, safi: number, nextHopAfi: number): OpenMessage => {
    const open = theirOpen();
    return { ...open, capabilities: [...open.capabilities, { kind: 'extendedNextHop', tuples: [{ afi, safi, nextHopAfi }] }] };
  };
  expect(agreed(offer(1, 1, 2), overIpv6).extendedNextHop).toBe(true);
  expect(agreed(offer(1, 128, 2), overIpv6).extendedNextHop).toBe(false);
  expect(agreed(offer(1, 1, 1), overIpv6).extendedNextHop).toBe(false);
  expect(agreed(offer(1, 1, 2)).extendedNextHop).toBe(false);
});

describe('BGP-007 what only one side offers is not used', () => {
  const restart = { gracefulRestart: { restartTime: 120, restarted: false, forwardingPreserved: false } };
  const without = (kind: string): OpenMessage => {
    const open = theirOpen(restart);
    return { ...open, capabilities: open.capabilities.filter((capability) => capability.kind !== kind) };
  };

  test('extended messages', () => {
    expect(agreed(theirOpen()).extendedMessages).toBe(true);
    expect(agreed(without('extendedMessage')).extendedMessages).toBe(false);
  });

  test('enhanced route refresh', () => {
    expect(agreed(theirOpen()).enhancedRouteRefresh).toBe(true);
    expect(agreed(without('enhancedRouteRefresh')).enhancedRouteRefresh).toBe(false);
  });

  test('graceful restart', () => {
    expect(agreed(theirOpen(restart), restart).gracefulRestart).toEqual({
      peerRestartTime: 120,
      peerRestarted: false,
      notification: true,
    });
    expect(agreed(theirOpen(restart)).gracefulRestart).toBeUndefined();
    expect(agreed(without('gracefulRestart'), restart).gracefulRestart).toBeUndefined();
  });

  test('several paths, and long-lived graceful restart', () => {
    const open = theirOpen(restart);
    const offer: OpenMessage = {
      ...open,
      capabilities: [
        ...open.capabilities,
        {
          kind: 'addPath',
          families: [
            { afi: 1, safi: 1, receive: true, send: true },
            { afi: 2, safi: 1, receive: true, send: false },
          ],
        },
        { kind: 'longLivedGracefulRestart', families: [{ afi: 2, safi: 1, forwardingPreserved: true, staleTime: 3600 }] },
      ],
    };
    expect(agreed(offer)).toMatchObject({ addPathReceive: [], longLivedFamilies: [] });
    expect(agreed(offer, { ...restart, addPathReceive: [4, 6], longLivedStaleTime: 60 })).toMatchObject({
      addPathReceive: [4],
      longLivedFamilies: [6],
    });
  });
});

test('BGP-032 our OPEN is the same bytes for the same configuration', () => {
  const everything: Identity = {
    ...ours,
    localAsn: 4_200_000_000,
    overIpv6: true,
    gracefulRestart: { restartTime: 120, restarted: true, forwardingPreserved: true },
    role: 'customer',
    addPathReceive: [4],
    longLivedStaleTime: 3600,
  };
  expect(toHex(encodeOpen(openOf(everything))).slice(32)).toBe(
    [
      '0064 01 04 5ba0 005a 00000001 47 02 45',
      '0104 00010001 0104 00020001 0200 0506 000100010002 0600 0901 03',
      '400a c078 00010180 00020180 4104 fa56ea00 4504 00010101 4600 470e 00010180000e10 00020180000e10',
    ]
      .join('')
      .replaceAll(' ', ''),
  );
});
