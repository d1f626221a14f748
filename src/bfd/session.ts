import { defined } from '../lang/defined.ts';
import type { Clock } from '../system/clock.ts';
import type { Random } from '../system/random.ts';
import { newSessionCounters } from './counters.ts';
import { receivedState, step, type FsmEvent } from './fsm.ts';
import { historyLength, listenRetryInterval } from './limits.ts';
import { PollSequence, type Intervals } from './poll-sequence.ts';
import { RemoteState } from './remote-state.ts';
import { Alarm, type Schedule } from '../system/schedule.ts';
import type { Profile, ResolvedSession } from './session-options.ts';
import type { DownTime, RemoteStatus, SessionStatus, Transition } from './session-status.ts';
import { detectionTime, endOfSlot, slowInterval, toMicroseconds, toMilliseconds, transmissionTime, transmitInterval } from './timing.ts';
import type { Channel } from './transport/transport.ts';
import type { SessionState } from './wire/codes.ts';
import { ControlPacket, controlPacketLength, encodeControlPacket } from './wire/control-packet.ts';

interface SessionComponents {
  readonly clock: Clock;
  readonly random: Random;
  readonly schedule: Schedule;
}

interface SessionHost {
  changed(session: Session, transition: Transition): void;
  /** Reports an expired detection time. The manager drains the sockets and then calls `expireDetection`. */
  deferDetection(session: Session): void;
}

/**
 * One session (RFC 5880 6.8): runs the state machine and its timers over a channel. A failure to send is only counted, because the peer
 * detects it.
 */
export class Session {
  readonly discriminator: number;
  readonly counters = newSessionCounters();
  readonly #components: SessionComponents;
  readonly #host: SessionHost;
  readonly #channel: Channel;
  readonly #octets = new Uint8Array(controlPacketLength);
  readonly #packet = new ControlPacket();
  readonly #remote = new RemoteState();
  readonly #poll: PollSequence;
  readonly #transmission = new Alarm((now) => this.#transmit(now));
  readonly #detection = new Alarm((now) => this.#detectionAlarmRang(now));
  readonly #history: Transition[] = [];
  #resolved: ResolvedSession;
  #state: SessionState = 'Down';
  #diagnostic = 0;
  #since: Date;
  /** Milliseconds of the clock: when the latest packet was received, and when the latest one was sent, except for answers to a poll. */
  #lastReceived = -Infinity;
  #lastSent = -Infinity;
  /** Interval in microseconds for which the transmission alarm was set. */
  #interval: number | undefined;
  #lastDown: DownTime | undefined;
  /** Milliseconds of the clock when the session last went down. */
  #wentDown = -Infinity;
  #sendProblem: string | undefined;
  /** Set while `close` waits. */
  #closing: { readonly finish: () => void } | undefined;

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

  /** The latest state changes, oldest first. */
  get history(): readonly Transition[] {
    return this.#history;
  }

  /** Starts the session, or reopens it after `close`. */
  start(): void {
    this.#closing?.finish();
    const moved = this.#move(this.#resolved.adminDown ? 'disabled' : 'enabled');
    if (moved) this.#sendStateChange();
    else this.#rescheduleIfChanged();
  }

  /** Applies other options with the same endpoint. No change of options is a flap. */
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

  /** Handles a packet for this session (RFC 5880 6.8.6). */
  receive(packet: ControlPacket, now: number): void {
    this.counters.received++;
    this.#remote.update(packet);
    this.#lastReceived = now;
    if (packet.final) this.#poll.finalReceived();
    const isHeldDown = this.#state === 'AdminDown';
    const moved = this.#move(receivedState(packet.state));
    this.#armDetection();
    if (isHeldDown && isDown(packet.state)) this.#closing?.finish();
    // An answer to a poll also carries the new state, so no further packet is needed.
    if (packet.poll && !isHeldDown) this.#send(true, false);
    else if (moved) return this.#sendStateChange();
    this.#rescheduleIfChanged();
  }

  /** Expires the detection time, unless a packet arrived while the sockets were drained. */
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
   * Sends AdminDown. Resolves when the peer has received it or would have detected the silence, after at most `longest` milliseconds. The
   * session goes on sending AdminDown until `release`.
   */
  close(longest: number): Promise<void> {
    const { schedule, clock } = this.#components;
    const detectable = this.#peersDetectionTime();
    const moved = this.#move('disabled');
    if (moved) this.#sendStateChange();
    // A peer that is silent or down need not be told.
    if (isDown(this.#remote.state)) return Promise.resolve();
    return new Promise((resolve) => {
      const finish = (): void => {
        schedule.clearAlarm(over);
        this.#closing = undefined;
        resolve();
      };
      const over = new Alarm(finish);
      this.#closing = { finish };
      schedule.setAlarm(over, clock.now() + Math.min(longest, detectable));
    });
  }

  /** Stops sending and closes the channel. */
  release(): void {
    this.#closing?.finish();
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

  /** Applies an event. Returns true if the state changed. */
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
   * Reschedules the next packet if the interval has changed. The time counts from the latest sent packet, not from now; otherwise a peer
   * that changes its interval all the time would stop transmission.
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
    const due = transmissionTime(this.#lastSent, interval, this.#resolved.profile.detectMultiplier, random);
    schedule.setAlarm(this.#transmission, Math.max(due, clock.now()));
  }

  /** A passive session sends only after it has received a packet, and stops when the peer becomes silent (RFC 5880 6.8.7). */
  get #isSilent(): boolean {
    return this.#resolved.profile.passive && this.#remote.discriminator === 0;
  }

  /** In microseconds. Undefined: the rules forbid periodic packets. */
  #currentInterval(): number | undefined {
    const remote = this.#remote;
    if (this.#isSilent) return undefined;
    const isLeftAlone = remote.demand && this.#state === 'Up' && remote.state === 'Up' && !this.#poll.polling;
    return isLeftAlone ? undefined : transmitInterval(this.#poll.inForce.desiredMinTx, remote.minRx);
  }

  #transmit(now: number): void {
    const { schedule, random } = this.#components;
    if (this.#interval === undefined) {
      // Sending also checks the sockets. A session that does not send must check them here.
      this.#channel.listen();
      schedule.setAlarm(this.#transmission, now + listenRetryInterval);
      return;
    }
    this.#send(false, this.#poll.polling);
    this.#lastSent = now;
    schedule.setAlarm(this.#transmission, transmissionTime(now, this.#interval, this.#resolved.profile.detectMultiplier, random));
  }

  /** Sends the new state at once, without waiting for the next interval. */
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

  /** Sets the alarm if needed. Each packet extends the deadline but does not move the alarm, which checks the deadline when it rings. */
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

  /** When the detection time is over, at the end of a slot. */
  #deadline(): number | undefined {
    const time = this.#detectionTime();
    return time === undefined ? undefined : endOfSlot(this.#lastReceived + time, time);
  }

  /** In milliseconds. Undefined until a packet arrived. */
  #detectionTime(): number | undefined {
    const { detectMultiplier, desiredMinTx } = this.#remote;
    if (detectMultiplier === 0) return undefined;
    return toMilliseconds(detectionTime(detectMultiplier, this.#poll.inForce.requiredMinRx, desiredMinTx));
  }

  /** Milliseconds after which the peer would declare this session Down. */
  #peersDetectionTime(): number {
    const { desiredMinTx } = this.#poll.advertised;
    return toMilliseconds(this.#resolved.profile.detectMultiplier * Math.max(desiredMinTx, this.#remote.minRx));
  }
}

const isDown = (state: SessionState): boolean => state === 'Down' || state === 'AdminDown';

function configuredIntervals({ transmitInterval, receiveInterval }: Profile): Intervals {
  return { desiredMinTx: toMicroseconds(transmitInterval), requiredMinRx: toMicroseconds(receiveInterval) };
}

/** The intervals of a session that is not Up (RFC 5880 6.8.3). */
function slowIntervals(profile: Profile): Intervals {
  const { desiredMinTx, requiredMinRx } = configuredIntervals(profile);
  return { desiredMinTx: Math.max(desiredMinTx, slowInterval), requiredMinRx };
}
