import { isDeepStrictEqual } from 'node:util';
import { defined } from '../../../lang/defined.ts';
import type { Family } from '../../../net/address.ts';
import { formatPrefix, type Prefix } from '../../../net/prefix.ts';
import { readPaths, type Path } from '../../wire/nlri.ts';
import type { UpdateMessage } from '../../wire/update.ts';
import { ineligible, type EligibilityContext, type Refusal } from './eligibility.ts';
import { decideImport, type ImportRules } from './import-filter.ts';
import { receivedPath, type ReceivedPath, type ReceivedRoute, type RouteChange, type RouteSource } from './received-route.ts';

/** The facts about a session that its Adj-RIB-In needs. */
export interface TableSession extends EligibilityContext {
  readonly from: RouteSource;
  /** Keep routes that the rules refuse, because the peer cannot be asked for them again (RFC 2918). */
  readonly keepRefused: boolean;
}

/** A family whose routes exceed the maximum. */
export interface Exceeded {
  readonly family: Family;
  readonly maximum: number;
}

interface Entry {
  readonly prefix: Prefix;
  readonly pathId: number | undefined;
  /** As the peer sent it: `localPref` is not that of a rule. */
  readonly path: ReceivedPath;
  /** Absent while the rules refuse the route. */
  route: ReceivedRoute | undefined;
  /** The peer has begun to send its routes again, and this one has not come yet (RFC 7313 4). */
  awaited: boolean;
}

type Table = Map<string, Entry>;
export type Staleness = NonNullable<ReceivedRoute['stale']>;

/**
 * The routes of one peer: those that the import rules accept, and, where the peer could not send them again, those that they refuse. Each
 * method returns the changes of the accepted routes, at most one for each prefix and path identifier; an announcement without a difference
 * is none. The table has no clock: its owner decides when stale routes go.
 */
export class AdjRibIn {
  /** Announcements since the session began that were not used, by reason. */
  readonly refused: Partial<Record<Refusal, number>> = {};
  /** Number of accepted routes, and of the stale ones among them. */
  readonly accepted: Record<Family, number> = { 4: 0, 6: 0 };
  readonly stale: Record<Family, number> = { 4: 0, 6: 0 };
  readonly #tables: Readonly<Record<Family, Table>> = { 4: new Map(), 6: new Map() };
  /** The keys of each prefix that came with path identifiers. */
  readonly #pathKeys = new Map<string, Set<string>>();
  readonly #session: TableSession;
  #maximum: number;
  #rules: ImportRules;

  /** `maximum`: the largest number of routes of each family that are kept. */
  constructor(rules: ImportRules, session: TableSession, maximum: number) {
    this.#rules = rules;
    this.#session = session;
    this.#maximum = maximum;
  }

  /** Applies an UPDATE. `exceeded`: the family that now has too many routes; the rest of the UPDATE was not applied. */
  apply(update: UpdateMessage): { readonly changes: RouteChange[]; readonly exceeded?: Exceeded } {
    const changes = new Changes();
    for (const nlri of update.withdrawn) for (const path of readPaths(nlri)) this.#remove(nlri.family, keyOf(path), changes);
    for (const nlri of update.announced) {
      const { family, count, nextHop } = nlri;
      // Without a next hop the attribute is missing, so that the prefixes count as withdrawn (RFC 7606 3 d).
      const usable = !update.treatAsWithdraw && nextHop !== undefined;
      const path = usable ? receivedPath(update.attributes, nextHop, this.#session.from) : undefined;
      const refusal = path === undefined ? undefined : ineligible(path, update.attributes, this.#session);
      if (refusal !== undefined) this.#countRefused(refusal, count);
      for (const announced of readPaths(nlri)) {
        if (path === undefined || refusal !== undefined) this.#remove(family, keyOf(announced), changes);
        else this.#put(announced, path, changes);
      }
      if (this.#tables[family].size > this.#maximum) return { changes: changes.list(), exceeded: { family, maximum: this.#maximum } };
    }
    return { changes: changes.list() };
  }

  /** Applies other rules to the kept routes. A smaller maximum applies from the next UPDATE on. */
  configure(rules: ImportRules, maximum: number): RouteChange[] {
    this.#rules = rules;
    this.#maximum = maximum;
    const changes = new Changes();
    for (const family of [4, 6] as const) {
      for (const [key, entry] of this.#tables[family]) this.#decide(family, key, entry, entry.route?.stale, changes);
    }
    return changes.list();
  }

  /**
   * Marks the routes of a family as stale. Routes that were stale before an earlier session go (RFC 4724 4.2), and so do
   * refused ones.
   */
  markStale(family: Family, stale: Staleness): RouteChange[] {
    const changes = new Changes();
    for (const [key, entry] of this.#tables[family]) {
      const wasStale = entry.route?.stale !== undefined && (stale === 'restart' || entry.route.stale === stale);
      if (entry.route === undefined || wasStale) this.#remove(family, key, changes);
      else this.#show(family, key, entry, { ...entry.route, stale }, changes);
    }
    return changes.list();
  }

  removeStale(family: Family): RouteChange[] {
    return this.removeWhere(family, ({ stale }) => stale !== undefined);
  }

  removeWhere(family: Family, condition: (route: ReceivedRoute) => boolean): RouteChange[] {
    const changes = new Changes();
    for (const [key, { route }] of this.#tables[family]) if (route !== undefined && condition(route)) this.#remove(family, key, changes);
    return changes.list();
  }

  /** The peer begins to send all routes of the family again (RFC 7313 4). */
  beginRefresh(family: Family): void {
    for (const entry of this.#tables[family].values()) entry.awaited = true;
  }

  /** The peer has sent all routes of the family again: those that did not come are gone. */
  endRefresh(family: Family): RouteChange[] {
    const changes = new Changes();
    for (const [key, { awaited }] of this.#tables[family]) if (awaited) this.#remove(family, key, changes);
    return changes.list();
  }

  /** Removes all routes of the family. */
  removeAll(family: Family): RouteChange[] {
    const changes = new Changes();
    for (const key of this.#tables[family].keys()) this.#remove(family, key, changes);
    return changes.list();
  }

  /** Returns a table with the same routes for the next session with the peer. */
  forSession(session: TableSession): AdjRibIn {
    const next = new AdjRibIn(this.#rules, session, this.#maximum);
    for (const family of [4, 6] as const) for (const [key, entry] of this.#tables[family]) next.#store(family, key, entry);
    return next;
  }

  /** Yields the accepted routes in the order in which their prefixes were announced first. */
  *routes(family: Family): Generator<ReceivedRoute> {
    for (const { route } of this.#tables[family].values()) if (route !== undefined) yield route;
  }

  /** Returns the accepted routes of a prefix: several on a session with ADD-PATH. */
  routesOf(prefix: Prefix): ReceivedRoute[] {
    const table = this.#tables[prefix.address.family];
    return [keyOf({ prefix }), ...(this.#pathKeys.get(formatPrefix(prefix)) ?? [])].flatMap((key) => table.get(key)?.route ?? []);
  }

  #put({ prefix, pathId }: Path, path: ReceivedPath, changes: Changes): void {
    const { family } = prefix.address;
    const key = keyOf({ prefix, ...defined({ pathId }) });
    const before = this.#tables[family].get(key);
    this.#decide(family, key, { prefix, pathId, path, route: before?.route, awaited: false }, undefined, changes);
  }

  /** Applies the rules to an entry, and keeps it or drops it. */
  #decide(family: Family, key: string, entry: Entry, stale: Staleness | undefined, changes: Changes): void {
    const { prefix, pathId, path } = entry;
    const decision = decideImport(this.#rules, prefix, path);
    if (decision.accepted) {
      this.#show(family, key, entry, { ...path, localPref: decision.localPref, prefix, ...defined({ pathId, stale }) }, changes);
      return;
    }
    this.#countRefused('filter', 1);
    if (this.#session.keepRefused) this.#show(family, key, entry, undefined, changes);
    else this.#remove(family, key, changes);
  }

  #show(family: Family, key: string, entry: Entry, route: ReceivedRoute | undefined, changes: Changes): void {
    changes.record(key, this.#tables[family].get(key)?.route, route);
    this.#store(family, key, { ...entry, route });
  }

  #store(family: Family, key: string, entry: Entry): void {
    const before = this.#tables[family].get(key);
    this.#tables[family].set(key, entry);
    this.#count(family, before?.route, entry.route);
    if (before !== undefined || entry.pathId === undefined) return;
    const prefix = formatPrefix(entry.prefix);
    const keys = this.#pathKeys.get(prefix);
    if (keys === undefined) this.#pathKeys.set(prefix, new Set([key]));
    else keys.add(key);
  }

  #remove(family: Family, key: string, changes: Changes): void {
    const before = this.#tables[family].get(key);
    if (before === undefined) return;
    changes.record(key, before.route, undefined);
    this.#tables[family].delete(key);
    this.#count(family, before.route, undefined);
    if (before.pathId === undefined) return;
    const prefix = formatPrefix(before.prefix);
    const keys = this.#pathKeys.get(prefix);
    keys?.delete(key);
    if (keys?.size === 0) this.#pathKeys.delete(prefix);
  }

  #count(family: Family, before: ReceivedRoute | undefined, after: ReceivedRoute | undefined): void {
    this.accepted[family] += Number(after !== undefined) - Number(before !== undefined);
    this.stale[family] += Number(after?.stale !== undefined) - Number(before?.stale !== undefined);
  }

  #countRefused(refusal: Refusal, count: number): void {
    this.refused[refusal] = (this.refused[refusal] ?? 0) + count;
  }
}

/** With ADD-PATH each path of a prefix is a route of its own (RFC 7911 5). */
const keyOf = ({ prefix, pathId }: Path): string => (pathId === undefined ? formatPrefix(prefix) : `${formatPrefix(prefix)} ${pathId}`);

/** Collects what becomes of each route, from before the first change of the route to after the last. */
class Changes {
  readonly #routes = new Map<string, { readonly before: ReceivedRoute | undefined; after: ReceivedRoute | undefined }>();

  record(key: string, before: ReceivedRoute | undefined, after: ReceivedRoute | undefined): void {
    const earlier = this.#routes.get(key);
    if (earlier === undefined) this.#routes.set(key, { before, after });
    else earlier.after = after;
  }

  list(): RouteChange[] {
    const changes: RouteChange[] = [];
    for (const { before, after } of this.#routes.values()) {
      if (after === undefined) {
        if (before !== undefined) changes.push({ kind: 'withdrawn', route: before });
      } else if (before === undefined) changes.push({ kind: 'announced', route: after });
      else if (!isDeepStrictEqual(before, after)) changes.push({ kind: 'changed', route: after });
    }
    return changes;
  }
}
