import { beforeEach, describe, expect, test } from 'vitest';
import { localOpenMessage } from '../../../../src/bgp/negotiation/local-open.ts';
import { Speaker, type Peer, type PeerOptions } from '../../../../src/bgp/index.ts';
import { damping } from '../../../../src/bgp/limits.ts';
import { MemoryTransport, type RemoteEnd } from '../../../../src/bgp/transport/memory-transport.ts';
import { cease } from '../../../../src/bgp/wire/codes.ts';
import { keepaliveMessage } from '../../../../src/bgp/wire/header.ts';
import { ceaseNotification, encodeNotification } from '../../../../src/bgp/wire/notification.ts';
import { encodeOpen } from '../../../../src/bgp/wire/open.ts';
import { address, formatAddress } from '../../../../src/net/address.ts';
import { seededRandom } from '../../../../src/system/random.ts';
import { VirtualClock } from '../../../../src/system/virtual-clock.ts';
import { logInto, routerIdentity, routerOptions } from '../scripted-router.ts';

/** Options of a peer whose sessions come up at once and go down again. */
const options: PeerOptions = { ...routerOptions, connectRetryTime: 1 };

let clock: VirtualClock;
let transport: MemoryTransport;
let speaker: Speaker;
let logged: string[];
let statusChanges: string[];

beforeEach(() => {
  clock = new VirtualClock();
  transport = new MemoryTransport(clock);
  transport.onAccept = (remote) => remote.send(new Uint8Array([...encodeOpen(localOpenMessage(routerIdentity)), ...keepaliveMessage]));
  logged = [];
  statusChanges = [];
  speaker = new Speaker({ clock, random: () => 0.999_999, transport, listen: [{}], log: logInto(logged) });
  speaker.onChange((peer) => statusChanges.push(`${peer.status().state}${peer.status().damping.until === undefined ? '' : ' held'}`));
});

function start(change: Partial<PeerOptions> = {}): Peer {
  const peer = speaker.addPeer({ ...options, ...change });
  clock.advance(0);
  expect(peer.status().state).toBe('Established');
  return peer;
}

type End = (remote: RemoteEnd) => void;
const reset: End = (remote) => remote.close({ kind: 'reset', detail: 'reset by the peer' });
const says =
  (subcode: number): End =>
  (remote) =>
    remote.send(encodeNotification(ceaseNotification(subcode)));

/** Ends the session repeatedly; after each end it comes up again after the usual pause, unless it is damped. */
function flap(times: number, end: End = reset): void {
  for (let i = 0; i < times; i++) {
    end(transport.remote);
    clock.advance(1_001);
  }
}

const until = (peer: Peer): number => {
  const { until } = peer.status().damping;
  return until === undefined ? 0 : until.getTime() - clock.date().getTime();
};

describe('BGP-107 a flapping session', () => {
  test('the fourth flap holds the session in Idle, with one log line and the end time in status()', () => {
    const peer = start();
    flap(3);
    expect(peer.status()).toMatchObject({ state: 'Established', damping: { flapsInLastHour: 3 } });
    statusChanges.length = 0;
    flap(1);
    expect(peer.status()).toMatchObject({ state: 'Idle', damping: { flapsInLastHour: 4 }, lastError: expect.stringContaining('reset') });
    expect(statusChanges).toEqual(['Idle held']);
    expect(logged.filter((line) => line.startsWith('session is held back'))).toHaveLength(1);
    // The penalty is one flap above the threshold of 3000, minus its decay in three seconds.
    expect(until(peer) / 1000).toBeCloseTo(20 - 1, 0);
    clock.advance(until(peer) - 1);
    expect(peer.status().state).toBe('Idle');
    clock.advance(1);
    expect(peer.status().damping.until).toBeUndefined();
    expect(peer.status().state).toBe('Established');
    expect(statusChanges).toEqual(['Idle held', 'Connect', 'Established']);
  });

  test('incoming connections are rejected during the hold; afterwards a passive session waits again', () => {
    for (const passive of [false, true]) {
      const name = `tor-${passive}`;
      const peer = speaker.addPeer({ ...options, name, address: address(passive ? '10.0.0.3' : '10.0.0.1'), passive });
      const connect = (): boolean => {
        const remote = transport.connectFrom(peer.status().address === '10.0.0.3' ? address('10.0.0.3') : address('10.0.0.1'));
        if (remote === undefined) return false;
        clock.advance(0);
        transport.onAccept?.(remote);
        clock.advance(0);
        return true;
      };
      clock.advance(0);
      if (passive) connect();
      for (let i = 0; i < 4; i++) {
        expect(peer.status().state).toBe('Established');
        reset(transport.remote);
        clock.advance(1_001);
        if (passive && i < 3) expect(connect()).toBe(true);
      }
      expect(peer.status().state).toBe('Idle');
      expect(connect()).toBe(false);
      clock.advance(until(peer));
      expect(peer.status().state).toBe(passive ? 'Active' : 'Established');
      if (passive) expect(connect()).toBe(true);
      expect(peer.status().state).toBe('Established');
    }
  });

  test('a second incoming connection does not continue the session when the hold begins', () => {
    const peer = start();
    flap(3);
    const current = transport.remote;
    const beside = transport.connectFrom(address('10.0.0.1'));
    clock.advance(0);
    reset(current);
    clock.advance(0);
    transport.onAccept?.(beside as RemoteEnd);
    clock.advance(5_000);
    expect(peer.status().state).toBe('Idle');
    expect(beside?.ended).toBe(true);
  });

  test('administrative closes, changed options and graceful restarts do not count as flaps', async () => {
    const peer = start({ holdTime: 90 });
    flap(5, says(cease.administrativeReset));
    expect(peer.status()).toMatchObject({ state: 'Established', counters: { flaps: 5 } });
    for (const subcode of [cease.administrativeShutdown, cease.configurationChange, cease.peerDeconfigured]) {
      says(subcode)(transport.remote);
      clock.advance(60_000);
    }
    expect(peer.status()).toMatchObject({ state: 'Established', counters: { flaps: 8 }, damping: { penalty: 0, flapsInLastHour: 0 } });
    // A change of our own options also clears the flaps that were recorded before it.
    for (let i = 0; i < 5; i++) {
      flap(1);
      peer.reconfigure({ ...options, holdTime: 30 + i });
      clock.advance(1_001);
      for (let turn = 0; turn < 4; turn++) await Promise.resolve();
      clock.advance(0);
    }
    expect(peer.status()).toMatchObject({ state: 'Established', counters: { flaps: 18 }, damping: { penalty: 0, flapsInLastHour: 0 } });
    const families = [{ afi: 1, safi: 1, forwardingPreserved: true }];
    const restarting = localOpenMessage(routerIdentity);
    const capability = { kind: 'gracefulRestart', restarted: false, notification: false, restartTime: 120, families } as const;
    const open = encodeOpen({ ...restarting, capabilities: [...restarting.capabilities, capability] });
    transport.onAccept = (remote) => remote.send(new Uint8Array([...open, ...keepaliveMessage]));
    flap(1, says(cease.administrativeReset));
    flap(10);
    expect(peer.status()).toMatchObject({ state: 'Established', damping: { flapsInLastHour: 0 } });
  });

  test('the session waits for the lost BFD path and then for the end of the hold', async () => {
    const peer = start();
    const lose = async (): Promise<void> => {
      peer.pathLost();
      clock.advance(1_001);
      await Promise.resolve();
      peer.pathRestored();
      for (let i = 0; i < 4; i++) await Promise.resolve();
      clock.advance(0);
    };
    for (let i = 0; i < 3; i++) await lose();
    expect(peer.status().state).toBe('Established');
    await lose();
    expect(peer.status()).toMatchObject({ state: 'Idle', damping: { flapsInLastHour: 4 } });
    clock.advance(until(peer) - 1);
    expect(peer.status().state).toBe('Idle');
    clock.advance(1);
    expect(peer.status().state).toBe('Established');
  });

  test('the session does not dial over a lost path when the hold ends', async () => {
    const peer = start();
    flap(3);
    const dialed = transport.dialed.length;
    peer.pathLost();
    expect(peer.status().damping.until).toBeDefined();
    clock.advance(600_000);
    await Promise.resolve();
    expect(peer.status().damping.until).toBeUndefined();
    expect(transport.dialed).toHaveLength(dialed);
    expect(peer.status().state).toBe('Idle');
  });

  test('a path lost during the hold keeps the session in Idle after the hold', async () => {
    const peer = start();
    flap(4);
    peer.pathLost();
    clock.advance(600_000);
    await Promise.resolve();
    expect(peer.status().state).toBe('Idle');
    peer.pathRestored();
    for (let i = 0; i < 4; i++) await Promise.resolve();
    clock.advance(0);
    expect(peer.status().state).toBe('Established');
  });

  test('damping does not shorten a longer pause after a Cease of the peer', () => {
    const peer = start({ shutdownRetryTime: 3_600 });
    flap(3);
    says(cease.maximumPrefixes)(transport.remote);
    clock.advance(0);
    const { until } = peer.status().damping;
    expect(until).toBeDefined();
    clock.advance(600_000);
    expect(peer.status().state).toBe('Idle');
  });
});

describe('BGP-107 flap damping options', () => {
  test('switching damping off ends the hold at once, and flaps are still counted', () => {
    const peer = start();
    flap(4);
    expect(peer.status().state).toBe('Idle');
    peer.reconfigure({ ...options, flapDamping: false });
    clock.advance(0);
    expect(peer.status().state).toBe('Established');
    flap(20);
    expect(peer.status()).toMatchObject({ state: 'Established', damping: { flapsInLastHour: 24 } });
    expect(peer.status().damping.until).toBeUndefined();
  });

  test('switching damping on does not touch the session', () => {
    const peer = start({ flapDamping: false });
    peer.reconfigure({ ...options, flapDamping: true });
    clock.advance(0);
    expect(peer.status()).toMatchObject({ state: 'Established', counters: { established: 1 } });
  });

  test.each<[string, Partial<PeerOptions>]>([
    ['a new password', { password: 'right' }],
    ['adminDown for a moment', { adminDown: true }],
  ])('%s makes the session dial at once and clears the flaps', async (_, change) => {
    const peer = start();
    flap(4);
    peer.reconfigure({ ...options, ...change });
    await Promise.resolve();
    if (change.adminDown === true) peer.reconfigure(options);
    for (let i = 0; i < 4; i++) await Promise.resolve();
    clock.advance(0);
    expect(peer.status()).toMatchObject({ state: 'Established', damping: { penalty: 0, flapsInLastHour: 0 } });
  });
});

test('BGP-035 BGP-107 a hundred peers that flap together do not reconnect in step or too often', () => {
  const seed = 20_260_217;
  const count = 100;
  const random = seededRandom(seed);
  const storm = new Speaker({ clock, random, transport });
  const dialedAt = new Map<string, number[]>();
  transport.onAccept = (remote) => {
    const peer = formatAddress(remote.options.address);
    dialedAt.set(peer, [...(dialedAt.get(peer) ?? []), clock.now()]);
    remote.send(new Uint8Array([...encodeOpen(localOpenMessage(routerIdentity)), ...keepaliveMessage]));
  };
  for (let i = 0; i < count; i++) {
    storm.addPeer({ ...options, name: `tor${i}`, address: address(`10.1.0.${i + 1}`), connectRetryTime: 5 });
  }
  clock.advance(0);
  // The switch drops all current connections at one moment, every ten seconds.
  const cut = (): void => {
    for (const remote of transport.remotes.splice(0)) if (!remote.closed) reset(remote);
  };
  for (let second = 0; second < 3 * 3_600; second++) {
    if (second % 10 === 0) cut();
    clock.advance(1_000);
  }
  const attempts = [...dialedAt.values()];
  expect(attempts).toHaveLength(count);
  const gaps = attempts.map((times) => times.slice(1).map((time, i) => time - (times[i] ?? 0)));
  // The gaps of sessions that are damped. None is shorter than the hold of the penalty minus a quarter.
  const settled = gaps.flatMap((own) => own.slice(8));
  expect(settled.length).toBeGreaterThan(count * 10);
  expect(Math.min(...settled)).toBeGreaterThan(60_000);
  expect(Math.max(...settled)).toBeLessThanOrEqual((damping.longestHold + 15) * 1000);
  for (const times of attempts) expect(times.length).toBeLessThan(120);
  // Counts the attempts in each tenth of a second, after the first (which has no jitter). In step they would be a hundred.
  const perMoment = new Map<number, number>();
  for (const time of attempts.flatMap((times) => times.slice(1))) {
    perMoment.set(Math.floor(time / 100), (perMoment.get(Math.floor(time / 100)) ?? 0) + 1);
  }
  expect(Math.max(...perMoment.values()), `seed=${seed}`).toBeLessThan(25);
});
