import { defined } from '../lang/defined.ts';
import type { Clock } from '../system/clock.ts';
import type { Random } from '../system/random.ts';
import { newSessionCounters } from './counters.ts';
import { receivedState, step, type FsmEvent } from './fsm.ts';
import { historyLength, listenRetryInterval } from './limits.ts';
import { PollSequence, type Intervals } from './poll-sequence.ts';
import { RemoteState } from './remote-state.ts';
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
  deferDetection(session: Session): void;
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
  readonly #remote = new RemoteState();
  readonly #poll: PollSequence;
  readonly #transmission = new Alarm((now) => this.#transmit(now));
  readonly #detection = new Alarm((now) => this.#detectionAlarmRang(now));
  readonly #history: Transition[] = [];
  #resolved: ResolvedSession;
  #state: SessionState = 'Down';
  #diagnostic = 0;
  #since: Date;
  /** Milliseconds: when the peer was last heard, and when we last sent, other than as an answer to a poll. */
  #lastReceived = -Infinity;
  #lastSent = -Infinity;
  /** Microseconds that the running transmission alarm was set by. */
  #interval: number | undefined;
  #lastDown: DownTime | undefined;
  /** Milliseconds: when it went down the last time. */
  #wentDown = -Infinity;
  #sendProblem: string | undefined;
  /** While `close` waits. */
  #closing: { readonly said: () => void } | undefined;

  constructor(components: SessionComponents, host: SessionHost, resolved: ResolvedSession, discriminator: number, channel: Channel) {
    this.#components = components;
    this.#host = host;
    this.#resolved = resolved;
    this.discriminator = discriminator;
    this.#channel = channel;
    this.#poll = new PollSequence(slowIntervals(resolved.profile));
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
    this.#closing?.said();
    const moved = this.#move(this.#resolved.adminDown ? 'disabled' : 'enabled');
    if (moved) this.#sendStateChange();
    else this.#rescheduleIfChanged();
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
    if (this.#state === 'Up') this.#poll.startPoll(configuredIntervals(resolved.profile));
    else this.#poll.applyNow(slowIntervals(resolved.profile));
    this.#armDetection();
    this.#rescheduleIfChanged();
  }

  /** A packet that is for this session (RFC 5880 6.8.6). */
  receive(packet: ControlPacket, now: number): void {
    this.counters.received++;
    this.#remote.update(packet);
    this.#lastReceived = now;
    if (packet.final) this.#poll.finalReceived();
    const isHeldDown = this.#state === 'AdminDown';
    const moved = this.#move(receivedState(packet.state));
    this.#armDetection();
    if (isHeldDown && isDown(packet.state)) this.#closing?.said();
    // An answer says all that a packet says, so that a change of the state needs no other one.
    if (packet.poll && !isHeldDown) this.#send(true, false);
    else if (moved) return this.#sendStateChange();
    this.#rescheduleIfChanged();
  }

  /** What waited in the sockets was read: is the peer still silent? */
  expireDetection(): void {
    const deadline = this.#deadline();
    if (deadline === undefined) return;
    if (deadline > this.#components.clock.now()) {
      this.#components.schedule.setAlarm(this.#detection, deadline);
      return;
    }
    if (this.#move('detectionTimeExpired')) this.#sendStateChange();
    else this.#rescheduleIfChanged();
  }

  /**
   * Tells the peer that this end goes down on purpose, and resolves when it has heard so or would have given us up, after `longest`
   * milliseconds in any case. The session goes on saying so until `release`.
   */
  close(longest: number): Promise<void> {
    const { schedule, clock } = this.#components;
    const detectable = this.#peersDetectionTime();
    const moved = this.#move('disabled');
    if (moved) this.#sendStateChange();
    // A peer that is silent or down itself loses nothing by our going.
    if (isDown(this.#remote.state)) return Promise.resolve();
    return new Promise((resolve) => {
      const said = (): void => {
        schedule.clearAlarm(over);
        this.#closing = undefined;
        resolve();
      };
      const over = new Alarm(said);
      this.#closing = { said };
      schedule.setAlarm(over, clock.now() + Math.min(longest, detectable));
    });
  }

  /** Nothing more is sent, and the channel is closed. */
  release(): void {
    this.#closing?.said();
    this.#components.schedule.clearAlarm(this.#transmission);
    this.#components.schedule.clearAlarm(this.#detection);
    this.#channel.close();
  }

  status(): SessionStatus {
    const { name, endpoint, peer, warnings, profile } = this.#resolved;
    const { desiredMinTx, requiredMinRx } = this.#poll.advertised;
    const interval = this.#currentInterval();
    const problem = this.#channel.receiveProblem ?? this.#sendProblem;
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
      polling: this.#poll.polling,
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
    if (forgetsPeer) this.#remote.reset();
    if (state === from) return false;
    const { clock } = this.#components;
    const at = clock.date();
    this.#state = state;
    this.#since = at;
    if (state === 'Up') {
      this.counters.ups++;
      if (this.#lastDown !== undefined) this.#lastDown = { ...this.#lastDown, duration: clock.now() - this.#wentDown };
      this.#poll.startPoll(configuredIntervals(this.#resolved.profile));
    } else {
      this.#poll.applyNow(slowIntervals(this.#resolved.profile));
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
  #rescheduleIfChanged(): void {
    if (this.#currentInterval() !== this.#interval || this.#transmission.due === undefined) this.#scheduleTransmission();
  }

  #scheduleTransmission(): void {
    const { schedule, clock, random } = this.#components;
    const interval = this.#currentInterval();
    this.#interval = interval;
    if (interval === undefined) {
      schedule.setAlarm(this.#transmission, clock.now() + listenRetryInterval);
      return;
    }
    const due = this.#lastSent + toMilliseconds(jittered(interval, this.#resolved.profile.detectMultiplier, random));
    schedule.setAlarm(this.#transmission, Math.max(due, clock.now()));
  }

  /** The passive side speaks to a peer that it hears, and not any more to one that it has heard (RFC 5880 6.8.7). */
  get #isSilent(): boolean {
    return this.#resolved.profile.passive && this.#remote.discriminator === 0;
  }

  /** Microseconds; undefined: the rules forbid periodic packets. */
  #currentInterval(): number | undefined {
    const remote = this.#remote;
    if (this.#isSilent) return undefined;
    const isLeftAlone = remote.demand && this.#state === 'Up' && remote.state === 'Up' && !this.#poll.polling;
    return isLeftAlone ? undefined : transmitInterval(this.#poll.inForce.desiredMinTx, remote.minRx);
  }

  #transmit(now: number): void {
    const { schedule, random } = this.#components;
    if (this.#interval === undefined) {
      // Whoever sends notices that its sockets are of no use any more; whoever does not has to look.
      this.#channel.listen();
      schedule.setAlarm(this.#transmission, now + listenRetryInterval);
      return;
    }
    this.#send(false, this.#poll.polling);
    this.#lastSent = now;
    schedule.setAlarm(this.#transmission, now + toMilliseconds(jittered(this.#interval, this.#resolved.profile.detectMultiplier, random)));
  }

  /** The state has changed, and the peer need not wait for the next interval to hear so. */
  #sendStateChange(): void {
    if (this.#isSilent) return this.#rescheduleIfChanged();
    this.#send(false, false);
    this.#lastSent = this.#components.clock.now();
    this.#scheduleTransmission();
  }

  #send(final: boolean, poll: boolean): void {
    const { advertised } = this.#poll;
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
  #armDetection(): void {
    const deadline = this.#deadline();
    if (deadline === undefined) return;
    const { due } = this.#detection;
    if (due === undefined || due > deadline) this.#components.schedule.setAlarm(this.#detection, deadline);
  }

  #detectionAlarmRang(now: number): void {
    const deadline = this.#deadline();
    if (deadline === undefined) return;
    if (deadline > now) this.#components.schedule.setAlarm(this.#detection, deadline);
    else this.#host.deferDetection(this);
  }

  #deadline(): number | undefined {
    const time = this.#detectionTime();
    return time === undefined ? undefined : this.#lastReceived + time;
  }

  /** Milliseconds; undefined while nothing is known of the peer. */
  #detectionTime(): number | undefined {
    const { detectMultiplier, desiredMinTx } = this.#remote;
    if (detectMultiplier === 0) return undefined;
    return toMilliseconds(detectionTime(detectMultiplier, this.#poll.inForce.requiredMinRx, desiredMinTx));
  }

  /** Milliseconds after which the peer would give us up. */
  #peersDetectionTime(): number {
    const { desiredMinTx } = this.#poll.advertised;
    return toMilliseconds(this.#resolved.profile.detectMultiplier * Math.max(desiredMinTx, this.#remote.minRx));
  }
}

const isDown = (state: SessionState): boolean => state === 'Down' || state === 'AdminDown';

function configuredIntervals({ transmitInterval, receiveInterval }: Profile): Intervals {
  return { desiredMinTx: toMicroseconds(transmitInterval), requiredMinRx: toMicroseconds(receiveInterval) };
}

/** What is said by a session that is not Up (RFC 5880 6.8.3). */
function slowIntervals(profile: Profile): Intervals {
  const { desiredMinTx, requiredMinRx } = configuredIntervals(profile);
  return { desiredMinTx: Math.max(desiredMinTx, slowInterval), requiredMinRx };
}
