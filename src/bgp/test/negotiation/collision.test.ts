import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { connectionToKeep } from '../../../../src/bgp/negotiation/collision.ts';
import { PeerOptionsError } from '../../../../src/bgp/index.ts';
import { address } from '../../../../src/net/address.ts';
import { prefix } from '../../../../src/net/prefix.ts';
import { pair, type End, type Pair } from '../two-speakers.ts';

const cease = (end: End): number => end.peer.status().counters.sent.notification;

describe('choice between two connections', () => {
  test('BGP-057 the connection opened by the larger identifier is kept, compared as unsigned numbers', () => {
    expect(connectionToKeep({ routerId: 0xc000_0001, asn: 1 }, { routerId: 0x0a00_0001, asn: 2 })).toBe('dialed');
    expect(connectionToKeep({ routerId: 0x0a00_0001, asn: 2 }, { routerId: 0xc000_0001, asn: 1 })).toBe('accepted');
  });

  test('BGP-058 the larger AS number decides between equal identifiers', () => {
    expect(connectionToKeep({ routerId: 7, asn: 65001 }, { routerId: 7, asn: 64512 })).toBe('dialed');
    expect(connectionToKeep({ routerId: 7, asn: 64512 }, { routerId: 7, asn: 65001 })).toBe('accepted');
  });

  test('both sides always choose the same connection', () => {
    const speaker = fc.record({ routerId: fc.integer({ min: 1, max: 5 }), asn: fc.integer({ min: 1, max: 3 }) });
    fc.assert(
      fc.property(speaker, speaker, (a, b) => {
        // Equal identifiers inside one AS are refused before collision detection.
        fc.pre(a.routerId !== b.routerId || a.asn !== b.asn);
        expect(connectionToKeep(a, b)).not.toBe(connectionToKeep(b, a));
      }),
    );
  });
});

describe('two speakers that dial each other at once', () => {
  const startBoth = ({ clock, left, right }: Pair, equalIds = false): void => {
    left.start(equalIds ? { routerId: address('10.0.0.2') } : {});
    right.start();
    clock.advance(500);
  };

  test.each([false, true])('BGP-057 BGP-058 one session comes up and stays; equal router IDs: %s', (equalIds) => {
    const both = pair();
    startBoth(both, equalIds);
    const { left, right, clock } = both;
    expect([left.state, right.state]).toEqual(['Established', 'Established']);
    expect([left.host.dialed.length, right.host.dialed.length]).toEqual([1, 1]);
    expect(cease(left) + cease(right)).toBeGreaterThan(0);
    clock.advance(60_000);
    for (const end of [left, right]) {
      expect(end.peer.status()).toMatchObject({ state: 'Established', counters: { established: 1, flaps: 0 } });
      expect(end.host.connections).toBe(1);
      expect(end.peer.status().lastError).toBeUndefined();
    }
    // The right side has the larger identifier or, with equal identifiers, the larger AS number.
    expect(left.peer.history().findLast(({ to }) => to === 'Established')?.connection).toBe('accepted');
    expect(right.peer.history().findLast(({ to }) => to === 'Established')?.connection).toBe('dialed');
  });

  test('BGP-062 a collision is resolved when OPEN arrives, not when the connection is accepted', () => {
    const { clock, left, right } = pair();
    left.start();
    right.start();
    clock.advance(1);
    // Both SYNs have arrived: each side has two connections in OpenSent, and no side has closed one.
    expect([left.host.connections, right.host.connections]).toEqual([2, 2]);
    expect(cease(left) + cease(right)).toBe(0);
    clock.advance(500);
    expect([left.state, right.state]).toEqual(['Established', 'Established']);
  });

  test('routes travel over the kept connection', () => {
    const both = pair();
    startBoth(both);
    both.left.peer.routes.set([{ prefix: prefix('192.0.2.1/32') }]);
    both.clock.advance(10);
    expect(both.right.peer.status().prefixesReceived.ipv4).toBe(1);
  });
});

describe('listening', () => {
  test('BGP-063 a passive peer never dials and comes up when the other side connects', () => {
    const { clock, left, right } = pair();
    left.start({ passive: true });
    clock.advance(60_000);
    expect(left.host.dialed).toHaveLength(0);
    expect(left.state).toBe('Active');
    right.start({}, {});
    clock.advance(500);
    expect([left.state, right.state]).toEqual(['Established', 'Established']);
    expect(() => right.speaker.addPeer({ ...right.options, name: 'other', passive: true })).toThrow(PeerOptionsError);
  });

  test('BGP-063 a speaker that does not listen is not reachable, and its own dial brings the session up', () => {
    const { clock, left, right } = pair();
    left.start({}, {});
    right.start({ connectRetryTime: 60 });
    right.host.dialed.length = 0;
    clock.advance(20_000);
    expect(left.state).toBe('Established');
    expect(right.peer.history().some(({ connection }) => connection === 'accepted')).toBe(true);
  });

  test('BGP-056 connections from an unknown address are closed and counted, and logged once', () => {
    const { clock, network, left, right } = pair();
    left.start({ passive: true });
    const stranger = network.host([address('10.0.0.66')]);
    let closed = 0;
    for (let i = 0; i < 100; i++) {
      stranger.dial(
        { address: address('10.0.0.1'), port: 179, ttl: 1 },
        { connected: () => {}, data: () => {}, drain: () => {}, closed: () => void closed++ },
      );
      clock.advance(10);
    }
    expect(closed).toBe(100);
    expect(left.speaker.listening()).toMatchObject({ strangers: 100, sockets: [{ port: 179, listening: true }] });
    expect(left.logged.filter((line) => line.includes('no peer'))).toHaveLength(1);
    expect(left.host.connections).toBe(0);
    right.start();
    clock.advance(500);
    expect(left.state).toBe('Established');
  });

  test('a speaker retries a port that is in use, and its status shows the error meanwhile', () => {
    const { clock, left } = pair();
    const other = left.host.listen({ port: 179 }, { listening: () => {}, connection: (incoming) => incoming.reject(), failed: () => {} });
    left.start({ passive: true });
    clock.advance(20_000);
    expect(left.speaker.listening().sockets).toEqual([{ port: 179, listening: false, lastError: 'another program listens on port 179' }]);
    expect(left.logged.filter((line) => line.includes('cannot listen'))).toHaveLength(1);
    other.close();
    clock.advance(5_000);
    expect(left.speaker.listening().sockets).toEqual([{ port: 179, listening: true }]);
  });

  test('a peer with a password is accepted only with that password, and reconfigure() replaces the key', async () => {
    const { clock, left, right } = pair();
    left.start({ passive: true, password: 'right' });
    right.start({ password: 'wrong' });
    clock.advance(30_000);
    expect(left.state).toBe('Active');
    expect(right.peer.status().lastError).toMatch(/password/);
    left.peer.reconfigure({ ...left.options, passive: true, password: 'wrong' });
    await Promise.resolve();
    clock.advance(30_000);
    expect([left.state, right.state]).toEqual(['Established', 'Established']);
  });

  test('a peer with adminDown is rejected', () => {
    const { clock, left, right } = pair();
    left.start({ adminDown: true });
    right.start();
    clock.advance(30_000);
    expect(right.state).not.toBe('Established');
    expect(left.host.connections).toBe(0);
  });
});

describe('a second connection of an established peer', () => {
  test('BGP-059 a second connection is closed with 6/7, and the session stays', () => {
    const { clock, left, right } = pair();
    left.start({ passive: true });
    right.start();
    clock.advance(5_000);
    // A second peer object on the other side, for the same router, opens the other connection.
    const second = right.speaker.addPeer({ ...right.options, name: 'second' });
    clock.advance(2_000);
    expect(second.status().lastError).toMatch(/Connection Collision Resolution \(6\/7\)/);
    expect(right.peer.status()).toMatchObject({ state: 'Established', counters: { flaps: 0 } });
    expect(left.peer.status()).toMatchObject({ state: 'Established', counters: { flaps: 0 } });
  });

  test('BGP-060 the new connection of a restarted peer replaces the old one without NOTIFICATION', () => {
    const { clock, left, right } = pair();
    left.start({ passive: true, gracefulRestart: {} });
    right.start({ gracefulRestart: {} });
    clock.advance(5_000);
    expect(left.state).toBe('Established');
    const sent = cease(left);
    right.loseMachine();
    right.start({ gracefulRestart: {} }, { listen: [{}], restarted: true });
    clock.advance(500);
    expect([left.state, right.state]).toEqual(['Established', 'Established']);
    expect(left.peer.status().lastError).toBe('the peer has restarted and connected again');
    expect(cease(left)).toBe(sent);
  });

  test('BGP-060 without the restart bit the old session stays until it is found dead', () => {
    const { clock, left, right } = pair();
    left.start({ passive: true });
    right.start();
    clock.advance(5_000);
    right.loseMachine();
    right.start();
    clock.advance(2_000);
    expect(left.peer.status().counters.established).toBe(1);
    clock.advance(30_000);
    expect([left.state, right.state]).toEqual(['Established', 'Established']);
  });
});

test('BGP-051 two sessions to one address share nothing', () => {
  const { clock, left, right } = pair();
  right.start({ passive: true });
  left.start();
  const other = left.speaker.addPeer({ ...left.options, name: 'other port', port: 1179 });
  clock.advance(3_000);
  expect(left.state).toBe('Established');
  expect(other.status()).toMatchObject({ state: 'Active', port: 1179, counters: { established: 0 } });
  left.speaker.removePeer('other port');
  clock.advance(3_000);
  expect(left.peer.status()).toMatchObject({ state: 'Established', counters: { flaps: 0 } });
});
