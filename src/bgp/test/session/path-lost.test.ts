import { describe, expect, test } from 'vitest';
import { pair } from '../two-speakers.ts';

/** Advances the clock in steps of 100 ms and lets promises settle after each. */
async function advance(clock: { advance(milliseconds: number): void }, milliseconds: number): Promise<void> {
  for (let passed = 0; passed < milliseconds; passed += 100) {
    clock.advance(100);
    await Promise.resolve();
    await Promise.resolve();
  }
}

async function established() {
  const both = pair();
  both.left.start();
  both.right.start();
  await advance(both.clock, 2_000);
  expect([both.left.state, both.right.state]).toEqual(['Established', 'Established']);
  return both;
}

describe('BFD-021 a session whose path is lost', () => {
  test('the session ends with Cease / BFD Down', async () => {
    const { clock, left, right } = await established();
    left.peer.pathLost();
    await advance(clock, 100);
    expect(left.state).toBe('Idle');
    expect(right.peer.status().lastNotification).toMatchObject({ direction: 'received', code: 6, subcode: 10 });
    expect(left.peer.status().lastError).toContain('BFD Down');
  });

  test('the flap is counted as bfdDown, not as stopped', async () => {
    const { clock, left, right } = await established();
    left.peer.pathLost();
    await advance(clock, 100);
    expect(left.peer.status().counters).toMatchObject({ flaps: 1, flapsBy: { bfdDown: 1 } });
    expect(left.peer.status().counters.flapsBy).not.toHaveProperty('stopped');
    expect(right.peer.status().counters.flapsBy).toEqual({ received: 1 });
  });

  test('adminDown is counted as stopped, not as a lost path', async () => {
    const { clock, left } = await established();
    left.peer.reconfigure({ ...left.options, adminDown: true });
    await advance(clock, 100);
    expect(left.peer.status().counters.flapsBy).toEqual({ stopped: 1 });
  });

  test('the session stays down while the path is lost, whichever side connects', async () => {
    const { clock, left, right } = await established();
    left.peer.pathLost();
    await advance(clock, 60_000);
    expect(left.state).toBe('Idle');
    expect(right.state).not.toBe('Established');
    left.peer.reconfigure({ ...left.options, password: 'other' });
    await advance(clock, 10_000);
    expect(left.state).toBe('Idle');
  });

  test('the session comes back when the path is restored', async () => {
    const { clock, left, right } = await established();
    left.peer.pathLost();
    left.peer.pathLost();
    await advance(clock, 5_000);
    left.peer.pathRestored();
    await advance(clock, 20_000);
    expect([left.state, right.state]).toEqual(['Established', 'Established']);
    expect(left.peer.status().counters.established).toBe(2);
  });

  test('pathRestored() without a lost path leaves the session alone', async () => {
    const { clock, left } = await established();
    left.peer.pathRestored();
    await advance(clock, 1_000);
    expect(left.peer.status().counters).toMatchObject({ established: 1, flaps: 0 });
  });
});
