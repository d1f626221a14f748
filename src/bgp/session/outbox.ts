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
  /** The connection that is established. */
  established(): ConnectionFsm | undefined;
}

/**
 * Sends what a session has to say about routes: the marks of a refresh around the routes, End-of-RIB behind them. As fast as
 * the peer reads, and a bounded number of messages in one turn, so that timers and other sessions have theirs.
 */
export class Outbox {
  /** How this session carries routes; undefined while it is not established. */
  format: UpdateFormat | undefined;
  readonly #components: Components;
  readonly #refreshBegins = new Set<Family>();
  readonly #refreshEnds = new Set<Family>();
  readonly #endOfRib = new Set<Family>();
  /** With graceful restart an early End-of-RIB would make the peer drop what is not here yet. */
  #holdsEndOfRib = false;
  #routesComplete = false;
  #scheduled = false;

  constructor(components: Components) {
    this.#components = components;
  }

  /** A session begins: everything is due, and the end of each family has to be marked, also where there is nothing (RFC 4724 2). */
  begin({ families, gracefulRestart }: Negotiated, format: UpdateFormat): void {
    this.end();
    this.format = format;
    this.#holdsEndOfRib = gracefulRestart !== undefined;
    for (const family of families) this.#endOfRib.add(family);
    this.ribChanged();
  }

  /** The session is gone, and with it everything that was sent. */
  end(): void {
    this.#components.rib.reset();
    this.format = undefined;
    this.#refreshBegins.clear();
    this.#refreshEnds.clear();
    this.#endOfRib.clear();
  }

  /**
   * The peer wants the family again (RFC 2918), with marks where it knows them. Before End-of-RIB they are forbidden: a peer that
   * does not ignore them would drop what it kept for us and has not heard again yet (RFC 7313 4).
   */
  refresh(family: Family, marks: boolean): void {
    this.#components.rib.readvertise(family);
    if (marks && !this.#endOfRib.has(family)) {
      this.#refreshBegins.add(family);
      this.#refreshEnds.add(family);
    }
    this.ribChanged();
  }

  /** The routes are all there is, so their end may be marked (RFC 4724 4.1: a peer drops what was not repeated by then). */
  completeRoutes(): void {
    this.#routesComplete = true;
    this.ribChanged();
  }

  /** There is something to send, or there was and no longer is: changes of one turn are sent together. */
  ribChanged(): void {
    if (this.#scheduled || this.format === undefined) return;
    this.#scheduled = true;
    this.#components.clock.after(0, () => {
      this.#scheduled = false;
      this.send();
    });
  }

  /** Sends until the peer does not keep up, or until it is somebody else's turn. */
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

  /** The next message; undefined when there is none. Counts as sent from here on. */
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
