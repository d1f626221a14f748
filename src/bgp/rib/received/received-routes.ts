import type { Family } from '../../../net/address.ts';
import type { Prefix } from '../../../net/prefix.ts';
import type { Clock } from '../../../system/clock.ts';
import { endOfRibTime, maximumReceivedRoutes } from '../../limits.ts';
import { NO_LLGR } from '../../wire/attributes/well-known-communities.ts';
import { refreshSubtype } from '../../wire/codes.ts';
import type { UpdateMessage } from '../../wire/update.ts';
import { AdjRibIn, type Exceeded, type TableSession } from './adj-rib-in.ts';
import type { Refusal } from './eligibility.ts';
import { hasCommunity, type ImportRules } from './import-filter.ts';
import type { ReceivedRoute, RouteChange } from './received-route.ts';
import type { Retention } from './retention.ts';

/** Import rules with the bound of the table. */
export interface ImportSettings extends ImportRules {
  /** The largest number of routes of each family. Default 100,000. */
  readonly maximumRoutes?: number;
}

/** The number of received routes of a peer. */
export interface ReceivedStatus {
  /** Routes that the import rules accept. */
  readonly accepted: { readonly ipv4: number; readonly ipv6: number };
  /** The accepted routes that outlive their session. */
  readonly stale: { readonly ipv4: number; readonly ipv6: number };
  /** Announcements that were not used since the session began, by reason. */
  readonly refused: Readonly<Partial<Record<Refusal, number>>>;
}

const families = [4, 6] as const;

/** The routes received from one peer, from session to session: those of a session that was lost stay, marked, while the peer restarts. */
export class ReceivedRoutes {
  readonly #clock: Clock;
  readonly #changed: (changes: readonly RouteChange[]) => void;
  readonly #timers = new Map<Family, () => void>();
  #settings: ImportSettings;
  /** The table of the current session, or of the latest one while some of its routes are kept. */
  #table: AdjRibIn | undefined;
  #retention: Retention | undefined;

  /** `changed` gets the changes of each UPDATE, and those of each end of a wait. It is not called without changes. */
  constructor(clock: Clock, settings: ImportSettings, changed: (changes: readonly RouteChange[]) => void) {
    this.#clock = clock;
    this.#settings = settings;
    this.#changed = changed;
  }

  /**
   * Begins a session. Routes of the earlier session stay as stale if the peer has preserved its forwarding, until its End-of-RIB, or for
   * `endOfRibTime` if that does not come. The others go.
   */
  begin(session: TableSession, retention: Retention): void {
    const earlier = this.#table;
    this.#retention = retention;
    this.#table =
      earlier?.forSession(session) ?? new AdjRibIn(this.#settings, session, this.#settings.maximumRoutes ?? maximumReceivedRoutes);
    for (const family of families) {
      const terms = retention.families.get(family);
      this.#emit(
        this.#table.removeWhere(family, ({ stale }) => {
          if (stale === undefined) return false;
          return stale === 'longLived' ? terms?.longLivedPreserved !== true : terms?.forwardingPreserved !== true;
        }),
      );
      if (this.#table.stale[family] > 0) this.#after(family, endOfRibTime, () => this.endOfRib(family));
      else this.#cancel(family);
    }
  }

  /** Applies an UPDATE. Returns the family that now has too many routes, if any. */
  apply(update: UpdateMessage): Exceeded | undefined {
    if (this.#table === undefined) return undefined;
    const { changes, exceeded } = this.#table.apply(update);
    this.#emit(changes);
    return exceeded;
  }

  /** The peer has sent all its routes of the family: those that it has not sent again go. */
  endOfRib(family: Family): void {
    this.#cancel(family);
    this.#emit(this.#table?.removeStale(family) ?? []);
  }

  /** Handles the markers before and after the routes of a refresh (RFC 7313 4). */
  refreshMarker(family: Family, subtype: number): void {
    if (subtype === refreshSubtype.begin) this.#table?.beginRefresh(family);
    else if (subtype === refreshSubtype.end) this.#emit(this.#table?.endRefresh(family) ?? []);
  }

  /** Ends the session. If they outlive it, the routes stay as stale while the peer restarts, as far as both sides agreed on that. */
  end(outlives: (retention: Retention) => boolean): void {
    const [table, retention] = [this.#table, this.#retention];
    if (table === undefined || retention === undefined) return;
    const kept = families.filter((family) => retention.families.has(family) && outlives(retention));
    for (const family of families) {
      this.#cancel(family);
      if (!kept.includes(family)) this.#emit(table.removeAll(family));
      else {
        this.#emit(table.markStale(family, 'restart'));
        this.#after(family, retention.restartSeconds, () => this.#restartTimeOver(family, retention));
      }
    }
    if (kept.length === 0) this.#table = undefined;
  }

  /** Takes other settings. Routes of the table are decided again; the caller asks the peer for those that the table does not have. */
  configure(settings: ImportSettings): void {
    this.#settings = settings;
    this.#emit(this.#table?.configure(settings, settings.maximumRoutes ?? maximumReceivedRoutes) ?? []);
  }

  /** Removes all routes, also those that outlive their session. */
  clear(): void {
    for (const family of families) this.#cancel(family);
    const table = this.#table;
    this.#table = undefined;
    if (table !== undefined) for (const family of families) this.#emit(table.removeAll(family));
  }

  *routes(family: Family): Generator<ReceivedRoute> {
    if (this.#table !== undefined) yield* this.#table.routes(family);
  }

  routesOf(prefix: Prefix): readonly ReceivedRoute[] {
    return this.#table?.routesOf(prefix) ?? [];
  }

  status(): ReceivedStatus {
    const { accepted, stale, refused } = this.#table ?? { accepted: none, stale: none, refused: {} };
    return {
      accepted: { ipv4: accepted[4], ipv6: accepted[6] },
      stale: { ipv4: stale[4], ipv6: stale[6] },
      refused: { ...refused },
    };
  }

  /** The peer did not return within its restart time: its routes go, or become long-lived stale ones, except those with NO_LLGR. */
  #restartTimeOver(family: Family, { families: terms }: Retention): void {
    const seconds = terms.get(family)?.longLivedSeconds ?? 0;
    const table = this.#table;
    if (table === undefined) return;
    if (seconds === 0) {
      this.endOfRib(family);
      return;
    }
    this.#emit(table.removeWhere(family, ({ communities }) => hasCommunity(communities, NO_LLGR)));
    this.#emit(table.markStale(family, 'longLived'));
    this.#after(family, seconds, () => this.endOfRib(family));
  }

  #after(family: Family, seconds: number, callback: () => void): void {
    this.#cancel(family);
    this.#timers.set(family, this.#clock.after(seconds * 1000, callback));
  }

  #cancel(family: Family): void {
    this.#timers.get(family)?.();
    this.#timers.delete(family);
  }

  #emit(changes: readonly RouteChange[]): void {
    if (changes.length > 0) this.#changed(changes);
  }
}

const none: Readonly<Record<Family, number>> = { 4: 0, 6: 0 };
