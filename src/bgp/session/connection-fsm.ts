import type { Address, Family } from '../../net/address.ts';
import type { Direction } from '../negotiation/collision.ts';
import { countNotification, type Counters } from '../diagnosis/counters.ts';
import type { Effect, FsmConfig, FsmEvent, FsmState } from './fsm-events.ts';
import type { StateName } from '../diagnosis/session-state.ts';
import { step } from './fsm.ts';
import { localOpenMessage, type LocalOpen } from '../negotiation/local-open.ts';
import { lingerMilliseconds, maximumExtendedMessageLength } from '../limits.ts';
import type { Negotiated } from '../negotiation/negotiate.ts';
import type { Problem } from '../diagnosis/problem.ts';
import type { BgpComponents } from '../options/components.ts';
import { sendHoldTime } from './session-config.ts';
import { Timers } from './timers.ts';
import type { Tap, TappedConnection } from '../trace/tap.ts';
import type { Connection, ConnectionEvents, DialOptions, Incoming, SocketOptions } from '../transport/transport.ts';
import { cease, messageType, refreshSubtype } from '../wire/codes.ts';
import { Framer } from '../wire/framer.ts';
import { keepaliveMessage } from '../wire/header.ts';
import { ceaseNotification, decodeNotification, encodeNotification, type Notification } from '../wire/notification.ts';
import { decodeOpen, encodeOpen, type OpenMessage } from '../wire/open.ts';
import { decodeRouteRefresh, type RouteRefresh } from '../wire/route-refresh.ts';
import { decodeUpdate, familyOfAfi, type UpdateMessage } from '../wire/update.ts';

/** Callbacks from the state machine of a connection to its session. */
export interface SessionCallbacks {
  readonly components: BgpComponents;
  readonly counters: Counters;
  readonly tap: Tap;
  fsmConfig(): FsmConfig;
  /** Returns the options, or why dialing is not possible yet. */
  dialOptions(): DialOptions | string;
  /**
   * Called before the state machine handles an OPEN. Returns false if another connection is kept; the losing state machine then has its
   * stop event already.
   */
  resolveCollision(fsm: ConnectionFsm, open: OpenMessage): boolean;
  stepped(fsm: ConnectionFsm, event: FsmEvent, from: StateName): void;
  established(fsm: ConnectionFsm, negotiated: Negotiated): void;
  down(fsm: ConnectionFsm, problem: Problem, wasEstablished: boolean): void;
  readvertise(fsm: ConnectionFsm, family: Family): void;
  /** Called for a message before or after the routes of an enhanced refresh. */
  refreshMarker(marker: RouteRefresh): void;
  received(fsm: ConnectionFsm, update: UpdateMessage): void;
  notification(direction: 'sent' | 'received', notification: Notification): void;
  /** Called when the written octets have left. */
  drained(fsm: ConnectionFsm): void;
  opened(connection: object): void;
  closed(connection: object): void;
}

/** The OPEN messages of both sides. */
export interface Opens {
  readonly sent: OpenMessage | undefined;
  readonly received: OpenMessage | undefined;
}

/** One connection: the current one, or one that is closing. */
interface Link {
  readonly framer: Framer;
  readonly tap: TappedConnection;
  connection: Connection | undefined;
  cancelLinger: (() => void) | undefined;
}

/** Runs the state machine for one connection at a time: carries out its effects and posts events to it. */
export class ConnectionFsm {
  /** Direction of the current or latest connection. */
  direction: Direction = 'dialed';
  /** The local address of the current or latest connection, if the transport knows it. */
  localAddress: Address | undefined;
  remoteAddress: Address | undefined;
  opens: Opens = { sent: undefined, received: undefined };
  readonly #session: SessionCallbacks;
  readonly #timers: Timers;
  readonly #events: FsmEvent[] = [];
  #state: FsmState;
  #link: Link | undefined;
  #isBackpressured = false;
  #lastProbe = -Infinity;
  #processing = false;

  constructor(owner: SessionCallbacks, state: FsmState) {
    this.#session = owner;
    this.#state = state;
    this.#timers = new Timers(owner.components.clock, (timer) => this.post({ type: `${timer}Expired` }));
  }

  get state(): FsmState {
    return this.#state;
  }

  /** The peer reads more slowly than the speaker writes. */
  get isBackpressured(): boolean {
    return this.#isBackpressured;
  }

  /** The current connection. */
  get connection(): Connection | undefined {
    return this.#link?.connection;
  }

  /** Handles an event. Events posted meanwhile are handled afterwards, one by one. */
  post(event: FsmEvent): void {
    this.#events.push(event);
    if (this.#processing) return;
    this.#processing = true;
    try {
      for (let next = this.#events.shift(); next !== undefined; next = this.#events.shift()) this.#handle(next);
    } finally {
      this.#processing = false;
    }
  }

  /** Takes over a connection that the peer has opened. The current state must accept it. */
  accept(incoming: Incoming, options: SocketOptions): void {
    this.direction = 'accepted';
    this.remoteAddress = incoming.remoteAddress;
    const link = this.#newLink();
    link.connection = incoming.accept(
      options,
      this.#eventsOf(link, () => {}),
    );
    link.tap.opened(link.connection);
    this.post({ type: 'accepted' });
  }

  /** Cancels all timers and destroys the connection. The state machine is not used afterwards. */
  discard(): void {
    for (const timer of ['connectRetry', 'connect', 'hold', 'keepalive', 'sendHold', 'stable'] as const) this.#timers.cancel(timer);
    this.#dropLink()?.connection?.destroy();
  }

  /** Stops because the other of two connections was kept (RFC 4271 6.8). */
  endCollision(): void {
    this.post({ type: 'stop', notification: ceaseNotification(cease.connectionCollision), problem: { kind: 'collision' } });
  }

  /**
   * Sends a KEEPALIVE to test the connection: the kernel of a peer that lost power resets a connection that it does not know. At most once
   * a second (RFC 4271 4.4).
   */
  probe(): void {
    const now = this.#session.components.clock.now();
    if (now - this.#lastProbe < 1_000) return;
    this.#lastProbe = now;
    this.#sendKeepalive();
  }

  /** Writes a message. False: wait for `drained`. */
  write(bytes: Uint8Array): boolean {
    this.#link?.tap.sent(bytes, this.#state.negotiated);
    const free = this.#link?.connection?.write(bytes) ?? true;
    if (!free) {
      this.#isBackpressured = true;
      const seconds = sendHoldTime(this.#state.negotiated?.holdTime ?? 0);
      if (!this.#timers.isRunning('sendHold')) this.#timers.arm('sendHold', seconds * 1000);
    }
    return free;
  }

  #handle(event: FsmEvent): void {
    if (event.type === 'open') {
      this.opens = { ...this.opens, received: event.open };
      if (!this.#session.resolveCollision(this, event.open)) return;
    }
    const from = this.#state.name;
    const { state, effects } = step(this.#state, event, this.#session.fsmConfig());
    this.#state = state;
    if (event.type === 'open' && state.negotiated !== undefined) this.#applyNegotiated(state.negotiated);
    const wasEstablished = from === 'Established' && state.name !== 'Established';
    for (const effect of effects) this.#carryOut(effect, wasEstablished);
    this.#session.stepped(this, event, from);
  }

  /** Applies the message formats that both sides negotiated. */
  #applyNegotiated({ extendedMessages, enhancedRouteRefresh }: Negotiated): void {
    const framer = this.#link?.framer;
    if (extendedMessages) framer?.setMaximum(maximumExtendedMessageLength);
    framer?.setEnhancedRouteRefresh(enhancedRouteRefresh);
  }

  #carryOut(effect: Effect, wasEstablished: boolean): void {
    switch (effect.type) {
      case 'dial':
        this.#dial();
        break;
      case 'sendOpen':
        this.#sendOpen(effect.localOpen);
        break;
      case 'sendKeepalive':
        this.#sendKeepalive();
        break;
      case 'finish':
        this.#closeWithNotification(effect.notification);
        break;
      case 'close':
        this.#dropLink()?.connection?.destroy();
        break;
      case 'arm': {
        const factor = effect.jitter ? 0.75 + this.#session.components.random() / 4 : 1;
        this.#timers.arm(effect.timer, effect.milliseconds * factor);
        break;
      }
      case 'prolong':
        this.#timers.prolong(effect.timer, effect.milliseconds);
        break;
      case 'cancel':
        for (const timer of effect.timers) this.#timers.cancel(timer);
        break;
      case 'established':
        this.#session.established(this, effect.negotiated);
        break;
      case 'down':
        this.#session.down(this, effect.problem, wasEstablished);
        break;
      case 'readvertise':
        this.#session.readvertise(this, effect.family);
        break;
    }
  }

  #dial(): void {
    const { components, counters } = this.#session;
    const { transport } = components;
    const options = this.#session.dialOptions();
    this.direction = 'dialed';
    counters.connectAttempts++;
    if (typeof options === 'string') {
      this.post({ type: 'connectFailed', failure: { kind: 'notReady', detail: options } });
      return;
    }
    const incapable = transport.cannot(options);
    if (incapable !== undefined) {
      this.post({ type: 'connectFailed', failure: { kind: 'unsupported', detail: incapable } });
      return;
    }
    this.remoteAddress = options.address;
    const link = this.#newLink();
    link.connection = transport.dial(
      options,
      this.#eventsOf(link, () => {
        link.tap.opened(link.connection);
        this.post({ type: 'connected' });
      }),
    );
  }

  #newLink(): Link {
    const link: Link = {
      framer: new Framer(),
      tap: this.#session.tap.connection(this.direction),
      connection: undefined,
      cancelLinger: undefined,
    };
    this.#link = link;
    this.#session.opened(link);
    return link;
  }

  #eventsOf(link: Link, connected: () => void): ConnectionEvents {
    const isCurrent = (): boolean => this.#link === link;
    return {
      dialing: (localAddress) => {
        if (isCurrent()) this.localAddress = localAddress;
      },
      connected: (localAddress) => {
        if (!isCurrent()) return;
        this.localAddress = localAddress;
        connected();
      },
      data: (bytes) => this.#receive(link, bytes),
      drain: () => {
        if (!isCurrent()) return;
        this.#isBackpressured = false;
        this.#timers.cancel('sendHold');
        this.#session.drained(this);
      },
      closed: (failure) => {
        link.cancelLinger?.();
        this.#session.closed(link);
        link.tap.closed(isCurrent() ? 'peer' : 'us', failure);
        if (!isCurrent()) return;
        this.#dropLink();
        const dialing = this.#state.name === 'Connect' && failure !== undefined;
        this.post(dialing ? { type: 'connectFailed', failure } : { type: 'closed', failure });
      },
    };
  }

  /** Octets after a message that ends the session are not read. */
  #receive(link: Link, bytes: Uint8Array): void {
    if (this.#link !== link) return;
    link.framer.push(bytes);
    while (this.#link === link) {
      const framing = link.framer.next();
      if (framing.kind === 'needMore') return;
      if (framing.kind === 'fault') {
        link.tap.unreadable(framing);
        this.post({ type: 'fault', fault: framing.fault });
        return;
      }
      link.tap.received(framing, this.#state.negotiated);
      this.#receiveFrame(framing.type, framing.body);
    }
  }

  #receiveFrame(type: number, body: Uint8Array): void {
    const { received } = this.#session.counters;
    switch (type) {
      case messageType.open: {
        received.open++;
        const open = decodeOpen(body);
        this.post(open.ok ? { type: 'open', open: open.value } : { type: 'fault', fault: open.fault });
        break;
      }
      case messageType.update:
        received.update++;
        this.#receiveUpdate(body);
        break;
      case messageType.notification:
        received.notification++;
        this.#receiveNotification(decodeNotification(body));
        break;
      case messageType.keepalive:
        received.keepalive++;
        this.post({ type: 'keepalive' });
        break;
      case messageType.routeRefresh: {
        received.routeRefresh++;
        const refresh = decodeRouteRefresh(body);
        const isRequest = refresh.subtype === refreshSubtype.request;
        if (!isRequest && this.#state.name === 'Established') this.#session.refreshMarker(refresh);
        this.post({ type: 'routeRefresh', family: isRequest ? familyOfAfi(refresh.afi, refresh.safi) : undefined });
        break;
      }
    }
  }

  #receiveNotification(notification: Notification): void {
    countNotification(this.#session.counters, 'received', notification);
    this.#session.notification('received', notification);
    this.post({ type: 'notification', notification });
  }

  #receiveUpdate(body: Uint8Array): void {
    const { name, negotiated } = this.#state;
    if (name === 'Established' && negotiated !== undefined) {
      const update = decodeUpdate(body, negotiated);
      if (!update.ok) {
        this.post({ type: 'fault', fault: update.fault });
        return;
      }
      this.post({ type: 'update' });
      this.#session.received(this, update.value);
    } else {
      this.post({ type: 'update' });
    }
  }

  #sendOpen(localOpen: LocalOpen): void {
    const open = localOpenMessage(localOpen);
    this.#session.counters.sent.open++;
    this.opens = { sent: open, received: undefined };
    this.write(encodeOpen(open));
  }

  #sendKeepalive(): void {
    // Queued octets keep the session alive at the peer as well as a KEEPALIVE does.
    if (this.#isBackpressured) return;
    this.#session.counters.sent.keepalive++;
    this.write(keepaliveMessage);
  }

  /**
   * Sends the NOTIFICATION, if any, and half-closes the connection. Destroying it at once could discard the message, so the connection
   * lingers until the peer has read it.
   */
  #closeWithNotification(notification: Notification | undefined): void {
    const link = this.#dropLink();
    const connection = link?.connection;
    if (link === undefined || connection === undefined) return;
    if (notification !== undefined) {
      this.#session.counters.sent.notification++;
      countNotification(this.#session.counters, 'sent', notification);
      this.#session.notification('sent', notification);
      const message = encodeNotification(notification);
      link.tap.sent(message, this.#state.negotiated);
      connection.write(message);
    }
    connection.end();
    link.cancelLinger = this.#session.components.clock.after(lingerMilliseconds, () => connection.destroy());
  }

  #dropLink(): Link | undefined {
    const link = this.#link;
    this.#link = undefined;
    this.#isBackpressured = false;
    return link;
  }
}
