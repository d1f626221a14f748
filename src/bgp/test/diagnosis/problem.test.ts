import { describe, expect, test } from 'vitest';
import { countNotification, newCounters } from '../../../../src/bgp/diagnosis/counters.ts';
import { describeProblem, newDrops, type ProblemContext } from '../../../../src/bgp/diagnosis/problem.ts';
import { Speaker } from '../../../../src/bgp/index.ts';
import { MemoryTransport } from '../../../../src/bgp/transport/memory-transport.ts';
import { noData } from '../../../../src/bgp/wire/fault.ts';
import { address } from '../../../../src/net/address.ts';
import { VirtualClock } from '../../../../src/system/virtual-clock.ts';
import { pair } from '../two-speakers.ts';

const noDrops = { missing: 0, unexpected: 0, wrong: 0, belowMinimumTtl: 0 };
const context: ProblemContext = {
  target: '10.0.0.1 port 179',
  hasPassword: false,
  localAsn: 64512,
  ttlSecurityHops: undefined,
  wasEstablished: false,
  drops: noDrops,
};
const timeout = { kind: 'connectTimeout', seconds: 10 } as const;

describe('BGP-054 explanation of a connect timeout by kernel drop counters', () => {
  test.each<[string, Partial<ProblemContext>, RegExp]>([
    [
      'possible causes when nothing was dropped and there is no password',
      {},
      /may demand a TCP MD5 password or TTL security, or packets are dropped/,
    ],
    ['the password when nothing was dropped', { hasPassword: true }, /password may differ/],
    [
      'segments with wrong signatures',
      { hasPassword: true, drops: { ...noDrops, wrong: 3 } },
      /password differs .* dropped 3 segments with a wrong/,
    ],
    [
      'segments without signatures',
      { hasPassword: true, drops: { ...noDrops, missing: 2 } },
      /peer has no TCP MD5 password for us.* dropped 2/,
    ],
    [
      'segments with unexpected signatures',
      { drops: { ...noDrops, unexpected: 4 } },
      /has a TCP MD5 password for us and we have none.* 4 signed/,
    ],
    [
      'segments below TTL 255',
      { ttlSecurityHops: 1, drops: { ...noDrops, belowMinimumTtl: 5 } },
      /does not send with TTL 255.* 5 .*below 255/,
    ],
    // The counters include all connections: without a password or TTL security of ours, the drops belong to other connections.
    ['no drops of other connections', { drops: { ...noDrops, wrong: 9, belowMinimumTtl: 9 } }, /or packets are dropped on the way/],
  ])('the explanation names %s', (_, change, expected) => {
    expect(describeProblem(timeout, { ...context, ...change })).toMatch(expected);
  });

  test('drops before the dial are not counted', () => {
    expect(newDrops({ ...noDrops, wrong: 7 }, { ...noDrops, wrong: 9 })).toEqual({ ...noDrops, wrong: 2 });
    expect(newDrops(undefined, noDrops)).toBeUndefined();
  });
});

test('the problem names our AS number when the peer refuses it', () => {
  const problem = { kind: 'received', notification: { code: 2, subcode: 2, data: noData } } as const;
  expect(describeProblem(problem, context)).toBe(
    'the peer closed the session: OPEN Message Error: Bad Peer AS (2/2): it expects another AS number of us than 64512',
  );
});

test.each([
  [undefined, true, 'the peer closed the connection without saying why: it may not have us as a neighbour'],
  [undefined, false, 'the peer closed the connection without saying why'],
  [{ kind: 'reset', detail: 'reset by the peer' }, true, 'the connection was lost: reset by the peer: it may not have us as a neighbour'],
  [{ kind: 'other', detail: 'no TTL security' }, true, 'the connection was lost: no TTL security'],
] as const)('a lost connection is explained: failure %j, before OPEN: %s', (failure, handshake, words) => {
  expect(describeProblem({ kind: 'lost', failure, handshake }, context)).toBe(words);
});

describe('problems between two speakers', () => {
  test('BGP-013 a wrong AS number: our side names both numbers, the refused peer its own', () => {
    const { clock, left, right } = pair();
    left.start({ peerAsn: 65009 }, {});
    right.start({ passive: true });
    clock.advance(2_000);
    expect(left.peer.status().lastError).toBe('peer says AS 65001, configured 65009: closed with OPEN Message Error: Bad Peer AS (2/2)');
    expect(right.peer.status().lastError).toMatch(/expects another AS number of us than 65001/);
  });

  test('BGP-052 status() keeps the last NOTIFICATION and the counters after the session ended', () => {
    const { clock, left, right } = pair();
    left.start({}, {});
    right.start({ passive: true });
    clock.advance(5_000);
    right.speaker.removePeer('left', 'maintenance of the rack');
    clock.advance(2_000);
    expect(left.peer.status()).toMatchObject({
      state: 'Idle',
      lastNotification: {
        direction: 'received',
        code: 6,
        subcode: 2,
        name: 'Cease: Administrative Shutdown (6/2)',
        text: 'maintenance of the rack',
      },
      counters: { established: 1, flaps: 1, received: { open: 1, notification: 1 }, sent: { open: 1, notification: 0 } },
    });
    expect(left.peer.status().counters.received.keepalive).toBeGreaterThan(0);
  });

  test('BGP-031 status() shows the capabilities of both OPENs and what was negotiated', () => {
    const { clock, left, right } = pair();
    left.start({ gracefulRestart: { restartTime: 30 }, families: [4, 6] }, {});
    right.start({ passive: true });
    clock.advance(2_000);
    expect(left.peer.status()).toMatchObject({
      capabilities: {
        sent: expect.arrayContaining(['multiprotocol IPv6 unicast', expect.stringContaining('graceful restart 30 s')]) as unknown,
        received: ['multiprotocol IPv4 unicast', 'route refresh', 'extended message', '4-octet AS 65001', 'enhanced route refresh'],
      },
      negotiated: { families: [4], extendedMessages: true, enhancedRouteRefresh: true, peerRouterId: '10.0.0.2' },
    });
    expect(left.peer.status().negotiated).not.toHaveProperty('gracefulRestart');
  });

  test('TTL security works when both sides have it; with one side only, the error names it', () => {
    const { clock, left, right } = pair();
    left.start({ ttlSecurityHops: 1 }, {});
    right.start({ passive: true, ttlSecurityHops: 1 });
    clock.advance(2_000);
    expect(left.host.dialed[0]).toMatchObject({ ttl: 255, minimumTtl: 255 });
    expect(left.state).toBe('Established');
    const other = pair();
    other.left.start({}, {});
    other.right.start({ passive: true, ttlSecurityHops: 1 });
    other.clock.advance(30_000);
    expect(other.left.state).not.toBe('Established');
    expect(other.left.peer.status().lastError).toMatch(/TTL security/);
  });
});

test('BGP-085 a peer above the configured maximum of prefixes is closed with 6/1', () => {
  const { clock, left, right } = pair();
  left.start({ maximumPrefixes: { ipv4: 2 } }, {});
  right.start({ passive: true });
  clock.advance(2_000);
  const announce = (...hosts: number[]): void =>
    right.peer.routes.set(hosts.map((host) => ({ prefix: { address: address(`192.0.2.${host}`), length: 32 } })));
  announce(1, 2);
  clock.advance(100);
  announce(2, 3); // one prefix withdrawn, one new: two at a time
  clock.advance(100);
  expect(left.state).toBe('Established');
  announce(2, 3, 4);
  clock.advance(100);
  expect(left.peer.status().lastError).toBe(
    'the peer announces more than 2 IPv4 prefixes: closed with Cease: Maximum Number of Prefixes Reached (6/1)',
  );
  expect(right.peer.status().lastNotification).toMatchObject({ direction: 'received', code: 6, subcode: 1 });
});

describe('a peer without an address', () => {
  test('two peers find each other on an interface and exchange IPv4 over link-local addresses', () => {
    const { clock, network, left, right } = pair();
    left.host = network.host([address('fe80::1')], 'eth1');
    right.host = network.host([address('fe80::2')], 'eth1');
    const { address: _, ...unnumbered } = left.options;
    const { address: __, ...other } = right.options;
    Object.assign(left, { options: { ...unnumbered, interface: 'eth1', families: [4, 6], peerAsn: 'external' } });
    Object.assign(right, { options: { ...other, interface: 'eth1', families: [4, 6], peerAsn: 'external' } });
    left.start();
    expect(left.peer.status()).toMatchObject({ address: '', interface: 'eth1' });
    clock.advance(1_000);
    expect(left.peer.status().lastError).toMatch(/no router advertisement was received on eth1 yet/);
    right.start();
    clock.advance(6_000);
    expect([left.state, right.state]).toEqual(['Established', 'Established']);
    expect(left.peer.status()).toMatchObject({ address: 'fe80::2', negotiated: { extendedNextHop: true, families: [4, 6] } });
    left.peer.routes.set([{ prefix: { address: address('192.0.2.1'), length: 32 } }]);
    clock.advance(100);
    expect(right.peer.status().prefixesReceived.ipv4).toBe(1);
  });
});

test('a reason that differs only in its numbers emits no second down event', () => {
  const clock = new VirtualClock();
  const transport = new MemoryTransport(clock);
  transport.answer = 'silent';
  const speaker = new Speaker({ clock, random: () => 0.5, transport, asn: 64512, routerId: '10.0.0.2' });
  const peer = speaker.addPeer({ address: '10.0.0.1', peerAsn: 65001, password: 'secret' });
  const reasons: string[] = [];
  peer.on('down', ({ reason }) => reasons.push(reason));
  for (let second = 0; second < 120; second++) {
    transport.drops = { ...noDrops, wrong: second ** 2 };
    clock.advance(1_000);
  }
  expect(reasons).toEqual([expect.stringMatching(/dropped \d+ segments with a wrong signature$/)]);
  expect(peer.status().lastError).not.toBe(reasons[0]);
});

test('flaps are counted by cause, and NOTIFICATIONs by their RFC names', () => {
  const { clock, left, right } = pair();
  left.start({}, {});
  right.start({ passive: true });
  clock.advance(5_000);
  right.speaker.removePeer('left', 'maintenance of the rack');
  clock.advance(2_000);
  expect(left.peer.status().counters).toMatchObject({
    flaps: 1,
    flapsBy: { received: 1 },
    notifications: { sent: {}, received: { 'Cease: Administrative Shutdown (6/2)': 1 } },
  });
});

test('unknown codes of NOTIFICATIONs are counted together, so that a peer cannot create counters', () => {
  const counters = newCounters();
  for (let subcode = 0; subcode < 256; subcode++)
    for (const code of [0, 6, 9, 255]) countNotification(counters, 'received', { code, subcode, data: new Uint8Array() });
  const names = Object.keys(counters.notifications.received);
  expect(names).toContain('other');
  expect(names).toContain('Cease: Hard Reset (6/9)');
  expect(names.length).toBeLessThan(15);
});
