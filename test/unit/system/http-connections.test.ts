import assert from 'node:assert';
import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import fc from 'fast-check';
import { afterEach, describe, expect, test } from 'vitest';
import { HttpConnections, type Connection, type EndCause, isOwn, networkOf } from '../../../src/system/http/http-connections.ts';

const bounds = { perAddress: 3, own: 2, total: 12, totalOwn: 3, headerMilliseconds: 60_000 };

const sockets = new Set<FakeSocket>();

// An open connection has a timer.
afterEach(() => {
  for (const socket of sockets) socket.emit('close');
  sockets.clear();
});

class FakeSocket extends EventEmitter {
  readonly localAddress = '10.0.0.1';
  readonly remoteAddress: string;
  destroyed = false;

  constructor(remoteAddress: string) {
    super();
    this.remoteAddress = remoteAddress;
    sockets.add(this);
  }

  resetAndDestroy(): void {
    this.destroyed = true;
    this.emit('close');
  }
}

class Port {
  readonly #admit: (socket: Socket) => Connection | undefined;

  constructor(connections: HttpConnections, maximum = 8) {
    this.#admit = connections.ofListener(maximum, 60_000);
  }

  open(from: string): { readonly socket: FakeSocket; readonly connection: Connection } {
    const socket = new FakeSocket(from);
    const connection = this.#admit(socket as unknown as Socket);
    assert(connection);
    return { socket, connection };
  }
}

function server(): { readonly port: Port; readonly other: Port; readonly ended: readonly EndCause[] } {
  const ended: EndCause[] = [];
  const connections = new HttpConnections(bounds, (cause) => ended.push(cause));
  return { port: new Port(connections), other: new Port(connections), ended };
}

describe('connections of one listener', () => {
  test('an address with too many loses its oldest incomplete one, and no other address loses any', () => {
    const { port, ended } = server();
    const other = port.open('10.9.0.2');
    const busy = port.open('10.9.0.1');
    busy.connection.requestBegan();
    const [first, ...later] = [1, 2, 3].map(() => port.open('10.9.0.1'));
    expect([other, busy, ...later].map(({ socket }) => socket.destroyed)).toEqual([false, false, false, false]);
    expect(first?.socket.destroyed).toBe(true);
    expect(ended).toEqual(['address']);
  });

  test('a subnet whose every address has a connection does not close that of another subnet', () => {
    const { port } = server();
    const probe = port.open('10.8.0.1');
    for (let n = 0; n < 50; n++) port.open(`10.9.0.${n}`);
    const six = port.open('fd00:8::1');
    for (let n = 0; n < 50; n++) port.open(`fd00:9::${n.toString(16)}`);
    expect([probe, six].map(({ socket }) => socket.destroyed)).toEqual([false, false]);
  });

  test('a full listener closes an incomplete connection of the address that has the most', () => {
    const { port, ended } = server();
    const alone = port.open('10.9.0.9');
    for (const last of [1, 2, 3]) for (let n = 0; n < last; n++) port.open(`10.9.0.${last}`);
    const [one, two] = [port.open('10.9.0.4'), port.open('10.9.0.5')];
    expect(ended).toEqual(['listener']);
    expect([alone, one, two].map(({ socket }) => socket.destroyed)).toEqual([false, false, false]);
  });

  test('a probe is not closed for a client that has many answered connections and opens more', () => {
    const { port } = server();
    for (let n = 0; n < 8; n++) {
      const { connection } = port.open(`10.9.0.${n % 4}`);
      connection.requestBegan();
      connection.answered();
    }
    const probe = port.open('10.9.0.9');
    for (let n = 0; n < 50; n++) port.open(`10.9.0.${n % 4}`);
    expect(probe.socket.destroyed).toBe(false);
  });

  test('connections that wait for a request are closed before those that are being answered', () => {
    const { port } = server();
    const all = Array.from({ length: 8 }, (_, n) => port.open(`10.9.0.${n}`));
    for (const { connection } of all) connection.requestBegan();
    all[5]?.connection.answered();
    const fresh = port.open('10.9.0.99');
    fresh.connection.requestBegan();
    expect(all.map(({ socket }) => socket.destroyed)).toEqual([false, false, false, false, false, true, false, false]);
  });

  test('clients on this host have room of their own', () => {
    const { port } = server();
    const kubelet = port.open('10.0.0.1');
    for (let n = 0; n < 50; n++) port.open(`10.9.${n}.1`);
    expect(kubelet.socket.destroyed).toBe(false);
    const local = ['127.0.0.1', '127.0.0.2'].map((address) => port.open(address));
    expect(kubelet.socket.destroyed).toBe(true);
    expect(local.map(({ socket }) => socket.destroyed)).toEqual([false, false]);
  });

  test('a connection that was closed by its client makes room', () => {
    const { port, ended } = server();
    for (let n = 0; n < 100; n++) port.open('10.9.0.1').socket.emit('close');
    expect(ended).toEqual([]);
  });
});

test('all listeners of a process together have a limit, which a client of one connection does not feel', () => {
  const { port, other, ended } = server();
  const probe = other.open('10.9.0.9');
  for (let n = 0; n < 8; n++) port.open(`10.9.1.${n % 4}`);
  for (let n = 0; n < 5; n++) other.open(`10.9.1.${n % 4}`);
  expect(ended).toContain('process');
  expect(probe.socket.destroyed).toBe(false);
});

test('no sequence of connections and requests exceeds a limit, and each new connection is admitted', () => {
  const source = fc.integer({ min: 0, max: 5 }).map((n) => (n === 5 ? '10.0.0.1' : `10.9.0.${n}`));
  const step = fc.record({ source, port: fc.integer({ min: 0, max: 1 }), next: fc.constantFrom('nothing', 'request', 'answer', 'close') });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
      const { port, other } = server();
      const ports = [port, other].map((each) => ({ each, open: [] as { socket: FakeSocket; connection: Connection }[] }));
      for (const { source: from, port: index, next } of steps) {
        const place = ports[index];
        assert(place);
        const made = place.each.open(from);
        place.open.push(made);
        expect(made.socket.destroyed).toBe(false);
        if (next === 'request' || next === 'answer') made.connection.requestBegan();
        if (next === 'answer') made.connection.answered();
        if (next === 'close') made.socket.resetAndDestroy();
        for (const { open } of ports) {
          const left = open.filter(({ socket }) => !socket.destroyed);
          const foreign = left.filter(({ socket }) => socket.remoteAddress !== '10.0.0.1');
          expect(foreign.length).toBeLessThanOrEqual(8);
          expect(left.length - foreign.length).toBeLessThanOrEqual(bounds.own);
          for (const [, those] of Map.groupBy(foreign, ({ socket }) => socket.remoteAddress))
            expect(those.length).toBeLessThanOrEqual(bounds.perAddress);
        }
        const all = ports.flatMap(({ open }) => open).filter(({ socket }) => !socket.destroyed);
        expect(all.length).toBeLessThanOrEqual(bounds.total + bounds.totalOwn);
      }
    }),
  );
});

describe('addresses of clients', () => {
  test.each([
    ['10.0.0.1', '10.0.0'],
    ['fd00::11', 'fd00:0:0:0'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
    ['2001:db8::2:3:4:5:6', '2001:db8:0:2'],
    ['fe80::1%eth0', 'fe80:0:0:0'],
    ['::1', '0:0:0:0'],
  ])('%s belongs to the subnet %s', (address, network) => {
    expect(networkOf(address)).toBe(network);
  });

  test('loopback addresses and the address that was called are of this host', () => {
    expect([isOwn('10.0.0.1', '10.0.0.1'), isOwn('127.0.0.5', '127.0.0.1'), isOwn('::1', '::1')]).toEqual([true, true, true]);
    expect([isOwn('10.0.0.2', '10.0.0.1'), isOwn('fd00::2', 'fd00::1')]).toEqual([false, false]);
  });
});
