import { defined } from '../lang/defined.ts';
import { formatAddress, isLinkLocal, type Address, type Family } from '../net/address.ts';
import { formatPrefix, hostPrefix, prefix, type Prefix } from '../net/prefix.ts';
import { advertisedRoute, type AdvertisedRoute } from './rib/advertised-route.ts';
import { copyOfCounters, type Counters } from './diagnosis/counters.ts';
import type { StateName } from './session-state.ts';
import { maximumNotPossible } from './limits.ts';
import {
  changedFields,
  fieldClass,
  fieldsOfPeerIdentity,
  PeerOptionsError,
  type PeerOptions,
  type ResolvedOptions,
} from './options/peer-options.ts';
import type { Problem } from './diagnosis/problem.ts';
import { AdjRibOut } from './rib/adj-rib-out.ts';
import { toPrefix, toRoute, toRoutes, type RouteInput } from './options/route-input.ts';
import { PeerRouteSet, type SharedRoutes } from './rib/shared-routes.ts';
import { describeOpen, negotiatedStatus, type NegotiatedStatus } from './negotiation/open-status.ts';
import type { EventStream } from './diagnosis/event-stream.ts';
import { notificationStatus, type NotificationStatus, type PeerEvent, type PeerEventOf, type PeerEventType } from './diagnosis/events.ts';
import type { BgpComponents } from './options/components.ts';
import type { DampingStatus } from './session/damper.ts';
import { Session, type HistoryEntry, type Restart } from './session/session.ts';
import type { TraceStream } from './trace/tap.ts';
import type { Incoming, PeerKey } from './transport/transport.ts';
import { cease } from './wire/codes.ts';
import { ceaseNotification } from './wire/notification.ts';

export interface PerFamily {
  readonly ipv4: number;
  readonly ipv6: number;
}

/** Plain values: as JSON, `since` becomes RFC 3339. Never contains the password. */
export interface PeerStatus {
  readonly name: string;
  /** Empty where the peer has none configured and was not found yet. */
  readonly address: string;
  readonly interface?: string;
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
  /** The capabilities in the OPEN of each side, in words, as far as they were exchanged. */
  readonly capabilities: { readonly sent: readonly string[]; readonly received: readonly string[] };
  readonly prefixesAdvertised: PerFamily;
  /** Announcements received in this session: counted, not stored, so withdrawn ones are in it. */
  readonly prefixesReceived: PerFamily;
  /** Why the session is down, or why it was the last time, in words. */
  readonly lastError?: string;
  /** The NOTIFICATION that ended it. */
  readonly lastNotification?: NotificationStatus;
  /** Desired routes that this session cannot carry: the first of them, and how many there are. */
  readonly notPossible: readonly { readonly prefix: string; readonly why: string }[];
  readonly notPossibleCount: number;
  /** Whether the session is held back because it flaps, and how near it is to that. */
  readonly damping: DampingStatus;
  readonly counters: Counters;
}

/**
 * What a peer should have, besides what `Speaker.rib` says for all: its own routes count before those. A route that is written wrongly
 * throws RouteError, and then nothing has changed. Changes made in one turn of the event loop are sent together; the same again sends nothing. */
export interface PeerRoutes {
  /** Exactly these, and that is all there is: with graceful restart, End-of-RIB waits for this. Of two with one prefix the last counts. */
  set(routes: Iterable<RouteInput>): void;
  /** These more, or with other attributes, and those no longer. Withdrawing what was not announced is no error. */
  update(change: { readonly announce?: Iterable<RouteInput>; readonly withdraw?: Iterable<Prefix | string> }): void;
}

/** What a peer asks of its speaker, and tells it. */
export interface PeerHost extends Restart {
  readonly shared: SharedRoutes;
  /** Throws PeerOptionsError. */
  resolve(options: PeerOptions): ResolvedOptions;
  changed(peer: Peer): void;
  remove(peer: Peer, reason: string | undefined): Promise<void>;
  /** The peer may have another address or password than before. */
  keysChanged(): void;
}

/** One configured peer, made by `Speaker.addPeer`. */
export class Peer {
  readonly name: string;
  readonly routes: PeerRoutes;
  readonly #components: BgpComponents;
  readonly #host: PeerHost;
  readonly #rib: AdjRibOut;
  readonly #routeSet: PeerRouteSet;
  readonly #session: Session;
  #options: ResolvedOptions;
  #discovery: { close(): void } | undefined;
  #removed = false;
  /** Between `pathLost` and `pathRestored`. */
  #isPathLost = false;

  /** The session starts in a later turn of the event loop, so its first burst can be complete. */
  constructor(components: BgpComponents, host: PeerHost, options: ResolvedOptions) {
    this.#options = options;
    this.name = options.name;
    this.#components = components;
    this.#host = host;
    this.#rib = new AdjRibOut(components.store);
    this.#session = new Session(components, this.#options, this.#rib, () => host.changed(this), host);
    this.#routeSet = new PeerRouteSet(host.shared, this.#rib, () => this.#session.outbox.ribChanged());
    if (host.shared.complete) this.completeRoutes();
    this.routes = {
      set: (routes) => {
        this.#routeSet.replaceRoutes(toRoutes(routes));
        this.completeRoutes();
      },
      update: ({ announce = [], withdraw = [] }) => {
        const [added, gone] = [[...announce].map(toRoute), [...withdraw].map(toPrefix)];
        for (const prefix of gone) this.#routeSet.withdraw(prefix);
        for (const route of added) this.#routeSet.announce(route);
      },
    };
    components.clock.after(0, () => this.#start());
  }

  /**
   * Changes the options; all of them are given, not only the changed ones. The session is reset only if a changed field
   * demands it (`fieldClass`). Throws PeerOptionsError, and then nothing has changed.
   */
  reconfigure(options: PeerOptions): void {
    const next = this.#host.resolve({ name: this.name, ...options });
    if (next.name !== this.name) throw new PeerOptionsError('name', 'a peer keeps its name: remove it and add another');
    const before = this.#options;
    const changed = changedFields(before, next);
    const classes = new Set(changed.map((field) => fieldClass[field]));
    this.#options = next;
    this.#host.keysChanged();
    // Whoever changes what a session is made of means to mend it.
    if (classes.has('reset') || classes.has('start')) this.#session.damper.clearFlaps();
    if (next.adminDown) {
      if (!before.adminDown) this.#stop(cease.administrativeShutdown, next.shutdownMessage);
      this.#session.configure(next);
    } else if (classes.has('start')) {
      this.#session.configure(next);
      this.#start();
    } else if (classes.has('reset')) {
      this.#components.log.info({ peer: this.name, fields: changed }, 'session is reset because options changed');
      const notification = ceaseNotification(cease.configurationChange);
      // A peer that keeps our routes is not told, or it would drop them; one to which we do not come back must.
      if (changed.some((field) => fieldsOfPeerIdentity.has(field))) this.#session.stop(notification);
      else this.#session.stopForRestart(notification);
      this.#discovery?.close();
      this.#session.configure(next);
      // The peer has seen the end of the old connection before the new one begins.
      void this.#session.closed().then(() => this.#start());
    } else {
      this.#session.configure(next);
      if (classes.has('soft')) this.#session.renewNextHops();
    }
  }

  /**
   * BFD says that the way to the peer is lost, or is not there yet: the session ends with Cease / BFD Down (RFC 9384), and there is no other
   * one, neither side opening it, until `pathRestored`. A peer that keeps routes after other NOTIFICATIONs forgets them after this one.
   * One without an address goes on being looked for: BFD cannot come up with a router that nobody has found.
   */
  pathLost(): void {
    if (this.#removed || this.#isPathLost) return;
    this.#isPathLost = true;
    if (!this.#options.adminDown) this.#session.stop(ceaseNotification(cease.bfdDown));
  }

  /** BFD is up again, or is waited for no longer. */
  pathRestored(): void {
    if (!this.#isPathLost) return;
    this.#isPathLost = false;
    // The end of the old connection is seen before the new one begins.
    void this.#session.closed().then(() => this.#start());
  }

  status(): PeerStatus {
    const { interface: networkInterface, port, localAsn, peerAsn, routerId, adminDown } = this.#options;
    const { negotiated, problem, peerAddress, opens, adjRibIn: received } = this.#session;
    const notPossible = [...this.#rib.notPossible(this.#session.outbox.format).take(maximumNotPossible)];
    const error = adminDown ? 'administratively down' : problem.text;
    const lastNotification = notificationOf(problem.last);
    return {
      name: this.name,
      address: peerAddress === undefined ? '' : formatAddress(peerAddress),
      ...defined({ interface: networkInterface }),
      port,
      state: this.#session.state,
      since: this.#session.since,
      localAsn,
      peerAsn: negotiated?.peerAsn ?? (peerAsn === 'internal' ? localAsn : typeof peerAsn === 'number' ? peerAsn : 0),
      routerId: formatAddress(routerId),
      ...(negotiated === undefined ? {} : { negotiated: negotiatedStatus(negotiated) }),
      capabilities: { sent: describeOpen(opens.sent), received: describeOpen(opens.received) },
      prefixesAdvertised: { ipv4: this.#rib.advertised(4), ipv6: this.#rib.advertised(6) },
      prefixesReceived: { ipv4: received.announced[4], ipv6: received.announced[6] },
      ...defined({ lastError: error, lastNotification }),
      notPossible: notPossible.map(({ prefix, why }) => ({ prefix: formatPrefix(prefix), why })),
      notPossibleCount: this.#rib.notPossibleCount(this.#session.outbox.format),
      damping: this.#session.damper.status(),
      counters: copyOfCounters(this.#session.counters),
    };
  }

  /**
   * The routes that the peer was sent in this session and that were not withdrawn, in an order of no meaning, which stays while they do. `from`: the
   * `at` of a route, to go on behind it. To be read in one turn of the event loop: what changes meanwhile may be missed, or come twice.
   */
  *advertised(family: Family, from = 0): Generator<AdvertisedRoute> {
    const { format } = this.#session.outbox;
    if (format === undefined) return;
    for (const sent of this.#rib.advertisedPrefixes(family, from)) yield advertisedRoute(sent, format);
  }

  /** The route of one prefix, as the peer was sent it; undefined: the peer has none of us. */
  advertisedRoute(prefix: Prefix): AdvertisedRoute | undefined {
    const { format } = this.#session.outbox;
    const sent = format === undefined ? undefined : this.#rib.advertisedPrefix(prefix);
    return format === undefined || sent === undefined ? undefined : advertisedRoute(sent, format);
  }

  /** The latest steps of the state machine, oldest first. */
  history(): readonly HistoryEntry[] {
    return [...this.#session.history];
  }

  /**
   * Calls the listener with every event of the type, in the same turn; the result takes it off again. What it throws does not
   * disturb the session: it is an uncaught exception of the process.
   */
  on<T extends PeerEventType>(type: T, listener: (event: PeerEventOf<T>) => void): () => void {
    return this.#session.events.on(type, listener);
  }

  /**
   * Everything that happens from now on, until the peer is removed. Of events that nobody takes the latest 256 are kept, and `lost`
   * says how many are missing. When the signal aborts, the iteration throws its reason.
   */
  events(options: { readonly signal?: AbortSignal } = {}): EventStream<PeerEvent> {
    return this.#session.events.events(options);
  }

  /**
   * Every message of the peer's connections that is sent or received from now on, until the peer is removed. A program that does not take
   * them never delays the session: of what waits the latest are kept, and `lost` says how many are missing.
   */
  trace(options: { readonly signal?: AbortSignal } = {}): TraceStream {
    return this.#session.tap.trace(options);
  }

  /**
   * Resolves with what was negotiated as soon as the session is established, at once if it is. Rejects with the reason of the signal, or
   * with PeerClosedError when the peer is removed; a session that fails is no error, because it is tried again.
   */
  established(options: { readonly signal?: AbortSignal } = {}): Promise<NegotiatedStatus> {
    return this.#session.events.established(options);
  }

  /** Ends the session and forgets the peer, as `Speaker.removePeer` does. Resolves when its connections are closed. */
  remove(reason?: string): Promise<void> {
    return this.#host.remove(this, reason);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.remove();
  }

  /** For the speaker: ends the session for good. Resolves when its connections are closed. */
  async close(how: { readonly subcode: number; readonly message?: string | undefined; readonly forRestart?: boolean }): Promise<void> {
    if (this.#removed) return await this.#session.closed();
    this.#removed = true;
    this.#discovery?.close();
    const notification = ceaseNotification(how.subcode, how.message ?? this.#options.shutdownMessage);
    if (how.forRestart === true) this.#session.stopForRestart(notification);
    else this.#session.stop(notification);
    this.#session.events.close();
    await this.#session.closed();
    this.#session.tap.close();
    this.#routeSet.close();
    this.#rib.close();
  }

  /** For the speaker: the routes are all there is. */
  completeRoutes(): void {
    this.#session.outbox.completeRoutes();
  }

  /** For the speaker: whether a connection from there would be this peer's. */
  isFrom({ remoteAddress, interface: networkInterface }: Incoming): boolean {
    const { address, interface: own } = this.#options;
    if (address === undefined) return networkInterface === own && isLinkLocal(remoteAddress);
    if (address.family !== remoteAddress.family || address.value !== remoteAddress.value) return false;
    return own === undefined || networkInterface === undefined || networkInterface === own;
  }

  /** For the speaker: the peer has connected. False: not now. */
  accept(incoming: Incoming): boolean {
    if (this.#removed || this.#options.adminDown) return false;
    if (this.#options.address === undefined) this.#found(incoming.remoteAddress);
    return this.#session.accept(incoming);
  }

  /** For the speaker: the key that the peer must use when it connects. */
  key(): PeerKey | undefined {
    const { password, address, interface: networkInterface } = this.#options;
    if (password === undefined) return undefined;
    const prefix = address === undefined ? linkLocal : hostPrefix(address);
    return { prefix, password, ...defined({ interface: networkInterface }) };
  }

  #start(): void {
    if (this.#removed || this.#options.adminDown) return;
    this.#discover();
    if (!this.#isPathLost) this.#session.start();
  }

  #discover(): void {
    const { address, interface: networkInterface } = this.#options;
    if (address !== undefined || networkInterface === undefined) return;
    const { transport, log } = this.#components;
    // Two changes of the options while the session closes both end here.
    this.#discovery?.close();
    this.#discovery = transport.discover(networkInterface, {
      found: (found) => this.#found(found),
      failed: ({ detail }) => log.warn({ peer: this.name, interface: networkInterface, reason: detail }, 'cannot look for the peer'),
    });
  }

  #found(address: Address): void {
    const before = this.#session.peerAddress;
    this.#session.discovered(address);
    if (this.#session.peerAddress?.value !== before?.value) this.#host.changed(this);
  }

  #stop(subcode: number, message?: string): void {
    this.#discovery?.close();
    this.#session.stop(ceaseNotification(subcode, message));
  }
}

const linkLocal = prefix('fe80::/10');

function notificationOf(problem: Problem | undefined): NotificationStatus | undefined {
  if (problem === undefined || !('notification' in problem)) return undefined;
  return notificationStatus(problem.kind === 'received' ? 'received' : 'sent', problem.notification);
}
