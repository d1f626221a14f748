import { answersClients, type L2Event } from '../../l2/index.ts';

/** A change of the owner of an address, as this node sees it. */
export interface OwnerChange {
  readonly change: 'began' | 'ceased';
  readonly cause: string;
  readonly count: number;
}

/** Counts the addresses for which this node answers, and how often it began or ceased to, from the events of the responder. */
export class OwnerChanges {
  readonly #owned = new Map<string, number>();
  readonly #counts = new Map<string, OwnerChange>();

  take(event: L2Event): void {
    const change = ownerChangeOf(event);
    if (change === undefined || event.kind !== 'changed') return;
    const { interface: name, cause } = event;
    this.#owned.set(name, Math.max(0, (this.#owned.get(name) ?? 0) + (change === 'began' ? 1 : -1)));
    const key = `${change} ${cause}`;
    this.#counts.set(key, { change, cause, count: (this.#counts.get(key)?.count ?? 0) + 1 });
  }

  /** Returns how many addresses this node answers for, by interface. */
  owned(): ReadonlyMap<string, number> {
    return this.#owned;
  }

  counts(): Iterable<OwnerChange> {
    return this.#counts.values();
  }
}

/** Returns whether this node began or ceased to answer for an address. Undefined: neither. */
export function ownerChangeOf(event: L2Event): OwnerChange['change'] | undefined {
  if (event.kind !== 'changed') return undefined;
  const [before, after] = [answersClients(event.from), answersClients(event.to)];
  return before === after ? undefined : after ? 'began' : 'ceased';
}
