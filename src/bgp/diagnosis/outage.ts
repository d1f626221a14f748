import { strengthOf, type Evidence } from './evidence.ts';

/** Why a session is down: its first cause since it was last established, and the latest symptom. */
export interface OutageStatus {
  readonly evidence: Evidence;
  /** The first cause in words, without counts. */
  readonly text: string;
  /** When the first cause was seen. */
  readonly since: Date;
  /** The latest symptom in words, without counts, if it differs from the first cause. */
  readonly latest?: string;
  /** The session was established with its present options. */
  readonly wasEstablished: boolean;
}

interface Seen {
  readonly key: string;
  readonly evidence: Evidence;
  readonly text: string;
}

/**
 * Keeps the first cause of an outage. A later symptom is kept beside it. It replaces the cause only if it is stronger evidence from the
 * peer, or another equally strong reason of the peer. Two reasons that alternate do not replace each other.
 */
export class Outage {
  #first: (Seen & { readonly since: Date }) | undefined;
  #latest: Seen | undefined;
  /** Keys of the causes of this outage. */
  readonly #known = new Set<string>();

  get status(): Omit<OutageStatus, 'wasEstablished'> | undefined {
    const [first, latest] = [this.#first, this.#latest];
    if (first === undefined) return undefined;
    const { evidence, text, since } = first;
    const differs = latest !== undefined && latest.key !== first.key;
    return { evidence, text, since, ...(differs ? { latest: latest.text } : {}) };
  }

  record(evidence: Evidence, text: string, at: Date): void {
    const seen = { key: JSON.stringify(evidence), evidence, text };
    if (this.#first === undefined || this.#replaces(seen, this.#first)) {
      this.#first = { ...seen, since: at };
      this.#known.add(seen.key);
    }
    this.#latest = seen;
  }

  /** The session is established, or its options changed: the next problem is the first cause of another outage. */
  end(): void {
    this.#first = this.#latest = undefined;
    this.#known.clear();
  }

  #replaces(seen: Seen, first: Seen): boolean {
    if (seen.key === first.key) return false;
    const [now, before] = [strengthOf(seen.evidence), strengthOf(first.evidence)];
    if (now !== before) return now > before;
    const repeats = this.#latest?.key === seen.key;
    return now === 3 && (repeats || !this.#known.has(seen.key));
  }
}
