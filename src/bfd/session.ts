import { defined } from '../lang/defined.ts';
import type { Clock } from '../system/clock.ts';
import type { Random } from '../system/random.ts';
import { newSessionCounters } from './counters.ts';
import { receivedState, step, type FsmEvent } from './fsm.ts';
import { historyLength, listenAgain } from './limits.ts';
import { Parameters, type Intervals } from './parameters.ts';
import { Remote } from './remote.ts';
import { Alarm, type Schedule } from './schedule.ts';
import type { Profile, ResolvedSession } from './session-options.ts';
import type { DownTime, RemoteStatus, SessionStatus, Transition } from './session-status.ts';
import { detectionTime, jittered, slowInterval, toMicroseconds, toMilliseconds, transmitInterval } from './timing.ts';
import type { Channel } from './transport/transport.ts';
import type { SessionState } from './wire/codes.ts';
import { controlPacketLength, emptyControlPacket, encodeControlPacket, type ControlPacket } from './wire/control-packet.ts';

interface SessionComponents {
  readonly clock: Clock;
  readonly random: Random;
  readonly schedule: Schedule;
}

interface SessionHost {
  changed(session: Session, transition: Transition): void;
  /** The peer seems to be silent. What waits in the sockets is to be read before `judge` is called. */
  suspects(session: Session): void;
}

/**
 * One session (RFC 5880 6.8): runs the state machine over a channel, with its timers. Nothing here is an operating error: what cannot be
 * sent is counted, and the peer notices by itself.
 */
export class Session {
  readonly discriminator: number;
  readonly counters = newSessionCounters();
  readonly #components: SessionComponents;
  readonly #host: SessionHost;
  readonly #channel: Channel;
  readonly #octets = new Uint8Array(controlPacketLength);
  readonly #packet: ControlPacket = emptyControlPacket();
  readonly #remote = new Remote();
  readonly #parameters: Parameters;
  readonly #transmission = new Alarm((now) => this.#transmit(now));
  readonly #detection = new Alarm((now) => this.#look(now));
  readonly #history: Transition[] = [];
  #resolved: ResolvedSession;
  #state: SessionState = 'Down';
  #diagnostic = 0;
  #since: Date;
  /** Milliseconds: when the peer was last heard, and when we last sent, other than as an answer to a poll. */
  #heard = -Infinity;
  #sent = -Infinity;
  /** Microseconds that the running transmission alarm was set by. */
  #interval: number | undefined;
  #lastDown: DownTime | undefined;
  /** Milliseconds: when it went down the last time. */
  #wentDown = -Infinity;
  #sendProblem: string | undefined;
  /** While `close` waits. */
  #goodbye: { readonly said: () => void } | undefined;

  constructor(components: SessionComponents, host: SessionHost, resolved: ResolvedSession, discriminator: number, channel: Channel) {
    this.#components = components;
    this.#host = host;
    this.#resolved = resolved;
    this.discriminator = discriminator;
    this.#channel = channel;
    this.#parameters = new Parameters(slow(resolved.profile));
    this.#since = components.clock.date();
  }

  get name(): string {
    return this.#resolved.name;
  }

  get resolved(): ResolvedSession {
    return this.#resolved;
  }

  get state(): SessionState {
    return this.#state;
  }

  /** The latest steps of the state machine, oldest first. */
  get history(): readonly Transition[] {
    return this.#history;
  }

  /** Begins, or goes on after `close`. */
  start(): void {
    this.#goodbye?.said();
    const moved = this.#move(this.#resolved.adminDown ? 'disabled' : 'enabled');
    if (moved) this.#sendNews();
    else this.#pace();
  }

  /** Other options with the same endpoint: no change of them is a flap. */
  configure(resolved: ResolvedSession): void {
    const before = this.#resolved.endpoint.multihop;
    const { multihop } = resolved.endpoint;
    if (multihop !== undefined && multihop.minimumTtl !== before?.minimumTtl) this.#channel.setMinimumTtl(multihop.minimumTtl);
    this.#resolved = resolved;
    if (resolved.adminDown !== (this.#state === 'AdminDown')) {
      this.start();
      return;
    }
    if (this.#state === 'Up') this.#parameters.change(wanted(resolved.profile));
    else this.#parameters.set(slow(resolved.profile));
    this.#expect();
    this.#pace();
  }

  /** A packet that is for this session (RFC 5880 6.8.6). */
  receive(packet: ControlPacket, now: number): void {
    this.counters.received++;
    this.#remote.hear(packet);
    this.#heard = now;
    if (packet.final) this.#parameters.final();
    const isHeldDown = this.#state === 'AdminDown';
    const moved = this.#move(receivedState(packet.state));
    this.#expect();
    if (isHeldDown && isDown(packet.state)) this.#goodbye?.said();
    // An answer says all that a packet says, so that a change of the state needs no other one.
    if (packet.poll && !isHeldDown) this.#send(true, false);
    else if (moved) return this.#sendNews();
    this.#pace();
  }

  /** What waited in the sockets was read: is the peer still silent? */
  judge(): void {
    const deadline = this.#deadline();
    if (deadline === undefined) return;
    if (deadline > this.#components.clock.now()) {
      this.#components.schedule.set(this.#detection, deadline);
      return;
    }
    if (this.#move('detectionTimeExpired')) this.#sendNews();
    else this.#pace();
  }

  /**
   * Tells the peer that this end goes down on purpose, and resolves when it has heard so or would have given us up, after `longest`
   * milliseconds in any case. The session goes on saying so until `release`.
   */
  close(longest: number): Promise<void> {
    const { schedule, clock } = this.#components;
    const detectable = this.#peersDetectionTime();
    const moved = this.#move('disabled');
    if (moved) this.#sendNews();
    // A peer that is silent or down itself loses nothing by our going.
    if (isDown(this.#remote.state)) return Promise.resolve();
    return new Promise((resolve) => {
      const said = (): void => {
        schedule.clear(over);
        this.#goodbye = undefined;
        resolve();
      };
      const over = new Alarm(said);
      this.#goodbye = { said };
      schedule.set(over, clock.now() + Math.min(longest, detectable));
    });
  }

  /** Nothing more is sent, and the channel is closed. */
  release(): void {
    this.#goodbye?.said();
    this.#components.schedule.clear(this.#transmission);
    this.#components.schedule.clear(this.#detection);
    this.#channel.close();
  }

  status(): SessionStatus {
    const { name, endpoint, peer, warnings, profile } = this.#resolved;
    const { desiredMinTx, requiredMinRx } = this.#parameters.advertised;
    const interval = this.#currentInterval();
    const problem = this.#channel.deaf ?? this.#sendProblem;
    return {
      name,
      peer,
      ...defined({ interface: endpoint.interface }),
      multihop: endpoint.multihop !== undefined,
      state: this.#state,
      since: this.#since,
      diagnostic: this.#diagnostic,
      discriminator: this.discriminator,
      remote: this.#remoteStatus(),
      advertised: {
        transmitInterval: toMilliseconds(desiredMinTx),
        receiveInterval: toMilliseconds(requiredMinRx),
        detectMultiplier: profile.detectMultiplier,
      },
      transmitInterval: interval === undefined ? undefined : toMilliseconds(interval),
      detectionTime: this.#detectionTime(),
      polling: this.#parameters.polling,
      ...defined({ lastDown: this.#lastDown }),
      counters: { ...this.counters },
      ...defined({ problem }),
      warnings,
    };
  }

  #remoteStatus(): RemoteStatus {
    const { state, diagnostic, discriminator, desiredMinTx, minRx, detectMultiplier, demand, controlPlaneIndependent } = this.#remote;
    return {
      state,
      diagnostic,
      discriminator,
      transmitInterval: toMilliseconds(desiredMinTx),
      receiveInterval: toMilliseconds(minRx),
      detectMultiplier,
      demand,
      controlPlaneIndependent,
    };
  }

  /** Whether the state is another one now. */
  #move(event: FsmEvent): boolean {
    const from = this.#state;
    const { state, diagnostic = this.#diagnostic, forgetsPeer = false } = step(from, event);
    const { state: remoteState, diagnostic: remoteDiagnostic } = this.#remote;
    this.#diagnostic = diagnostic;
    if (forgetsPeer) this.#remote.forget();
    if (state === from) return false;
    const { clock } = this.#components;
    const at = clock.date();
    this.#state = state;
    this.#since = at;
    if (state === 'Up') {
      this.counters.ups++;
      if (this.#lastDown !== undefined) this.#lastDown = { ...this.#lastDown, duration: clock.now() - this.#wentDown };
      this.#parameters.change(wanted(this.#resolved.profile));
    } else {
      this.#parameters.set(slow(this.#resolved.profile));
    }
    if (from === 'Up') {
      if (state === 'Down') this.counters.downs++;
      this.#lastDown = { at, diagnostic, duration: undefined };
      this.#wentDown = clock.now();
    }
    const transition: Transition = { at, from, to: state, diagnostic, remoteState, remoteDiagnostic };
    this.#history.push(transition);
    if (this.#history.length > historyLength) this.#history.shift();
    this.#host.changed(this, transition);
    return true;
  }

  // Transmission (RFC 5880 6.8.7)

  /**
   * Sets the time of the next packet anew where the interval has changed: reckoned from the latest packet of ours, not from now, or a
   * peer that changes its mind all the time would silence us.
   */
  #pace(): void {
    if (this.#currentInterval() !== this.#interval || this.#transmission.due === undefined) this.#reckon();
  }

  #reckon(): void {
    const { schedule, clock, random } = this.#components;
    const interval = this.#currentInterval();
    this.#interval = interval;
    if (interval === undefined) {
      schedule.set(this.#transmission, clock.now() + listenAgain);
      return;
    }
    const due = this.#sent + toMilliseconds(jittered(interval, this.#resolved.profile.detectMultiplier, random));
    schedule.set(this.#transmission, Math.max(due, clock.now()));
  }

  /** The passive side speaks to a peer that it hears, and not any more to one that it has heard (RFC 5880 6.8.7). */
  get #isSilent(): boolean {
    return this.#resolved.profile.passive && this.#remote.discriminator === 0;
  }

  /** Microseconds; undefined: the rules forbid periodic packets. */
  #currentInterval(): number | undefined {
    const remote = this.#remote;
    if (this.#isSilent) return undefined;
    const isLeftAlone = remote.demand && this.#state === 'Up' && remote.state === 'Up' && !this.#parameters.polling;
    return isLeftAlone ? undefined : transmitInterval(this.#parameters.inForce.desiredMinTx, remote.minRx);
  }

  #transmit(now: number): void {
    const { schedule, random } = this.#components;
    if (this.#interval === undefined) {
      // Whoever sends notices that its sockets are of no use any more; whoever does not has to look.
      this.#channel.listen();
      schedule.set(this.#transmission, now + listenAgain);
      return;
    }
    this.#send(false, this.#parameters.polling);
    this.#sent = now;
    schedule.set(this.#transmission, now + toMilliseconds(jittered(this.#interval, this.#resolved.profile.detectMultiplier, random)));
  }

  /** The state has changed, and the peer need not wait for the next interval to hear so. */
  #sendNews(): void {
    if (this.#isSilent) return this.#pace();
    this.#send(false, false);
    this.#sent = this.#components.clock.now();
    this.#reckon();
  }

  #send(final: boolean, poll: boolean): void {
    const { advertised } = this.#parameters;
    const packet = this.#packet;
    packet.state = this.#state;
    packet.diagnostic = this.#diagnostic;
    packet.poll = poll;
    packet.final = final;
    packet.detectMultiplier = this.#resolved.profile.detectMultiplier;
    packet.myDiscriminator = this.discriminator;
    packet.yourDiscriminator = this.#remote.discriminator;
    packet.desiredMinTxInterval = advertised.desiredMinTx;
    packet.requiredMinRxInterval = advertised.requiredMinRx;
    encodeControlPacket(packet, this.#octets);
    this.#sendProblem = this.#channel.send(this.#octets);
    if (this.#sendProblem === undefined) this.counters.sent++;
    else this.counters.sendFailures++;
  }

  // Detection (RFC 5880 6.8.4)

  /** The deadline is pushed back by every packet, and the alarm is not: it looks at the deadline when it rings. */
  #expect(): void {
    const deadline = this.#deadline();
    if (deadline === undefined) return;
    const { due } = this.#detection;
    if (due === undefined || due > deadline) this.#components.schedule.set(this.#detection, deadline);
  }

  #look(now: number): void {
    const deadline = this.#deadline();
    if (deadline === undefined) return;
    if (deadline > now) this.#components.schedule.set(this.#detection, deadline);
    else this.#host.suspects(this);
  }

  #deadline(): number | undefined {
    const time = this.#detectionTime();
    return time === undefined ? undefined : this.#heard + time;
  }

  /** Milliseconds; undefined while nothing is known of the peer. */
  #detectionTime(): number | undefined {
    const { detectMultiplier, desiredMinTx } = this.#remote;
    if (detectMultiplier === 0) return undefined;
    return toMilliseconds(detectionTime(detectMultiplier, this.#parameters.inForce.requiredMinRx, desiredMinTx));
  }

  /** Milliseconds after which the peer would give us up. */
  #peersDetectionTime(): number {
    const { desiredMinTx } = this.#parameters.advertised;
    return toMilliseconds(this.#resolved.profile.detectMultiplier * Math.max(desiredMinTx, this.#remote.minRx));
  }
}

const isDown = (state: SessionState): boolean => state === 'Down' || state === 'AdminDown';

function wanted({ transmitInterval, receiveInterval }: Profile): Intervals {
  return { desiredMinTx: toMicroseconds(transmitInterval), requiredMinRx: toMicroseconds(receiveInterval) };
}

/** What is said by a session that is not Up (RFC 5880 6.8.3). */
function slow(profile: Profile): Intervals {
  const { desiredMinTx, requiredMinRx } = wanted(profile);
  return { desiredMinTx: Math.max(desiredMinTx, slowInterval), requiredMinRx };
}
