import { defined } from '../../lang/defined.ts';
import type { Peer } from '../../bgp/index.ts';
import type { ManagerStatus, Refusal, SessionOptions, Transition } from '../../bfd/index.ts';
import type { SessionIntent } from '../../decisions/announcement/peers.ts';
import type { BfdStatus } from '../../model/objects/node-state.ts';
import { reason, says, type Reason } from '../../model/reasons.ts';
import { formatAddress } from '../../net/address.ts';
import type { Cancel, Clock } from '../../system/clock.ts';
import type { Log } from '../../system/log.ts';
import { limits } from '../limits.ts';
import { noProfile, MonitoredPath, sessionKeyOf } from './monitored-path.ts';

/** What is used of src/bfd: `Bfd`, or a double of it. */
export interface BfdSessions {
  set(sessions: readonly SessionOptions[]): Promise<readonly Refusal[]>;
  onChange(listener: (name: string, transition: Transition) => void): () => void;
  status(): Promise<ManagerStatus>;
  stop(): Promise<void>;
}

export interface BfdMonitorComponents {
  /** Called when the first session with BFD is wanted: it runs in a thread. Throws where this host cannot have it. */
  readonly startBfd: () => BfdSessions;
  readonly clock: Clock;
  readonly log: Log;
}

interface BfdMonitorOptions {
  readonly peer: (name: string) => Peer | undefined;
  /** What `status` and `problem` say is another than before. */
  readonly onStatusChanged: () => void;
}

/**
 * BFD beside the BGP sessions: where it was up and is lost it closes the BGP session and holds it back for a moment, or until the path is
 * there again. BFD that never came up holds nothing back: the peer may have none, or only while it has BGP (RFC 5882 4.1). Where strictness
 * is asked for, BGP waits for BFD from the beginning, and as long as it takes.
 */
export class BfdMonitor {
  readonly #components: BfdMonitorComponents;
  readonly #options: BfdMonitorOptions;
  readonly #watched = new Map<string, MonitoredPath>();
  /** Of those that are held back for a while. */
  readonly #patience = new Map<MonitoredPath, Cancel>();
  #bfd: BfdSessions | undefined;
  #intents: readonly SessionIntent[] = [];
  /** What was asked for last, as text. */
  #asked = '[]';
  /** Requests made of BFD, and the latest of them that was answered. */
  #requests = 0;
  #answered = 0;
  #cancelLook: Cancel | undefined;
  #stopped = false;

  constructor(components: BfdMonitorComponents, options: BfdMonitorOptions) {
    this.#components = components;
    this.#options = options;
  }

  /**
   * These are the BGP sessions that there are; those with `bfd` are watched, those that have `bfdStrict` without it wait for their BFDProfile.
   * To be called again when peers without an address are found.
   */
  reconcile(intents: readonly SessionIntent[]): void {
    this.#intents = intents;
    this.refresh();
  }

  /** Looks at the sessions again: one may have ended, and another peer been found. */
  refresh(): void {
    if (this.#stopped) return;
    const intents = this.#intents.filter(({ bfd, bfdStrict }) => bfd !== undefined || bfdStrict);
    const names = new Set(intents.map(({ peer }) => peer));
    for (const name of this.#watched.keys()) if (!names.has(name)) this.#forget(name);
    const sessions = intents.flatMap((intent) => {
      const session = this.#sessionOf(intent);
      this.#watch(intent, intent.bfd === undefined ? noProfile : sessionKeyOf(session));
      return session ?? [];
    });
    const asked = JSON.stringify(sessions);
    if (asked === this.#asked) return;
    this.#asked = asked;
    this.#ask(sessions);
  }

  status(peer: string): BfdStatus | undefined {
    const watched = this.#watched.get(peer);
    return watched?.sessionKey === noProfile ? undefined : watched?.status;
  }

  /** What a peer has to wait for, or why it has no BFD although it should. */
  problem(peer: string): Reason | undefined {
    const watched = this.#watched.get(peer);
    if (watched === undefined) return undefined;
    if (watched.isAwaited) return reason('BFDAwaited', { peer, why: watched.holdReason() });
    return watched.problem === undefined ? undefined : reason('BFDNotPossible', { peer, problem: watched.problem });
  }

  /** Says AdminDown to all, so that they keep our routes whatever becomes of the sessions; resolves when they have heard it. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancelLook?.();
    for (const cancel of this.#patience.values()) cancel();
    await this.#bfd?.stop();
  }

  #watch({ peer: name, bfdStrict }: SessionIntent, way: string): void {
    const before = this.#watched.get(name);
    const isSame = before?.sessionKey === way;
    const watched = isSame ? before : new MonitoredPath(way, this.#requests + 1, this.#components.clock.date());
    watched.strict = bfdStrict;
    if (!isSame) {
      watched.isHeld = before?.isHeld ?? false;
      if (before !== undefined) this.#beImpatient(before);
      this.#watched.set(name, watched);
    }
    this.#settle(name, watched);
  }

  #ask(sessions: readonly SessionOptions[]): void {
    if (this.#bfd === undefined && sessions.length === 0) return;
    const request = ++this.#requests;
    try {
      this.#bfd ??= this.#start();
    } catch (error) {
      const problem = (error as Error).message;
      this.#refused(sessions.map(({ name }) => ({ name, message: problem })));
      return;
    }
    void this.#send(this.#bfd, sessions, request);
    this.#lookLater();
  }

  async #send(bfd: BfdSessions, sessions: readonly SessionOptions[], request: number): Promise<void> {
    const refused = await bfd.set(sessions);
    this.#answered = request;
    this.#refused(refused);
    await this.#look();
  }

  #start(): BfdSessions {
    const bfd = this.#components.startBfd();
    bfd.onChange((name, transition) => this.#changed(name, transition));
    return bfd;
  }

  #sessionOf({ peer: name, bfd, peerAddress, interface: networkInterface, sourceAddress }: SessionIntent): SessionOptions | undefined {
    if (bfd === undefined) return undefined;
    // A peer that is looked for has the address that it was found with.
    const peer = peerAddress === undefined ? this.#options.peer(name)?.status().address : formatAddress(peerAddress);
    if (peer === undefined || peer === '') return undefined;
    const { minimumTtl, ...profile } = bfd;
    return {
      name,
      peer,
      ...profile,
      ...defined({ interface: networkInterface }),
      ...(sourceAddress === undefined ? {} : { localAddress: formatAddress(sourceAddress) }),
      ...(minimumTtl === undefined ? {} : { multihop: { minimumTtl } }),
    };
  }

  #changed(name: string, transition: Transition): void {
    const watched = this.#watched.get(name);
    if (watched === undefined || watched.request > this.#answered || this.#stopped) return;
    const { clock, log } = this.#components;
    if (watched.step(transition, clock.now())) {
      log.warn({ peer: name, reason: watched.status.reason }, 'BFD: the way to the peer is lost');
      this.#hold(name, watched);
    }
    this.#settle(name, watched);
    this.#options.onStatusChanged();
  }

  /** A session that is up without BFD is not ended because it ought to have waited for it: it waits before the next one. */
  #settle(name: string, watched: MonitoredPath): void {
    const now = this.#components.clock.now();
    if (watched.mayEstablish(now)) {
      this.#beImpatient(watched);
      if (watched.isHeld) this.#restore(name, watched);
      return;
    }
    if (!watched.isHeld && this.#options.peer(name)?.status().state !== 'Established') this.#hold(name, watched);
    const patience = watched.holdRemaining(now);
    if (patience === undefined) this.#beImpatient(watched);
    else if (!this.#patience.has(watched)) this.#waitFor(name, watched, patience);
  }

  #hold(name: string, watched: MonitoredPath): void {
    // The end of the session is told to us as well, and then it is held already.
    watched.isHeld = true;
    this.#options.peer(name)?.pathLost();
    if (watched.strict) this.#components.log.info({ peer: name, reason: watched.holdReason() }, 'the session waits for BFD');
    this.#options.onStatusChanged();
  }

  #restore(name: string, watched: MonitoredPath): void {
    watched.isHeld = false;
    this.#options.peer(name)?.pathRestored();
    this.#options.onStatusChanged();
  }

  #waitFor(name: string, watched: MonitoredPath, milliseconds: number): void {
    const cancel = this.#components.clock.after(milliseconds, () => {
      this.#patience.delete(watched);
      if (this.#watched.get(name) === watched) this.#settle(name, watched);
    });
    this.#patience.set(watched, cancel);
  }

  #beImpatient(watched: MonitoredPath): void {
    this.#patience.get(watched)?.();
    this.#patience.delete(watched);
  }

  #forget(name: string): void {
    const watched = this.#watched.get(name);
    if (watched === undefined) return;
    this.#watched.delete(name);
    this.#beImpatient(watched);
    if (watched.isHeld) this.#restore(name, watched);
  }

  #refused(refused: readonly Pick<Refusal, 'name' | 'message'>[]): void {
    const problems = new Map(refused.map(({ name, message }) => [name, message]));
    for (const [name, watched] of this.#watched) this.#tell(name, watched, () => void (watched.refusal = problems.get(name)));
  }

  /** What keeps a session from sending or receiving, and is unsafe about it, is nothing that a state machine tells. */
  #lookLater(): void {
    this.#cancelLook?.();
    this.#cancelLook = this.#components.clock.after(limits.bfdPollMilliseconds, () => {
      void this.#look();
      if (this.#watched.size > 0) this.#lookLater();
    });
  }

  async #look(): Promise<void> {
    const requests = this.#requests;
    const status = await this.#bfd?.status();
    for (const { name, problem, remote, warnings } of status?.sessions ?? []) {
      const watched = this.#watched.get(name);
      if (watched === undefined || watched.request > requests || this.#stopped) continue;
      watched.recordRemoteState(remote.state);
      this.#settle(name, watched);
      this.#tell(name, watched, () => {
        watched.fault = problem;
        watched.warning = warnings.join('; ');
      });
    }
  }

  #tell(name: string, watched: MonitoredPath, change: () => void): void {
    if (this.#stopped) return;
    const { problem: before, warning } = watched;
    change();
    const { log } = this.#components;
    const now = this.problem(name);
    if (watched.problem !== undefined && watched.problem !== before && now !== undefined) {
      log.warn({ peer: name, reason: says(now) }, 'no BFD with the peer');
    }
    if (watched.warning !== '' && watched.warning !== warning)
      log.warn({ peer: name, reason: watched.warning }, 'BFD is not as it was asked for');
    if (watched.problem !== before || watched.warning !== warning) this.#options.onStatusChanged();
  }
}
