import assert from 'node:assert';
import { report, type Outcome, type Report } from './outcome.ts';

/** Outcomes that a probe remembers: at one each 4 ms, half an hour. */
const maximumOutcomes = 450_000;

/** A running series of requests. */
export class Probe {
  /** In the order in which they ended; grows. */
  readonly outcomes: Outcome[] = [];
  readonly #requestStop: () => void;
  readonly #listeners = new Set<(outcome: Outcome) => void>();
  readonly #ended = Promise.withResolvers<Report>();
  #stopping = false;

  constructor(requestStop: () => void) {
    this.#requestStop = requestStop;
    // Nobody may be waiting when the lab ends under a probe.
    this.#ended.promise.catch(() => undefined);
  }

  onOutcome(listener: (outcome: Outcome) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  report(): Report {
    return report([...this.outcomes]);
  }

  /** The failed request that was begun last; undefined: none failed so far. */
  get lastFailure(): Outcome | undefined {
    return this.outcomes
      .filter(({ ok }) => !ok)
      .reduce<Outcome | undefined>((last, one) => (last && last.at > one.at ? last : one), undefined);
  }

  /** Ends the series; requests under way are awaited and reported too. */
  stop(): Promise<Report> {
    if (!this.#stopping) this.#requestStop();
    this.#stopping = true;
    return this.#ended.promise;
  }

  /** For the client that feeds this probe. */
  add(outcome: Outcome): void {
    assert(this.outcomes.length < maximumOutcomes, 'a probe that nobody stopped');
    this.outcomes.push(outcome);
    for (const listener of this.#listeners) listener(outcome);
  }

  end(error?: Error): void {
    if (error === undefined) this.#ended.resolve(this.report());
    else this.#ended.reject(error);
  }
}
