import type { Address, Family } from '../net/address.ts';
import { formatAddress } from '../net/address.ts';
import type { Clock } from '../system/clock.ts';
import type { Log } from '../system/log.ts';
import type { Random } from '../system/random.ts';
import { initialState, step, type Effect, type FsmConfig, type FsmEvent, type FsmState, type StateName } from './fsm.ts';
import {
  historyLength,
  connectTimeout,
  lingerMilliseconds,
  maximumBackoff,
  messagesPerTurn,
  minimumSendHoldTime,
  openHoldTime,
} from './limits.ts';
import { openOf, type Identity, type Negotiated } from './negotiate.ts';
import { outboundOf, type Outbound } from './outbound.ts';
import type { ResolvedOptions } from './peer-options.ts';
import { describeProblem, type Problem } from './problem.ts';
import { newCounters, type Counters } from './counters.ts';
import type { RibOut } from './rib-out.ts';
import type { RibStore } from './rib-store.ts';
import { Timers } from './timers.ts';
import type { Connection, DialOptions, Transport } from './transport/transport.ts';
import { messageType } from './wire/codes.ts';
import { Framer } from './wire/framer.ts';
import { keepaliveMessage } from './wire/message.ts';
import { decodeNotification, encodeNotification, type Notification } from './wire/notification.ts';
import { decodeOpen, encodeOpen } from './wire/open.ts';
import { decodeRouteRefresh } from './wire/refresh.ts';
import { decodeUpdate, encodeEndOfRib, familyOfAfi } from './wire/update.ts';

export interface Components {
  readonly clock: Clock;
  readonly random: Random;
  readonly transport: Transport;
  readonly log: Log;
  /** What the RIBs of all peers share. Default: each has its own. */
  readonly store?: RibStore;
}

/** One step of the state machine, for the person who debugs it. */
export interface HistoryEntry {
  readonly at: Date;
  readonly event: FsmEvent['type'];
  readonly from: StateName;
  readonly to: StateName;
}

/** One connection, current or on its way out. */
interface Link {
  readonly framer: Framer;
  connection: Connection | undefined;
  cancelLinger: (() => void) | undefined;
}

/** The session with one peer: carries out what the state machine decides, and sends what the RIB has to say. */
export class Session {
  readonly counters: Counters = newCounters();
  /** Announcements received since the session was established. They are counted, not stored. */
  readonly received: Record<Family, number> = { 4: 0, 6: 0 };
  since: Date;
  lastError: string | undefined;
  outbound: Outbound | undefined;
  readonly #components: Components;
  readonly #rib: RibOut;
  readonly #changed: () => void;
  readonly #timers: Timers;
  readonly #events: FsmEvent[] = [];
  readonly #history: HistoryEntry[] = [];
  readonly #open = new Set<Link>();
  readonly #endOfRibDue = new Set<Family>();
  #options: ResolvedOptions;
  #state: FsmState = initialState;
  #link: Link | undefined;
  #localAddress: Address | undefined;
  #blocked = false;
  #pumpScheduled = false;
  #processing = false;
  #whenClosed: (() => void)[] = [];

  /** `changed` is called when the session was established, went down, or fails for another reason than before. */
  constructor(components: Components, options: ResolvedOptions, rib: RibOut, changed: () => void) {
    this.#components = components;
    this.#options = options;
    this.#rib = rib;
    this.#changed = changed;
    this.since = components.clock.date();
    this.#timers = new Timers(components.clock, (timer) => this.#post({ type: `${timer}Expired` }));
  }

  get state(): StateName {
    return this.#state.name;
  }

  /** In OpenConfirm and Established. */
  get negotiated(): Negotiated | undefined {
    return this.#state.negotiated;
  }

  get history(): readonly HistoryEntry[] {
    return this.#history;
  }

  start(): void {
    this.#post({ type: 'start' });
  }

  stop(notification: Notification): void {
    this.#post({ type: 'stop', notification });
  }

  /** Resolves when no connection is left, neither a current one nor one that is still handing over its NOTIFICATION. */
  async closed(): Promise<void> {
    if (this.#open.size > 0) await new Promise<void>((resolve) => this.#whenClosed.push(resolve));
  }

  /** Takes options that apply to a running session. Others take effect with the next connection. */
  configure(options: ResolvedOptions): void {
    this.#options = options;
  }

  /** The next hops changed: everything is sent again with the new ones. */
  renewNextHops(): void {
    if (this.#state.name !== 'Established') return;
    this.#findOutbound();
    for (const family of this.#negotiatedFamilies()) this.#rib.readvertise(family);
    this.ribChanged();
  }

  /** There is something to send, or there was and no longer is: changes of one turn are sent together. */
  ribChanged(): void {
    if (this.#pumpScheduled || this.#state.name !== 'Established') return;
    this.#pumpScheduled = true;
    this.#components.clock.after(0, () => {
      this.#pumpScheduled = false;
      this.#pump();
    });
  }

  /** Events may cause events; they are handled one after the other. */
  #post(event: FsmEvent): void {
    this.#events.push(event);
    if (this.#processing) return;
    this.#processing = true;
    try {
      for (let next = this.#events.shift(); next !== undefined; next = this.#events.shift()) this.#handle(next);
    } finally {
      this.#processing = false;
    }
  }

  #handle(event: FsmEvent): void {
    const from = this.#state.name;
    const { state, effects } = step(this.#state, event, this.#fsmConfig());
    this.#state = state;
    if (event.type !== 'update' && (event.type !== 'keepalive' || from !== state.name)) this.#remember(event.type, from, state.name);
    if (from !== state.name) this.since = this.#components.clock.date();
    const wasEstablished = from === 'Established' && state.name !== 'Established';
    if (wasEstablished) this.#leaveEstablished();
    for (const effect of effects) this.#carryOut(effect, wasEstablished);
  }

  #carryOut(effect: Effect, wasEstablished: boolean): void {
    switch (effect.type) {
      case 'dial':
        this.#dial();
        break;
      case 'send':
        this.#sendControl(effect.message);
        break;
      case 'notify':
        this.#notify(effect.notification);
        break;
      case 'close':
        this.#dropLink()?.connection?.destroy();
        break;
      case 'arm': {
        const factor = effect.jitter ? 0.75 + this.#components.random() / 4 : 1;
        this.#timers.arm(effect.timer, effect.milliseconds * factor);
        break;
      }
      case 'cancel':
        for (const timer of effect.timers) this.#timers.cancel(timer);
        break;
      case 'established':
        this.#enterEstablished(effect.negotiated);
        break;
      case 'down':
        this.#report(effect.problem, wasEstablished);
        break;
      case 'readvertise':
        this.#rib.readvertise(effect.family);
        this.#endOfRibDue.add(effect.family);
        this.ribChanged();
        break;
    }
  }

  #dial(): void {
    const options = this.#dialOptions();
    this.counters.connectAttempts++;
    const incapable = this.#components.transport.cannot(options);
    if (incapable !== undefined) {
      this.#post({ type: 'connectFailed', failure: { kind: 'unsupported', detail: incapable } });
      return;
    }
    const link: Link = { framer: new Framer(), connection: undefined, cancelLinger: undefined };
    this.#link = link;
    this.#open.add(link);
    const isCurrent = (): boolean => this.#link === link;
    link.connection = this.#components.transport.dial(options, {
      connected: (localAddress) => {
        if (!isCurrent()) return;
        this.#localAddress = localAddress;
        this.#post({ type: 'connected' });
      },
      data: (bytes) => this.#receive(link, bytes),
      drain: () => {
        if (!isCurrent()) return;
        this.#blocked = false;
        this.#timers.cancel('sendHold');
        this.#pump();
      },
      closed: (failure) => {
        link.cancelLinger?.();
        this.#open.delete(link);
        if (isCurrent()) {
          this.#dropLink();
          const dialing = this.#state.name === 'Connect' && failure !== undefined;
          this.#post(dialing ? { type: 'connectFailed', failure } : { type: 'closed', failure });
        }
        if (this.#open.size === 0) for (const resolve of this.#whenClosed.splice(0)) resolve();
      },
    });
  }

  #dialOptions(): DialOptions {
    const { address, port, sourceAddress, password, holdTime, ebgpMultiHop, peerAsn, localAsn } = this.#options;
    const external = peerAsn !== 'internal' && peerAsn !== localAsn;
    return {
      address,
      port,
      ttl: external && !ebgpMultiHop ? 1 : 255,
      ...(sourceAddress === undefined ? {} : { sourceAddress }),
      ...(password === undefined ? {} : { password }),
      ...(holdTime === 0 ? {} : { userTimeout: holdTime * 1000 }),
    };
  }

  /** The bytes after a message that ends the session are never looked at. */
  #receive(link: Link, bytes: Uint8Array): void {
    if (this.#link !== link) return;
    link.framer.push(bytes);
    while (this.#link === link) {
      const framing = link.framer.next();
      if (framing.kind === 'needMore') return;
      if (framing.kind === 'fault') {
        this.#post({ type: 'fault', fault: framing.fault });
        return;
      }
      this.#receiveFrame(framing.type, framing.body);
    }
  }

  #receiveFrame(type: number, body: Uint8Array): void {
    const { received } = this.counters;
    switch (type) {
      case messageType.open: {
        received.open++;
        const open = decodeOpen(body);
        this.#post(open.ok ? { type: 'open', open: open.value } : { type: 'fault', fault: open.fault });
        break;
      }
      case messageType.update:
        received.update++;
        this.#receiveUpdate(body);
        break;
      case messageType.notification:
        received.notification++;
        this.#post({ type: 'notification', notification: decodeNotification(body) });
        break;
      case messageType.keepalive:
        received.keepalive++;
        this.#post({ type: 'keepalive' });
        break;
      case messageType.routeRefresh: {
        received.routeRefresh++;
        const { afi, subtype, safi } = decodeRouteRefresh(body);
        this.#post({ type: 'routeRefresh', family: subtype === 0 ? familyOfAfi(afi, safi) : undefined });
        break;
      }
    }
  }

  #receiveUpdate(body: Uint8Array): void {
    const negotiated = this.#state.negotiated;
    if (this.#state.name === 'Established' && negotiated !== undefined) {
      const update = decodeUpdate(body, negotiated);
      if (!update.ok) {
        this.#post({ type: 'fault', fault: update.fault });
        return;
      }
      this.counters.toleratedFaults += update.value.faults.length;
      if (!update.value.treatAsWithdraw) for (const { family, count } of update.value.announced) this.received[family] += count;
    }
    this.#post({ type: 'update' });
  }

  #sendControl(message: 'open' | 'keepalive'): void {
    if (message === 'open') {
      this.counters.sent.open++;
      this.#write(encodeOpen(openOf(this.#identity())));
    } else if (!this.#blocked) {
      // While the peer does not read there is a queue, and whatever is in it will keep the session alive as well.
      this.counters.sent.keepalive++;
      this.#write(keepaliveMessage);
    }
  }

  /** Destroying the connection at once could discard what was just written, so it may linger until the peer has read it. */
  #notify(notification: Notification): void {
    const link = this.#dropLink();
    const connection = link?.connection;
    if (link === undefined || connection === undefined) return;
    this.counters.sent.notification++;
    connection.write(encodeNotification(notification));
    connection.end();
    link.cancelLinger = this.#components.clock.after(lingerMilliseconds, () => connection.destroy());
  }

  #write(bytes: Uint8Array): boolean {
    const free = this.#link?.connection?.write(bytes) ?? true;
    if (!free) {
      this.#blocked = true;
      const seconds = Math.max(minimumSendHoldTime, 2 * (this.#state.negotiated?.holdTime ?? 0));
      if (!this.#timers.isRunning('sendHold')) this.#timers.arm('sendHold', seconds * 1000);
    }
    return free;
  }

  /** Sends until the peer does not keep up, or until it is somebody else's turn. */
  #pump(): void {
    for (let i = 0; i < messagesPerTurn; i++) {
      if (this.#blocked || this.#state.name !== 'Established' || this.outbound === undefined) return;
      const message = this.#rib.next(this.outbound) ?? this.#endOfRib();
      if (message === undefined) return;
      this.counters.sent.update++;
      this.#write(message);
    }
    this.ribChanged();
  }

  /** RFC 4724 2: marks that all routes of the family were sent, also when there are none. */
  #endOfRib(): Uint8Array | undefined {
    for (const family of this.#endOfRibDue) {
      this.#endOfRibDue.delete(family);
      return encodeEndOfRib(family);
    }
    return undefined;
  }

  #enterEstablished(negotiated: Negotiated): void {
    const { log } = this.#components;
    this.counters.established++;
    this.#findOutbound();
    this.#endOfRibDue.clear();
    for (const family of negotiated.families) this.#endOfRibDue.add(family);
    log.info({ peer: this.#options.name, peerAsn: negotiated.peerAsn, families: negotiated.families }, 'session established');
    this.ribChanged();
    this.#changed();
  }

  #leaveEstablished(): void {
    this.counters.flaps++;
    this.#rib.reset();
    this.outbound = undefined;
    this.received[4] = 0;
    this.received[6] = 0;
  }

  #report(problem: Problem, wasEstablished: boolean): void {
    const { log } = this.#components;
    const { name, address, port, password } = this.#options;
    const target = `${formatAddress(address)} port ${port}`;
    const before = this.lastError;
    this.lastError = describeProblem(problem, { target, hasPassword: password !== undefined });
    if (!wasEstablished && before === this.lastError) return; // the same again and again is no news
    log[problem.kind === 'stopped' ? 'info' : 'warn']({ peer: name, reason: this.lastError }, 'session down');
    this.#changed();
  }

  #dropLink(): Link | undefined {
    const link = this.#link;
    this.#link = undefined;
    this.#blocked = false;
    return link;
  }

  #remember(event: FsmEvent['type'], from: StateName, to: StateName): void {
    this.#history.push({ at: this.#components.clock.date(), event, from, to });
    if (this.#history.length > historyLength) this.#history.shift();
  }

  #findOutbound(): void {
    const negotiated = this.#state.negotiated;
    if (negotiated === undefined) return;
    this.outbound = outboundOf(negotiated, this.#options.localAsn, this.#localAddress, this.#options.nextHop);
  }

  #negotiatedFamilies(): readonly Family[] {
    return this.#state.negotiated?.families ?? [];
  }

  #identity(): Identity {
    const { localAsn, peerAsn, routerId, holdTime, families, address } = this.#options;
    return { localAsn, peerAsn, routerId: Number(routerId.value), holdTime, families, overIpv6: address.family === 6 };
  }

  #fsmConfig(): FsmConfig {
    const { connectRetryTime, keepaliveTime } = this.#options;
    return { identity: this.#identity(), connectRetryTime, connectTimeout, openHoldTime, maximumBackoff, keepaliveTime };
  }
}
