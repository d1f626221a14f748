import { defined } from '../../lang/defined.ts';
import type { Clock } from '../../system/clock.ts';
import type { Random } from '../../system/random.ts';
import { recordFlap, noFlaps, penaltyAt, recentFlaps, type FlapRecord } from './flap-damping.ts';

/** The flap damping of a session, as plain values. */
export interface DampingStatus {
  /** Each flap adds 1000, and the penalty halves in 15 minutes. Above 3000 the session is held in Idle. */
  readonly penalty: number;
  readonly flapsInLastHour: number;
  /** End of the current hold: neither side can begin a session earlier. The value stays the same during one hold. */
  readonly until?: Date;
}

interface Components {
  readonly clock: Clock;
  readonly random: Random;
  /** When false, flaps are counted but do not hold the session. */
  readonly isOn: () => boolean;
}

/** Counts the flaps of a session and holds it in Idle after too many. */
export class Damper {
  readonly #components: Components;
  #record: FlapRecord = noFlaps;
  /**
   * `heldUntil` of the record as wall-clock time. It is computed once, because the two clocks drift and callers compare the value to detect
   * changes.
   */
  #until: Date | undefined;
  /** A hold has begun and `takeEnd` has not reported its end yet. */
  #holding = false;

  constructor(components: Components) {
    this.#components = components;
  }

  /** Counts a flap. Returns the milliseconds for which the session is now held, or 0. */
  recordFlap(): number {
    const { clock, random } = this.#components;
    const now = clock.now();
    const { heldUntil } = this.#record;
    this.#record = recordFlap(this.#record, now, random());
    if (this.#record.heldUntil !== heldUntil) this.#until = addMilliseconds(clock.date(), this.#record.heldUntil - now);
    this.#holding = this.remainingHold > 0;
    return this.remainingHold;
  }

  /** Milliseconds until the session may begin, or 0. */
  get remainingHold(): number {
    return this.#components.isOn() ? Math.max(0, this.#record.heldUntil - this.#components.clock.now()) : 0;
  }

  /** Tells whether a hold has ended since the last call. */
  takeEnd(): boolean {
    const ended = this.#holding && this.remainingHold === 0;
    if (ended) this.#holding = false;
    return ended;
  }

  /** Clears all flaps, because an operator changed the options of the session. */
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
