import { describe, expect, test } from 'vitest';
import {
  sessionCause,
  type SessionEvidence,
  type SessionOutage,
} from '../../../../../src/decisions/announcement/sessions/session-cause.ts';
import { whySessionDown } from '../../../../../src/decisions/announcement/sessions/session-down.ts';
import { sessionFacts, type SessionFacts } from '../../../../../src/decisions/announcement/sessions/session-facts.ts';
import type { SessionStatus } from '../../../../../src/model/objects/node-state.ts';
import { conditionText, reason, reasonText, remedyText, type Reason, type ReasonCode } from '../../../../../src/model/reasons.ts';
import { address } from '../../../../../src/net/address.ts';
import { cluster, type PeerLiteral } from '../../fixtures.ts';

const tor: PeerLiteral = { name: 'tor1', peerAddress: '10.1.0.1', peerASN: 65101, holdTimeSeconds: 9 };
const tor6: PeerLiteral = { ...tor, peerAddress: 'fd00:1::1' };
const node = { name: 'node1', internalIPs: ['10.1.0.11', 'fd00:1::11'] };

function factsOf(literal: PeerLiteral = tor): SessionFacts {
  const snapshot = cluster({ nodes: [node], peers: [literal] });
  const [peer, host] = [snapshot.peers.get('tor1'), snapshot.nodes.get('node1')];
  if (peer === undefined || host === undefined) throw new Error('the fixture lacks an object');
  return sessionFacts(peer, host);
}

const outage = (evidence: SessionEvidence, more: Partial<SessionOutage> = {}): SessionOutage => {
  return { evidence, since: '2026-01-02T03:04:05.000Z', wasEstablished: false, ...more };
};

function told(evidence: SessionEvidence, facts = factsOf(), more: Partial<SessionOutage> = {}): string[] {
  const local = facts.router.includes(':') ? 'fd00:1::11' : '10.1.0.11';
  const cause = sessionCause(outage(evidence, { local, ...more }), facts);
  return cause === undefined ? [] : [cause.code, reasonText(cause), remedyText(cause)];
}

const secret = { passwordSecret: { namespace: 'herald', name: 'tor1' } };

describe('the reason of each cause names our field and the line of the router', () => {
  test.each<[SessionEvidence, PeerLiteral, ReasonCode, string | RegExp, string | RegExp]>([
    [
      { kind: 'asn', by: 'us', said: 65999 },
      tor,
      'PeerASMismatch',
      'BGPPeer "tor1" has spec.peerASN: 65101, but the router 10.1.0.1 says AS 65999',
      'set spec.peerASN: 65999 in BGPPeer "tor1"; or, if the router is wrong, configure there: router bgp 65101',
    ],
    [
      { kind: 'asn', by: 'us', said: 64512 },
      { name: 'tor1', peerAddress: '10.1.0.1', dynamicASN: 'external' },
      'PeerASMismatch',
      /has spec.dynamicASN: external, but the router 10.1.0.1 says AS 64512/,
      'set spec.peerASN: 64512 in BGPPeer "tor1" instead of spec.dynamicASN',
    ],
    [
      { kind: 'asn', by: 'peer' },
      tor,
      'PeerASMismatch',
      /the router 10.1.0.1 refuses AS 64512 \(spec.myASN of BGPPeer "tor1"\)/,
      /^configure on the router: neighbor 10.1.0.11 remote-as 64512; or set spec.myASN of BGPPeer "tor1"/,
    ],
    [
      { kind: 'asn', by: 'peer' },
      { ...tor6, localASN: 64999 },
      'PeerASMismatch',
      /the router fd00:1::1 refuses AS 64999 \(spec.localASN of/,
      /neighbor fd00:1::11 remote-as 64999; or set spec.localASN/,
    ],
    [
      { kind: 'dropped', finding: 'wrongSignature' },
      { ...tor, ...secret },
      'PeerPasswordRejected',
      /password of BGPPeer "tor1" \(Secret herald\/tor1, key password\) differs/,
      /into Secret herald\/tor1, key password; .* neighbor 10.1.0.11 password/,
    ],
    [
      { kind: 'dropped', finding: 'noSignature' },
      { ...tor, password: 'x' },
      'PeerPasswordRejected',
      /has no TCP MD5 password for this node, but BGPPeer "tor1" has one \(spec.password\)/,
      /neighbor 10.1.0.11 password/,
    ],
    [
      { kind: 'dropped', finding: 'unexpectedSignature' },
      tor,
      'PeerPasswordRejected',
      /has a TCP MD5 password for this node, but BGPPeer "tor1" has none/,
      /spec.passwordSecret of BGPPeer "tor1".* no neighbor 10.1.0.11 password/,
    ],
    [
      { kind: 'dropped', finding: 'lowTtl' },
      { ...tor, ttlSecurityHops: 1 },
      'PeerTTLMismatch',
      /spec.ttlSecurityHops: 1/,
      /neighbor 10.1.0.11 ttl-security hops 1; or set spec.ttlSecurityHops/,
    ],
    [
      { kind: 'refused', atOnce: false },
      tor,
      'PeerRefusesConnection',
      /the router 10.1.0.1 refuses connections for BGPPeer "tor1" at TCP port 179/,
      /neighbor 10.1.0.11 remote-as 64512/,
    ],
    [{ kind: 'refused', atOnce: true }, tor6, 'PeerRefusesConnection', /closes them at once/, /neighbor fd00:1::11 remote-as 64512/],
    [
      { kind: 'silent' },
      tor,
      'PeerUnreachable',
      /does not answer at TCP port 179: connection attempts time out/,
      /spec.passwordSecret.*spec.ttlSecurityHops.*spec.ebgpMultiHop; neighbor 10.1.0.11 ebgp-multihop/,
    ],
    [{ kind: 'unreachable', detail: 'no route to its network' }, tor6, 'PeerUnreachable', /no route to its network/, /spec.peerAddress/],
    [{ kind: 'noOpen' }, tor, 'PeerUnreachable', /takes the connection and then sends nothing/, /ttl/i],
    [
      { kind: 'holdTimer', by: 'us', seconds: 9 },
      tor,
      'HoldTimeExpired',
      /heard nothing from the router 10.1.0.1 for 9 s/,
      /between node and router, both ways/,
    ],
    [
      { kind: 'holdTimer', by: 'peer' },
      tor,
      'HoldTimeExpired',
      /router 10.1.0.1 expired: it heard nothing from the node/,
      /from the node to the router/,
    ],
    [{ kind: 'stalled' }, tor, 'HoldTimeExpired', /acknowledged or read nothing/, /from the node to the router/],
    [
      { kind: 'pathLost' },
      { ...tor, bfdProfile: 'fast' },
      'BFDDown',
      /BFD with "tor1" \(10.1.0.1\) went down/,
      /UDP port 3784 \(4784.*BFDProfile "fast"/,
    ],
    [{ kind: 'cease', subcode: 10, name: 'Cease: BFD Down (6/10)' }, tor, 'BFDDown', /the router says so/, /neighbor 10.1.0.11 bfd/],
    [{ kind: 'closed', detail: 'reset by the peer' }, tor, 'PeerClosed', /the connection ended \(reset by the peer\)/, /log of the router/],
    [
      { kind: 'cease', subcode: 2, name: 'Cease: Administrative Shutdown (6/2)', text: 'switch upgrade' },
      tor,
      'PeerClosed',
      /Administrative Shutdown \(6\/2\): "switch upgrade"/,
      'end the shutdown on the router: no neighbor 10.1.0.11 shutdown',
    ],
    [{ kind: 'cease', subcode: 1, name: 'max' }, tor, 'PeerClosed', /max/, /neighbor 10.1.0.11 maximum-prefix/],
    [
      { kind: 'cease', subcode: 3, name: 'gone' },
      tor,
      'PeerClosed',
      /gone/,
      /neighbor 10.1.0.11 remote-as 64512; or delete BGPPeer "tor1"/,
    ],
    [{ kind: 'cease', subcode: 7, name: 'collision' }, tor, 'PeerClosed', /collision/, /other BGP speaker/],
    [
      { kind: 'families', by: 'us', detail: 'peer offers IPv6 unicast, configured IPv4 unicast' },
      { ...tor, dualStackAddressFamily: true },
      'PeerFamilyMismatch',
      /peer offers IPv6 unicast/,
      /address-family ipv4 unicast, neighbor 10.1.0.11 activate; address-family ipv6 unicast, .*spec.dualStackAddressFamily/,
    ],
    [
      { kind: 'holdTime', by: 'peer', detail: '' },
      tor,
      'HoldTimeRejected',
      /refuses spec.holdTime: 9s of BGPPeer "tor1"/,
      /set spec.holdTime/,
    ],
    [
      { kind: 'holdTime', by: 'us', detail: 'peer says hold time 2 s' },
      tor,
      'HoldTimeRejected',
      /hold time 2 s/,
      /neighbor 10.1.0.11 timers 3 9/,
    ],
    [
      { kind: 'routerId', by: 'peer', detail: '' },
      { ...tor, routerID: '10.9.9.9' },
      'RouterIDRejected',
      /refuses router ID 10.9.9.9/,
      /spec.routerID/,
    ],
    [{ kind: 'routerId', by: 'us', detail: 'same' }, tor, 'RouterIDRejected', /this node has 10.1.0.11: same/, /bgp router-id/],
    [
      { kind: 'protocol', by: 'us', name: 'Connection Not Synchronized (1/1)', detail: 'no marker', isNoBgp: true },
      tor,
      'PeerProtocolError',
      /answers at TCP port 179, but not in BGP: no marker/,
      /correct spec.peerAddress and spec.peerPort of BGPPeer "tor1"/,
    ],
    [
      { kind: 'protocol', by: 'us', name: 'Bad Message Length (1/2)', detail: 'too short' },
      tor,
      'PeerProtocolError',
      /too short \(Bad Message Length \(1\/2\)\)/,
      /herald bgp trace --peer tor1/,
    ],
  ])('%j of %j is %s', (evidence, literal, code, says, fix) => {
    const [found, sentence, remedy] = told(evidence, factsOf(literal));
    expect(found).toBe(code);
    expect(sentence).toMatch(says);
    expect(remedy).toMatch(fix);
    expect(`${sentence} ${remedy}`).not.toMatch(/undefined|NaN|\[object/);
  });
});

test('without a known local address the configured one is named, else a placeholder', () => {
  const cause = (literal: PeerLiteral): string => {
    const found = sessionCause(outage({ kind: 'asn', by: 'peer' }), factsOf(literal));
    return found === undefined ? '' : remedyText(found);
  };
  expect(cause(tor)).toContain('neighbor ADDRESS-OF-THE-NODE remote-as');
  expect(cause({ ...tor, sourceAddress: address('10.1.0.99') })).toContain('neighbor 10.1.0.99 remote-as');
});

test('the reason begins with the first cause, and the condition has no later symptom', () => {
  const cause = sessionCause(outage({ kind: 'holdTimer', by: 'us', seconds: 9 }, { latest: 'connection attempts time out' }), factsOf());
  if (cause === undefined) throw new Error('there is no cause');
  expect(reasonText(cause)).toBe(
    'hold timer of BGPPeer "tor1" expired: the node heard nothing from the router 10.1.0.1 for 9 s (at 2026-01-02T03:04:05.000Z); since then: connection attempts time out',
  );
  expect(conditionText(cause)).toBe('hold timer of BGPPeer "tor1" expired: the node heard nothing from the router 10.1.0.1 for 9 s');
});

test('a router that was connected with the present settings is not suspected of demanding others', () => {
  const [, , before = ''] = told({ kind: 'silent' });
  const [, , after = ''] = told({ kind: 'silent' }, factsOf(), { wasEstablished: true });
  expect(before).toMatch(/MD5/);
  expect(after).not.toMatch(/MD5|ttl|multihop/i);
  expect(after).toMatch(/worked before/);
});

test('an error of this host is no cause of the session', () => {
  expect(told({ kind: 'local', detail: 'closed by us' })).toEqual([]);
});

describe('whySessionDown', () => {
  const down: SessionStatus = {
    peer: 'tor1',
    address: '10.1.0.1',
    state: 'Active',
    since: '',
    localASN: 64512,
    peerASN: 0,
    prefixesSent: 0,
  };
  const cause = sessionCause(outage({ kind: 'asn', by: 'us', said: 65999 }), factsOf());

  test('the cause in the report of the agent is the reason', () => {
    expect(whySessionDown('tor1', { ...down, lastError: 'in words', ...(cause && { cause }) })).toEqual(cause);
  });

  test.each<[string, Partial<SessionStatus>]>([
    ['an older agent', {}],
    ['a newer agent over the live API', { cause: { code: 'New', details: {} } as unknown as Reason }],
    ['a newer agent', { cause: reason('UnknownReason', { code: 'New', text: 'new' }) }],
  ])('the report of %s, without a known cause, gives the text', (_, more) => {
    expect(whySessionDown('tor1', { ...down, lastError: 'in words', ...more })).toMatchObject({
      code: 'SessionDown',
      details: { lastError: 'in words' },
    });
  });

  test('an established session has no reason', () => {
    expect(whySessionDown('tor1', { ...down, state: 'Established' })).toBeUndefined();
  });
});
