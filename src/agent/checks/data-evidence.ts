import { defined } from '../../lang/defined.ts';
import type { ObservedConnection } from '../../net/observed-connection.ts';
import { limits } from '../limits.ts';

/**
 * How connections fail that were established. `hangs`: the endpoint sends nothing, although it, or another one of the frontend, did before.
 * `onlyListens`: it sends nothing, and never did. `largeUnacknowledged`, `unacknowledged`: clients do not acknowledge large packets, or any.
 */
export type FailedData = 'hangs' | 'onlyListens' | 'largeUnacknowledged' | 'unacknowledged';

type Failure = Pick<ObservedConnection, 'id' | 'at' | 'data' | 'isEnded'>;

/** Distinct connections that must fail. */
const failuresNeeded = 2;
const failuresKept = 2 * failuresNeeded;

/** What became of data on the connections to one frontend that led to one endpoint. Times are milliseconds of the clock. */
export class DataEvidence {
  #unheard: Failure[] = [];
  #unacknowledged: Failure[] = [];
  /** When the endpoint last answered a new connection with data, with large data, and at all. */
  #answered = Number.NEGATIVE_INFINITY;
  #answeredLarge = Number.NEGATIVE_INFINITY;
  #answeredAny = Number.NEGATIVE_INFINITY;
  #hasAnswered = false;

  /** True when the endpoint has sent data on any connection. */
  get hasAnswered(): boolean {
    return this.#hasAnswered;
  }

  take(connection: ObservedConnection): void {
    const { outcome, data, at, own } = connection;
    if (own === true) return;
    if (outcome === 'unheard') this.#unheard = withFailure(this.#unheard, connection);
    else if (outcome === 'unacknowledged') this.#unacknowledged = withFailure(this.#unacknowledged, connection);
    else if (outcome === 'answered' || outcome === 'used') this.#takeAnswer(outcome, data, at);
  }

  /** `others`: another endpoint of the frontend has sent data. */
  failure(others: boolean, now: number): FailedData | undefined {
    const unheard = this.#unheard.filter(({ at }) => at > this.#answered && isRecent(at, now));
    const hasAnswered = this.#hasAnswered || others;
    // Without an answer before, a connection that waits may be one that only the client uses.
    const counted = hasAnswered ? unheard : unheard.filter(({ isEnded }) => isEnded === true);
    if (counted.length >= failuresNeeded) return hasAnswered ? 'hangs' : 'onlyListens';
    const since = (data: ObservedConnection['data']): number => (data === 'large' ? this.#answeredLarge : this.#answeredAny);
    const unacknowledged = this.#unacknowledged.filter(({ at, data }) => at > since(data) && isRecent(at, now));
    if (unacknowledged.length < failuresNeeded) return undefined;
    return unacknowledged.filter(({ data }) => data === 'large').length >= failuresNeeded ? 'largeUnacknowledged' : 'unacknowledged';
  }

  #takeAnswer(outcome: 'answered' | 'used', data: ObservedConnection['data'], at: number): void {
    const hasData = data === 'some' || data === 'large';
    this.#hasAnswered ||= hasData;
    if (data === 'large') this.#answeredLarge = Math.max(this.#answeredLarge, at);
    // An old connection was answered some time, and its last packet may be an acknowledgement.
    if (outcome === 'used') return;
    this.#answeredAny = Math.max(this.#answeredAny, at);
    if (hasData) this.#answered = Math.max(this.#answered, at);
  }
}

/** Keeps the first failures and the last ones. The time of a failure is that at which it was seen first: the endpoint sends again and again. */
function withFailure(failures: readonly Failure[], { id, at, data, isEnded }: ObservedConnection): Failure[] {
  if (failures.some((known) => known.id === id))
    return failures.map((known) => (known.id === id && isEnded === true ? { ...known, isEnded } : known));
  const kept = failures.length < failuresKept ? failures : failures.toSpliced(failuresNeeded, 1);
  return [...kept, { id, at, ...defined({ data, isEnded }) }];
}

const isRecent = (at: number, now: number): boolean => now - at < limits.evidenceMilliseconds;
