import type { Clock } from './clock.ts';
import type { Log } from './log.ts';

/** The source of randomness: returns a number in [0, 1), like Math.random. */
export type Random = () => number;

export const systemRandom: Random = () => Math.random();

/** A reproducible sequence from a 32-bit seed (mulberry32), for tests and the simulator. Never use it for secrets. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** The surroundings of a part that acts in time and logs what it did. */
export interface Surroundings {
  readonly clock: Clock;
  readonly log: Log;
}

/** The surroundings of a part that also spreads its work, or its retries, at random. */
export interface RandomSurroundings extends Surroundings {
  readonly random: Random;
}
