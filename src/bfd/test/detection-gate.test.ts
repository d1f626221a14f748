import { describe, expect, test } from 'vitest';
import { DetectionGate } from '../../../src/bfd/detection-gate.ts';
import { maximumDetectionTurns } from '../../../src/bfd/limits.ts';
import { VirtualClock } from '../../../src/system/virtual-clock.ts';

/** A virtual clock, the object under test, and the names of the expired sessions. */
function setUp() {
  const clock = new VirtualClock();
  const expired: string[] = [];
  const gate = new DetectionGate<{ expireDetection(): void }>(clock);
  return { clock, expired, gate, session: (name: string) => ({ expireDetection: () => void expired.push(name) }) };
}

describe('BFD-027 expiry of the detection time', () => {
  test('detection expires one event loop turn later, so that packets in the sockets are read first', () => {
    const { clock, expired, gate, session } = setUp();
    gate.defer(session('a'));
    gate.defer(session('b'));
    expect(expired).toEqual([]);
    clock.advance(0);
    expect(expired).toEqual(['a', 'b']);
  });

  test('expiry waits while turns bring packets, because one turn reads only part of a socket', () => {
    const { clock, expired, gate, session } = setUp();
    gate.defer(session('a'));
    // Each turn brings more packets before the sessions can expire in that turn.
    let turns = 5;
    const arrive = (): void => {
      gate.packetReceived();
      if (--turns > 0) clock.after(0, arrive);
      else expect(expired).toEqual([]);
    };
    clock.after(0, arrive);
    gate.packetReceived();
    clock.advance(0);
    expect(turns).toBe(0);
    expect(expired).toEqual(['a']);
  });

  test('packets of other peers cannot postpone the expiry without end', () => {
    const { clock, expired, gate, session } = setUp();
    let turns = 0;
    const arrive = (): void => {
      gate.packetReceived();
      if (expired.length === 0 && ++turns < 10_000) clock.after(0, arrive);
    };
    clock.after(0, arrive);
    gate.defer(session('a'));
    clock.advance(0);
    expect(expired).toEqual(['a']);
    expect(turns).toBeLessThanOrEqual(maximumDetectionTurns + 1);
  });

  test('a cancelled session does not expire', () => {
    const { clock, expired, gate, session } = setUp();
    const a = session('a');
    gate.defer(a);
    gate.cancel(a);
    clock.advance(0);
    expect(expired).toEqual([]);
  });
});
