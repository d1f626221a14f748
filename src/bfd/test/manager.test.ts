import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { newDiscriminator } from '../../../src/bfd/manager.ts';
import { Manager } from '../../../src/bfd/manager.ts';
import { resolveSession, SessionOptionsError, type SessionOptions } from '../../../src/bfd/session-options.ts';
import { MemoryWire } from './memory-wire.ts';
import { address } from '../../../src/net/address.ts';
import { seededRandom } from '../../../src/system/random.ts';
import { VirtualClock } from '../../../src/system/virtual-clock.ts';
import { ourAddress, peerAddress, ScriptedPeer } from './scripted-peer.ts';
import { runs } from '../../../test/support/property.ts';

/** Two managers on one wire. */
function pair(seed = 1) {
  const clock = new VirtualClock();
  const wire = new MemoryWire(clock);
  const changes: string[] = [];
  const manager = (name: string, at: string): Manager =>
    new Manager(
      { clock, random: seededRandom(seed + name.length), transport: wire.host(address(at)) },
      { changed: (session, { from, to }) => changes.push(`${name} ${session} ${from} ${to}`) },
    );
  const a = manager('a', ourAddress);
  const b = manager('bb', peerAddress);
  const connect = (options: Partial<SessionOptions> = {}, others: Partial<SessionOptions> = {}): void => {
    a.replaceSessions([{ name: 'x', peer: peerAddress, ...options }]);
    b.replaceSessions([{ name: 'x', peer: ourAddress, ...others }]);
  };
  const states = (): (string | undefined)[] => [a, b].map((one) => one.status().sessions[0]?.state);
  return { clock, wire, changes, a, b, connect, states };
}

describe('two managers', () => {
  test('BFD-006 both ends come up, notice a cut within the detection time, and come up again', () => {
    const { clock, wire, connect, states, changes } = pair();
    connect({ transmitInterval: 50, receiveInterval: 50 }, { transmitInterval: 50, receiveInterval: 50 });
    clock.advance(3_000);
    expect(states()).toEqual(['Up', 'Up']);
    changes.length = 0;
    wire.lose(() => true);
    clock.advance(151 + 50);
    expect(states()).toEqual(['Down', 'Down']);
    wire.lose(() => false);
    clock.advance(3_000);
    expect(states()).toEqual(['Up', 'Up']);
  });

  test('BFD-006 a cut in one direction takes both ends down', () => {
    const { clock, wire, connect, states } = pair();
    connect();
    clock.advance(3_000);
    wire.lose(({ from }) => from === ourAddress);
    clock.advance(1_000);
    expect(states()).toEqual(['Down', 'Down']);
  });

  test('BFD-015 any changes of intervals on both sides cause no flap, even with lost packets', () => {
    const profile = fc.record({
      transmitInterval: fc.integer({ min: 10, max: 2_000 }),
      receiveInterval: fc.integer({ min: 10, max: 2_000 }),
      detectMultiplier: fc.integer({ min: 3, max: 6 }),
    });
    const change = fc.record({ ours: fc.boolean(), profile, pause: fc.nat({ max: 3_000 }) });
    fc.assert(
      fc.property(fc.nat(), profile, profile, fc.array(change, { maxLength: 12 }), (seed, first, second, steps) => {
        const { clock, wire, connect, states, changes } = pair(seed);
        const random = seededRandom(seed);
        const profiles = [first, second];
        connect(first, second);
        clock.advance(10_000);
        expect(states()).toEqual(['Up', 'Up']);
        changes.length = 0;
        // Never loses two packets in a row from one end: with jitter, two losses can use up the detection time of multiplier 3.
        const lost = new Map<string, boolean>();
        wire.lose(({ from }) => {
          const loses = lost.get(from) !== true && random() < 0.2;
          lost.set(from, loses);
          return loses;
        });
        for (const { ours, profile, pause } of steps) {
          profiles[ours ? 0 : 1] = profile;
          connect(profiles[0], profiles[1]);
          clock.advance(pause);
        }
        clock.advance(20_000);
        expect(changes).toEqual([]);
      }),
      { numRuns: runs(60) },
    );
  });

  test('two passive ends never send; one active end is enough to come up', () => {
    const { clock, wire, connect, states } = pair();
    connect({ passive: true }, { passive: true });
    clock.advance(10_000);
    expect(wire.log).toEqual([]);
    connect({ passive: true }, {});
    clock.advance(3_000);
    expect(states()).toEqual(['Up', 'Up']);
  });

  test('BFD-004 BFD-015 a new minimum TTL applies to a session that is up, without a flap', () => {
    const peer = new ScriptedPeer();
    const multihop = (minimumTtl: number): Partial<SessionOptions> => ({ multihop: { minimumTtl } });
    const { clock, wire, a, changes, connect } = pair();
    connect(multihop(254), multihop(254));
    clock.advance(10_000);
    const [before] = a.status().sessions;
    const seen = changes.length;
    connect(multihop(100), multihop(254));
    clock.advance(10_000);
    expect(changes).toHaveLength(seen);
    expect(a.status().sessions).toMatchObject([{ state: 'Up', discriminator: before?.discriminator }]);
    expect(wire.log.length).toBeGreaterThan(10);
    peer.configure(multihop(254));
    peer.configure(multihop(100));
    expect(peer.transport.minimumTtls.get(peerAddress)).toBe(100);
  });

  test('setting the same sessions again changes and sends nothing', () => {
    const { clock, wire, connect, changes } = pair();
    connect();
    clock.advance(10_000);
    const sent = wire.log.length;
    changes.length = 0;
    for (let i = 0; i < 10; i++) connect();
    expect(wire.log).toHaveLength(sent);
    expect(changes).toEqual([]);
  });

  test('BFD-020 a removed session sends AdminDown, and continues when it is set again in time', () => {
    const { clock, a, b, connect, states } = pair();
    connect();
    clock.advance(3_000);
    const [before] = a.status().sessions;
    a.replaceSessions([]);
    expect(a.status().sessions).toEqual([]);
    connect();
    expect(a.status().sessions[0]?.discriminator).toBe(before?.discriminator);
    clock.advance(3_000);
    expect(states()).toEqual(['Up', 'Up']);
    expect(b.history('x').map(({ remoteState }) => remoteState)).toContain('AdminDown');
  });

  test('hundreds of sessions run on one timer, and leave no timer and no channel', async () => {
    const clock = new VirtualClock();
    const wire = new MemoryWire(clock);
    const transport = wire.host(address(ourAddress));
    const manager = new Manager({ clock, random: seededRandom(1), transport }, { changed: () => undefined });
    manager.replaceSessions(Array.from({ length: 500 }, (_, i) => ({ name: `s${i}`, peer: `10.1.${i >> 8}.${i & 255}` })));
    clock.advance(0);
    expect(wire.log).toHaveLength(500);
    expect(clock.pending).toBeLessThanOrEqual(1 + 500 /* packets in flight */);
    await manager.stop();
    clock.advance(10);
    expect({ channels: transport.channels, pending: clock.pending }).toEqual({ channels: 0, pending: 0 });
  });
});

describe('the transport may block the thread', () => {
  /** A session that begins at 2 ms. */
  function startAtTwo(options: Partial<SessionOptions>): ScriptedPeer {
    const peer = new ScriptedPeer();
    peer.clock.advance(2);
    peer.configure(options);
    return peer;
  }

  test('until the end of a slot or the next alarm', () => {
    const peer = startAtTwo({ passive: true });
    expect(peer.transport.timeToSpare()).toBe(5.5);
    peer.clock.advance(5.5);
    expect(peer.transport.timeToSpare()).toBe(0);
    // The session checks its socket at 1,002 ms.
    peer.clock.advance(993.5);
    expect(peer.transport.timeToSpare()).toBe(1);
  });

  test('BFD-027 but not while a detection time may expire', () => {
    const peer = startAtTwo({ passive: true, receiveInterval: 10 });
    peer.send({ state: 'Down', yourDiscriminator: 0, desiredMinTxInterval: 10_000 });
    const seen: unknown[] = [];
    // Runs after the alarm of the detection time and before the turn of the event loop that it waits for.
    peer.clock.after(30.25, () => seen.push(peer.status().remote.discriminator, peer.transport.timeToSpare()));
    peer.clock.advance(30.25);
    expect(seen).toEqual([77, 0]);
    expect(peer.status().remote.discriminator).toBe(0);
  });
});

test('BFD-029 ten sessions at 50 ms send each packet 75 % to 100 % of the interval after the previous', () => {
  const clock = new VirtualClock();
  const wire = new MemoryWire(clock);
  const fast = { transmitInterval: 50, receiveInterval: 50 };
  const manager = (at: string, seed: number): Manager =>
    new Manager({ clock, random: seededRandom(seed), transport: wire.host(address(at)) }, { changed: () => {} });
  const peers = Array.from({ length: 10 }, (_, i) => `10.0.1.${i + 1}`);
  const ours = manager(ourAddress, 1);
  ours.replaceSessions(peers.map((peer) => ({ name: peer, peer, ...fast })));
  for (const [i, at] of peers.entries()) manager(at, i + 2).replaceSessions([{ name: 'x', peer: ourAddress, ...fast }]);
  clock.advance(10_000);
  expect(ours.status().sessions.map(({ state, polling }) => `${state} ${polling}`)).toEqual(peers.map(() => 'Up false'));
  wire.log.length = 0;
  clock.advance(10_000);
  for (const peer of peers) {
    const times = wire.log.filter(({ from, to }) => from === ourAddress && to === peer).map(({ at }) => at);
    const between = times.slice(1).map((at, i) => at - (times[i] ?? 0));
    expect(Math.min(...between)).toBeGreaterThanOrEqual(37.5 - 1e-6);
    expect(Math.max(...between)).toBeLessThanOrEqual(50 + 1e-6);
    expect(times.length).toBeGreaterThanOrEqual(200);
  }
});

describe('assignment of a packet to its session', () => {
  test('BFD-007 the first packet is matched by its address, later ones by our discriminator', () => {
    const peer = new ScriptedPeer();
    peer.configure();
    peer.transport.arrive(peer.packet({ yourDiscriminator: 0 }), '10.0.0.3', undefined, false);
    expect(peer.state).toBe('Down');
    peer.send({ yourDiscriminator: 0 });
    expect(peer.state).toBe('Init');
    peer.send({ state: 'Up', yourDiscriminator: peer.status().discriminator + 1 });
    expect(peer.state).toBe('Init');
    expect(peer.manager.status().discards).toMatchObject({ unknownSession: 2, source: 0 });
    peer.send({ state: 'Up' });
    expect(peer.state).toBe('Up');
  });

  test('BFD-007 BFD-026 between two peers with one address, the receiving interface decides', () => {
    const peer = new ScriptedPeer();
    peer.manager.replaceSessions([
      { name: 'one', peer: 'fe80::1', interface: 'eth0' },
      { name: 'two', peer: 'fe80::1', interface: 'eth1' },
      { name: 'any', peer: '10.0.0.9' },
    ]);
    const states = (): string[] => peer.manager.status().sessions.map(({ state }) => state);
    const hello = peer.packet({ yourDiscriminator: 0 });
    peer.transport.arrive(hello, 'fe80::1', 'eth1', false);
    expect(states()).toEqual(['Down', 'Init', 'Down']);
    // A peer without an interface is accepted on any interface.
    peer.transport.arrive(hello, '10.0.0.9', 'eth7', false);
    expect(states()).toEqual(['Down', 'Init', 'Init']);
    const [one] = peer.manager.status().sessions;
    peer.transport.arrive(peer.packet({ yourDiscriminator: one?.discriminator ?? 0 }), 'fe80::1', 'eth1', false);
    expect(states()[0]).toBe('Down');
    expect(peer.manager.status().discards.source).toBe(1);
  });

  test('BFD-002 BFD-004 our discriminator from a wrong address or on the wrong port is discarded', () => {
    const peer = new ScriptedPeer();
    peer.bringUp();
    const packet = peer.packet({ state: 'Down' });
    peer.transport.arrive(packet, '10.0.0.3', undefined, false);
    // The multihop port accepts packets from several hops away. They must not end a session with a neighbour.
    peer.transport.arrive(packet, peerAddress, undefined, true);
    expect(peer.state).toBe('Up');
    expect(peer.manager.status().discards.source).toBe(2);
  });

  test('BFD-032 BFD-035 discarded packets are counted by reason', () => {
    const peer = new ScriptedPeer();
    peer.configure();
    const good = peer.packet();
    const broken = (at: number, value: number): Uint8Array => good.with(at, value);
    for (const octets of [
      good.slice(0, 20),
      broken(0, 0x40),
      broken(2, 0),
      broken(1, 0x41),
      new Uint8Array([...broken(1, 0x44).with(3, 26), 1, 2]),
    ]) {
      peer.transport.arrive(octets, peerAddress, undefined, false);
    }
    expect(peer.manager.status().discards).toMatchObject({ length: 1, version: 1, detectMultiplier: 1, multipoint: 1, authentication: 1 });
    expect(peer.status().counters.received).toBe(0);
  });

  test('BFD-024 discriminators are random, unique and never 0', () => {
    const values = [0, 0.5, 0.5, 0.25];
    const taken = new Set([2 ** 31]);
    expect(newDiscriminator(() => values.shift() ?? 0, taken)).toBe(2 ** 30);
    const discriminatorFor = (seed: number): unknown => {
      const peer = new ScriptedPeer({}, seededRandom(seed));
      peer.configure();
      return peer.status().discriminator;
    };
    expect(discriminatorFor(1)).not.toBe(discriminatorFor(2));
  });
});

describe('validation of session options', () => {
  test.each<readonly [string, Partial<SessionOptions>, keyof SessionOptions]>([
    ['an invalid address', { peer: '10.0.0.300' }, 'peer'],
    ['a link-local peer without an interface', { peer: 'fe80::1' }, 'interface'],
    ['a link-local peer over several hops', { peer: 'fe80::1', interface: 'eth0', multihop: { minimumTtl: 254 } }, 'multihop'],
    ['a local address of the other IP version', { localAddress: 'fd00::1' }, 'localAddress'],
    ['a multiplier of 0', { detectMultiplier: 0 }, 'detectMultiplier'],
    ['a multiplier of 256', { detectMultiplier: 256 }, 'detectMultiplier'],
    ['an interval of 0', { transmitInterval: 0 }, 'transmitInterval'],
    ['an interval of more than a minute', { receiveInterval: 60_001 }, 'receiveInterval'],
    ['a minimum TTL of 0', { multihop: { minimumTtl: 0 } }, 'multihop'],
    ['a minimum TTL of 255', { multihop: { minimumTtl: 255 } }, 'multihop'],
  ])('%s is refused with the name of its field', (_, options, field) => {
    const refusal = (): unknown => resolveSession({ name: 'x', peer: '10.0.0.1', ...options }, { floor: 10, hasRealTime: true });
    expect(refusal).toThrow(SessionOptionsError);
    expect(refusal).toThrow(expect.objectContaining({ field }) as Error);
  });

  test('an option that does not exist is refused with the closest name', () => {
    const misspelt = { name: 'x', peer: '10.0.0.1', recieveInterval: 100 };
    expect(() => resolveSession(misspelt, { floor: 10, hasRealTime: true })).toThrow(
      new SessionOptionsError('recieveInterval', 'a session has no such option, did you mean receiveInterval?'),
    );
  });

  test('a second session with the same peer is refused, and the first one stays', () => {
    const peer = new ScriptedPeer();
    const refused = peer.manager.replaceSessions([
      { name: 'a', peer: peerAddress },
      { name: 'b', peer: peerAddress },
      { name: 'c', peer: peerAddress, multihop: { minimumTtl: 250 } },
    ]);
    expect([...refused.keys()]).toEqual(['b']);
    expect(peer.manager.status().sessions.map(({ name }) => name)).toEqual(['a', 'c']);
  });

  test('a session keeps its earlier options when the new ones are refused', () => {
    const peer = new ScriptedPeer();
    peer.bringUp();
    const refused = peer.manager.replaceSessions([{ name: 'peer', peer: peerAddress, detectMultiplier: 0 }]);
    expect([...refused.keys()]).toEqual(['peer']);
    expect(peer.status()).toMatchObject({ state: 'Up', advertised: { detectMultiplier: 3 } });
  });

  test('BFD-030 the default is 300 ms times 3; intervals below the floor are raised, and short ones warn', () => {
    const rules = { floor: 50, hasRealTime: false };
    const resolve = (options: Partial<SessionOptions>, hasRealTime = false) =>
      resolveSession({ name: 'x', peer: '10.0.0.1', ...options }, { ...rules, hasRealTime });
    expect(resolve({})).toMatchObject({ profile: { transmitInterval: 300, receiveInterval: 300, detectMultiplier: 3 }, warnings: [] });
    const fast = resolve({ transmitInterval: 10, receiveInterval: 60 });
    expect(fast.profile).toMatchObject({ transmitInterval: 50, receiveInterval: 60 });
    expect(fast.warnings).toEqual([
      'receiveInterval 60 ms without real-time priority: a busy machine may make the session flap',
      'transmitInterval 10 ms is below the 50 ms that this node allows: 50 ms is used',
      'transmitInterval 10 ms without real-time priority: a busy machine may make the session flap',
    ]);
    expect(resolve({ transmitInterval: 60 }, true).warnings).toEqual([]);
  });
});
