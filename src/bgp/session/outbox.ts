import type { Family } from '../../net/address.ts';
import type { Clock } from '../../system/clock.ts';
import type { ConnectionFsm } from './connection-fsm.ts';
import type { Counters } from '../diagnosis/counters.ts';
import { messagesPerTurn } from '../limits.ts';
import type { Negotiated } from '../negotiation/negotiate.ts';
import type { UpdateFormat } from '../rib/update-format.ts';
import type { AdjRibOut } from '../rib/adj-rib-out.ts';
import { refreshSubtype, safi } from '../wire/codes.ts';
import { encodeRouteRefresh } from '../wire/route-refresh.ts';
import { afiOf, encodeEndOfRib } from '../wire/update.ts';

interface Outgoing {
  readonly kind: 'update' | 'routeRefresh';
  readonly message: Uint8Array;
}

interface Components {
  readonly clock: Clock;
  readonly rib: AdjRibOut;
  readonly counters: Counters;
  /** Returns the established connection, if any. */
  established(): ConnectionFsm | undefined;
}

/**
 * Sends the routes of a session: refresh markers around the routes, then End-of-RIB. It sends as fast as the peer reads, with a limit of
 * messages per turn, so that timers and other sessions get their turns.
 */
export class Outbox {
  /** The update format of the session. Undefined while it is not established. */
  format: UpdateFormat | undefined;
  /** When the peer last asked for all routes of a family in this session. */
  refreshRequested: { 4?: Date; 6?: Date } = {};
  readonly #components: Components;
  readonly #refreshBegins = new Set<Family>();
  readonly #refreshEnds = new Set<Family>();
  readonly #endOfRib = new Set<Family>();
  /** With graceful restart an early End-of-RIB would make the peer drop routes that are not announced yet. */
  #holdsEndOfRib = false;
  #routesComplete = false;
  #scheduled = false;

  constructor(components: Components) {
    this.#components = components;
  }

  /** Starts a session: all routes are sent, then End-of-RIB for each family, even for a family without routes (RFC 4724 2). */
  begin({ families, gracefulRestart }: Negotiated, format: UpdateFormat): void {
    this.end();
    this.format = format;
    this.#holdsEndOfRib = gracefulRestart !== undefined;
    for (const family of families) this.#endOfRib.add(family);
    this.ribChanged();
  }

  /** Forgets everything that was sent, because the session ended. */
  end(): void {
    this.#components.rib.reset();
    this.format = undefined;
    this.refreshRequested = {};
    this.#refreshBegins.clear();
    this.#refreshEnds.clear();
    this.#endOfRib.clear();
  }

  /** Sends a family again because the peer asked for it (RFC 2918). */
  answerRequest(family: Family, marks: boolean): void {
    this.refreshRequested[family] = this.#components.clock.date();
    this.refresh(family, marks);
  }

  /**
   * Sends a family again, between markers if the peer supports them. Markers are forbidden before
   * End-of-RIB: a peer that does not ignore them would drop stale routes that have not been sent again yet (RFC 7313 4).
   */
  refresh(family: Family, marks: boolean): void {
    this.#components.rib.readvertise(family);
    if (marks && !this.#endOfRib.has(family)) {
      this.#refreshBegins.add(family);
      this.#refreshEnds.add(family);
    }
    this.ribChanged();
  }

  /**
   * Records that the routes are complete, so End-of-RIB may be sent (RFC 4724 4.1: the peer drops stale routes that were not sent before
   * it).
   */
  completeRoutes(): void {
    this.#routesComplete = true;
    this.ribChanged();
  }

  /** Schedules sending. Changes of one turn of the event loop are sent together. */
  ribChanged(): void {
    if (this.#scheduled || this.format === undefined) return;
    this.#scheduled = true;
    this.#components.clock.after(0, () => {
      this.#scheduled = false;
      this.send();
    });
  }

  /** Sends until the peer is backpressured or the limit of messages per turn is reached. */
  send(): void {
    for (let i = 0; i < messagesPerTurn; i++) {
      const connection = this.#components.established();
      if (connection === undefined || connection.isBackpressured || this.format === undefined) return;
      const outgoing = this.#next(this.format);
      if (outgoing === undefined) return;
      this.#components.counters.sent[outgoing.kind]++;
      connection.write(outgoing.message);
    }
    this.ribChanged();
  }

  /** Returns the next message, or undefined if there is none. It counts as sent from here on. */
  #next(format: UpdateFormat): Outgoing | undefined {
    for (const family of this.#refreshBegins) {
      this.#refreshBegins.delete(family);
      return mark(family, refreshSubtype.begin);
    }
    const update = this.#components.rib.next(format);
    if (update !== undefined) return { kind: 'update', message: update };
    for (const family of this.#refreshEnds) {
      this.#refreshEnds.delete(family);
      return mark(family, refreshSubtype.end);
    }
    if (this.#holdsEndOfRib && !this.#routesComplete) return undefined;
    for (const family of this.#endOfRib) {
      this.#endOfRib.delete(family);
      return { kind: 'update', message: encodeEndOfRib(family) };
    }
    return undefined;
  }
}

function mark(family: Family, subtype: number): Outgoing {
  return { kind: 'routeRefresh', message: encodeRouteRefresh({ afi: afiOf(family), subtype, safi: safi.unicast }) };
}
