import { beforeEach, expect, test, vi } from 'vitest';
import { lingerMilliseconds, maximumConnections } from '../../../../src/bgp/limits.ts';
import { localOpenMessage } from '../../../../src/bgp/negotiation/local-open.ts';
import { Speaker, type Peer, type PeerOptions } from '../../../../src/bgp/index.ts';
import { MemoryTransport, type RemoteEnd } from '../../../../src/bgp/transport/memory-transport.ts';
import { keepaliveMessage } from '../../../../src/bgp/wire/header.ts';
import { encodeOpen } from '../../../../src/bgp/wire/open.ts';
import { address } from '../../../../src/net/address.ts';
import { VirtualClock } from '../../../../src/system/virtual-clock.ts';
import { messages } from '../hex.ts';
import { notificationsIn, routerIdentity, routerOptions } from '../scripted-router.ts';

const collision = 'Cease: Connection Collision Resolution (6/7)';

let clock: VirtualClock;
let transport: MemoryTransport;
let speaker: Speaker;

beforeEach(() => {
  clock = new VirtualClock();
  transport = new MemoryTransport(clock);
  speaker = new Speaker({ clock, random: () => 0.999_999, transport, listen: [{}] });
});

function start(change: Partial<PeerOptions> = {}): Peer {
  const peer = speaker.addPeer({ ...routerOptions, ...change });
  clock.advance(0);
  return peer;
}

function connect(): RemoteEnd {
  const remote = transport.connectFrom(address('10.0.0.1'));
  if (remote === undefined) throw new Error('turned away');
  clock.advance(0);
  return remote;
}

function send(remote: RemoteEnd, ...parts: readonly Uint8Array[]): void {
  for (const part of parts) remote.send(part);
  clock.advance(0);
}

const open = encodeOpen(localOpenMessage(routerIdentity));
const notifications = (remote: RemoteEnd): string[] => notificationsIn(remote.take());

test('BGP-059 an established incoming connection ends our own dial at once', () => {
  transport.answer = 'silent';
  const peer = start();
  const remote = connect();
  send(remote, open, keepaliveMessage);
  expect(peer.status().state).toBe('Established');
  clock.advance(30_000 / 4);
  expect(peer.status().counters.connectAttempts).toBe(1);
  expect(peer.history().some(({ event }) => event === 'connectExpired')).toBe(false);
});

test("BGP-057 our connection in OpenSent is closed when the peer's connection is established", () => {
  const peer = start();
  const ours = transport.remote;
  const theirs = connect();
  send(theirs, open);
  expect(notifications(ours)).toEqual([]);
  send(theirs, keepaliveMessage);
  expect(peer.status().state).toBe('Established');
  expect(notifications(ours)).toEqual([collision]);
  expect(ours.ended).toBe(true);
});

test("a new incoming connection replaces the peer's earlier one, before and after OPEN", () => {
  const peer = start({ passive: true });
  const first = connect();
  const second = connect();
  const third = connect();
  expect(notifications(second)).toEqual([collision]);
  send(first, open);
  send(third, open);
  expect(notifications(first)).toEqual([collision]);
  send(third, keepaliveMessage);
  expect(peer.status()).toMatchObject({ state: 'Established', counters: { flaps: 0 } });
  expect(notifications(third)).toEqual([]);
});

test('the end of an old connection does not affect the next one', () => {
  const peer = start({ connectRetryTime: 0.1 });
  const first = transport.remote;
  send(first, open, keepaliveMessage);
  send(first, new Uint8Array(19)); // a bad marker
  expect(peer.status().state).toBe('Idle');
  clock.advance(150);
  const second = transport.remote;
  expect(second).not.toBe(first);
  first.close();
  clock.advance(0);
  send(second, open, keepaliveMessage);
  expect(peer.status().state).toBe('Established');
});

test('messages on the connection that lost the collision are ignored', () => {
  const peer = start();
  const ours = transport.remote;
  const theirs = connect();
  send(theirs, open, keepaliveMessage);
  send(ours, new Uint8Array(19), open, keepaliveMessage);
  clock.advance(2_000);
  expect(peer.status()).toMatchObject({ state: 'Established', counters: { flaps: 0, established: 1 } });
  expect(peer.status().lastError).toBeUndefined();
});

test('a failed connection leaves the other one alone, and status() does not show its error', () => {
  const peer = start();
  const ours = transport.remote;
  const theirs = connect();
  send(theirs, open);
  ours.close({ kind: 'reset', detail: 'reset by the peer' });
  clock.advance(0);
  send(theirs, keepaliveMessage);
  expect(peer.status().state).toBe('Established');
  expect(peer.status().lastError).toBeUndefined();
  clock.advance(3_000);
  expect(peer.status().counters.connectAttempts).toBe(1);
});

test('malformed messages on a second connection emit no event for an established session', () => {
  const peer = start();
  const emitted: string[] = [];
  peer.on('down', ({ reason }) => emitted.push(reason));
  speaker.onChange(() => emitted.push('changed'));
  send(transport.remote, open, keepaliveMessage);
  expect(emitted).toEqual(['changed']);
  for (const nonsense of [new Uint8Array(19), encodeOpen(localOpenMessage({ ...routerIdentity, localAsn: 65002 }))]) {
    const second = connect();
    send(second, nonsense);
    expect(second.ended).toBe(true);
  }
  expect(emitted).toEqual(['changed']);
  expect(peer.status()).toMatchObject({ state: 'Established', counters: { flaps: 0 } });
  expect(peer.status().lastError).toBeUndefined();
  expect(peer.history().filter(({ event }) => event === 'fault')).toHaveLength(1);
});

test('an error thrown by a speaker listener reaches neither the session nor the next listener', () => {
  const later = vi.spyOn(globalThis, 'queueMicrotask').mockImplementation(() => {});
  const states: string[] = [];
  speaker.onChange(() => {
    throw new Error('a defect of the program');
  });
  speaker.onChange((peer) => states.push(peer.status().state));
  const peer = start();
  connect();
  send(transport.remotes[0] as RemoteEnd, open, keepaliveMessage);
  expect(states).toEqual(['Established']);
  expect(peer.history().at(-1)).toMatchObject({ event: 'keepalive', to: 'Established' });
  expect(later).toHaveBeenCalledTimes(1);
  expect(later.mock.calls[0]?.[0]).toThrow('a defect of the program');
  later.mockRestore();
});

test('a peer that keeps connecting has a bounded number of connections, and its session stays', () => {
  const peer = start();
  send(transport.remote, open, keepaliveMessage);
  const flood = (): number => Array.from({ length: 100 }, () => transport.connectFrom(address('10.0.0.1'))).filter(Boolean).length;
  expect(flood()).toBe(maximumConnections - 1);
  clock.advance(0);
  expect(flood()).toBe(0);
  send(transport.remotes[0] as RemoteEnd, keepaliveMessage);
  clock.advance(lingerMilliseconds);
  clock.advance(0);
  // Two connections are left: the session's own and the last of the others.
  expect(flood()).toBe(maximumConnections - 2);
  expect(peer.status()).toMatchObject({ state: 'Established', counters: { flaps: 0 } });
});

test('BGP-060 an old session is probed with a KEEPALIVE on a collision, also with hold time 0', () => {
  start({ holdTime: 0 });
  const first = transport.remote;
  send(first, open, keepaliveMessage);
  clock.advance(60_000);
  first.take();
  for (let i = 0; i < 3; i++) {
    const second = connect();
    send(second, open);
    expect(notifications(second)).toEqual([collision]);
  }
  // A peer that lost power does not know the old connection, and its kernel answers this KEEPALIVE with a reset.
  expect(messages(first.take()).map(({ type }) => type)).toEqual([4]);
});
