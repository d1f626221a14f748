import { beforeEach, describe, expect, test } from 'vitest';
import { address } from '../../../../src/net/address.ts';
import { VirtualClock } from '../../../../src/system/virtual-clock.ts';
import { GRACEFUL_SHUTDOWN } from '../../../../src/bgp/wire/attributes/well-known-communities.ts';
import { localOpenMessage, type LocalOpen } from '../../../../src/bgp/negotiation/local-open.ts';
import { Speaker, type Peer, type PeerOptions, type Route } from '../../../../src/bgp/index.ts';
import { MemoryTransport, type RemoteEnd } from '../../../../src/bgp/transport/memory-transport.ts';
import { keepaliveMessage } from '../../../../src/bgp/wire/header.ts';
import { encodeOpen } from '../../../../src/bgp/wire/open.ts';
import { encodeRouteRefresh } from '../../../../src/bgp/wire/route-refresh.ts';
import { messages, toHex } from '../hex.ts';
import { host, nextHops, formatFor, Receiver } from './receiver.ts';

const session = formatFor({ extendedMessages: true }, 64512);
const options: PeerOptions = {
  name: 'tor',
  address: address('10.0.0.1'),
  localAsn: 64512,
  peerAsn: 65001,
  routerId: address('10.0.0.2'),
  connectRetryTime: 1,
  families: [4, 6],
  nextHop: nextHops,
};
const identity: LocalOpen = { localAsn: 65001, peerAsn: 64512, routerId: 7, holdTime: 90, families: [4, 6], overIpv6: false };
const endOfRibs = new Set(['00000000', '00000006800f03000201']);

let clock: VirtualClock;
let transport: MemoryTransport;
let speaker: Speaker;

beforeEach(() => {
  clock = new VirtualClock();
  transport = new MemoryTransport(clock);
  transport.localAddress = address('10.0.0.2');
  speaker = new Speaker({ clock, random: () => 0.999_999, transport });
});

/** A router at the other end of the latest connection; `receiver.table` holds the routes it was sent. */
class Router {
  receiver = new Receiver();
  readonly remote: RemoteEnd;

  constructor() {
    this.remote = transport.remote;
    for (const part of [encodeOpen(localOpenMessage(identity)), keepaliveMessage]) this.remote.send(part);
    clock.advance(0);
  }

  /** Returns the types of the messages since the last call, with "end" for an End-of-RIB. */
  read(): string[] {
    const order: string[] = [];
    const bytes = this.remote.take();
    let offset = 0;
    for (const { type, body, length } of messages(bytes)) {
      const ends = type === 2 && endOfRibs.has(toHex(body));
      order.push(ends ? 'end' : String(type));
      if (type === 2 && !ends) this.receiver.receive(bytes.subarray(offset, offset + length), session);
      offset += length;
    }
    return order;
  }
}

function addPeer(change: Partial<PeerOptions> = {}): Peer {
  const peer = speaker.addPeer({ ...options, ...change });
  clock.advance(0);
  return peer;
}

const routes = (count: number, more: Partial<Route> = {}): Route[] =>
  Array.from({ length: count }, (_, n) => ({ prefix: host(n, n % 2 === 0 ? 4 : 6), ...more }));

describe('a session and its Adj-RIB-Out', () => {
  test('BGP-097 every new session sends all routes first, then End-of-RIB for each family', () => {
    const peer = addPeer();
    peer.routes.set(routes(10));
    const first = new Router();
    expect(first.read()).toEqual(['1', '4', '2', '2', 'end', 'end']);
    first.remote.close();
    clock.advance(3000);
    const second = new Router();
    expect(second.read()).toEqual(['1', '4', '2', '2', 'end', 'end']);
    expect(second.receiver.table).toEqual(first.receiver.table);
    expect(second.receiver.table.size).toBe(10);
  });

  test('BGP-097 BGP-099 a session without routes sends only End-of-RIB', () => {
    addPeer().routes.set([]);
    expect(new Router().read()).toEqual(['1', '4', 'end', 'end']);
  });

  test('BGP-098 a new session sends merged changes from the downtime and no withdrawn route', () => {
    const peer = addPeer();
    peer.routes.set(routes(10));
    const first = new Router();
    first.read();
    first.remote.close();
    clock.advance(0);
    peer.routes.update({ announce: [{ prefix: host(100) }], withdraw: [host(0)] });
    peer.routes.update({ announce: [{ prefix: host(2), med: 7 }], withdraw: [host(100)] });
    clock.advance(3000);
    const second = new Router();
    second.read();
    expect(second.receiver).toMatchObject({ announced: 9, withdrawn: 0 });
    expect(second.receiver.table.has('10.0.0.0/32')).toBe(false);
    expect(second.receiver.table.get('10.0.0.2/32')).toMatch(/^med 7/);
  });

  test('BGP-106 the first route is sent on Established, and a change in the next event loop turn', () => {
    const peer = addPeer();
    peer.routes.set(routes(1));
    const before = clock.now();
    const router = new Router();
    expect(router.read()).toContain('2');
    peer.routes.update({ announce: [{ prefix: host(3) }] });
    clock.advance(0);
    expect(router.read()).toEqual(['2']);
    expect(clock.now()).toBe(before);
  });

  test('BGP-095 changes in one turn are sent together, without routes withdrawn in that turn', () => {
    const peer = addPeer();
    peer.routes.set([]);
    const router = new Router();
    router.read();
    for (let n = 0; n < 100; n++) peer.routes.update({ announce: [{ prefix: host(n) }] });
    for (let n = 0; n < 50; n++) peer.routes.update({ withdraw: [host(n)] });
    clock.advance(0);
    expect(router.read()).toEqual(['2']);
    expect(router.receiver).toMatchObject({ announced: 50, withdrawn: 0 });
  });

  test('BGP-101 a drain sends GRACEFUL_SHUTDOWN, then withdrawals, then the NOTIFICATION: one burst each', () => {
    const peer = addPeer();
    peer.routes.set(routes(200));
    const router = new Router();
    router.read();
    peer.routes.set(routes(200, { communities: [GRACEFUL_SHUTDOWN] }));
    clock.advance(0);
    expect(router.read()).toEqual(['2', '2']);
    expect(router.receiver).toMatchObject({ announced: 400, withdrawn: 0 });
    expect([...router.receiver.table.values()].every((text) => text.endsWith(' ffff0000'))).toBe(true);
    peer.routes.set([]);
    clock.advance(0);
    expect(router.read()).toEqual(['2', '2']);
    expect(router.receiver.table.size).toBe(0);
    speaker.removePeer('tor', 'drained');
    clock.advance(0);
    expect(router.read()).toEqual(['3']);
  });

  test('BGP-083 a refresh sends all routes of the family again', () => {
    const peer = addPeer();
    peer.routes.set(routes(10));
    const router = new Router();
    router.read();
    router.remote.send(encodeRouteRefresh({ afi: 2, subtype: 0, safi: 1 }));
    clock.advance(0);
    expect(router.read().filter((type) => type === '2')).toHaveLength(1);
    expect(router.receiver).toMatchObject({ announced: 15, withdrawn: 0 });
  });

  test('BGP-043 a peer that does not read gets the rest of a burst only when it reads again', () => {
    const peer = addPeer({ holdTime: 9 });
    const router = new Router();
    router.read();
    // One UPDATE each, enough for three turns of the event loop.
    peer.routes.set(Array.from({ length: 150 }, (_, n) => ({ prefix: host(n), med: n })));
    router.remote.block();
    clock.advance(0);
    const soFar = router.read().length;
    expect(soFar).toBeLessThan(70);
    clock.advance(4000);
    expect(router.read().length).toBeLessThan(5);
    router.remote.unblock();
    clock.advance(0);
    router.read();
    expect(router.receiver.table.size).toBe(150);
  });

  test('peers with equal sessions get the same routes, even when one of them reads slowly', () => {
    const peers = ['a', 'b', 'c'].map((name, n) => speaker.addPeer({ ...options, name, address: address(`10.0.0.${n + 10}`) }));
    clock.advance(0);
    const routers = transport.remotes.map((remote) => {
      for (const part of [encodeOpen(localOpenMessage(identity)), keepaliveMessage]) remote.send(part);
      clock.advance(0);
      return remote;
    });
    const receivers = routers.map(() => new Receiver());
    const readAll = (): void => {
      for (const [n, remote] of routers.entries()) {
        for (const { type, body } of messages(remote.take())) {
          if (type !== 2 || endOfRibs.has(toHex(body))) continue;
          const header = Uint8Array.from([...Array<number>(16).fill(255), (body.length + 19) >> 8, (body.length + 19) & 255, 2]);
          receivers[n]?.receive(Uint8Array.from([...header, ...body]), session);
        }
      }
    };
    routers[1]?.block();
    for (const count of [3000, 10, 2000, 0, 500]) {
      for (const peer of peers) peer.routes.set(routes(count, { med: count }));
      clock.advance(0);
      readAll();
    }
    routers[1]?.unblock();
    clock.advance(0);
    readAll();
    expect(receivers.map(({ table }) => table.size)).toEqual([500, 500, 500]);
    expect(receivers[1]?.table).toEqual(receivers[0]?.table);
  });
});
