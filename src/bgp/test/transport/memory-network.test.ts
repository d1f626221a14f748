import { describe, expect, test } from 'vitest';
import { MemoryNetwork } from '../../../../src/bgp/transport/memory-network.ts';
import { address } from '../../../../src/net/address.ts';
import { hostPrefix, prefix } from '../../../../src/net/prefix.ts';
import { VirtualClock } from '../../../../src/system/virtual-clock.ts';
import { describeTransport, type TransportSetup } from './compliance.ts';
import { ConnectionRecorder, ListenerRecorder } from './recorder.ts';

const a = { 4: address('192.0.2.1'), 6: address('2001:db8::1'), linkLocal: address('fe80::1') };
const b = { 4: address('192.0.2.2'), 6: address('2001:db8::2'), linkLocal: address('fe80::2') };

const setupFor = (family: 4 | 6, latency: number) => (): TransportSetup => {
  const clock = new VirtualClock();
  const network = new MemoryNetwork(clock, latency);
  const [dialer, listener] = [network.host(Object.values(a)), network.host(Object.values(b))];
  const settle = (): Promise<void> => Promise.resolve(clock.advance(1_000));
  return {
    dialer,
    listener,
    dialerAddress: a[family],
    listenerAddress: b[family],
    settle,
    until: async (what, holds) => {
      await settle();
      if (!holds()) throw new Error(`not so: ${what}`);
    },
  };
};

describe('memory network over IPv4, without latency', () => {
  describeTransport(setupFor(4, 0));
});
describe('memory network over IPv6, with latency', () => {
  describeTransport(setupFor(6, 10));
});

describe('a memory network', () => {
  const clock = new VirtualClock();
  const make = () => {
    const network = new MemoryNetwork(clock, 5);
    const [left, right] = [network.host(Object.values(a), 'eth1'), network.host(Object.values(b), 'eth2')];
    const listening = new ListenerRecorder();
    const listener = right.listen({ port: 179 }, listening);
    const dial = (options: { password?: string; address?: typeof b.linkLocal; ttl?: number } = {}) => {
      const recorder = new ConnectionRecorder();
      const connection = left.dial({ address: b[4], port: 179, ttl: 255, ...options }, recorder);
      clock.advance(100);
      return { recorder, connection };
    };
    return { network, left, right, listener, listening, dial };
  };

  test('two hosts that dial at the same moment get two connections, as in a collision', () => {
    const { left, right, listening } = make();
    const listeningLeft = new ListenerRecorder();
    left.listen({ port: 179 }, listeningLeft);
    const [one, other] = [new ConnectionRecorder(), new ConnectionRecorder()];
    left.dial({ address: b[4], port: 179, ttl: 1 }, one);
    right.dial({ address: a[4], port: 179, ttl: 1 }, other);
    clock.advance(100);
    expect([one.isConnected, other.isConnected]).toEqual([true, true]);
    expect([listening.accepted.length, listeningLeft.accepted.length]).toEqual([1, 1]);
  });

  test('a cut delays data without closing the connection, and delivers it when it heals', () => {
    const { network, left, right, listening, dial } = make();
    const { recorder, connection } = dial();
    const heal = network.cut(left, right);
    connection.write(Buffer.from('one'));
    clock.advance(100_000);
    expect(listening.accepted[0]?.recorder.received).toHaveLength(0);
    heal();
    connection.write(Buffer.from('two'));
    clock.advance(100);
    expect(listening.accepted[0]?.recorder.received.toString()).toBe('onetwo');
    expect(recorder.isClosed).toBe(false);
  });

  test('segments with wrong, missing or unexpected signatures are dropped and counted at the receiver', () => {
    const { right, listener, dial } = make();
    expect(dial({ password: 'needless' }).recorder.events).toEqual([]);
    listener.setKeys([
      { prefix: prefix('192.0.2.0/24'), password: 'of many' },
      { prefix: hostPrefix(a[4]), password: 'right' },
    ]);
    for (const password of ['of many', undefined]) expect(dial(password === undefined ? {} : { password }).recorder.events).toEqual([]);
    expect(dial({ password: 'right' }).recorder.isConnected).toBe(true);
    expect(right.kernelDrops()).toEqual({ missing: 1, unexpected: 1, wrong: 1, belowMinimumTtl: 0 });
  });

  test('RFC 5082: segments below the minimum TTL are dropped', () => {
    const { right, listening, dial } = make();
    listening.socketOptions = { ttl: 255, minimumTtl: 255 };
    dial({ ttl: 64 }).connection.write(Buffer.from('far'));
    dial({ ttl: 255 }).connection.write(Buffer.from('near'));
    clock.advance(100);
    expect(listening.accepted.map(({ recorder }) => recorder.received.toString())).toEqual(['', 'near']);
    expect(right.kernelDrops()).toMatchObject({ belowMinimumTtl: 1 });
  });

  test('a connection from a link-local address carries its interface', () => {
    const { listening, dial } = make();
    dial({ address: b.linkLocal });
    expect(listening.accepted[0]?.incoming).toMatchObject({ remoteAddress: a.linkLocal, interface: 'eth2' });
  });

  test('BGP-060 a killed process closes its connections, a host without power only after its return', () => {
    const { network, right, left, dial } = make();
    const first = dial();
    right.kill();
    clock.advance(100);
    expect(first.recorder.events.slice(1)).toEqual(['closed']);
    right.listen({ port: 179 }, new ListenerRecorder());
    const second = dial();
    right.powerOff();
    clock.advance(100_000);
    second.connection.write(Buffer.from('probe'));
    clock.advance(100_000);
    expect(second.recorder.isClosed).toBe(false);
    network.host(Object.values(b), 'eth2');
    second.connection.write(Buffer.from('probe'));
    clock.advance(100);
    expect(second.recorder.events.slice(1)).toEqual(['closed: reset']);
    expect(left.connections).toBe(0);
  });

  test('two discovering hosts find each other, and a missing interface is a failure', () => {
    const { left, right } = make();
    const found: string[] = [];
    const note = (who: string) => ({ found: () => void found.push(who), failed: () => void found.push(`${who} failed`) });
    left.discover('eth1', note('left'));
    clock.advance(100);
    expect(found).toEqual([]);
    right.discover('eth2', note('right'));
    clock.advance(100);
    expect(found.toSorted()).toEqual(['left', 'right']);
    right.discover('eth9', note('missing interface'));
    clock.advance(100);
    expect(found.at(-1)).toBe('missing interface failed');
  });
});
