import type { Address } from '../../net/address.ts';
import { restartsGracefully, hasRestartBit, connectionToKeep, type Direction } from '../negotiation/collision.ts';
import type { BgpComponents } from '../options/components.ts';
import { ConnectionFsm, type Opens, type SessionCallbacks } from './connection-fsm.ts';
import { countFlap, newCounters, type Counters } from '../diagnosis/counters.ts';
import { Damper } from './damper.ts';
import { initialState, type FsmEvent, type FsmState } from './fsm-events.ts';
import { stateNames, type StateName } from '../diagnosis/session-state.ts';
import { admits } from './fsm.ts';
import { countsAsFlap } from './flap-damping.ts';
import { notificationStatus, PeerEvents } from '../diagnosis/events.ts';
import type { LocalOpen } from '../negotiation/local-open.ts';
import { collisionWindow, historyLength, maximumConnections } from '../limits.ts';
import { negotiate, type Negotiated } from '../negotiation/negotiate.ts';
import { Inbox } from './inbox.ts';
import { Outbox } from './outbox.ts';
import { updateFormatOf, type UpdateFormat } from '../rib/update-format.ts';
import type { ResolvedOptions } from '../options/peer-options.ts';
import type { Problem } from '../diagnosis/problem.ts';
import { negotiatedStatus, saidAsn } from '../negotiation/open-status.ts';
import type { AdjRibOut } from '../rib/adj-rib-out.ts';
import { dialOptionsOf, fsmConfigOf, localOpenOf, socketOptionsOf } from './session-config.ts';
import { LastProblem } from '../diagnosis/last-problem.ts';
import { Tap } from '../trace/tap.ts';
import type { Connection, DialOptions, Incoming } from '../transport/transport.ts';
import { cease } from '../wire/codes.ts';
import { ceaseNotification, hardReset, innermost, type Notification } from '../wire/notification.ts';
import type { OpenMessage } from '../wire/open.ts';

/** One step of a state machine, for debugging. */
export interface HistoryEntry {
  readonly at: Date;
  readonly connection: Direction;
  readonly event: FsmEvent['type'];
  readonly from: StateName;
  readonly to: StateName;
}

/** This process follows an earlier one that announced the same routes, and forwarding went on meanwhile (RFC 4724 4.1). */
export interface Restart {
  readonly restarted: boolean;
}

/**
 * The session with one peer. It usually has one connection. During a connection collision it has two, each with its own state machine,
 * until collision detection chooses one (RFC 4271 6.8).
 */
export class Session {
  readonly counters: Counters = newCounters();
  readonly events = new PeerEvents();
  since: Date;
  readonly problem: LastProblem;
  /** Publishes the messages of the connections to traces. */
  readonly tap: Tap;
  readonly #components: BgpComponents;
  readonly inbox: Inbox;
  readonly outbox: Outbox;
  readonly damper: Damper;
  readonly #changed: () => void;
  readonly #callbacks: SessionCallbacks;
  readonly #history: HistoryEntry[] = [];
  readonly #open = new Set<object>();
  readonly #created: number;
  readonly #restarted: boolean;
  #options: ResolvedOptions;
  /** The address discovered last, for a peer without a configured address. */
  #discovered: Address | undefined;
  #primary: ConnectionFsm;
  /** The second connection during a connection collision. */
  #colliding: ConnectionFsm | undefined;
  #establishedAt = -Infinity;
  /** The state in the latest `state` event. */
  #publishedState: StateName = 'Idle';
  #whenClosed: (() => void)[] = [];

  /** `changed` is called when the session is established, goes down, or fails for a new reason, and when the peer asks for all routes again. */
  constructor(
    components: BgpComponents,
    options: ResolvedOptions,
    rib: AdjRibOut,
    changed: () => void,
    { restarted }: Restart = { restarted: false },
  ) {
    this.#components = components;
    this.#options = options;
    this.#changed = changed;
    this.#restarted = restarted;
    this.#created = components.clock.now();
    this.since = components.clock.date();
    this.problem = new LastProblem(components);
    this.tap = new Tap(components.clock);
    const { clock, random } = components;
    const parts = { clock, counters: this.counters, established: () => this.established };
    this.outbox = new Outbox({ ...parts, rib });
    this.damper = new Damper({ clock, random, isOn: () => this.#options.flapDamping });
    this.#callbacks = this.#makeCallbacks();
    this.#primary = new ConnectionFsm(this.#callbacks, initialState);
    this.inbox = new Inbox({ ...parts, events: this.events, rib, contended: changed }, options);
  }

  /** State of the connection that has come furthest. */
  get state(): StateName {
    return this.#foremost.state.name;
  }

  /** Present in OpenConfirm and Established. */
  get negotiated(): Negotiated | undefined {
    return this.#foremost.state.negotiated;
  }

  /** The established connection. */
  get established(): ConnectionFsm | undefined {
    return this.state === 'Established' ? this.#foremost : undefined;
  }

  get connections(): Connection[] {
    return [this.#primary, this.#colliding].flatMap((fsm) => fsm?.connection ?? []);
  }

  get opens(): Opens {
    return this.#foremost.opens;
  }

  get history(): readonly HistoryEntry[] {
    return this.#history;
  }

  /** The configured address, else that of the current connection, else the discovered one. */
  get peerAddress(): Address | undefined {
    const { state, remoteAddress } = this.#foremost;
    const isConnected = rank(state) >= rank({ name: 'OpenSent' });
    return this.#options.address ?? (isConnected ? remoteAddress : this.#discovered);
  }

  /** The local address of the current or latest connection, as far as it is known. */
  get localAddress(): Address | undefined {
    return this.#foremost.localAddress;
  }

  start(): void {
    const { remainingHold: milliseconds } = this.damper;
    this.#primary.post(milliseconds > 0 ? { type: 'hold', milliseconds } : { type: 'start' });
  }

  /** Ends the session so that the peer drops the routes: a peer that keeps them after a NOTIFICATION gets a Hard Reset. */
  stop(notification: Notification): void {
    const final = this.negotiated?.gracefulRestart?.notification === true ? hardReset(notification) : notification;
    this.#stopAll(final, { kind: 'stopped', notification });
  }

  /**
   * Ends the session without a NOTIFICATION, so that the peer keeps the routes until this speaker is back. A peer without graceful restart
   * gets the NOTIFICATION (RFC 4724 4). During a handshake the peer may still hold routes of the previous session.
   */
  stopForRestart(notification: Notification): void {
    const { negotiated } = this;
    const kept = negotiated === undefined ? this.#peerMayRetainRoutes : negotiated.gracefulRestart !== undefined;
    this.#stopAll(kept ? undefined : notification, kept ? { kind: 'suspended' } : { kind: 'stopped', notification });
  }

  /** Resolves when all connections are closed, including those that still deliver their NOTIFICATION. */
  async closed(): Promise<void> {
    if (this.#open.size > 0) await new Promise<void>((resolve) => this.#whenClosed.push(resolve));
  }

  /** Takes a connection that the peer has opened. False: not now. */
  accept(incoming: Incoming): boolean {
    const { state } = this.#primary;
    if (state.name === 'Idle' && !admits(state)) return false;
    // A peer that connects repeatedly without sending an OPEN must not use up the file descriptors of the process.
    if (this.#open.size >= maximumConnections) return false;
    const target = admits(state) ? this.#primary : this.#newColliding(state);
    target.accept(incoming, socketOptionsOf(this.#options));
    return true;
  }

  /** Records the discovered address of a peer without a configured one. */
  discovered(address: Address): void {
    if (this.#discovered?.value === address.value) return;
    this.#discovered = address;
    const { name, idleHold } = this.#primary.state;
    if (name === 'Active' || (name === 'Idle' && idleHold === 'accepting')) this.#primary.post({ type: 'connectRetryExpired' });
  }

  get #peerMayRetainRoutes(): boolean {
    const connected = rank(this.#foremost.state) >= rank({ name: 'OpenSent' });
    return connected && this.#options.gracefulRestart !== undefined;
  }

  /** Applies options that a running session can take. Other options take effect with the next connection. */
  configure(options: ResolvedOptions): void {
    // A router discovered on one interface is not on another.
    if (options.interface !== this.#options.interface || options.address !== undefined) this.#discovered = undefined;
    const wasHeld = this.damper.remainingHold > 0;
    this.#options = options;
    this.inbox.configure(options);
    const { name, idleHold } = this.#primary.state;
    const isReleased = wasHeld && this.damper.remainingHold === 0;
    if (isReleased && name === 'Idle' && idleHold === 'refusing') this.#primary.post({ type: 'connectRetryExpired' });
  }

  /** Sends all routes again, because the configured next hops changed. */
  renewNextHops(): void {
    const fsm = this.established;
    if (fsm?.state.negotiated === undefined) return;
    this.outbox.format = this.#updateFormatOf(fsm, fsm.state.negotiated);
    for (const family of fsm.state.negotiated.families) this.outbox.refresh(family, false);
  }

  get #foremost(): ConnectionFsm {
    const colliding = this.#colliding;
    return colliding !== undefined && rank(colliding.state) > rank(this.#primary.state) ? colliding : this.#primary;
  }

  #makeCallbacks(): SessionCallbacks {
    return {
      components: this.#components,
      counters: this.counters,
      tap: this.tap,
      fsmConfig: () => fsmConfigOf(this.#options, this.#localOpen()),
      dialOptions: () => this.#dialOptions(),
      resolveCollision: (fsm, open) => this.#resolveCollision(fsm, open),
      stepped: (fsm, event, from) => this.#stepped(fsm, event, from),
      established: (fsm, negotiated) => this.#enterEstablished(fsm, negotiated),
      down: (fsm, problem, wasEstablished) => this.#down(fsm, problem, wasEstablished),
      readvertise: (_, family) => {
        this.events.emit({ type: 'refresh', family });
        this.outbox.answerRequest(family, this.negotiated?.enhancedRouteRefresh === true);
        this.#changed();
      },
      refreshMarker: (marker) => this.inbox.refreshMarker(marker),
      received: (fsm, update) => this.inbox.receive(fsm, update),
      notification: (direction, notification) => this.events.emit({ type: 'notification', ...notificationStatus(direction, notification) }),
      drained: () => this.outbox.send(),
      opened: (connection) => void this.#open.add(connection),
      closed: (connection) => {
        this.#open.delete(connection);
        if (this.#open.size === 0) for (const resolve of this.#whenClosed.splice(0)) resolve();
      },
    };
  }

  #stopAll(notification: Notification | undefined, problem: Problem): void {
    this.inbox.clear();
    this.#colliding?.post({ type: 'stop', notification, problem: { kind: 'collision' } });
    this.#primary.post({ type: 'stop', notification, problem });
  }

  #newColliding({ failures }: FsmState): ConnectionFsm {
    // When the peer connects again, it has abandoned its earlier connection.
    if (this.#colliding !== undefined) this.#colliding.endCollision();
    this.#colliding = new ConnectionFsm(this.#callbacks, { name: 'Active', failures });
    return this.#colliding;
  }

  /** Resolves a connection collision once both connections have received an OPEN. Returns false if `fsm` is closed. */
  #resolveCollision(fsm: ConnectionFsm, open: OpenMessage): boolean {
    const other = fsm === this.#primary ? this.#colliding : this.#primary;
    if (other?.state.negotiated === undefined || fsm.state.name !== 'OpenSent') return true;
    const localOpen = this.#localOpen();
    const result = negotiate(open, localOpen);
    if (!result.ok) return true;
    const toClose = this.#connectionToClose(fsm, other, open, result.value, localOpen);
    if (toClose === 'restarted') other.post({ type: 'stop', notification: undefined, problem: { kind: 'peerRestarted' } });
    else toClose.endCollision();
    return toClose !== fsm;
  }

  #connectionToClose(
    fsm: ConnectionFsm,
    other: ConnectionFsm,
    open: OpenMessage,
    { peerAsn, peerRouterId }: Negotiated,
    { routerId, localAsn }: LocalOpen,
  ): ConnectionFsm | 'restarted' {
    if (other.state.name === 'Established') {
      const settled = this.#components.clock.now() - this.#establishedAt > collisionWindow * 1000;
      if (settled && hasRestartBit(open)) return 'restarted';
      // With hold time 0 nothing else would show that the old connection is dead.
      if (settled) other.probe();
      return fsm;
    }
    // Both connections were opened by the peer, so it has abandoned the earlier one.
    if (fsm.direction === other.direction) return this.#primary;
    const kept = connectionToKeep({ routerId, asn: localAsn }, { routerId: peerRouterId, asn: peerAsn });
    return fsm.direction === kept ? other : fsm;
  }

  #stepped(fsm: ConnectionFsm, event: FsmEvent, from: StateName): void {
    const to = fsm.state.name;
    if (event.type !== 'update' && (event.type !== 'keepalive' || from !== to)) {
      this.#history.push({ at: this.#components.clock.date(), connection: fsm.direction, event: event.type, from, to });
      if (this.#history.length > historyLength) this.#history.shift();
    }
    this.#dropIfOver(fsm);
    this.#publishState();
    if (from === 'Idle' && to !== from && this.damper.takeEnd()) this.#changed();
  }

  /** Emits a `state` event if the state of the session has changed. */
  #publishState(): void {
    const [from, to] = [this.#publishedState, this.state];
    if (from === to) return;
    this.#publishedState = to;
    this.since = this.#components.clock.date();
    this.events.emit({ type: 'state', from, to, at: this.since });
  }

  /** Drops one of two connections when it is over, because only one may start again. */
  #dropIfOver(fsm: ConnectionFsm): void {
    const { name } = fsm.state;
    if ((name !== 'Idle' && name !== 'Active') || this.#colliding === undefined) return;
    if (fsm === this.#primary) this.#primary = this.#colliding;
    else if (fsm !== this.#colliding) return;
    this.#colliding = undefined;
    fsm.discard();
  }

  #enterEstablished(fsm: ConnectionFsm, negotiated: Negotiated): void {
    const { clock, log } = this.#components;
    const other = fsm === this.#primary ? this.#colliding : this.#primary;
    if (other !== undefined) other.endCollision();
    this.#publishState();
    this.#establishedAt = clock.now();
    this.counters.established++;
    this.problem.established();
    this.inbox.begin(fsm, negotiated);
    this.outbox.begin(negotiated, this.#updateFormatOf(fsm, negotiated));
    log.info({ peer: this.#options.name, peerAsn: negotiated.peerAsn, families: negotiated.families }, 'session established');
    this.events.emit({ type: 'established', negotiated: negotiatedStatus(negotiated) });
    this.#changed();
  }

  #down(fsm: ConnectionFsm, problem: Problem, wasEstablished: boolean): void {
    if (wasEstablished) {
      countFlap(this.counters, problem);
      this.outbox.end();
      this.inbox.end(problem);
      if (countsAsFlap(problem, restartsGracefully(fsm.opens.received))) this.#dampFlap(fsm, problem);
    }
    const other = fsm === this.#primary ? this.#colliding : this.#primary;
    const peerChose = problem.kind === 'received' && innermost(problem.notification).subcode === cease.connectionCollision;
    const continues = other !== undefined && rank(other.state) >= rank({ name: 'OpenSent' });
    if (problem.kind === 'collision' || (continues && peerChose)) return;
    // If another connection still works, this failure does not end the session. The history has it.
    if (!wasEstablished && other?.state.negotiated !== undefined) return;
    this.#publishDown(fsm, problem, wasEstablished);
  }

  /**
   * Counts a flap. After too many, both connections end and the session is held in Idle. If the session was stopped locally, the next start
   * is held instead.
   */
  #dampFlap(fsm: ConnectionFsm, problem: Problem): void {
    const milliseconds = this.damper.recordFlap();
    if (milliseconds === 0) return;
    const { flapsInLastHour, until } = this.damper.status();
    this.#components.log.warn({ peer: this.#options.name, flapsInLastHour, until }, 'session is held back because it flaps');
    const other = fsm === this.#primary ? this.#colliding : this.#primary;
    const notification = ceaseNotification(cease.connectionRejected);
    other?.post({ type: 'stop', notification, problem: { kind: 'collision' } });
    if (problem.kind !== 'stopped') fsm.post({ type: 'hold', milliseconds });
  }

  #publishDown({ opens }: ConnectionFsm, problem: Problem, wasEstablished: boolean): void {
    const said = saidAsn(opens.received);
    const { text: reason, changed } = this.problem.record(problem, { options: this.#options, address: this.peerAddress, saidAsn: said });
    if (!wasEstablished && !changed) return; // a repeated failure is not reported again
    const expected = problem.kind === 'stopped' || problem.kind === 'suspended';
    this.#components.log[expected ? 'info' : 'warn']({ peer: this.#options.name, reason }, 'session down');
    this.#publishState();
    this.events.emit({ type: 'down', reason, problem });
    this.#changed();
  }

  #updateFormatOf({ localAddress }: ConnectionFsm, negotiated: Negotiated): UpdateFormat {
    return updateFormatOf(negotiated, this.#options.localAsn, localAddress, this.#options.nextHop, this.peerAddress);
  }

  #dialOptions(): DialOptions | string {
    this.problem.dialing();
    const address = this.peerAddress;
    return address === undefined
      ? `no router advertisement was received on ${this.#options.interface} yet`
      : dialOptionsOf(this.#options, address);
  }

  /**
   * Returns the local OPEN. The restart bit is set in the first session after the restart only. Forwarding counts as preserved once a
   * session was up.
   */
  #localOpen(): LocalOpen {
    const first = this.counters.established === 0;
    const age = (this.#components.clock.now() - this.#created) / 1000;
    const inTime = age <= (this.#options.gracefulRestart?.restartTime ?? 0);
    return localOpenOf(this.#options, { restarted: this.#restarted && first && inTime, forwardingPreserved: this.#restarted || !first });
  }
}

const rank = ({ name }: Pick<FsmState, 'name'>): number => stateNames.indexOf(name);
