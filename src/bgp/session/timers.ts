import type { Cancel, Clock } from '../../system/clock.ts';
import type { TimerName } from './fsm-events.ts';

/**
 * The named timers of a connection. Extending a deadline does not restart the timer: when it fires early, it runs again for the rest. Every
 * message of a burst extends the hold timer.
 */
export class Timers {
  readonly #clock: Clock;
  readonly #expired: (timer: TimerName) => void;
  readonly #running = new Map<TimerName, { deadline: number; fires: number; cancel: Cancel }>();

  constructor(clock: Clock, expired: (timer: TimerName) => void) {
    this.#clock = clock;
    this.#expired = expired;
  }

  arm(timer: TimerName, milliseconds: number): void {
    const deadline = this.#clock.now() + milliseconds;
    const running = this.#running.get(timer);
    if (running !== undefined && running.fires <= deadline) {
      running.deadline = deadline;
      return;
    }
    running?.cancel();
    this.#schedule(timer, deadline, milliseconds);
  }

  /** Extends the deadline. An existing later deadline stays. */
  prolong(timer: TimerName, milliseconds: number): void {
    const running = this.#running.get(timer);
    if (running === undefined || running.deadline < this.#clock.now() + milliseconds) this.arm(timer, milliseconds);
  }

  cancel(timer: TimerName): void {
    this.#running.get(timer)?.cancel();
    this.#running.delete(timer);
  }

  isRunning(timer: TimerName): boolean {
    return this.#running.has(timer);
  }

  #schedule(timer: TimerName, deadline: number, milliseconds: number): void {
    const cancel = this.#clock.after(milliseconds, () => this.#fired(timer, timer !== 'hold'));
    this.#running.set(timer, { deadline, fires: this.#clock.now() + milliseconds, cancel });
  }

  /** `isLast`: the timer expires now, unless its deadline was extended. */
  #fired(timer: TimerName, isLast: boolean): void {
    const running = this.#running.get(timer);
    if (running === undefined) return;
    const left = running.deadline - this.#clock.now();
    if (left > 0) {
      this.#schedule(timer, running.deadline, left);
    } else if (!isLast) {
      // If this process stalled, messages from the peer wait in the socket. They are read before the hold timer expires.
      const cancel = this.#clock.after(0, () => this.#fired(timer, true));
      this.#running.set(timer, { ...running, cancel });
    } else {
      this.#running.delete(timer);
      this.#expired(timer);
    }
  }
}
