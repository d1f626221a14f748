import { defined } from '../lang/defined.ts';
import { remedyText, reasonText, type Reason } from '../model/reasons.ts';
import type { Clock } from '../system/clock.ts';
import { historyKinds, type HistoryCause, type HistoryEntry, type HistoryKind, type HistoryRoute } from './contract.ts';
import type { HistoryEventName } from './history-events.ts';
import { limits } from './limits.ts';
import type { LiveList } from './live-api.ts';
import { pageOf } from './query.ts';

/** The data of a new entry. Entries share values where they can, to stay small. */
export interface NewHistoryEntry {
  /** A name of history-events.ts, or the reason code of a warning. */
  readonly what: string;
  /** The text without the routes, which are appended to it. */
  readonly text: string;
  readonly reason?: Reason | undefined;
  readonly causes?: readonly HistoryCause[] | undefined;
  readonly routes?: readonly HistoryRoute[] | undefined;
  /** Number of further routes. */
  readonly moreRoutes?: number | undefined;
}

/** An entry of an agent, which records only events of the table. */
export interface NamedHistoryEntry extends NewHistoryEntry {
  readonly what: HistoryEventName;
}

interface Kept extends NewHistoryEntry {
  readonly at: number;
  /** Increases over all objects. */
  readonly sequence: number;
}

interface ObjectHistory {
  readonly kind: HistoryKind;
  readonly name: string;
  readonly entries: Kept[];
}

/**
 * Keeps the latest events of each object in bounded memory. An object has a maximum number of entries; if all objects together have too
 * many, the object with the most entries loses its oldest. So a flapping Service evicts its own entries and not those of others.
 */
export class History {
  readonly #clock: Clock;
  readonly #bounds: Bounds;
  /** Ordered by their latest entries, oldest first. */
  readonly #objects = new Map<string, ObjectHistory>();
  /** Deleted objects in the order of their deletion. Their entries are evicted first. */
  readonly #gone = new Set<string>();
  /** Objects by number of entries. */
  readonly #bySize: Set<ObjectHistory>[] = [];
  #entries = 0;
  #sequence = 0;

  constructor(clock: Clock, bounds: Bounds = limits) {
    this.#clock = clock;
    this.#bounds = bounds;
  }

  /** Adds an entry. Takes constant time. */
  record(kind: HistoryKind, name: string, happening: NewHistoryEntry): void {
    const key = `${kind}/${name}`;
    const object = this.#objects.get(key) ?? { kind, name, entries: [] };
    this.#objects.delete(key);
    this.#objects.set(key, object);
    this.#gone.delete(key);
    const { what, text, reason, causes, routes, moreRoutes } = happening;
    // Every entry has the same shape even if fields are absent, because there are many entries.
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

  /** Marks an object as deleted. Its history stays while there is room. */
  markDeleted(kind: HistoryKind, name: string): void {
    const key = `${kind}/${name}`;
    if (this.#objects.has(key)) this.#gone.add(key);
  }

  /** Returns the entries, oldest first. `since`: milliseconds since the epoch. */
  entries({
    kind,
    name,
    since = 0,
  }: { readonly kind?: HistoryKind; readonly name?: string; readonly since?: number } = {}): HistoryEntry[] {
    return this.#kept(kind, name, since).map(written);
  }

  /** Serves the entries in the live API. */
  readonly list = {
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
  } satisfies LiveList;

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

  /** Returns the object with the most entries; among several, the one that has had that many for the longest time. */
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

/** Lists routes and groups prefixes with the same peers: "192.0.2.1/32, 192.0.2.2/32 to tor1, tor2; 2001:db8::1/128 to tor2 and 3 more". */
function routesText(routes: readonly HistoryRoute[], more = 0): string {
  const peersOf = Map.groupBy(routes, ({ prefix }) => prefix);
  const together = Map.groupBy(peersOf, ([, ofPrefix]) => [...new Set(ofPrefix.map(({ peer }) => peer))].toSorted().join(', '));
  const texts = [...together].map(([peers, prefixes]) => `${prefixes.map(([prefix]) => prefix).join(', ')} to ${peers}`);
  return `${texts.join('; ')}${more === 0 ? '' : ` and ${more} more`}`;
}
