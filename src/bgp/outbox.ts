import type { Family } from '../net/address.ts';
import type { Negotiated } from './negotiate.ts';
import type { Outbound } from './outbound.ts';
import type { RibOut } from './rib-out.ts';
import { refreshSubtype, safi } from './wire/codes.ts';
import { encodeRouteRefresh } from './wire/refresh.ts';
import { afiOf, encodeEndOfRib } from './wire/update.ts';

export interface Outgoing {
  readonly kind: 'update' | 'routeRefresh';
  readonly message: Uint8Array;
}

/** In which order a session says what it has to say about routes: the marks of a refresh around the routes, End-of-RIB behind them. */
export class Outbox {
  readonly #rib: RibOut;
  readonly #refreshBegins = new Set<Family>();
  readonly #refreshEnds = new Set<Family>();
  readonly #endOfRib = new Set<Family>();

  constructor(rib: RibOut) {
    this.#rib = rib;
  }

  /** A session begins: everything is due, and the end of each family has to be marked, also where there is nothing (RFC 4724 2). */
  begin({ families }: Negotiated): void {
    this.clear();
    for (const family of families) this.#endOfRib.add(family);
  }

  clear(): void {
    this.#refreshBegins.clear();
    this.#refreshEnds.clear();
    this.#endOfRib.clear();
  }

  /** The peer wants the family again (RFC 2918), with marks where it knows them (RFC 7313 4). */
  refresh(family: Family, marks: boolean): void {
    this.#rib.readvertise(family);
    if (!marks) return;
    this.#refreshBegins.add(family);
    this.#refreshEnds.add(family);
  }

  /** The next message; undefined when there is none. Counts as sent from here on. `complete`: the routes are all there is. */
  next(outbound: Outbound, complete: boolean): Outgoing | undefined {
    for (const family of this.#refreshBegins) {
      this.#refreshBegins.delete(family);
      return mark(family, refreshSubtype.begin);
    }
    const update = this.#rib.next(outbound);
    if (update !== undefined) return { kind: 'update', message: update };
    for (const family of this.#refreshEnds) {
      this.#refreshEnds.delete(family);
      return mark(family, refreshSubtype.end);
    }
    if (!complete) return undefined;
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
