import type { Address } from '../../net/address.ts';
import { defined } from '../../lang/defined.ts';
import type { ConnectionOutcome, ObservedConnection } from '../../net/observed-connection.ts';
import type { ConnectionLook } from '../../dataplane/conntrack/connection-watch.ts';
import { limits } from '../limits.ts';
import { DataEvidence } from './data-evidence.ts';

export type FailedConnections = 'refused' | 'silent' | 'unfinished' | 'dropped';

interface Failure {
  readonly id: number;
  /** When the last packet passed, and since when a look would have shown that later connections are answered. */
  at: number;
  readonly noticed: number;
  /** An answered connection may be seen less often: only looks show it, and they may see a share of all connections. */
  readonly isRefused: boolean;
  readonly isOwn: boolean;
  /** Of an unfinished connection. */
  readonly client?: Address;
}

/** Distinct connections that must fail. */
export const failuresNeeded = 2;
const failuresKept = 2 * failuresNeeded;

/** What became of the connections to one frontend that led to one endpoint. Times are milliseconds of the clock. */
export class PairEvidence {
  readonly data = new DataEvidence();
  readonly #last: Partial<Record<ConnectionOutcome, number>> = {};
  #answeredClient = Number.NEGATIVE_INFINITY;
  #isOwn = false;
  /** Failures of distinct connections since a new one was answered: the first ones and the last ones. */
  #failures: Failure[] = [];
  /** Number of refused ones among them, with those between the first and the last. */
  #refused = 0;
  #fails = false;

  take(connection: ObservedConnection, noticed: number): void {
    const { outcome, at, id, own, client } = connection;
    this.data.take(connection);
    // The kernel deletes a refused connection, so it looks like one that was dropped.
    if (outcome === 'dropped' && this.#lastOf('refused') >= at) return;
    this.#isOwn = at >= this.latest ? own === true : this.#isOwn;
    this.#last[outcome] = Math.max(at, this.#last[outcome] ?? at);
    const isOwn = own === true;
    // An answer to the agent itself does not show that clients are answered, whose packets go through the rules.
    if (outcome === 'answered' && isOwn) this.#failures = this.#failures.filter((failure) => !failure.isOwn || failure.at > at);
    else if (outcome === 'answered') this.#answeredClient = Math.max(this.#answeredClient, at);
    if (outcome === 'answered' || outcome === 'used' || outcome === 'unheard' || outcome === 'unacknowledged') return;
    const known = this.#failures.find((failure) => failure.id === id);
    if (known !== undefined) {
      known.at = Math.max(known.at, at);
      return;
    }
    if (this.#failures.length === failuresKept) this.#failures.splice(failuresNeeded, 1);
    const isRefused = outcome === 'refused' && !isOwn;
    if (isRefused) this.#refused++;
    this.#failures.push({ id, at, noticed, isRefused, isOwn, ...defined({ client }) });
  }

  /** When a connection last had the outcome. Undefined: never, or not in the last ten minutes. */
  last(outcome: ConnectionOutcome, now: number): number | undefined {
    const at = this.#last[outcome];
    return at === undefined || isOld(at, now) ? undefined : at;
  }

  /** The clients that did not complete their connections: those of the last two that failed since one was answered. Fewer if fewer failed. */
  get unfinishedClients(): readonly Address[] {
    return this.#failures.flatMap(({ client }) => client ?? []).slice(-failuresNeeded);
  }

  /** When a new connection of a client was last answered. */
  get answeredClient(): number {
    return this.#answeredClient;
  }

  get latest(): number {
    return Math.max(Number.NEGATIVE_INFINITY, ...Object.values(this.#last));
  }

  /** The agent opened the latest of these connections itself. */
  get isOwn(): boolean {
    return this.#isOwn;
  }

  /** Connections were found to fail, and none was answered since. */
  get isFailing(): boolean {
    return this.#fails;
  }

  isForgotten(now: number): boolean {
    return isOld(this.latest, now);
  }

  /**
   * Returns how connections fail: the last new ones did, at least two, and a look that began later saw none that was answered since. If it saw
   * only a share of all, so many more must have been refused. `answered`: when a new connection was last answered.
   */
  failure(answered: number, { began, share }: Pick<ConnectionLook, 'began' | 'share'>, now: number): FailedConnections | undefined {
    const later = this.#failures.filter(({ at }) => at > answered);
    if (later.length < this.#failures.length) this.#refused = later.filter(({ isRefused }) => isRefused).length;
    this.#failures = later;
    const counted = later.filter(({ noticed }) => noticed <= began);
    if (counted.length < failuresNeeded || later.every(({ at }) => isOld(at, now))) {
      this.#fails = false;
      return undefined;
    }
    // What a look sees varies from look to look, and must not take back what was found.
    this.#fails ||= later.filter(({ isRefused }) => !isRefused).length + this.#refused * share >= failuresNeeded;
    if (!this.#fails) return undefined;
    return this.#kindSince(answered, now);
  }

  /** Names the kind that tells most of those seen since. One that was not seen again, while connections failed otherwise, is over. */
  #kindSince(answered: number, now: number): FailedConnections {
    const [refused, dropped] = [this.#lastOf('refused'), this.#lastOf('dropped')];
    const [unfinished, silent] = [this.#lastOf('unfinished'), this.#lastOf('silent')];
    const since = Math.max(answered, now - limits.evidenceMilliseconds, Math.max(unfinished, silent) - limits.kindMilliseconds);
    if (Math.max(refused, dropped) > since) return dropped > refused ? 'dropped' : 'refused';
    return unfinished > silent ? 'unfinished' : 'silent';
  }

  #lastOf(outcome: ConnectionOutcome): number {
    return this.#last[outcome] ?? Number.NEGATIVE_INFINITY;
  }
}

/** True: ten minutes have passed since. */
export function isOld(at: number, now: number): boolean {
  return now - at >= limits.evidenceMilliseconds;
}
