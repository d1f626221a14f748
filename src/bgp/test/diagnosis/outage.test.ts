import { beforeEach, describe, expect, test } from 'vitest';
import { Speaker, type OutageStatus, type Peer, type PeerOptions } from '../../../../src/bgp/index.ts';
import { localOpenMessage, type LocalOpen } from '../../../../src/bgp/negotiation/local-open.ts';
import { MemoryTransport, type Answer } from '../../../../src/bgp/transport/memory-transport.ts';
import { keepaliveMessage } from '../../../../src/bgp/wire/header.ts';
import { ceaseNotification, encodeNotification } from '../../../../src/bgp/wire/notification.ts';
import { noData } from '../../../../src/bgp/wire/fault.ts';
import { encodeOpen } from '../../../../src/bgp/wire/open.ts';
import { address } from '../../../../src/net/address.ts';
import { VirtualClock } from '../../../../src/system/virtual-clock.ts';
import { routerIdentity, routerOptions } from '../scripted-router.ts';

const refused: Answer = { kind: 'refused', detail: '' };
const none = { missing: 0, unexpected: 0, wrong: 0, belowMinimumTtl: 0 };
const asnRefused = { code: 2, subcode: 2, data: noData };

let clock: VirtualClock;
let transport: MemoryTransport;
let peer: Peer;

beforeEach(() => {
  clock = new VirtualClock();
  transport = new MemoryTransport(clock);
  transport.localAddress = address('10.0.0.2');
});

function add(change: Partial<PeerOptions> = {}): void {
  const speaker = new Speaker({ clock, random: () => 0.999_999, transport });
  peer = speaker.addPeer({ ...routerOptions, ...change });
  clock.advance(0);
}

function send(...parts: readonly Uint8Array[]): void {
  for (const part of parts) transport.remote.send(part);
  clock.advance(0);
}

function open(identity: Partial<LocalOpen> = {}): void {
  send(encodeOpen(localOpenMessage({ ...routerIdentity, ...identity })), keepaliveMessage);
}

function establish(change: Partial<PeerOptions> = {}): void {
  add(change);
  open();
  expect(peer.status().state).toBe('Established');
}

const outage = (): OutageStatus | undefined => peer.status().outage;
const cause = (): unknown => outage()?.evidence;

/** Ends the session by silence for the hold time, then lets the next connection attempts run into `answer`. */
function expireHoldTimer(answer: Answer): void {
  transport.answer = answer;
  clock.advance(9_000);
  clock.advance(60_000);
}

/** Lets the closed connection end, and then the next attempts fail. */
async function settle(): Promise<void> {
  for (let second = 0; second < 60; second++) {
    clock.advance(1_000);
    await Promise.resolve();
    await Promise.resolve();
  }
}

describe('the first cause of an outage', () => {
  test('the hold timer stays the cause when later connection attempts time out', () => {
    establish();
    const expired = new Date(clock.date().getTime() + 9_000);
    expireHoldTimer('silent');
    expect(outage()).toEqual({
      evidence: { kind: 'holdTimer', by: 'us', seconds: 9 },
      text: 'hold timer expired: nothing was heard from the peer for 9 s',
      since: expired,
      wasEstablished: true,
      latest: 'no answer from 10.0.0.1 port 179 within 10 s: packets are dropped on the way, or it is down',
    });
    expect(peer.status().lastError).toBe(
      `hold timer expired: nothing was heard from the peer for 9 s (at ${expired.toISOString()}); since then: ` +
        'no answer from 10.0.0.1 port 179 within 10 s: packets are dropped on the way, or it is down',
    );
  });

  test("the peer's own expired hold timer stays the cause when attempts time out or are refused", () => {
    establish();
    transport.answer = 'silent';
    send(encodeNotification({ code: 4, subcode: 0, data: noData }));
    clock.advance(60_000);
    expect(cause()).toEqual({ kind: 'holdTimer', by: 'peer' });
    transport.answer = refused;
    clock.advance(60_000);
    expect(outage()).toMatchObject({ evidence: { kind: 'holdTimer', by: 'peer' }, latest: expect.stringContaining('refused') });
  });

  test.each<[string, Answer, object]>([
    ['a refused connection', refused, { kind: 'refused', atOnce: false }],
    ['a reset connection', { kind: 'reset', detail: '' }, { kind: 'refused', atOnce: false }],
  ])('%s replaces silence as the cause', (_, answer, evidence) => {
    establish();
    expireHoldTimer('silent');
    transport.answer = answer;
    clock.advance(20_000);
    expect(cause()).toEqual(evidence);
    expect(outage()).not.toHaveProperty('latest');
  });

  test('a NOTIFICATION and an OPEN with another AS replace the cause, silence after them does not', () => {
    establish();
    expireHoldTimer('silent');
    transport.answer = 'accept';
    transport.onAccept = (remote) => remote.send(encodeNotification(ceaseNotification(2, 'switch upgrade')));
    clock.advance(20_000);
    expect(cause()).toEqual({ kind: 'cease', subcode: 2, name: 'Cease: Administrative Shutdown (6/2)', text: 'switch upgrade' });
    transport.onAccept = (remote) => remote.send(encodeOpen(localOpenMessage({ ...routerIdentity, localAsn: 65009 })));
    clock.advance(70_000);
    expect(cause()).toEqual({ kind: 'asn', by: 'us', said: 65009 });
    transport.onAccept = undefined;
    transport.answer = 'silent';
    clock.advance(120_000);
    expect(outage()).toMatchObject({ evidence: { kind: 'asn', by: 'us', said: 65009 }, latest: expect.stringContaining('no answer') });
  });

  test('two reasons of the peer that alternate do not replace each other', () => {
    add();
    let attempt = 0;
    transport.onAccept = (remote) => remote.send(encodeNotification(attempt++ % 2 === 0 ? asnRefused : ceaseNotification(5)));
    transport.remote.send(encodeNotification(asnRefused));
    clock.advance(5_100);
    const seen = new Set<string>();
    for (let second = 0; second < 600; second++) {
      clock.advance(1_000);
      if (attempt > 2) seen.add(JSON.stringify(cause()));
    }
    expect(attempt).toBeGreaterThan(6);
    expect(seen.size).toBe(1);
  });

  test('an established session has no outage, and keeps in words why it was down', () => {
    establish();
    expireHoldTimer('silent');
    transport.answer = 'accept';
    clock.advance(15_000);
    open();
    expect(peer.status()).toMatchObject({
      state: 'Established',
      lastError: expect.stringContaining('hold timer expired'),
      localAddress: '10.0.0.2',
    });
    expect(peer.status()).not.toHaveProperty('outage');
  });

  test('changed options end the outage: the next problem is the cause', async () => {
    establish({ peerAsn: 'external' });
    expireHoldTimer('silent');
    peer.reconfigure({ ...routerOptions, peerAsn: 65001 });
    expect(outage()).toBeUndefined();
    transport.answer = refused;
    await settle();
    expect(outage()).toMatchObject({ evidence: { kind: 'refused' } });
  });

  test('the loss of the path by BFD is evidence of its own', () => {
    establish();
    peer.pathLost();
    clock.advance(100);
    expect(cause()).toEqual({ kind: 'pathLost' });
  });
});

describe('the guess of a TCP MD5 password', () => {
  const guess = /MD5|TTL/;

  test('a peer that never answered may demand a password', () => {
    transport.answer = 'silent';
    add();
    clock.advance(10_000);
    expect(peer.status().lastError).toMatch(guess);
    expect(cause()).toEqual({ kind: 'silent' });
  });

  test.each<[string, Partial<PeerOptions>]>([
    ['without a password', {}],
    ['with the same password', { password: 'secret' }],
  ])('a peer that was established %s is not suspected of demanding another', (_, change) => {
    establish(change);
    expireHoldTimer('silent');
    expect(peer.status().lastError).not.toMatch(guess);
    transport.answer = { kind: 'timeout', detail: '' };
    clock.advance(60_000);
    expect(peer.status().lastError).not.toMatch(guess);
  });

  test('another password makes the guess possible again', async () => {
    establish({ password: 'secret' });
    transport.answer = 'silent';
    peer.reconfigure({ ...routerOptions, password: 'other' });
    await settle();
    expect(peer.status().lastError).toMatch(/password may differ/);
  });

  test('segments with a wrong signature, counted by the kernel, replace silence as the cause', () => {
    transport.drops = none;
    establish({ password: 'secret' });
    transport.answer = 'silent';
    clock.advance(9_000);
    for (let second = 0; second < 60; second++) {
      transport.drops = { ...none, wrong: second };
      clock.advance(1_000);
    }
    expect(outage()).toMatchObject({
      evidence: { kind: 'dropped', finding: 'wrongSignature' },
      text: expect.stringMatching(/password differs .* dropped 1 segments/),
    });
  });
});

describe('evidence of each refusal', () => {
  test.each<[string, Uint8Array, object]>([
    ['our AS number', encodeNotification(asnRefused), { kind: 'asn', by: 'peer' }],
    ['our router ID', encodeNotification({ ...asnRefused, subcode: 3 }), { kind: 'routerId', by: 'peer', detail: '' }],
    ['our hold time', encodeNotification({ ...asnRefused, subcode: 6 }), { kind: 'holdTime', by: 'peer', detail: '' }],
    ['our families', encodeNotification({ ...asnRefused, subcode: 7 }), { kind: 'families', by: 'peer', detail: '' }],
    ['too many prefixes', encodeNotification(ceaseNotification(1)), expect.objectContaining({ kind: 'cease', subcode: 1 })],
    ['our version', encodeNotification({ ...asnRefused, subcode: 1 }), expect.objectContaining({ kind: 'protocol', by: 'peer' })],
  ])('the peer refuses %s', (_, message, evidence) => {
    add();
    send(message);
    expect(cause()).toEqual(evidence);
    expect(peer.status().localAddress).toBe('10.0.0.2');
  });

  test.each<[string, Partial<LocalOpen>, object]>([
    ['AS number of four octets', { localAsn: 4_200_000_001 }, { kind: 'asn', by: 'us', said: 4_200_000_001 }],
    ['hold time', { holdTime: 2 }, expect.objectContaining({ kind: 'holdTime', by: 'us' })],
    ['families', { families: [6] }, expect.objectContaining({ kind: 'families', by: 'us' })],
  ])("we refuse the peer's %s", (_, identity, evidence) => {
    add({ families: [4] });
    open(identity);
    expect(cause()).toEqual(evidence);
  });

  test.each<[string, Answer, object]>([
    ['unreachable', { kind: 'unreachable', detail: 'no route to its network' }, { kind: 'unreachable', detail: 'no route to its network' }],
    ['silent', { kind: 'timeout', detail: '' }, { kind: 'silent' }],
    ['local', { kind: 'denied', detail: 'forbidden' }, { kind: 'local', detail: 'forbidden' }],
  ])('a dial fails: %s', (_, answer, evidence) => {
    transport.answer = answer;
    add();
    expect(cause()).toEqual(evidence);
  });

  test('a peer that closes the connection before its OPEN refuses it', () => {
    add();
    transport.remote.close();
    clock.advance(0);
    expect(cause()).toEqual({ kind: 'refused', atOnce: true });
  });
});
