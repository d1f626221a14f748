import type { Clock } from '../system/clock.ts';
import type { Log } from '../system/log.ts';
import type { Random } from '../system/random.ts';

/** The surroundings of a part that acts in time and logs what it did. */
export interface Surroundings {
  readonly clock: Clock;
  readonly log: Log;
}

/** The surroundings of a part that also spreads its work, or its retries, at random. */
export interface RandomSurroundings extends Surroundings {
  readonly random: Random;
}
