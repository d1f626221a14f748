import { defined } from '../lang/defined.ts';
import { remedyText, reasonText, type Reason } from '../model/reasons.ts';
import type { Clock } from '../system/clock.ts';
import { historyKinds, type HistoryCause, type HistoryEntry, type HistoryKind, type HistoryRoute } from './contract.ts';
import { limits } from './limits.ts';
import type { LiveList } from './live-api.ts';
import { pageOf } from './query.ts';

/** What is kept of an entry: small, and shared with others where it can be. */
export interface NewHistoryEntry {
  readonly what: string;
  /** Without the routes, which follow it. */
  readonly text: string;
  readonly reason?: Reason | undefined;
  readonly causes?: readonly HistoryCause[] | undefined;
  readonly routes?: readonly HistoryRoute[] | undefined;
  /** Beyond those. */
  readonly moreRoutes?: number | undefined;
}

interface Kept extends NewHistoryEntry {
  readonly at: number;
  /** Over all objects. */
  readonly sequence: number;
}

interface ObjectHistory {
  readonly kind: HistoryKind;
  readonly name: string;
  readonly entries: Kept[];
}

/**
 * The latest that happened to each object, in bounded memory: an object has so many entries, and where all together have too many, one that has the
 * most gives up its oldest. So a Service that flaps pushes out its own history, and nobody else's.
 */
export class History {
  readonly #clock: Clock;
  readonly #bounds: Bounds;
  /** In the order of their latest entries. */
  readonly #objects = new Map<string, ObjectHistory>();
  /** Objects that do not exist any more, in the order in which they went: these are forgotten first. */
  readonly #gone = new Set<string>();
  /** Objects by how many entries they have. */
  readonly #bySize: Set<ObjectHistory>[] = [];
  #entries = 0;
  #sequence = 0;

  constructor(clock: Clock, bounds: Bounds = limits) {
    this.#clock = clock;
    this.#bounds = bounds;
  }

  /** Constant time, whatever is kept already. */
  record(kind: HistoryKind, name: string, happening: NewHistoryEntry): void {
    const key = `${kind}/${name}`;
    const object = this.#objects.get(key) ?? { kind, name, entries: [] };
    this.#objects.delete(key);
    this.#objects.set(key, object);
    this.#gone.delete(key);
    const { what, text, reason, causes, routes, moreRoutes } = happening;
    // Of one shape, whatever is absent: there are many of them.
    const kept = { what, text, reason, causes, routes, moreRoutes, at: this.#clock.date().getTime(), sequence: this.#sequence++ };
    if (object.entries.length >= this.#bounds.historyEntriesOfObject) {
      object.entries.shift();
      object.entries.push(kept);
      return;
    }
    this.#resize(object, () => object.entries.push(kept));
    while (this.#objects.size > this.#bounds.historyObjects) this.#forgetOne();
    while (this.#entries > this.#bounds.historyEntries) this.#dropOldest(this.#longest());
  }

  /** The object does not exist any more. Its history stays while there is room. */
  markDeleted(kind: HistoryKind, name: string): void {
    const key = `${kind}/${name}`;
    if (this.#objects.has(key)) this.#gone.add(key);
  }

  /** Oldest first. `since`: milliseconds since the epoch. */
  entries({
    kind,
    name,
    since = 0,
  }: { readonly kind?: HistoryKind; readonly name?: string; readonly since?: number } = {}): HistoryEntry[] {
    return this.#kept(kind, name, since).map(written);
  }

  /** For whoever asks the process. */
  readonly list: LiveList = {
    parameters: ['kind', 'namespace', 'name', 'since'],
    items: (query) => {
      const [namespace, name] = [query.text('namespace'), query.text('name')];
      const full = namespace === undefined ? name : name === undefined ? undefined : `${namespace}/${name}`;
      const kept = this.#kept(query.oneOf('kind', historyKinds), full, query.time('since') ?? 0);
      const within =
        full !== undefined || namespace === undefined ? kept : kept.filter((one) => one.object.name.startsWith(`${namespace}/`));
      const { items, ...rest } = pageOf(within, ({ entry }) => String(entry.sequence).padStart(15, '0'), query);
      return { items: items.map(written), ...rest };
    },
  };

  #kept(kind: HistoryKind | undefined, name: string | undefined, since: number): Found[] {
    const one = kind === undefined || name === undefined ? undefined : this.#objects.get(`${kind}/${name}`);
    const objects = kind === undefined || name === undefined ? this.#objects.values() : one === undefined ? [] : [one];
    const found: Found[] = [];
    for (const object of objects) {
      if ((kind !== undefined && object.kind !== kind) || (name !== undefined && object.name !== name)) continue;
      for (const entry of object.entries) if (entry.at >= since) found.push({ object, entry });
    }
    return found.sort((a, b) => a.entry.sequence - b.entry.sequence);
  }

  #resize(object: ObjectHistory, change: () => void): void {
    const before = object.entries.length;
    change();
    const after = object.entries.length;
    this.#entries += after - before;
    this.#bySize[before]?.delete(object);
    if (after > 0) (this.#bySize[after] ??= new Set()).add(object);
  }

  #dropOldest(object: ObjectHistory): void {
    this.#resize(object, () => object.entries.shift());
  }

  /** The one that has been among the longest for the longest time. */
  #longest(): ObjectHistory {
    for (let size = this.#bySize.length - 1; size > 0; size--) for (const object of this.#bySize[size] ?? []) return object;
    throw new RangeError('entries without an object');
  }

  #forgetOne(): void {
    const [key] = this.#gone.size > 0 ? this.#gone : this.#objects.keys();
    const object = this.#objects.get(key ?? '');
    if (key === undefined || object === undefined) throw new RangeError('no object to forget');
    this.#gone.delete(key);
    this.#objects.delete(key);
    this.#resize(object, () => object.entries.splice(0));
  }
}

type Bounds = Readonly<Record<'historyObjects' | 'historyEntries' | 'historyEntriesOfObject', number>>;

interface Found {
  readonly object: ObjectHistory;
  readonly entry: Kept;
}

function written({ object: { kind, name }, entry: { at, what, text, reason, causes, routes, moreRoutes } }: Found): HistoryEntry {
  return {
    // oxlint-disable-next-line no-restricted-globals -- writing a date as text is pure
    at: new Date(at).toISOString(),
    kind,
    name,
    what,
    text: routes === undefined ? text : `${text} ${routesText(routes, moreRoutes)}`,
    ...(reason === undefined ? {} : { reason: { code: reason.code, message: reasonText(reason), fix: remedyText(reason) } }),
    ...(causes === undefined || causes.length === 0 ? {} : { causes }),
    ...defined({ routes, moreRoutes }),
  };
}

/** "192.0.2.1/32, 192.0.2.2/32 to tor1, tor2; 2001:db8::1/128 to tor2 and 3 more": prefixes that the same peers have in one. */
function routesText(routes: readonly HistoryRoute[], more = 0): string {
  const peersOf = Map.groupBy(routes, ({ prefix }) => prefix);
  const together = Map.groupBy(peersOf, ([, ofPrefix]) => [...new Set(ofPrefix.map(({ peer }) => peer))].toSorted().join(', '));
  const texts = [...together].map(([peers, prefixes]) => `${prefixes.map(([prefix]) => prefix).join(', ')} to ${peers}`);
  return `${texts.join('; ')}${more === 0 ? '' : ` and ${more} more`}`;
}
