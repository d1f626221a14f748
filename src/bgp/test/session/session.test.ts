import { beforeEach, describe, expect, test } from 'vitest';
import { address } from '../../../../src/net/address.ts';
import { prefix } from '../../../../src/net/prefix.ts';
import { VirtualClock } from '../../../../src/system/virtual-clock.ts';
import { PeerOptionsError, Speaker, type Peer, type PeerOptions } from '../../../../src/bgp/index.ts';
import { localOpenMessage, type LocalOpen } from '../../../../src/bgp/negotiation/local-open.ts';
import { MemoryTransport } from '../../../../src/bgp/transport/memory-transport.ts';
import { nodeTransport } from '../../../../src/bgp/transport/node.ts';
import { keepaliveMessage } from '../../../../src/bgp/wire/header.ts';
import { ceaseNotification, encodeNotification } from '../../../../src/bgp/wire/notification.ts';
import { encodeOpen, decodeOpen } from '../../../../src/bgp/wire/open.ts';
import { encodeRouteRefresh } from '../../../../src/bgp/wire/route-refresh.ts';
import { hex, marker, messages, toHex } from '../hex.ts';
import { logInto, notificationsIn, routerIdentity, routerOptions } from '../scripted-router.ts';

const password = 'correct horse';
const options: PeerOptions = { ...routerOptions, families: [4, 6], nextHop: { ipv6: address('2001:db8::2') }, password };
const peerIdentity: LocalOpen = { ...routerIdentity, families: [4, 6] };
const route = (text: string) => ({ prefix: prefix(text) });
const endOfRib4 = '00000000';
const endOfRib6 = '00000006800f03000201';

let clock: VirtualClock;
let transport: MemoryTransport;
let speaker: Speaker;
let logged: string[];
let statusChanges: string[];

beforeEach(() => {
  clock = new VirtualClock();
  transport = new MemoryTransport(clock);
  transport.localAddress = address('10.0.0.2');
  logged = [];
  statusChanges = [];
  speaker = new Speaker({ clock, random: () => 0.999_999, transport, log: logInto(logged) });
  speaker.onChange((peer) => statusChanges.push(peer.status().state));
});

/** Returns types and bodies of the messages sent to the peer since the last call. */
const sent = (): string[] => messages(transport.remote.take()).map(({ type, body }) => `${type} ${toHex(body)}`);
const types = (): number[] => messages(transport.remote.take()).map(({ type }) => type);
const updates = (): string[] =>
  sent()
    .filter((text) => text.startsWith('2 '))
    .map((text) => text.slice(2));

function send(...parts: readonly Uint8Array[]): void {
  for (const part of parts) transport.remote.send(part);
  clock.advance(0);
}

function establish(change: Partial<PeerOptions> = {}, identity: Partial<LocalOpen> = {}): Peer {
  const peer = speaker.addPeer({ ...options, ...change });
  clock.advance(0);
  send(encodeOpen(localOpenMessage({ ...peerIdentity, ...identity })), keepaliveMessage);
  clock.advance(0);
  expect(peer.status().state).toBe('Established');
  return peer;
}

const notifications = (): string[] => notificationsIn(transport.remote.take());

describe('session establishment', () => {
  test('BGP-034 BGP-039 a session dials at once, and is established after the KEEPALIVE of the peer', () => {
    const peer = speaker.addPeer(options);
    expect(transport.dialed).toHaveLength(0);
    clock.advance(0);
    expect(transport.dialed[0]).toMatchObject({ address: options.address, port: 179, ttl: 1, password, userTimeout: 510_000 });
    const [open] = messages(transport.remote.take());
    expect(decodeOpen(open?.body ?? hex(''))).toMatchObject({ ok: true, value: { asn: 64512, holdTime: 9 } });
    send(encodeOpen(localOpenMessage(peerIdentity)));
    expect(types()).toEqual([4]);
    expect(peer.status()).toMatchObject({ state: 'OpenConfirm', peerAsn: 65001 });
    send(keepaliveMessage);
    expect(peer.status()).toMatchObject({
      state: 'Established',
      negotiated: { holdTime: 9, families: [4, 6], fourOctetAsn: true, peerRouterId: '0.0.0.7' },
      counters: { established: 1, flaps: 0 },
    });
    expect(statusChanges).toEqual(['Established']);
  });

  test.each([
    [{ peerAsn: 65001 }, 1],
    [{ peerAsn: 65001, ebgpMultiHop: true }, 255],
    [{ peerAsn: 64512 }, 255],
    [{ peerAsn: 'internal' as const }, 255],
    [{ peerAsn: 'external' as const }, 1],
  ])('a peer with %j is dialed with TTL %i', (change, ttl) => {
    speaker.addPeer({ ...options, ...change });
    clock.advance(0);
    expect(transport.dialed[0]?.ttl).toBe(ttl);
  });

  test('BGP-008 the handshake works when its octets arrive one by one', () => {
    const peer = speaker.addPeer(options);
    clock.advance(0);
    for (const byte of [...encodeOpen(localOpenMessage(peerIdentity)), ...keepaliveMessage]) send(Uint8Array.of(byte));
    expect(peer.status().state).toBe('Established');
  });

  test('BGP-097 End-of-RIB of each family is sent even without routes', () => {
    establish();
    expect(updates()).toEqual([endOfRib4, endOfRib6]);
  });
});

describe('routes of a session', () => {
  test('BGP-097 routes set before the session are its first burst', () => {
    const peer = speaker.addPeer(options);
    peer.routes.set([route('192.0.2.1/32'), route('2001:db8::1/128')]);
    clock.advance(0);
    send(encodeOpen(localOpenMessage(peerIdentity)), keepaliveMessage);
    clock.advance(0);
    const all = updates();
    expect(all).toHaveLength(4);
    expect(all[0]).toMatch(/20c0000201$/);
    expect(all.slice(2)).toEqual([endOfRib4, endOfRib6]);
    expect(peer.status().prefixesAdvertised).toEqual({ ipv4: 1, ipv6: 1 });
  });

  test('BGP-094 BGP-095 changes in one turn are sent together: withdrawals first, reverted changes never', () => {
    const peer = establish();
    peer.routes.set([route('192.0.2.1/32')]);
    clock.advance(0);
    types();
    peer.routes.update({ announce: [route('192.0.2.2/32')] });
    peer.routes.update({ withdraw: [prefix('192.0.2.2/32'), prefix('192.0.2.1/32')] });
    peer.routes.update({ announce: [route('192.0.2.3/32'), route('192.0.2.4/32')] });
    expect(types()).toEqual([]);
    clock.advance(0);
    const all = updates();
    expect(all).toHaveLength(2);
    expect(all[0]).toBe('000520c00002010000');
    expect(all[1]).toMatch(/20c000020320c0000204$/);
    peer.routes.set([route('192.0.2.4/32'), route('192.0.2.3/32')]);
    clock.advance(0);
    expect(types()).toEqual([]);
  });

  test('BGP-097 BGP-098 a new session sends all current routes again and no withdrawn one', () => {
    const peer = establish();
    peer.routes.set([route('192.0.2.1/32'), route('192.0.2.2/32')]);
    clock.advance(0);
    transport.remote.close();
    clock.advance(0);
    expect(peer.status()).toMatchObject({ state: 'Idle', prefixesAdvertised: { ipv4: 0, ipv6: 0 } });
    peer.routes.update({ withdraw: [prefix('192.0.2.1/32')] });
    clock.advance(5_000);
    send(encodeOpen(localOpenMessage(peerIdentity)), keepaliveMessage);
    clock.advance(0);
    const all = updates();
    expect(all[0]).toMatch(/20c0000202$/);
    expect(all.slice(1)).toEqual([endOfRib4, endOfRib6]);
    expect(peer.status().counters).toMatchObject({ established: 2, flaps: 1 });
  });

  test('BGP-083 ROUTE-REFRESH is answered with all routes of the family, an unknown subtype with nothing', () => {
    const peer = establish();
    peer.routes.set([route('192.0.2.1/32'), route('2001:db8::1/128')]);
    clock.advance(0);
    types();
    send(encodeRouteRefresh({ afi: 1, subtype: 0, safi: 1 }));
    expect(sent()).toEqual(['5 00010101', expect.stringMatching(/^2 .*20c0000201$/), '5 00010201']);
    send(encodeRouteRefresh({ afi: 1, subtype: 9, safi: 1 }), encodeRouteRefresh({ afi: 25, subtype: 0, safi: 70 }));
    expect(types()).toEqual([]);
  });

  test('the time of the latest request for all routes of a family is in the status until the session ends', () => {
    const peer = establish();
    let changes = 0;
    speaker.onChange(() => changes++);
    expect(peer.status().refreshRequested).toEqual({});
    send(encodeRouteRefresh({ afi: 1, subtype: 0, safi: 1 }));
    const first = peer.status().refreshRequested;
    expect(first).toEqual({ ipv4: clock.date() });
    clock.advance(1_000);
    // Markers of an enhanced refresh are no request.
    send(encodeRouteRefresh({ afi: 2, subtype: 1, safi: 1 }), encodeRouteRefresh({ afi: 2, subtype: 2, safi: 1 }));
    expect(peer.status().refreshRequested).toEqual(first);
    send(encodeRouteRefresh({ afi: 2, subtype: 0, safi: 1 }));
    expect(peer.status().refreshRequested).toEqual({ ...first, ipv6: clock.date() });
    expect(changes).toBe(2);
    send(encodeNotification(ceaseNotification(4)));
    expect(peer.status().state).not.toBe('Established');
    expect(peer.status().refreshRequested).toEqual({});
  });

  test('a route without a valid next hop is reported instead of announced', () => {
    const peer = establish({ nextHop: {} });
    peer.routes.set([route('192.0.2.1/32'), route('2001:db8::1/128')]);
    clock.advance(0);
    expect(peer.status()).toMatchObject({
      prefixesAdvertised: { ipv4: 1, ipv6: 0 },
      notPossible: [{ prefix: '2001:db8::1/128', why: expect.stringContaining('configure an IPv6 next hop') }],
      notPossibleCount: 1,
    });
  });

  test('BGP-043 a burst pauses while the peer does not read, and then continues without loss', () => {
    const peer = establish();
    types();
    transport.remote.block();
    // Different attributes for each prefix, so that each needs a message of its own.
    peer.routes.set(Array.from({ length: 300 }, (_, med) => ({ ...route(`10.0.${med >> 8}.${med & 255}/32`), med })));
    clock.advance(100);
    expect(types()).toEqual([2]);
    transport.remote.unblock();
    clock.advance(0);
    expect(types()).toHaveLength(299);
    expect(peer.status().prefixesAdvertised.ipv4).toBe(300);
  });

  test('BGP-043 a long burst is split over turns of the event loop', () => {
    const peer = establish();
    types();
    peer.routes.set(Array.from({ length: 200 }, (_, med) => ({ ...route(`10.0.0.${med}/32`), med })));
    let inFirstTurn = 0;
    clock.after(0, () => (inFirstTurn = types().length));
    clock.advance(0);
    expect(inFirstTurn).toBe(64);
    expect(types()).toHaveLength(136);
  });

  test('BGP-043 keepalives are not queued for a peer that does not read', () => {
    const peer = establish();
    types();
    transport.remote.block();
    peer.routes.set([route('192.0.2.1/32')]);
    for (let second = 0; second < 30; second++) {
      send(keepaliveMessage);
      clock.advance(1_000);
    }
    expect(types()).toEqual([2]);
    expect(peer.status().state).toBe('Established');
  });

  test('BGP-044 a peer that never reads again is closed after the send hold time', () => {
    const peer = establish({ holdTime: 300 }, { holdTime: 300 });
    transport.remote.block();
    peer.routes.set([route('192.0.2.1/32')]);
    for (let second = 0; second < 601; second += 50) {
      send(keepaliveMessage);
      clock.advance(50_000);
    }
    expect(peer.status().lastError).toContain('send hold timer expired');
  });

  test.each([0, 3, 90, 600])("BGP-108 with hold time %i s the kernel's user timeout exceeds the send hold timer", (holdTime) => {
    speaker.addPeer({ ...options, holdTime });
    clock.advance(0);
    const { userTimeout } = transport.dialed[0] ?? {};
    // Without a hold time there is no timeout.
    if (holdTime === 0) expect(userTimeout).toBeUndefined();
    else expect(userTimeout).toBeGreaterThan(Math.max(480, 2 * holdTime) * 1000);
  });

  test('BGP-085 received routes and errors that RFC 7606 tolerates are counted', () => {
    const peer = establish();
    send(hex(`${marker} 0038 02 0000 0014 40010100 40020602010000fde9 4003040a000001 180a0102 180a0103 20c0000201`));
    send(hex(`${marker} 002f 02 0000 0014 40010103 40020602010000fde9 4003040a000001 180a0102`));
    expect(peer.status()).toMatchObject({ state: 'Established', prefixesReceived: { ipv4: 3, ipv6: 0 }, counters: { toleratedFaults: 1 } });
  });
});

describe('session timers', () => {
  test('BGP-038 BGP-050 keepalives are sent every third of the hold time, with jitter', () => {
    establish();
    types();
    let count = 0;
    for (let second = 0; second < 27; second++) {
      send(keepaliveMessage);
      clock.advance(1_000);
      count += types().length;
    }
    expect(count).toBe(9);
  });

  test('BGP-041 a silent peer is closed exactly when the hold time has passed', () => {
    const peer = establish();
    clock.advance(8_999);
    expect(peer.status().state).toBe('Established');
    clock.advance(1);
    expect(peer.status()).toMatchObject({ state: 'Idle', lastError: 'hold timer expired: nothing was heard from the peer for 9 s' });
    expect(notifications()).toEqual(['Hold Timer Expired (4/0)']);
    clock.advance(5_000);
    expect(transport.dialed).toHaveLength(2);
  });

  test('BGP-016 with hold time 0 the session sends no keepalives and does not expire', () => {
    const peer = establish({ holdTime: 0 });
    types();
    clock.advance(10 * 3600_000);
    expect(peer.status().state).toBe('Established');
    expect(types()).toEqual([]);
  });

  test('BGP-037 a peer that accepts and sends nothing is closed after four minutes', () => {
    const peer = speaker.addPeer(options);
    clock.advance(239_999);
    expect(peer.status().state).toBe('OpenSent');
    clock.advance(1);
    expect(peer.status().state).toBe('Idle');
    expect(notifications()).toEqual(['Hold Timer Expired (4/0)']);
  });

  test('BGP-048 a stopped speaker leaves no timer and no connection', async () => {
    establish();
    const stopped = speaker.stop();
    clock.advance(1_000);
    await stopped;
    clock.advance(0);
    expect(clock.pending).toBe(0);
    expect(transport.remote.closed).toBe(true);
  });
});

describe('error messages of a session', () => {
  test.each([
    [{ kind: 'refused', detail: '' }, 'connection refused by 10.0.0.1 port 179'],
    [{ kind: 'unreachable', detail: 'no route to its network' }, 'unreachable: no route to its network'],
    [{ kind: 'timeout', detail: '' }, 'no answer from 10.0.0.1 port 179'],
  ] as const)('the failure %j is explained', (failure, words) => {
    transport.answer = failure;
    const peer = speaker.addPeer(options);
    clock.advance(0);
    expect(peer.status()).toMatchObject({ state: 'Active', lastError: expect.stringContaining(words) });
  });

  test('BGP-035 a refused connection is retried every five seconds and reported once', () => {
    transport.answer = { kind: 'refused', detail: '' };
    speaker.addPeer(options);
    clock.advance(61_000);
    expect(transport.dialed).toHaveLength(13);
    expect(statusChanges).toEqual(['Active']);
    expect(logged.filter((line) => line.startsWith('session down'))).toHaveLength(1);
  });

  test('BGP-036 an unanswered dial ends after ten seconds, and the error suspects the password', () => {
    transport.answer = 'silent';
    const peer = speaker.addPeer(options);
    clock.advance(9_999);
    expect(peer.status().state).toBe('Connect');
    clock.advance(1);
    expect(peer.status().lastError).toContain('within 10 s: the TCP MD5 password may differ');
  });

  test("BGP-013 the error names both AS numbers when the peer's is not the configured one", () => {
    const peer = speaker.addPeer({ ...options, peerAsn: 65009 });
    clock.advance(0);
    send(encodeOpen(localOpenMessage(peerIdentity)));
    expect(peer.status().lastError).toContain('peer says AS 65001, configured 65009');
    expect(notifications()).toEqual(['OPEN Message Error: Bad Peer AS (2/2)']);
  });

  test.each([
    ['internal', 64512, 64513],
    ['external', 65001, 64512],
  ] as const)('peerAsn %s accepts AS %i and refuses AS %i', (peerAsn, right, wrong) => {
    const peer = speaker.addPeer({ ...options, peerAsn });
    clock.advance(0);
    send(encodeOpen(localOpenMessage({ ...peerIdentity, localAsn: wrong })));
    expect(peer.status()).toMatchObject({
      state: 'Idle',
      lastError: expect.stringContaining(`peer says AS ${wrong}, configured ${peerAsn}`),
    });
    clock.advance(5_000);
    send(encodeOpen(localOpenMessage({ ...peerIdentity, localAsn: right })), keepaliveMessage);
    expect(peer.status()).toMatchObject({ state: 'Established', peerAsn: right });
  });

  test("BGP-046 the peer's NOTIFICATION is shown decoded with its text, and is not answered", () => {
    const peer = establish();
    send(encodeNotification(ceaseNotification(2, 'switch upgrade')));
    expect(peer.status().lastError).toBe('the peer closed the session: Cease: Administrative Shutdown (6/2): "switch upgrade"');
    expect(notifications()).toEqual([]); // a NOTIFICATION is never answered with another
    expect(statusChanges).toEqual(['Established', 'Idle']);
  });

  test('BGP-035 the pause doubles after each refused OPEN', () => {
    const pauses: number[] = [];
    let last = 0;
    transport.onAccept = (remote) => {
      pauses.push(Math.round((clock.now() - last) / 1_000));
      last = clock.now();
      remote.send(encodeNotification({ code: 2, subcode: 2, data: hex('') }));
    };
    speaker.addPeer(options);
    clock.advance(300_000);
    expect(pauses).toEqual([0, 5, 10, 20, 40, 60, 60, 60]);
  });

  test('BGP-035 a peer that still holds an old connection of ours is retried at the usual pace', () => {
    const pauses: number[] = [];
    let last = 0;
    transport.onAccept = (remote) => {
      pauses.push(Math.round((clock.now() - last) / 1_000));
      last = clock.now();
      remote.send(encodeNotification(ceaseNotification(7)));
    };
    const peer = speaker.addPeer(options);
    clock.advance(31_000);
    expect(pauses).toEqual([0, 5, 5, 5, 5, 5, 5]);
    expect(peer.status().lastError).toMatch(/Collision Resolution \(6\/7\): it still has an earlier connection with us/);
  });

  test('BGP-010 octets after a fatal error are not read', () => {
    const peer = establish();
    types();
    send(Uint8Array.from([...hex(`${marker} 0012 04`), ...keepaliveMessage]));
    expect(peer.status().lastError).toContain('Bad Message Length (1/2)');
    expect(peer.status().counters.received.keepalive).toBe(1);
    expect(sent()).toEqual(['3 01020012']);
  });

  test('BGP-049 a NOTIFICATION is written before the connection is destroyed', () => {
    establish();
    const { remote } = transport;
    remote.send(hex(`${marker} 001d 01 04 0001 0000 00000001 00`));
    clock.advance(0);
    expect(remote).toMatchObject({ ended: true, closed: false });
    expect(notifications()).toEqual(['Finite State Machine Error: Unexpected Message in Established State (5/3)']);
    clock.advance(1_000);
    expect(remote.closed).toBe(true);
  });

  test('a password that the transport cannot set prevents the dial, and the error says so', () => {
    transport.incapable = nodeTransport.cannot({ address: address('10.0.0.1'), port: 179, ttl: 1, password });
    const peer = speaker.addPeer(options);
    clock.advance(0);
    expect(transport.dialed).toHaveLength(0);
    expect(peer.status().lastError).toContain('TCP MD5 password needs');
  });

  test('the password appears in no status, history, log or error', () => {
    transport.answer = { kind: 'refused', detail: '' };
    const peer = speaker.addPeer(options);
    clock.advance(20_000);
    expect(JSON.stringify([peer, peer.status(), peer.history(), logged])).not.toContain(password);
    expect(() => peer.reconfigure({ ...options, password: 'x'.repeat(81) })).toThrow(/^password: a password has 1 to 80 octets$/);
  });
});

describe('changes of options', () => {
  const unchanged = { counters: { established: 1, flaps: 0 }, state: 'Established' };

  test.each<[string, Partial<PeerOptions>]>([
    ['no option', {}],
    ['connectRetryTime', { connectRetryTime: 30 }],
    ['keepaliveTime', { keepaliveTime: 1 }],
    ['shutdownMessage', { shutdownMessage: 'bye' }],
    ['nothing but the form of equal options', { address: address('10.0.0.1'), families: [6, 4] }],
  ])('BGP-053 a change of %s causes no reset and sends nothing', (_, change) => {
    const peer = establish();
    peer.routes.set([route('192.0.2.1/32')]);
    clock.advance(0);
    types();
    peer.reconfigure({ ...options, ...change });
    clock.advance(0);
    expect(peer.status()).toMatchObject(unchanged);
    expect(types()).toEqual([]);
  });

  test('BGP-053 a new nextHop sends the routes again without a reset', () => {
    const peer = establish();
    peer.routes.set([route('192.0.2.1/32')]);
    clock.advance(0);
    types();
    peer.reconfigure({ ...options, nextHop: { ...options.nextHop, ipv4: address('10.0.0.9') } });
    clock.advance(0);
    expect(peer.status()).toMatchObject(unchanged);
    expect(updates()).toEqual([expect.stringContaining('4003040a00000920c0000201')]);
  });

  test('BGP-053 a new keepaliveTime takes effect after the next keepalive', () => {
    const peer = establish();
    peer.reconfigure({ ...options, keepaliveTime: 1 });
    clock.advance(3_000);
    types();
    send(keepaliveMessage);
    clock.advance(5_000);
    expect(types()).toHaveLength(5);
  });

  test.each<[string, Partial<PeerOptions>]>([
    ['holdTime', { holdTime: 30 }],
    ['password', { password: 'another' }],
    ['families', { families: [4] }],
    ['localAsn', { localAsn: 64513 }],
    ['address', { address: address('10.0.0.3') }],
  ])('BGP-053 a change of %s resets the session with 6/6 and opens a new one', async (_, change) => {
    const peer = establish();
    const before = transport.remote;
    peer.reconfigure({ ...options, ...change });
    expect(notifications()).toEqual(['Cease: Other Configuration Change (6/6)']);
    before.close();
    clock.advance(0);
    await Promise.resolve();
    await Promise.resolve();
    clock.advance(0);
    expect(transport.dialed).toHaveLength(2);
    send(encodeOpen(localOpenMessage(peerIdentity)), keepaliveMessage);
    expect(peer.status().state).toBe('Established');
  });

  test('adminDown closes the session with its text, until it is removed from the options', () => {
    const peer = establish();
    peer.reconfigure({ ...options, adminDown: true, shutdownMessage: 'rack moved' });
    expect(notifications()).toEqual(['Cease: Administrative Shutdown (6/2): "rack moved"']);
    clock.advance(3600_000);
    expect(transport.dialed).toHaveLength(1);
    expect(peer.status()).toMatchObject({ state: 'Idle', lastError: 'administratively down' });
    peer.reconfigure(options);
    clock.advance(0);
    expect(transport.dialed).toHaveLength(2);
  });

  test.each<[string, Partial<PeerOptions>, string]>([
    ['passive', { passive: true }, 'ERR_BGP_PASSIVE_UNSUPPORTED'],
    ['holdTime', { holdTime: 2 }, 'ERR_BGP_PEER_OPTIONS'],
    ['localAsn', { localAsn: 0 }, 'ERR_BGP_PEER_OPTIONS'],
    ['peerAsn', { peerAsn: 23456 }, 'ERR_BGP_PEER_OPTIONS'],
    ['routerId', { routerId: address('::1') }, 'ERR_BGP_PEER_OPTIONS'],
    ['sourceAddress', { sourceAddress: address('::1') }, 'ERR_BGP_PEER_OPTIONS'],
    ['families', { families: [] }, 'ERR_BGP_PEER_OPTIONS'],
    ['interface', { address: address('fe80::1') }, 'ERR_BGP_PEER_OPTIONS'],
    ['nextHop', { nextHop: { ipv6: address('10.0.0.1') } }, 'ERR_BGP_PEER_OPTIONS'],
    ['nextHop', { nextHop: { ipv6LinkLocal: address('2001:db8::1') } }, 'ERR_BGP_PEER_OPTIONS'],
  ])('an invalid %s is refused and leaves a running session alone', (field, change, code) => {
    const peer = establish();
    const attempts = [() => peer.reconfigure({ ...options, ...change }), () => speaker.addPeer({ ...options, name: 'other', ...change })];
    for (const attempt of attempts) {
      expect(attempt).toThrow(PeerOptionsError);
      expect(attempt).toThrow(expect.objectContaining({ field, code }));
    }
    expect(peer.status()).toMatchObject(unchanged);
  });
});

describe('speaker life cycle', () => {
  test('BGP-048 stop() sends its text to every peer, and resolves when the connections are closed', async () => {
    establish();
    let stopped = false;
    const stopping = speaker.stop({ message: 'node drained' }).then(() => (stopped = true));
    expect(notifications()).toEqual(['Cease: Administrative Shutdown (6/2): "node drained"']);
    await Promise.resolve();
    expect(stopped).toBe(false);
    transport.remote.close();
    clock.advance(0);
    await stopping;
    expect(() => speaker.addPeer(options)).toThrow(expect.objectContaining({ code: 'ERR_BGP_STOPPED' }));
  });

  test('stop() resolves while a dial is still unanswered', async () => {
    transport.answer = 'silent';
    speaker.addPeer(options);
    clock.advance(0);
    const stopping = speaker.stop();
    clock.advance(0);
    await stopping;
    expect(clock.pending).toBe(0);
  });

  test('a peer removed right after it was added never dials', () => {
    speaker.addPeer(options);
    speaker.removePeer('tor');
    clock.advance(60_000);
    expect(transport.dialed).toHaveLength(0);
  });

  test('a removed peer gets 6/3, and its name can be used again', () => {
    establish();
    speaker.removePeer('tor');
    expect(notifications()).toEqual(['Cease: Peer De-configured (6/3)']);
    speaker.removePeer('tor');
    expect(speaker.addPeer(options).status().state).toBe('Idle');
    expect(() => speaker.addPeer(options)).toThrow(expect.objectContaining({ code: 'ERR_BGP_PEER_EXISTS' }));
  });

  test('BGP-055 a thousand starts and ends leak neither timers nor connections', async () => {
    for (let i = 0; i < 1000; i++) {
      speaker.addPeer(options);
      clock.advance(0);
      speaker.removePeer('tor');
      transport.remote.close();
      clock.advance(0);
    }
    await speaker.stop();
    expect(clock.pending).toBe(0);
    expect(transport.remotes.every(({ closed }) => closed)).toBe(true);
  });
});
