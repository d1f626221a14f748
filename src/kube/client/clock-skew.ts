import type { Log } from '../../system/log.ts';
import { limits } from '../limits.ts';

/**
 * Compares this host's clock with the API server's by the header Date of its answers. Leases, ages of reports and certificates depend on
 * both. The header has whole seconds and the answer takes time, so only the part of a difference that is certain counts.
 */
export class ClockSkew {
  readonly #log: Log | undefined;
  #milliseconds = 0;
  #isSkewed = false;
  /** Answers in a row that contradict `#isSkewed`. */
  #contradictions = 0;

  /** `log` absent: nothing is logged. */
  constructor(log?: Log) {
    this.#log = log;
  }

  /** Seconds by which this host's clock is certainly ahead, or behind when negative, as of the last answer. */
  get seconds(): number {
    return this.#milliseconds / 1000;
  }

  /** True while the clocks differ by more than `skewMilliseconds`, with hysteresis. */
  get isSkewed(): boolean {
    return this.#isSkewed;
  }

  /** `sent` and `received`: milliseconds since the epoch by this host's clock, before the request and after the head of the answer. */
  observe(date: string | undefined, sent: number, received: number): void {
    // oxlint-disable-next-line no-restricted-globals -- reading a date from text is pure
    const server = Date.parse(date ?? '');
    if (Number.isNaN(server)) return;
    // The server read its clock between `sent` and `received`, and cut the fraction off.
    const [ahead, behind] = [sent - (server + 1000), received - server];
    this.#milliseconds = ahead > 0 ? ahead : Math.min(0, behind);
    const size = Math.abs(this.#milliseconds);
    const contradicts = this.#isSkewed ? size < limits.skewEndMilliseconds : size > limits.skewMilliseconds;
    this.#contradictions = contradicts ? this.#contradictions + 1 : 0;
    if (this.#contradictions < limits.skewAnswers) return;
    this.#contradictions = 0;
    this.#isSkewed = !this.#isSkewed;
    if (!this.#isSkewed) return this.#log?.info({}, "the clock agrees with the API server's again");
    const fields = { secondsAhead: Math.round(this.seconds), fix: 'set the clocks of this host and of the API server by NTP' };
    this.#log?.warn(fields, "the clock differs from the API server's: ages of reports and of the Lease are wrong");
  }
}
