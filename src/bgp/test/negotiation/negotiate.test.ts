import { describe, expect, test } from 'vitest';
import { localOpenMessage, type LocalOpen, type Role } from '../../../../src/bgp/negotiation/local-open.ts';
import { negotiate, type Negotiated } from '../../../../src/bgp/negotiation/negotiate.ts';
import type { Capability } from '../../../../src/bgp/wire/capability.ts';
import { decodeOpen, encodeOpen, type OpenMessage } from '../../../../src/bgp/wire/open.ts';
import { hex, marker, toHex } from '../hex.ts';

const identity: LocalOpen = { localAsn: 64512, peerAsn: 65001, routerId: 0x0a000001, holdTime: 90, families: [4, 6], overIpv6: false };
const multiprotocol = (afi: number, safi = 1): Capability => ({ kind: 'multiprotocol', afi, safi });
const fourOctetAsn = (asn: number): Capability => ({ kind: 'fourOctetAsn', asn });
const peer: OpenMessage = {
  version: 4,
  asn: 65001,
  holdTime: 90,
  routerId: 0x0a000002,
  capabilities: [multiprotocol(1), multiprotocol(2), { kind: 'routeRefresh' }, fourOctetAsn(65001)],
};

function agreed(open: Partial<OpenMessage>, change: Partial<LocalOpen> = {}): Negotiated {
  const result = negotiate({ ...peer, ...open }, { ...identity, ...change });
  if (!result.ok) throw new Error(result.fault.problem);
  return result.value;
}

/** Returns the refusal as "2/2 data: problem". */
function refused(open: Partial<OpenMessage>, change: Partial<LocalOpen> = {}): string {
  const result = negotiate({ ...peer, ...open }, { ...identity, ...change });
  if (result.ok) throw new Error('not refused');
  const { disposition, code, subcode, data, problem } = result.fault;
  expect(disposition).toBe('reset');
  return `${code}/${subcode} ${toHex(data)}: ${problem}`;
}

const without = (kind: Capability['kind'], ...more: Capability[]): Partial<OpenMessage> => ({
  capabilities: [...peer.capabilities.filter((capability) => capability.kind !== kind), ...more],
});

describe('the AS number of the peer', () => {
  test('BGP-013 the AS number of the capability overrides the two-octet field', () => {
    const big = { asn: 23456, ...without('fourOctetAsn', fourOctetAsn(4_200_000_000)) };
    expect(agreed(big, { peerAsn: 4_200_000_000 }).peerAsn).toBe(4_200_000_000);
    expect(refused(without('fourOctetAsn', fourOctetAsn(65002)))).toMatch(/^2\/2 : .*65002.*65001/);
    expect(refused({ asn: 65002, ...without('fourOctetAsn') })).toMatch(/^2\/2 : .*65002.*65001/);
  });

  test('BGP-013 the last of two AS number capabilities counts', () => {
    expect(agreed(without('fourOctetAsn', fourOctetAsn(7), fourOctetAsn(65001))).peerAsn).toBe(65001);
  });

  const says = (asn: number): Partial<OpenMessage> => ({ asn, ...without('fourOctetAsn', fourOctetAsn(asn)) });

  test('BGP-013 external accepts other ASes, internal only ours, auto both; the learned AS is kept', () => {
    expect(agreed(says(7), { peerAsn: 'external' })).toMatchObject({ peerAsn: 7, internal: false });
    expect(refused(says(64512), { peerAsn: 'external' })).toMatch(/^2\/2 : /);
    expect(agreed(says(64512), { peerAsn: 'internal' })).toMatchObject({ peerAsn: 64512, internal: true });
    expect(refused(says(7), { peerAsn: 'internal' })).toMatch(/^2\/2 : /);
    expect(agreed(says(7), { peerAsn: 'auto' })).toMatchObject({ peerAsn: 7, internal: false });
    expect(agreed(says(64512), { peerAsn: 'auto' })).toMatchObject({ peerAsn: 64512, internal: true });
  });

  test.each(['internal', 'external', 'auto', 65001] as const)(
    'BGP-014 AS 0 is refused in the field and in the capability, with peerASN %s',
    (peerAsn) => {
      expect(refused({ asn: 0 }, { peerAsn })).toMatch(/^2\/2 : .*AS 0/);
      expect(refused(without('fourOctetAsn', fourOctetAsn(0)), { peerAsn })).toMatch(/^2\/2 : .*AS 0/);
    },
  );

  test('BGP-014 AS_TRANS is refused when no capability carries the real number', () => {
    for (const peerAsn of ['external', 'auto', 23456] as const) {
      expect(refused({ asn: 23456, ...without('fourOctetAsn') }, { peerAsn })).toMatch(/^2\/2 : .*23456/);
    }
  });
});

describe('the hold time', () => {
  test.each([
    [1, '0001'],
    [2, '0002'],
  ])('BGP-015 a hold time of %i s is refused with the value as data', (holdTime, data) => {
    expect(refused({ holdTime })).toMatch(new RegExp(`^2/6 ${data}: `));
  });

  test('BGP-016 the smaller hold time is used, and 0 is accepted', () => {
    expect(agreed({ holdTime: 0 }).holdTime).toBe(0);
    expect(agreed({}, { holdTime: 0 }).holdTime).toBe(0);
    expect(agreed({ holdTime: 3 }).holdTime).toBe(3);
    expect(agreed({ holdTime: 180 }).holdTime).toBe(90);
  });

  test('BGP-016 BGP-017 a configured minimum refuses smaller hold times and 0', () => {
    expect(agreed({ holdTime: 30 }, { minimumHoldTime: 30 }).holdTime).toBe(30);
    expect(refused({ holdTime: 29 }, { minimumHoldTime: 30 })).toMatch(/^2\/6 001d: /);
    expect(refused({ holdTime: 0 }, { minimumHoldTime: 30 })).toMatch(/^2\/6 0000: /);
  });
});

describe('the BGP identifier', () => {
  test('BGP-018 the identifier 0.0.0.0 is refused', () => {
    expect(refused({ routerId: 0 })).toMatch(/^2\/3 : /);
  });

  test('BGP-018 our own identifier is refused inside one AS and accepted between two', () => {
    const same = { routerId: identity.routerId };
    expect(agreed(same).peerRouterId).toBe(identity.routerId);
    const inside = { ...same, asn: 64512, ...without('fourOctetAsn', fourOctetAsn(64512)) };
    expect(refused(inside, { peerAsn: 'internal' })).toMatch(/^2\/3 : /);
    expect(agreed({ ...inside, routerId: 0xff00_0001 }, { peerAsn: 'internal' }).peerRouterId).toBe(0xff00_0001);
  });
});

describe('capabilities', () => {
  test('BGP-021 duplicate capabilities count once', () => {
    expect(agreed({ capabilities: [...peer.capabilities, ...peer.capabilities] })).toEqual(agreed({}));
  });

  test('BGP-022 unknown capabilities change nothing', () => {
    expect(agreed(without('other', { kind: 'other', code: 128, data: hex('00') }))).toEqual(agreed({}));
  });

  test('BGP-023 a peer without capabilities gets IPv4 unicast with two-octet AS numbers only', () => {
    expect(agreed({ capabilities: [] })).toMatchObject({
      families: [4],
      fourOctetAsn: false,
      routeRefresh: false,
      enhancedRouteRefresh: false,
      extendedMessages: false,
      extendedNextHop: false,
      addPathReceive: [],
      addPathSend: [],
    });
  });

  test('BGP-025 a peer without a common family is refused with 2/7, with our families as data', () => {
    const evpn = without('multiprotocol', multiprotocol(25, 70));
    expect(refused(evpn)).toMatch(/^2\/7 010400010001010400020001: .*neither/);
    expect(refused(evpn, { families: [6] })).toMatch(/^2\/7 010400020001: /);
    expect(refused({ capabilities: [] }, { families: [6] })).toMatch(/^2\/7 010400020001: .*IPv4 unicast.*IPv6 unicast/);
    expect(agreed(without('multiprotocol', multiprotocol(25, 70), multiprotocol(2))).families).toEqual([6]);
  });

  test('BGP-007 long messages are used only when the peer offers them too; we always offer them', () => {
    expect(localOpenMessage(identity).capabilities).toContainEqual({ kind: 'extendedMessage' });
    expect(agreed({}).extendedMessages).toBe(false);
    expect(agreed(without('other', { kind: 'extendedMessage' })).extendedMessages).toBe(true);
  });

  const fits: readonly (readonly [ours: Role, theirs: number])[] = [
    ['provider', 3],
    ['customer', 0],
    ['routeServer', 2],
    ['routeServerClient', 1],
    ['peer', 4],
  ];

  test.each(fits)('BGP-028 role %s goes with %i only', (role, theirs) => {
    for (let code = 0; code < 6; code++) {
      const open = without('role', { kind: 'role', role: code });
      if (code === theirs) expect(agreed(open, { role }).peerRole).toBeDefined();
      else expect(refused(open, { role })).toMatch(/^2\/11 : /);
    }
  });

  test('BGP-028 a missing role is refused in strict mode only, two different roles always', () => {
    expect(agreed({}, { role: 'peer' }).peerRole).toBeUndefined();
    expect(refused({}, { role: 'peer', strictRole: true })).toMatch(/^2\/11 : /);
    expect(refused(without('role', { kind: 'role', role: 4 }, { kind: 'role', role: 3 }), { role: 'peer' })).toMatch(/^2\/11 : /);
    expect(agreed(without('role', { kind: 'role', role: 4 }, { kind: 'role', role: 4 }), { role: 'peer' }).peerRole).toBe('peer');
    expect(agreed(without('role', { kind: 'role', role: 9 })).peerRole).toBeUndefined();
  });

  test('BGP-029 a malformed graceful restart capability counts as absent', () => {
    const ours = { gracefulRestart: { restartTime: 120, restarted: false, forwardingPreserved: true } };
    const body = (capability: string): OpenMessage => {
      const length = hex(capability).length;
      const result = decodeOpen(hex(`04 fde9 005a 0a000002 ${(length + 2).toString(16).padStart(2, '0')} 02 0${length} ${capability}`));
      if (!result.ok) throw new Error(result.fault.problem);
      return result.value;
    };
    expect(agreed(body('4003 007800'), ours).gracefulRestart).toBeUndefined();
    expect(agreed(body('4002 c078'), ours).gracefulRestart).toEqual({ peerRestartTime: 120, peerRestarted: true, notification: true });
  });

  test('BGP-030 the extended next hop capability counts only for IPv4 unicast over IPv6', () => {
    const tuples = (...list: readonly (readonly [number, number, number])[]): Partial<OpenMessage> =>
      without('extendedNextHop', { kind: 'extendedNextHop', tuples: list.map(([afi, safi, nextHopAfi]) => ({ afi, safi, nextHopAfi })) });
    const over = { overIpv6: true };
    expect(agreed(tuples([1, 1, 2]), over).extendedNextHop).toBe(true);
    expect(agreed(tuples([1, 128, 2], [1, 1, 2]), over).extendedNextHop).toBe(true);
    for (const other of [tuples([1, 128, 2]), tuples([2, 1, 2]), tuples([1, 1, 1]), tuples()]) {
      expect(agreed(other, over).extendedNextHop).toBe(false);
    }
    expect(agreed(tuples([1, 1, 2]), { overIpv6: false }).extendedNextHop).toBe(false);
  });

  test('path identifiers are received in families where we accept them and the peer sends them', () => {
    const sends = without('addPath', {
      kind: 'addPath',
      families: [
        { afi: 1, safi: 1, receive: false, send: true },
        { afi: 2, safi: 1, receive: true, send: false },
      ],
    });
    expect(agreed(sends, { addPathReceive: [4, 6] }).addPathReceive).toEqual([4]);
    expect(agreed(sends).addPathReceive).toEqual([]);
  });

  test('path identifiers are sent in families where we offer them and the peer accepts them', () => {
    const takes = without('addPath', {
      kind: 'addPath',
      families: [
        { afi: 1, safi: 1, receive: false, send: true },
        { afi: 2, safi: 1, receive: true, send: true },
      ],
    });
    expect(agreed(takes, { addPathSend: [4, 6] })).toMatchObject({ addPathSend: [6], addPathReceive: [] });
    expect(agreed(takes, { addPathReceive: [4, 6] })).toMatchObject({ addPathSend: [], addPathReceive: [4, 6] });
    expect(agreed(takes, { addPathSend: [4, 6], families: [4], withoutOptionalParameters: true }).addPathSend).toEqual([]);
  });
});

describe('encoding of our OPEN', () => {
  test.each<[string, LocalOpen, string]>([
    [
      'two families',
      identity,
      `${marker} 0037 01 04 fc00 005a 0a000001 1a  02 18  0104 00010001  0104 00020001  0200  0600  4104 0000fc00  4600`,
    ],
    [
      'an ASN that needs four octets, over IPv6',
      { ...identity, localAsn: 4_200_000_000, families: [4], overIpv6: true },
      `${marker} 0039 01 04 5ba0 005a 0a000001 1c  02 1a  0104 00010001  0200  0506 0001 0001 0002  0600  4104 fa56ea00  4600`,
    ],
    [
      'path identifiers in one direction of one family, and in both of the other',
      { ...identity, addPathReceive: [6], addPathSend: [4, 6] },
      `${marker} 0041 01 04 fc00 005a 0a000001 24  02 22  0104 00010001  0104 00020001  0200  0600  4104 0000fc00
       4508 0001 01 02 0002 01 03  4600`,
    ],
    ['without optional parameters', { ...identity, withoutOptionalParameters: true }, `${marker} 001d 01 04 fc00 005a 0a000001 00`],
    [
      'everything',
      {
        ...identity,
        families: [4],
        role: 'customer',
        gracefulRestart: { restartTime: 120, restarted: true, forwardingPreserved: true },
        addPathReceive: [4],
        longLivedStaleTime: 3600,
      },
      `${marker} 004b 01 04 fc00 005a 0a000001 2e  02 2c  0104 00010001  0200  0600  0901 03  4006 c078 0001 01 80
       4104 0000fc00  4504 0001 01 01  4600  4707 0001 01 80 000e10`,
    ],
  ])('BGP-032 %s', (_, identity, bytes) => {
    expect(toHex(encodeOpen(localOpenMessage(identity)))).toBe(toHex(hex(bytes)));
    expect(toHex(encodeOpen(localOpenMessage({ ...identity })))).toBe(toHex(hex(bytes)));
  });
});
