import { describe, expect, test } from 'vitest';
import { DetectionGate } from '../../../src/bfd/detection-gate.ts';
import { maximumDetectionTurns } from '../../../src/bfd/limits.ts';
import { VirtualClock } from '../../../src/system/virtual-clock.ts';

/** A virtual clock, the object under test, and the names of the expired sessions. */
function court() {
  const clock = new VirtualClock();
  const judged: string[] = [];
  const judgement = new DetectionGate<{ expireDetection(): void }>(clock);
  return { clock, judged, judgement, suspect: (name: string) => ({ expireDetection: () => void judged.push(name) }) };
}

describe('BFD-027 expiry of the detection time', () => {
  test('detection expires one event loop turn later, so that packets in the sockets are read first', () => {
    const { clock, judged, judgement, suspect } = court();
    judgement.defer(suspect('a'));
    judgement.defer(suspect('b'));
    expect(judged).toEqual([]);
    clock.advance(0);
    expect(judged).toEqual(['a', 'b']);
  });

  test('expiry waits while turns bring packets, because one turn reads only part of a socket', () => {
    const { clock, judged, judgement, suspect } = court();
    judgement.defer(suspect('a'));
    // Each turn brings more packets before the sessions can expire in that turn.
    let turns = 5;
    const arrive = (): void => {
      judgement.packetReceived();
      if (--turns > 0) clock.after(0, arrive);
      else expect(judged).toEqual([]);
    };
    clock.after(0, arrive);
    judgement.packetReceived();
    clock.advance(0);
    expect(turns).toBe(0);
    expect(judged).toEqual(['a']);
  });

  test('packets of other peers cannot postpone the expiry without end', () => {
    const { clock, judged, judgement, suspect } = court();
    let turns = 0;
    const arrive = (): void => {
      judgement.packetReceived();
      if (judged.length === 0 && ++turns < 10_000) clock.after(0, arrive);
    };
    clock.after(0, arrive);
    judgement.defer(suspect('a'));
    clock.advance(0);
    expect(judged).toEqual(['a']);
    expect(turns).toBeLessThanOrEqual(maximumDetectionTurns + 1);
  });

  test('a cancelled session does not expire', () => {
    const { clock, judged, judgement, suspect } = court();
    const a = suspect('a');
    judgement.defer(a);
    judgement.cancel(a);
    clock.advance(0);
    expect(judged).toEqual([]);
  });
});
