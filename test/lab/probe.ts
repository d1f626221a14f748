import assert from 'node:assert';
import { report, type Outcome, type Report } from './outcome.ts';

/** The most outcomes that a probe keeps: half an hour with one each 4 ms. */
const maximumOutcomes = 450_000;

/** A running series of requests. */
export class Probe {
  /** Outcomes in the order in which the requests ended. The list grows. */
  readonly outcomes: Outcome[] = [];
  readonly #requestStop: () => void;
  readonly #listeners = new Set<(outcome: Outcome) => void>();
  readonly #ended = Promise.withResolvers<Report>();
  #stopping = false;

  constructor(requestStop: () => void) {
    this.#requestStop = requestStop;
    // The promise may have no handler yet when the lab ends under a probe.
    this.#ended.promise.catch(() => undefined);
  }

  onOutcome(listener: (outcome: Outcome) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  report(): Report {
    return report([...this.outcomes]);
  }

  /** The failed request that began last. Undefined if none has failed. */
  get lastFailure(): Outcome | undefined {
    return this.outcomes
      .filter(({ ok }) => !ok)
      .reduce<Outcome | undefined>((last, one) => (last && last.at > one.at ? last : one), undefined);
  }

  /** Ends the series. The report includes requests under way, which are awaited. */
  stop(): Promise<Report> {
    if (!this.#stopping) this.#requestStop();
    this.#stopping = true;
    return this.#ended.promise;
  }

  /** Adds an outcome. Only the client that feeds this probe calls it. */
  add(outcome: Outcome): void {
    assert(this.outcomes.length < maximumOutcomes, 'the probe was never stopped');
    this.outcomes.push(outcome);
    for (const listener of this.#listeners) listener(outcome);
  }

  end(error?: Error): void {
    if (error === undefined) this.#ended.resolve(this.report());
    else this.#ended.reject(error);
  }
}
