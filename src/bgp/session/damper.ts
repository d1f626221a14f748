import { defined } from '../../lang/defined.ts';
import type { Clock } from '../../system/clock.ts';
import type { Random } from '../../system/random.ts';
import { recordFlap, noFlaps, penaltyAt, recentFlaps, type FlapRecord } from './flap-damping.ts';

/** Plain values. */
export interface DampingStatus {
  /** Each flap adds 1000, and it halves in 15 minutes. A session is held back above 3000. */
  readonly penalty: number;
  readonly flapsInLastHour: number;
  /** While the session is held back: neither side begins one before. The same at each look. */
  readonly until?: Date;
}

interface Components {
  readonly clock: Clock;
  readonly random: Random;
  /** Off: flaps are counted, and hold nothing back. */
  readonly isOn: () => boolean;
}

/** What a session remembers of its flaps. */
export class Damper {
  readonly #components: Components;
  #record: FlapRecord = noFlaps;
  /** `heldUntil` of the record as people read it. Worked out once: the wall clock is no multiple of the other, and whoever compares would see news. */
  #until: Date | undefined;
  /** The hold of which nobody has heard yet that it is over. */
  #holding = false;

  constructor(components: Components) {
    this.#components = components;
  }

  /** Counts a flap; the milliseconds for which the session is now held back, or 0. */
  recordFlap(): number {
    const { clock, random } = this.#components;
    const now = clock.now();
    const { heldUntil } = this.#record;
    this.#record = recordFlap(this.#record, now, random());
    if (this.#record.heldUntil !== heldUntil) this.#until = addMilliseconds(clock.date(), this.#record.heldUntil - now);
    this.#holding = this.remainingHold > 0;
    return this.remainingHold;
  }

  /** Milliseconds until the session may begin. */
  get remainingHold(): number {
    return this.#components.isOn() ? Math.max(0, this.#record.heldUntil - this.#components.clock.now()) : 0;
  }

  /** Whether a hold has ended since the last call. */
  takeEnd(): boolean {
    const ended = this.#holding && this.remainingHold === 0;
    if (ended) this.#holding = false;
    return ended;
  }

  /** Somebody has seen to it. */
  clearFlaps(): void {
    this.#record = noFlaps;
    this.#until = undefined;
  }

  status(): DampingStatus {
    const now = this.#components.clock.now();
    const until = this.remainingHold === 0 ? undefined : this.#until;
    return {
      penalty: Math.round(penaltyAt(this.#record, now)),
      flapsInLastHour: recentFlaps(this.#record, now).length,
      ...defined({ until }),
    };
  }
}

function addMilliseconds(date: Date, milliseconds: number): Date {
  date.setTime(date.getTime() + milliseconds);
  return date;
}
