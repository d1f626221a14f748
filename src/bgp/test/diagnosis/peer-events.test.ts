import { beforeEach, expect, test } from 'vitest';
import { localOpenMessage } from '../../../../src/bgp/negotiation/local-open.ts';
import { Speaker, type Peer, type StreamedEvent } from '../../../../src/bgp/index.ts';
import { MemoryTransport } from '../../../../src/bgp/transport/memory-transport.ts';
import { keepaliveMessage } from '../../../../src/bgp/wire/header.ts';
import { ceaseNotification, encodeNotification } from '../../../../src/bgp/wire/notification.ts';
import { encodeOpen } from '../../../../src/bgp/wire/open.ts';
import { encodeRouteRefresh } from '../../../../src/bgp/wire/route-refresh.ts';
import { encodeEndOfRib } from '../../../../src/bgp/wire/update.ts';
import { address } from '../../../../src/net/address.ts';
import { VirtualClock } from '../../../../src/system/virtual-clock.ts';
import { notificationsIn, routerIdentity, routerOptions } from '../scripted-router.ts';

let clock: VirtualClock;
let transport: MemoryTransport;
let speaker: Speaker;
let peer: Peer;

beforeEach(() => {
  clock = new VirtualClock();
  transport = new MemoryTransport(clock);
  transport.localAddress = address('10.0.0.2');
  speaker = new Speaker({ clock, random: () => 0.5, transport });
  peer = speaker.addPeer(routerOptions);
});

function send(...parts: readonly Uint8Array[]): void {
  for (const part of parts) transport.remote.send(part);
  clock.advance(0);
}

function establish(): void {
  clock.advance(0);
  send(encodeOpen(localOpenMessage(routerIdentity)), keepaliveMessage);
}

async function collect(stream: AsyncIterable<StreamedEvent>): Promise<string[]> {
  const emitted: string[] = [];
  for await (const event of stream) emitted.push(describeEvent(event));
  return emitted;
}

function describeEvent(event: StreamedEvent): string {
  switch (event.type) {
    case 'state':
      return `${event.from} > ${event.to}`;
    case 'established':
      return `established, hold time ${event.negotiated.holdTime} s with ${event.negotiated.peerRouterId}`;
    case 'down':
      return `down: ${event.reason} (${event.problem.kind})`;
    case 'notification':
      return `${event.direction} ${event.name}${event.text === undefined ? '' : `: ${event.text}`}`;
    case 'refresh':
    case 'endOfRib':
      return `${event.type} ${event.family}`;
    case 'routes':
      return `routes ${event.changes.length}`;
    case 'lost':
      return `lost ${event.count}`;
  }
}

test('a peer emits the events of a whole session in order', async () => {
  const stream = peer.events();
  establish();
  send(encodeEndOfRib(4), encodeRouteRefresh({ afi: 1, subtype: 0, safi: 1 }));
  send(encodeNotification(ceaseNotification(2, 'maintenance')));
  speaker.removePeer('tor');
  expect(await collect(stream)).toEqual([
    'Idle > Connect',
    'Connect > OpenSent',
    'OpenSent > OpenConfirm',
    'OpenConfirm > Established',
    'established, hold time 9 s with 0.0.0.7',
    'endOfRib 4',
    'refresh 4',
    'received Cease: Administrative Shutdown (6/2): maintenance',
    'Established > Idle',
    'down: the peer closed the session: Cease: Administrative Shutdown (6/2): "maintenance" (received)',
    expect.stringContaining('down: closed by us'),
  ]);
});

test('a sent NOTIFICATION emits an event, and status() is up to date when a listener runs', () => {
  establish();
  const emitted: unknown[] = [];
  peer.on('notification', (event) => emitted.push(event));
  peer.on('state', ({ to }) => emitted.push([to, peer.status().state]));
  peer.on('down', ({ reason }) => emitted.push(reason === peer.status().lastError));
  clock.advance(9_000);
  expect(emitted).toEqual([
    { type: 'notification', direction: 'sent', code: 4, subcode: 0, name: 'Hold Timer Expired (4/0)' },
    ['Idle', 'Idle'],
    true,
  ]);
});

test('a repeated failure emits one down event', () => {
  transport.answer = { kind: 'refused', detail: 'connection refused' };
  const reasons: string[] = [];
  peer.on('down', ({ reason }) => reasons.push(reason));
  clock.advance(60_000);
  expect(transport.dialed.length).toBeGreaterThan(5);
  expect(reasons).toHaveLength(1);
});

test('established() waits for the session, and for the next one after a loss', async () => {
  const first = peer.established();
  establish();
  expect(await first).toMatchObject({ holdTime: 9, peerAsn: 65001, peerRouterId: '0.0.0.7', families: [4] });
  transport.remote.close();
  clock.advance(0);
  let again = false;
  const second = peer.established().then(() => (again = true));
  await Promise.resolve();
  expect(again).toBe(false);
  clock.advance(5_000);
  send(encodeOpen(localOpenMessage(routerIdentity)), keepaliveMessage);
  expect(await second).toBe(true);
});

test('a listener may remove the peer during an event', () => {
  peer.on('established', () => speaker.removePeer('tor', 'enough'));
  establish();
  expect(speaker.peers).toEqual([]);
  expect(lastNotification()).toBe('Cease: Administrative Shutdown (6/2): "enough"');
});

test('await using removes a peer, and stops a speaker, at the end of the block', async () => {
  establish();
  {
    await using tor = peer;
    expect(tor.status().state).toBe('Established');
    setImmediate(() => transport.remote.close());
    setImmediate(() => clock.advance(0));
  }
  expect(lastNotification()).toBe('Cease: Peer De-configured (6/3)');
  expect(speaker.peers).toEqual([]);
  await expect(peer.established()).rejects.toMatchObject({ code: 'ERR_BGP_PEER_CLOSED' });
  {
    await using same = speaker;
    expect(same.peers).toEqual([]);
  }
  expect(() => speaker.addPeer({ name: 'x', localAsn: 1, peerAsn: 2, routerId: address('10.0.0.2') })).toThrow('stopped');
});

test('a second remove() does not remove a new peer that has the same name', async () => {
  const other = { name: 'tor', address: address('10.0.0.3'), localAsn: 64512, peerAsn: 65001, routerId: address('10.0.0.2') };
  await peer.remove();
  const next = speaker.addPeer(other);
  await peer.remove();
  expect(speaker.peer('tor')).toBe(next);
});

function lastNotification(): string | undefined {
  return notificationsIn(transport.remote.take()).at(-1);
}
