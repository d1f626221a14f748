import { formatAddress, type Family } from '../net/address.ts';
import { formatPrefix, type Prefix } from '../net/prefix.ts';
import { copyOfCounters, type Counters } from './counters.ts';
import type { StateName } from './fsm.ts';
import { maximumNotPossible } from './limits.ts';
import type { Negotiated } from './negotiate.ts';
import { changedFields, fieldClass, PeerOptionsError, resolveOptions, type PeerOptions, type ResolvedOptions } from './peer-options.ts';
import { RibOut } from './rib-out.ts';
import type { Route } from './route.ts';
import { Session, type Components, type HistoryEntry } from './session.ts';
import { cease } from './wire/codes.ts';
import { ceaseNotification } from './wire/notification.ts';

export interface PerFamily {
  readonly ipv4: number;
  readonly ipv6: number;
}

/** Plain values: as JSON, `since` becomes RFC 3339. Never contains the password. */
export interface PeerStatus {
  readonly name: string;
  readonly address: string;
  readonly port: number;
  readonly state: StateName;
  /** When `state` was entered. */
  readonly since: Date;
  readonly localAsn: number;
  /** What the peer says, else what is configured; 0 where neither is known. */
  readonly peerAsn: number;
  /** Ours. */
  readonly routerId: string;
  /** What both agreed on, while the session is up. */
  readonly negotiated?: NegotiatedStatus;
  readonly prefixesAdvertised: PerFamily;
  /** Announcements received in this session: counted, not stored, so withdrawn ones are in it. */
  readonly prefixesReceived: PerFamily;
  /** Why the session is down, or why it was the last time, in words. */
  readonly lastError?: string;
  /** Desired routes that this session cannot carry: the first of them, and how many there are. */
  readonly notPossible: readonly { readonly prefix: string; readonly why: string }[];
  readonly notPossibleCount: number;
  readonly counters: Counters;
}

export interface NegotiatedStatus {
  readonly peerRouterId: string;
  readonly internal: boolean;
  /** Seconds. */
  readonly holdTime: number;
  readonly families: readonly Family[];
  readonly fourOctetAsn: boolean;
  readonly routeRefresh: boolean;
  readonly extendedNextHop: boolean;
}

/** What a peer should have. Changes made in one turn of the event loop are sent together; the same again sends nothing. */
export interface PeerRoutes {
  /** Exactly these; of two with the same prefix the last counts. */
  set(routes: Iterable<Route>): void;
  /** These more, or with other attributes, and those no longer. Withdrawing what was not announced is no error. */
  update(change: { readonly announce?: Iterable<Route>; readonly withdraw?: Iterable<Prefix> }): void;
}

/** One configured peer, made by `Speaker.addPeer`. */
export class Peer {
  readonly name: string;
  readonly routes: PeerRoutes;
  readonly #components: Components;
  readonly #rib: RibOut;
  readonly #session: Session;
  #options: ResolvedOptions;
  #removed = false;

  /** Throws PeerOptionsError. The session starts in a later turn of the event loop, so its first burst can be complete. */
  constructor(components: Components, options: PeerOptions, changed: (peer: Peer) => void) {
    this.#options = resolveOptions(options);
    this.name = options.name;
    this.#components = components;
    this.#rib = new RibOut(components.store);
    this.#session = new Session(components, this.#options, this.#rib, () => changed(this));
    this.routes = {
      set: (routes) => {
        this.#rib.set(routes);
        this.#session.ribChanged();
      },
      update: ({ announce = [], withdraw = [] }) => {
        for (const prefix of withdraw) this.#rib.withdraw(prefix);
        for (const route of announce) this.#rib.announce(route);
        this.#session.ribChanged();
      },
    };
    components.clock.after(0, () => this.#start());
  }

  /**
   * Changes the options; all of them are given, not only the changed ones. The session is reset only if a changed field
   * demands it (`fieldClass`). Throws PeerOptionsError, and then nothing has changed.
   */
  reconfigure(options: PeerOptions): void {
    const next = resolveOptions(options);
    if (next.name !== this.name) throw new PeerOptionsError('name', 'a peer keeps its name: remove it and add another');
    const before = this.#options;
    const changed = changedFields(before, next);
    const classes = new Set(changed.map((field) => fieldClass[field]));
    this.#options = next;
    if (next.adminDown) {
      if (!before.adminDown) this.#stop(cease.administrativeShutdown, next.shutdownMessage);
      this.#session.configure(next);
    } else if (classes.has('start')) {
      this.#session.configure(next);
      this.#start();
    } else if (classes.has('reset')) {
      this.#components.log.info({ peer: this.name, fields: changed }, 'session is reset because options changed');
      this.#stop(cease.configurationChange);
      this.#session.configure(next);
      // The peer has seen the end of the old connection before the new one begins.
      void this.#session.closed().then(() => this.#start());
    } else {
      this.#session.configure(next);
      if (classes.has('soft')) this.#session.renewNextHops();
    }
  }

  status(): PeerStatus {
    const { address, port, localAsn, peerAsn, routerId, adminDown } = this.#options;
    const { negotiated, lastError } = this.#session;
    const notPossible = [...this.#rib.notPossible(this.#session.outbound).take(maximumNotPossible)];
    const error = adminDown ? 'administratively down' : lastError;
    return {
      name: this.name,
      address: formatAddress(address),
      port,
      state: this.#session.state,
      since: this.#session.since,
      localAsn,
      peerAsn: negotiated?.peerAsn ?? (peerAsn === 'internal' ? localAsn : peerAsn === 'external' ? 0 : peerAsn),
      routerId: formatAddress(routerId),
      ...(negotiated === undefined ? {} : { negotiated: statusOf(negotiated) }),
      prefixesAdvertised: { ipv4: this.#rib.advertised(4), ipv6: this.#rib.advertised(6) },
      prefixesReceived: { ipv4: this.#session.received[4], ipv6: this.#session.received[6] },
      ...(error === undefined ? {} : { lastError: error }),
      notPossible: notPossible.map(({ prefix, why }) => ({ prefix: formatPrefix(prefix), why })),
      notPossibleCount: this.#rib.notPossibleCount(this.#session.outbound),
      counters: copyOfCounters(this.#session.counters),
    };
  }

  /** The latest steps of the state machine, oldest first. */
  history(): readonly HistoryEntry[] {
    return [...this.#session.history];
  }

  /** For the speaker: ends the session for good. Resolves when its connections are closed. */
  async close(subcode: number, message?: string): Promise<void> {
    this.#removed = true;
    this.#stop(subcode, message ?? this.#options.shutdownMessage);
    await this.#session.closed();
    this.#rib.close();
  }

  #start(): void {
    if (!this.#removed && !this.#options.adminDown) this.#session.start();
  }

  #stop(subcode: number, message?: string): void {
    this.#session.stop(ceaseNotification(subcode, message));
  }
}

const formatRouterId = (routerId: number): string => formatAddress({ family: 4, value: BigInt(routerId) });

function statusOf({
  peerRouterId,
  internal,
  holdTime,
  families,
  fourOctetAsn,
  routeRefresh,
  extendedNextHop,
}: Negotiated): NegotiatedStatus {
  return { peerRouterId: formatRouterId(peerRouterId), internal, holdTime, families, fourOctetAsn, routeRefresh, extendedNextHop };
}
