import { describe, expect, test } from 'vitest';
import { DetectionGate } from '../../../src/bfd/judgement.ts';
import { maximumDetectionTurns } from '../../../src/bfd/limits.ts';
import { VirtualClock } from '../../../src/system/virtual-clock.ts';

/** A clock whose turns the test counts. */
function court() {
  const clock = new VirtualClock();
  const judged: string[] = [];
  const judgement = new DetectionGate<{ judge(): void }>(clock);
  return { clock, judged, judgement, suspect: (name: string) => ({ judge: () => void judged.push(name) }) };
}

describe('BFD-027 before a peer is given up', () => {
  test('the event loop has a turn, so that what waits in the sockets is read', () => {
    const { clock, judged, judgement, suspect } = court();
    judgement.defer(suspect('a'));
    judgement.defer(suspect('b'));
    expect(judged).toEqual([]);
    clock.advance(0);
    expect(judged).toEqual(['a', 'b']);
  });

  test('turns go on while they bring packets, because a turn reads only some of a socket', () => {
    const { clock, judged, judgement, suspect } = court();
    judgement.defer(suspect('a'));
    // Each turn finds another handful of packets, before the verdict of that turn.
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

  test('other peers cannot put the verdict off for ever', () => {
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

  test('a session that has gone meanwhile is not judged', () => {
    const { clock, judged, judgement, suspect } = court();
    const a = suspect('a');
    judgement.defer(a);
    judgement.cancel(a);
    clock.advance(0);
    expect(judged).toEqual([]);
  });
});
