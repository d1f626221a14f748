import { setImmediate } from 'node:timers/promises';
import { describe, expect, test, vi } from 'vitest';
import { longestSlot } from '../../../src/bfd/limits.ts';
import { endOfSlot } from '../../../src/bfd/timing.ts';
import { gaps, peerAddress, ScriptedPeer } from './scripted-peer.ts';

const steps = ({ transitions }: ScriptedPeer): string[] => transitions.map(({ from, to, diagnostic }) => `${from} ${to} ${diagnostic}`);

describe('session establishment', () => {
  test('BFD-018 the active side sends first and at once, then every second minus jitter', () => {
    const peer = new ScriptedPeer();
    peer.configure({}, 20_000);
    const packets = peer.take();
    expect(packets[0]).toMatchObject({ at: 0, state: 'Down', yourDiscriminator: 0 });
    for (const gap of gaps(packets)) {
      expect(gap).toBeGreaterThanOrEqual(750);
      expect(gap).toBeLessThanOrEqual(1000);
    }
    expect(packets.length).toBeGreaterThan(19);
  });

  test('BFD-019 the passive side sends only after it received a packet', () => {
    const peer = new ScriptedPeer();
    peer.configure({ passive: true }, 20_000);
    expect(peer.take()).toEqual([]);
    peer.send({ yourDiscriminator: 0 });
    expect(peer.take()).toMatchObject([{ state: 'Init', yourDiscriminator: 77 }]);
  });

  test('BFD-019 the passive side stops sending when its peer falls silent', () => {
    const peer = new ScriptedPeer();
    peer.bringUp({ passive: true });
    const lastReceived = peer.clock.now();
    peer.clock.advance(20_000);
    expect(peer.state).toBe('Down');
    const packets = peer.take();
    expect(packets.length).toBeGreaterThan(1);
    // It also sends no packet to report its Down state (RFC 5880 6.8.7).
    expect(packets.filter(({ at, state }) => at > lastReceived + 900 || state !== 'Up')).toEqual([]);
  });

  test('BFD-019 the passive side retries its listening socket every second while it does not send', async () => {
    const peer = new ScriptedPeer();
    peer.configure({ passive: true }, 10_000);
    expect(peer.transport.listened).toBe(10);
    expect(peer.take()).toEqual([]);
    peer.bringUp({ passive: true });
    peer.keepSending(3_000, 300);
    expect(peer.transport.listened).toBe(10);
    // A peer in demand mode gets no packets either.
    peer.keepSending(3_000, 300, { demand: true });
    expect(peer.transport.listened).toBeGreaterThanOrEqual(12);
    const stopped = peer.manager.stop();
    peer.clock.advance(10_000);
    await stopped;
    const before = peer.transport.listened;
    peer.clock.advance(60_000);
    expect(peer.transport.listened).toBe(before);
  });

  test('BFD-006 three packets bring both ends up', () => {
    const peer = new ScriptedPeer();
    peer.configure();
    peer.send({ state: 'Down', yourDiscriminator: 0 });
    peer.send({ state: 'Up' });
    expect(steps(peer)).toEqual(['Down Init 0', 'Init Up 0']);
  });

  test('BFD-008 before Up it advertises and sends at most one packet a second', () => {
    const peer = new ScriptedPeer();
    peer.configure({ transmitInterval: 50, receiveInterval: 50 });
    peer.send({ state: 'Down', yourDiscriminator: 0 });
    peer.take();
    for (let i = 0; i < 50; i++) {
      peer.clock.advance(200);
      peer.send({ state: 'Down' });
    }
    const packets = peer.take();
    expect(packets.every(({ state, desiredMinTxInterval }) => state === 'Init' && desiredMinTxInterval === 1_000_000)).toBe(true);
    expect(Math.min(...gaps(packets))).toBeGreaterThanOrEqual(750);
  });

  test('BFD-009 after Up it advertises its own intervals with a Poll Sequence and uses them', () => {
    const peer = new ScriptedPeer();
    peer.defaultFields = { ...peer.defaultFields, requiredMinRxInterval: 50_000 };
    peer.configure({ transmitInterval: 50, receiveInterval: 50 });
    peer.send({ state: 'Down', yourDiscriminator: 0 });
    peer.take();
    peer.send({ state: 'Up' });
    peer.clock.advance(100);
    const [stateChange, ...polls] = peer.take();
    expect(stateChange).toMatchObject({ state: 'Up', poll: false, desiredMinTxInterval: 50_000, requiredMinRxInterval: 50_000 });
    expect(polls.length).toBeGreaterThanOrEqual(2);
    expect(polls.every(({ poll }) => poll)).toBe(true);
    peer.send({ state: 'Up', final: true });
    peer.clock.advance(100);
    expect(peer.take().some(({ poll }) => poll)).toBe(false);
  });

  test('BFD-025 the session comes up again with a restarted peer that has a new discriminator', () => {
    const peer = new ScriptedPeer();
    peer.bringUp();
    peer.send({ state: 'Down', yourDiscriminator: 0, myDiscriminator: 78 });
    expect(peer.state).toBe('Down');
    peer.send({ state: 'Down', myDiscriminator: 78 });
    peer.send({ state: 'Up', myDiscriminator: 78 });
    expect(peer.status()).toMatchObject({ state: 'Up', remote: { discriminator: 78 } });
    expect(steps(peer).slice(2)).toEqual(['Up Down 3', 'Down Init 3', 'Init Up 0']);
    expect(peer.take().at(-1)).toMatchObject({ yourDiscriminator: 78 });
  });
});

describe('transmission', () => {
  test('BFD-013 intervals vary between three quarters of the agreed interval and the whole of it', () => {
    const peer = new ScriptedPeer();
    peer.bringUp();
    peer.keepSending(30_000);
    const between = gaps(peer.take());
    expect(between.length).toBeGreaterThan(99);
    expect(new Set(between).size, 'slots of 7.5 ms in the quarter').toBeGreaterThan(8);
    expect(Math.max(...between)).toBeLessThanOrEqual(300);
    expect(Math.min(...between)).toBeGreaterThanOrEqual(225);
  });

  test("BFD-010 the transmit interval follows the peer's changes at any time", () => {
    const peer = new ScriptedPeer();
    peer.bringUp({ transmitInterval: 100 });
    for (const [takes, expected] of [
      [50_000, 100],
      [1_000_000, 1000],
      [200_000, 200],
    ] as const) {
      peer.send({ requiredMinRxInterval: takes });
      expect(peer.status().transmitInterval).toBe(expected);
      peer.keepSending(1_000, 100, { requiredMinRxInterval: takes });
      peer.take();
      peer.keepSending(6_000, 100, { requiredMinRxInterval: takes });
      const between = gaps(peer.take());
      expect(Math.max(...between)).toBeLessThanOrEqual(expected);
      expect(Math.min(...between)).toBeGreaterThanOrEqual(expected * 0.75);
    }
  });

  test('BFD-011 the next packet is sent earlier when the interval becomes shorter', () => {
    const peer = new ScriptedPeer();
    peer.bringUp({ transmitInterval: 50 });
    peer.keepSending(2_000, 100, { requiredMinRxInterval: 60_000_000 });
    peer.take();
    peer.keepSending(2_000, 100, { requiredMinRxInterval: 60_000_000 });
    expect(peer.take()).toEqual([]);
    peer.send({ requiredMinRxInterval: 50_000 });
    peer.clock.advance(100);
    expect(peer.take().length).toBeGreaterThanOrEqual(2);
  });

  test('BFD-012 a peer that floods us with changed intervals does not stop our packets', () => {
    const peer = new ScriptedPeer();
    peer.bringUp();
    for (let i = 0; i < 3_000; i++) {
      peer.send({ requiredMinRxInterval: 300_000 + (i % 2) });
      peer.clock.advance(1);
    }
    const packets = peer.take();
    expect(packets.length).toBeGreaterThanOrEqual(10);
    expect(Math.max(...gaps(packets))).toBeLessThanOrEqual(301);
  });

  test("BFD-017 periodic packets stop while the peer's interval is 0, but polls are answered", () => {
    const peer = new ScriptedPeer();
    peer.bringUp();
    peer.send({ requiredMinRxInterval: 0 });
    peer.take();
    peer.keepSending(5_000, 100, { requiredMinRxInterval: 0 });
    expect(peer.take()).toEqual([]);
    peer.send({ requiredMinRxInterval: 0, poll: true });
    expect(peer.take()).toMatchObject([{ final: true }]);
    peer.keepSending(1_000);
    expect(peer.take().length).toBeGreaterThan(2);
  });

  test('BFD-034 echo is not offered, and a peer in demand mode gets only answers while both ends are Up', () => {
    const peer = new ScriptedPeer();
    peer.bringUp();
    peer.keepSending(1_000);
    expect(peer.take().every(({ requiredMinEchoRxInterval, demand }) => requiredMinEchoRxInterval === 0 && !demand)).toBe(true);
    peer.send({ demand: true });
    peer.take();
    peer.keepSending(3_000, 100, { demand: true });
    expect(peer.take()).toEqual([]);
    peer.send({ demand: true, poll: true });
    expect(peer.take()).toMatchObject([{ final: true, poll: false }]);
    peer.send({ demand: true, state: 'Down' });
    peer.clock.advance(1_000);
    expect(peer.take().length).toBeGreaterThanOrEqual(2);
  });

  test('BFD-014 a poll is answered once at once, without moving the next periodic packet', () => {
    const peer = new ScriptedPeer();
    peer.bringUp();
    peer.clock.advance(400);
    const before = peer.take().at(-1)?.at ?? 0;
    peer.clock.advance(50);
    peer.send({ poll: true });
    const now = peer.clock.now();
    expect(peer.take()).toMatchObject([{ at: now, final: true, poll: false }]);
    peer.clock.advance(300);
    const [next] = peer.take();
    expect((next?.at ?? 0) - before).toBeLessThanOrEqual(300);
  });

  test('BFD-033 failed sends are counted and reported, and the state machine goes on', () => {
    const peer = new ScriptedPeer();
    peer.bringUp();
    peer.transport.failure = 'no route to its network';
    peer.keepSending(3_000);
    const { state, problem, counters } = peer.status();
    expect({ state, problem }).toEqual({ state: 'Up', problem: 'no route to its network' });
    expect(counters.sendFailures).toBeGreaterThan(8);
    peer.transport.failure = undefined;
    peer.keepSending(1_000);
    expect(peer.status().problem).toBeUndefined();
    expect(peer.take().length).toBeGreaterThan(2);
  });
});

describe('changes of the intervals', () => {
  test("BFD-015 slower sending begins after the peer's Final, and the session stays up", () => {
    const peer = new ScriptedPeer();
    peer.bringUp();
    peer.configure({ transmitInterval: 2_000 });
    peer.keepSending(3_000);
    const before = peer.take();
    expect(before.every(({ poll, desiredMinTxInterval }) => poll && desiredMinTxInterval === 2_000_000)).toBe(true);
    expect(Math.max(...gaps(before))).toBeLessThanOrEqual(300);
    peer.send({ final: true });
    peer.keepSending(20_000);
    const after = peer.take();
    expect(after.some(({ poll }) => poll)).toBe(false);
    expect(Math.min(...gaps(after).slice(1))).toBeGreaterThanOrEqual(1_500);
    expect(peer.state).toBe('Up');
    expect(peer.transitions).toHaveLength(2);
  });

  test("BFD-015 the detection time shrinks after the peer's Final, and grows at once", () => {
    const peer = new ScriptedPeer();
    peer.defaultFields = { ...peer.defaultFields, desiredMinTxInterval: 50_000 };
    peer.bringUp();
    expect(peer.status().detectionTime).toBe(900);
    peer.configure({ receiveInterval: 50 });
    peer.send();
    expect(peer.status()).toMatchObject({ detectionTime: 900, polling: true });
    peer.send({ final: true });
    expect(peer.status()).toMatchObject({ detectionTime: 150, polling: false });
    peer.configure({ receiveInterval: 1_000 });
    expect(peer.status().detectionTime).toBe(3_000);
  });

  test('BFD-015 a new multiplier is sent in the next packet, without a poll', () => {
    const peer = new ScriptedPeer();
    peer.bringUp();
    peer.configure({ detectMultiplier: 10 });
    peer.clock.advance(300);
    expect(peer.take()[0]).toMatchObject({ detectMultiplier: 10, poll: false });
  });
});

describe('detection', () => {
  test('BFD-016 a silent peer is Down with diagnostic 1 after multiplier times the slower interval', () => {
    const peer = new ScriptedPeer();
    peer.bringUp();
    peer.send({ desiredMinTxInterval: 500_000, detectMultiplier: 4 });
    peer.clock.advance(1_999);
    expect(peer.state).toBe('Up');
    // Until the end of the slot.
    peer.clock.advance(1 + longestSlot);
    expect(steps(peer).at(-1)).toBe('Up Down 1');
    // The peer is informed at once, with discriminator 0: the next packet may come from a restarted peer.
    const sent = peer.take().filter(({ state }) => state !== 'Up');
    expect(sent).toMatchObject([{ state: 'Down', diagnostic: 1, yourDiscriminator: 0, desiredMinTxInterval: 1_000_000 }]);
  });

  test('BFD-016 every packet restarts the detection time', () => {
    const peer = new ScriptedPeer();
    peer.bringUp();
    peer.keepSending(60_000, 890);
    expect(peer.state).toBe('Up');
    expect(peer.transitions).toHaveLength(2);
  });

  test('BFD-016 a detection time that became shorter counts from the latest packet', () => {
    const peer = new ScriptedPeer();
    peer.bringUp();
    peer.send({ desiredMinTxInterval: 60_000_000 });
    peer.clock.advance(100);
    peer.send({ desiredMinTxInterval: 300_000 });
    peer.clock.advance(900 + longestSlot);
    expect(peer.state).toBe('Down');
  });

  test('BFD-027 a stalled receiver reads the packets that arrived before it declares the peer Down', () => {
    const peer = new ScriptedPeer();
    peer.bringUp();
    // The event loop runs the alarm first. In its next phase it reads the packet, which arrived in time.
    let arrived = false;
    const began = peer.clock.now();
    const packet = peer.packet();
    const deadline = endOfSlot(began + 900, 900);
    peer.clock.after(deadline - began - 0.5, () => {
      peer.clock.after(0.5, () => {
        arrived = true;
        expect(peer.clock.now()).toBe(deadline);
        peer.transport.arrive(packet, peerAddress, undefined, false);
      });
    });
    peer.clock.advance(deadline - began + 1);
    expect(arrived).toBe(true);
    expect(peer.state).toBe('Up');
  });

  test('BFD-006 BFD-021 a peer that signals Down takes the session down with diagnostic 3', () => {
    const peer = new ScriptedPeer();
    peer.bringUp();
    peer.send({ state: 'Down', diagnostic: 1 });
    expect(peer.transitions.at(-1)).toMatchObject({ from: 'Up', to: 'Down', diagnostic: 3, remoteState: 'Down', remoteDiagnostic: 1 });
  });
});

describe('administrative shutdown', () => {
  test('BFD-020 AdminDown with diagnostic 7 is sent at once and repeated until the peer answers Down', async () => {
    const peer = new ScriptedPeer();
    peer.bringUp();
    peer.take();
    let stopped = false;
    const answer = peer.packet({ state: 'Down' });
    const stopping = peer.manager.stop().then(() => (stopped = true));
    expect(peer.take()).toMatchObject([{ state: 'AdminDown', diagnostic: 7 }]);
    peer.clock.advance(500);
    await Promise.resolve();
    expect(stopped).toBe(false);
    peer.transport.arrive(answer, peerAddress, undefined, false);
    await stopping;
    expect(peer.transport.channels).toBe(0);
  });

  test('BFD-020 AdminDown is sent for the whole detection time to a peer that does not answer', async () => {
    const peer = new ScriptedPeer();
    peer.bringUp({ transmitInterval: 2_000, detectMultiplier: 2 });
    peer.take();
    const began = peer.clock.now();
    let stopped = false;
    const stopping = peer.manager.stop().then(() => (stopped = true));
    peer.clock.advance(3_999);
    await setImmediate();
    expect(stopped).toBe(false);
    peer.clock.advance(1);
    await stopping;
    const packets = peer.take();
    expect(packets.length).toBeGreaterThanOrEqual(2);
    expect(packets.every(({ state }) => state === 'AdminDown')).toBe(true);
    expect((packets.at(-1)?.at ?? 0) - began).toBeGreaterThan(1_500);
  });

  test('BFD-020 a session with adminDown sends AdminDown all the time, and comes up when it is enabled', () => {
    const peer = new ScriptedPeer();
    peer.bringUp();
    peer.configure({ adminDown: true });
    peer.keepSending(10_000, 500, { state: 'Down' });
    expect(peer.state).toBe('AdminDown');
    const packets = peer.take();
    expect(packets.length).toBeGreaterThan(9);
    expect(packets.every(({ state }) => state === 'AdminDown')).toBe(true);
    peer.configure();
    peer.send({ state: 'Down' });
    peer.send({ state: 'Up' });
    expect(peer.state).toBe('Up');
  });

  test('BFD-020 AdminDown of the peer takes the session down, with its state in the transition', () => {
    const peer = new ScriptedPeer();
    peer.bringUp();
    peer.send({ state: 'AdminDown', diagnostic: 7 });
    expect(peer.transitions.at(-1)).toMatchObject({ to: 'Down', diagnostic: 3, remoteState: 'AdminDown' });
  });
});

describe('status of a session', () => {
  test('BFD-032 the status shows packets, ups and downs, both diagnostics and the time spent down', () => {
    const peer = new ScriptedPeer();
    peer.bringUp();
    const before = peer.status().counters.sent;
    peer.send({ state: 'Down', diagnostic: 1 });
    peer.clock.advance(700);
    peer.send({ state: 'Init' });
    const status = peer.status();
    expect(status).toMatchObject({
      state: 'Up',
      counters: { received: 5, ups: 2, downs: 1, sendFailures: 0 },
      lastDown: { diagnostic: 3, duration: 700 },
    });
    expect(status.counters.sent - before).toBe(peer.take().length);
    expect(peer.manager.history('peer').map(({ to }) => to)).toEqual(['Init', 'Up', 'Down', 'Up']);
  });

  test('BFD-032 the time spent down does not depend on the wall clock', () => {
    const peer = new ScriptedPeer();
    peer.bringUp();
    peer.send({ state: 'Down', diagnostic: 1 });
    vi.spyOn(peer.clock, 'date').mockReturnValue(new Date(0));
    peer.clock.advance(700);
    peer.send({ state: 'Init' });
    expect(peer.status().lastDown?.duration).toBe(700);
  });

  test("BFD-023 our C bit is 0, because BFD ends with the agent; the peer's C bit is shown", () => {
    const peer = new ScriptedPeer();
    peer.bringUp();
    peer.keepSending(1_000, 100, { controlPlaneIndependent: true });
    expect(peer.take().every(({ controlPlaneIndependent }) => !controlPlaneIndependent)).toBe(true);
    expect(peer.status().remote.controlPlaneIndependent).toBe(true);
  });
});
