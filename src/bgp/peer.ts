import { defined } from '../lang/defined.ts';
import { formatAddress, type Address, type Family } from '../net/address.ts';
import { formatPrefix, type Prefix } from '../net/prefix.ts';
import { advertisedRoute, type AdvertisedRoute } from './rib/advertised-route.ts';
import { copyOfCounters, type Counters } from './diagnosis/counters.ts';
import type { StateName } from './diagnosis/session-state.ts';
import { maximumNotPossible } from './limits.ts';
import { fieldClass, endpointFields, PeerOptionsError, type PeerOptions, type ResolvedOptions } from './options/peer-options.ts';
import type { OutageStatus } from './diagnosis/outage.ts';
import type { Problem } from './diagnosis/problem.ts';
import { AdjRibOut } from './rib/adj-rib-out.ts';
import { demandRoom, toPath, toRoutes, type PathInput, type RouteInput } from './options/route-input.ts';
import { ReplacementRunner } from './rib/replace-routes.ts';
import type { ContendingPath, PathOrigin } from './rib/received/contending-paths.ts';
import type { ReceivedRoute } from './rib/received/received-route.ts';
import type { ReceivedStatus } from './rib/received/received-routes.ts';
import type { SharedRoutes } from './rib/shared-routes.ts';
import { describeOpen, negotiatedStatus, type NegotiatedStatus } from './negotiation/open-status.ts';
import type { EventStream } from './diagnosis/event-stream.ts';
import { notificationStatus, type NotificationStatus, type PeerEvent, type PeerEventOf, type PeerEventType } from './diagnosis/events.ts';
import type { BgpComponents } from './options/components.ts';
import type { DampingStatus } from './session/damper.ts';
import { applyLiveKeys } from './session/live-keys.ts';
import { monitoredSessionOf, type MonitoredSession } from './session/monitored-session.ts';
import { isFromPeer, peerKeyOf } from './session/session-config.ts';
import { Session, type HistoryEntry, type Restart } from './session/session.ts';
import type { TraceStream } from './trace/tap.ts';
import type { Incoming, PeerKey } from './transport/transport.ts';
import { cease } from './wire/codes.ts';
import { ceaseNotification } from './wire/notification.ts';

export interface PerFamily {
  readonly ipv4: number;
  readonly ipv6: number;
}

/** The status of a peer, as plain values. In JSON, `since` is RFC 3339. Never contains the password. */
export interface PeerStatus {
  readonly name: string;
  /** Empty if none is configured and none was discovered yet. */
  readonly address: string;
  readonly interface?: string;
  readonly vrf?: string;
  readonly port: number;
  readonly state: StateName;
  /** When the session entered `state`. */
  readonly since: Date;
  readonly localAsn: number;
  /** The AS number that the peer sent, else the configured one; 0 if neither is known. */
  readonly peerAsn: number;
  /** The local BGP identifier. */
  readonly routerId: string;
  /** Present while the session is established or in OpenConfirm. */
  readonly negotiated?: NegotiatedStatus;
  /** The capabilities of both OPEN messages in words, as far as they were exchanged. */
  readonly capabilities: { readonly sent: readonly string[]; readonly received: readonly string[] };
  readonly prefixesAdvertised: PerFamily;
  /** Prefixes announced by the peer in this session, including those that it has withdrawn since. */
  readonly prefixesReceived: PerFamily;
  /** When the peer last asked for all routes of a family (ROUTE-REFRESH, RFC 2918), as routers do after a change of policy. Absent: never. */
  readonly refreshRequested: { readonly ipv4?: Date; readonly ipv6?: Date };
  /** The kept routes. Present with import rules. */
  readonly received?: ReceivedStatus;
  /** The local address of the current or latest connection, if it is known. */
  readonly localAddress?: string;
  /** Why the session is down, or why it was down last: the first cause, then the latest symptom. */
  readonly lastError?: string;
  /** The same as typed evidence. Present while the session is down and something went wrong since it was last established. */
  readonly outage?: OutageStatus;
  /** The NOTIFICATION that ended the session. */
  readonly lastNotification?: NotificationStatus;
  /** The first desired routes that this session cannot carry, and the number of all of them. */
  readonly notPossible: readonly { readonly prefix: string; readonly pathId?: number; readonly why: string }[];
  readonly notPossibleCount: number;
  /** Flap damping: the penalty, and the current hold if there is one. */
  readonly damping: DampingStatus;
  readonly counters: Counters;
}

/**
 * The routes for this peer, besides those of `Speaker.rib`. The peer's own route of a prefix takes precedence over the shared one with the
 * same path identifier. A malformed route throws RouteError and changes nothing. Changes in one turn of the event loop are sent together;
 * setting the same routes again sends nothing.
 */
export interface PeerRoutes {
  /**
   * Makes these the routes, exactly, and declares them complete: with graceful restart, End-of-RIB waits for this. If a prefix comes twice,
   * the last route counts. More than 32,768 routes are put in place in several turns of the event loop.
   */
  set(routes: Iterable<RouteInput>): void;
  /**
   * Adds or changes some routes and withdraws others, as SpeakerRoutes does. Withdrawing a route that was not announced is no error.
   */
  update(change: { readonly announce?: Iterable<RouteInput>; readonly withdraw?: Iterable<PathInput> }): void;
}

/** Callbacks from a peer to its speaker. */
export interface PeerHost extends Restart {
  readonly shared: SharedRoutes;
  /** Throws PeerOptionsError. */
  resolve(options: PeerOptions): ResolvedOptions;
  changed(peer: Peer): void;
  remove(peer: Peer, reason: string | undefined): Promise<void>;
  /** Reports that the address or password of the peer may have changed. */
  keysChanged(): void;
}

/** A configured peer, created by `Speaker.addPeer`. */
export class Peer {
  readonly name: string;
  readonly routes: PeerRoutes;
  readonly #components: BgpComponents;
  readonly #host: PeerHost;
  readonly #rib: AdjRibOut;
  readonly #replacement: ReplacementRunner;
  readonly #session: Session;
  #options: ResolvedOptions;
  #discovery: { close(): void } | undefined;
  #removed = false;
  /** True from `pathLost` to `pathRestored`. */
  #isPathLost = false;

  /** @internal The session starts in a later turn of the event loop, so that its first burst can be complete. */
  constructor(components: BgpComponents, host: PeerHost, options: ResolvedOptions) {
    this.#options = options;
    this.name = options.name;
    this.#components = components;
    this.#host = host;
    this.#rib = new AdjRibOut(components.store, () => this.#session.outbox.ribChanged());
    this.#replacement = new ReplacementRunner(components.clock);
    this.#session = new Session(components, this.#options, this.#rib, () => host.changed(this), host);
    if (host.shared.complete) this.completeRoutes();
    this.routes = {
      set: (routes) => {
        this.#replacement.run(this.#rib.replaceGradually(toRoutes(routes)), () => this.completeRoutes());
      },
      update: ({ announce = [], withdraw = [] }) => {
        const [added, gone] = [[...toRoutes(announce)], [...withdraw].map(toPath)];
        for (const route of added) demandRoom(route, this.#rib);
        for (const { prefix, pathId } of gone) this.#rib.withdraw(prefix, pathId);
        for (const route of added) this.#rib.announce(route);
      },
    };
    components.clock.after(0, () => this.#start());
  }

  /**
   * Changes the options. All options are given, not only the changed ones. The session is reset only if a changed field requires it
   * (`fieldClass`); a change of TCP-AO keys only if the open connection cannot take them. Throws PeerOptionsError, and then nothing has changed.
   */
  reconfigure(options: PeerOptions): void {
    const next = this.#host.resolve({ name: this.name, ...options });
    if (next.name !== this.name) throw new PeerOptionsError('name', 'a peer keeps its name: remove it and add another');
    const before = this.#options;
    const changed = applyLiveKeys(this.#session.connections, before, next, this.#components);
    const classes = new Set(changed.map((field) => fieldClass[field]));
    this.#options = next;
    this.#host.keysChanged();
    // Such a change is probably a repair, so earlier flaps do not count.
    const mayRepair = classes.has('reset') || classes.has('start');
    if (mayRepair) this.#session.damper.clearFlaps();
    if (next.adminDown) {
      if (!before.adminDown) this.#stop(cease.administrativeShutdown, next.shutdownMessage);
      this.#session.configure(next);
    } else if (classes.has('start')) {
      this.#session.configure(next);
      this.#start();
    } else if (classes.has('reset')) {
      this.#components.log.info({ peer: this.name, fields: changed }, 'session is reset because options changed');
      const notification = ceaseNotification(cease.configurationChange);
      // A peer with graceful restart gets no NOTIFICATION, because it would drop the routes. If the new session goes elsewhere, it gets
      // one.
      if (changed.some((field) => endpointFields.has(field))) this.#session.stop(notification);
      else this.#session.stopForRestart(notification);
      this.#discovery?.close();
      this.#session.configure(next);
      // The old connection is closed before the new session starts.
      void this.#session.closed().then(() => this.#start());
    } else {
      this.#session.configure(next);
      if (classes.has('soft')) this.#session.renewNextHops();
    }
    if (mayRepair) this.#session.problem.optionsChanged();
  }

  /**
   * Reports that BFD has lost the path to the peer, or has not established it yet. The session ends with Cease / BFD Down (RFC 9384), and
   * neither side can open another one until `pathRestored`. A peer that keeps routes after other NOTIFICATIONs drops them after this one.
   * Discovery of an unnumbered peer continues, because BFD needs its address.
   */
  pathLost(): void {
    if (this.#removed || this.#isPathLost) return;
    this.#isPathLost = true;
    if (!this.#options.adminDown) this.#session.stop(ceaseNotification(cease.bfdDown));
  }

  /** Reports that BFD is up again, or that the session no longer waits for it. */
  pathRestored(): void {
    if (!this.#isPathLost) return;
    this.#isPathLost = false;
    // The old connection is closed before the new session starts.
    void this.#session.closed().then(() => this.#start());
  }

  status(): PeerStatus {
    const { interface: networkInterface, vrf, port, localAsn, peerAsn, routerId, adminDown } = this.#options;
    const { negotiated, problem, peerAddress, localAddress, opens, inbox, outbox } = this.#session;
    const notPossible = [...this.#rib.notPossible(this.#session.outbox.format).take(maximumNotPossible)];
    const lastNotification = notificationOf(problem.last);
    return {
      name: this.name,
      address: peerAddress === undefined ? '' : formatAddress(peerAddress),
      ...defined({ interface: networkInterface, vrf }),
      port,
      state: this.#session.state,
      since: this.#session.since,
      localAsn,
      peerAsn: negotiated?.peerAsn ?? (peerAsn === 'internal' ? localAsn : typeof peerAsn === 'number' ? peerAsn : 0),
      routerId: formatAddress(routerId),
      capabilities: { sent: describeOpen(opens.sent), received: describeOpen(opens.received) },
      prefixesAdvertised: { ipv4: this.#rib.advertised(4), ipv6: this.#rib.advertised(6) },
      prefixesReceived: { ipv4: inbox.counts.announced[4], ipv6: inbox.counts.announced[6] },
      refreshRequested: defined({ ipv4: outbox.refreshRequested[4], ipv6: outbox.refreshRequested[6] }),
      ...defined({ negotiated: negotiated && negotiatedStatus(negotiated), received: inbox.routes?.status(), lastNotification }),
      ...defined({ localAddress: localAddress && formatAddress(localAddress), outage: adminDown ? undefined : problem.outage }),
      ...defined({ lastError: adminDown ? 'administratively down' : problem.text }),
      notPossible: notPossible.map(({ prefix, ...rest }) => ({ prefix: formatPrefix(prefix), ...rest })),
      notPossibleCount: this.#rib.notPossibleCount(this.#session.outbox.format),
      damping: this.#session.damper.status(),
      counters: copyOfCounters(this.#session.counters),
    };
  }

  /**
   * Yields the routes sent in this session and not withdrawn, in an order that is stable while they stay. `from`: the `at` of a route, to continue
   * after it. Read them in one turn of the event loop: routes that change meanwhile may be missed or come twice.
   */
  *advertised(family: Family, from = 0): Generator<AdvertisedRoute> {
    const { format } = this.#session.outbox;
    if (format === undefined) return;
    for (const sent of this.#rib.advertisedPrefixes(family, from)) yield advertisedRoute(sent, format);
  }

  /**
   * Returns the route of a prefix as it was sent, or undefined if the peer does not have it. On a session with ADD-PATH it is that with
   * `pathId`, or else that with the smallest identifier.
   */
  advertisedRoute(prefix: Prefix, pathId?: number): AdvertisedRoute | undefined {
    const { format } = this.#session.outbox;
    const sent = format === undefined ? undefined : this.#rib.advertisedPrefix(prefix, pathId);
    return format === undefined || sent === undefined ? undefined : advertisedRoute(sent, format);
  }

  /**
   * Yields the routes of the peer that its import rules accept; none without import rules. Read them in one turn of the event loop: routes
   * that change meanwhile may be missed.
   */
  received(family: Family): Generator<ReceivedRoute> {
    return this.#session.inbox.received(family);
  }

  /** Returns the accepted routes of a prefix: at most one, or several on a session with ADD-PATH. */
  receivedRoutes(prefix: Prefix): readonly ReceivedRoute[] {
    return this.#session.inbox.routes?.routesOf(prefix) ?? [];
  }

  /** Returns the peer's paths for prefixes of this speaker, accepted or not, whose origin `counts`: at most `maximumContendingPaths`. */
  contendingPaths(counts: (origin: PathOrigin) => boolean): readonly ContendingPath[] {
    return this.#session.inbox.contendingPaths(counts);
  }

  /** Returns the latest steps of the state machine, oldest first. */
  history(): readonly HistoryEntry[] {
    return [...this.#session.history];
  }

  /**
   * Calls the listener with every event of the type, in the same turn. The returned function removes it. An error in the listener does not
   * disturb the session: it becomes an uncaught exception of the process.
   */
  on<T extends PeerEventType>(type: T, listener: (event: PeerEventOf<T>) => void): () => void {
    return this.#session.events.on(type, listener);
  }

  /**
   * Streams all events from now on, until the peer is removed. The latest 256 unread events are kept, and `lost` has the number of dropped
   * ones. If the signal aborts, the iteration throws its reason.
   */
  events(options: { readonly signal?: AbortSignal } = {}): EventStream<PeerEvent> {
    return this.#session.events.events(options);
  }

  /**
   * Streams every message sent or received from now on, until the peer is removed. A slow reader never delays the session: the latest
   * unread messages are kept, and `lost` has the number of dropped ones.
   */
  trace(options: { readonly signal?: AbortSignal } = {}): TraceStream {
    return this.#session.tap.trace(options);
  }

  /**
   * Resolves with the negotiated values when the session is established, or at once if it already is. Rejects with the reason of the
   * signal, or with PeerClosedError when the peer is removed. A failing session does not reject, because it is retried.
   */
  established(options: { readonly signal?: AbortSignal } = {}): Promise<NegotiatedStatus> {
    return this.#session.events.established(options);
  }

  /** Ends the session and removes the peer, as `Speaker.removePeer` does. Resolves when its connections are closed. */
  remove(reason?: string): Promise<void> {
    return this.#host.remove(this, reason);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.remove();
  }

  /** @internal The session as extensions of the speaker see it. */
  get monitored(): MonitoredSession {
    return monitoredSessionOf(this.#session, this.#rib);
  }

  /** @internal Called by the speaker: ends the session permanently. Resolves when its connections are closed. */
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
    this.#replacement.stop();
    this.#rib.close();
  }

  /** @internal Called by the speaker: the routes are complete. */
  completeRoutes(): void {
    this.#session.outbox.completeRoutes();
  }

  /** @internal Called by the speaker: tells whether a connection from this address belongs to this peer. */
  isFrom(incoming: Incoming): boolean {
    return isFromPeer(this.#options, incoming);
  }

  /** @internal Called by the speaker for a member of a group: takes the connection that it was made for. */
  acceptFirst(incoming: Incoming): boolean {
    this.#start();
    return this.accept(incoming);
  }

  /** @internal Called by the speaker: takes a connection that the peer opened. False: not now. */
  accept(incoming: Incoming): boolean {
    if (this.#removed || this.#options.adminDown) return false;
    if (this.#options.address === undefined) this.#found(incoming.remoteAddress);
    return this.#session.accept(incoming);
  }

  /** @internal Called by the speaker: returns the keys for connections from this peer. */
  key(): PeerKey | undefined {
    return peerKeyOf(this.#options);
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
    // Discovery may already run, if the options changed twice while the session closed.
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

function notificationOf(problem: Problem | undefined): NotificationStatus | undefined {
  if (problem === undefined || !('notification' in problem)) return undefined;
  return notificationStatus(problem.kind === 'received' ? 'received' : 'sent', problem.notification);
}
