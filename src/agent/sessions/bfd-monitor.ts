import { defined } from '../../lang/defined.ts';
import type { Peer } from '../../bgp/index.ts';
import type { Bfd, Refusal, SessionOptions, Transition } from '../../bfd/index.ts';
import type { SessionIntent } from '../../decisions/announcement/peers.ts';
import type { BfdStatus } from '../../model/objects/node-state.ts';
import { reason, reasonText, type Reason } from '../../model/reasons.ts';
import { formatAddress } from '../../net/address.ts';
import type { Cancel } from '../../system/clock.ts';
import { limits } from '../limits.ts';
import type { Surroundings } from '../../system/random.ts';
import { noProfile, MonitoredPath, sessionKeyOf } from './monitored-path.ts';

/** The part of src/bfd that the monitor uses: `Bfd`, or a test double. */
export type BfdSessions = Pick<Bfd, 'set' | 'onChange' | 'status' | 'stop'>;

export interface BfdMonitorComponents extends Surroundings {
  /** Starts BFD, which runs in a thread. Called for the first session with BFD. Throws if this host cannot run it. */
  readonly startBfd: () => BfdSessions;
}

interface BfdMonitorOptions {
  readonly peer: (name: string) => Peer | undefined;
  /** Called when the results of `status` and `problem` changed. */
  readonly onStatusChanged: () => void;
}

/**
 * Runs BFD beside the BGP sessions. When BFD loses a path that was up, the monitor closes the BGP session and holds it back for a moment,
 * or until the path is up again. BFD that never came up holds nothing back: the peer may not have it, or only while it has BGP (RFC 5882
 * 4.1). In strict mode BGP waits for BFD from the start, for as long as it takes.
 */
export class BfdMonitor {
  readonly #components: BfdMonitorComponents;
  readonly #options: BfdMonitorOptions;
  readonly #paths = new Map<string, MonitoredPath>();
  /** Timers of the paths that are held back for a limited time. */
  readonly #holdTimers = new Map<MonitoredPath, Cancel>();
  #bfd: BfdSessions | undefined;
  #intents: readonly SessionIntent[] = [];
  /** The last request to BFD, as text. */
  #requested = '[]';
  /** Number of requests made to BFD, and the latest one that BFD answered. */
  #requests = 0;
  #answered = 0;
  #cancelCheck: Cancel | undefined;
  #stopped = false;

  constructor(components: BfdMonitorComponents, options: BfdMonitorOptions) {
    this.#components = components;
    this.#options = options;
  }

  /** Takes the current BGP sessions. Monitors the sessions with `bfd`; a session with `bfdStrict` and no `bfd` waits for its BFDProfile. */
  reconcile(intents: readonly SessionIntent[]): void {
    this.#intents = intents;
    this.refresh();
  }

  /** Checks the sessions again: one may have ended, and the speaker may have found a peer that has no configured address. */
  refresh(): void {
    if (this.#stopped) return;
    const intents = this.#intents.filter(({ bfd, bfdStrict }) => bfd !== undefined || bfdStrict);
    const names = new Set(intents.map(({ peer }) => peer));
    for (const name of this.#paths.keys()) if (!names.has(name)) this.#forget(name);
    const sessions = intents.flatMap((intent) => {
      const session = this.#sessionOf(intent);
      this.#monitor(intent, intent.bfd === undefined ? noProfile : sessionKeyOf(session));
      return session ?? [];
    });
    const requested = JSON.stringify(sessions);
    if (requested === this.#requested) return;
    this.#requested = requested;
    this.#request(sessions);
  }

  status(peer: string): BfdStatus | undefined {
    const path = this.#paths.get(peer);
    return path?.sessionKey === noProfile ? undefined : path?.status;
  }

  /** Returns why a peer waits for BFD, or why it has no BFD although it should. */
  problem(peer: string): Reason | undefined {
    const path = this.#paths.get(peer);
    if (path === undefined) return undefined;
    if (path.isAwaited) return reason('BFDAwaited', { peer, why: path.holdReason() });
    return path.problem === undefined ? undefined : reason('BFDNotPossible', { peer, problem: path.problem });
  }

  /** Sends AdminDown to all peers, so that they keep our routes when the sessions end. Resolves when the peers have it. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancelCheck?.();
    for (const cancel of this.#holdTimers.values()) cancel();
    await this.#bfd?.stop();
  }

  #monitor({ peer: name, bfdStrict }: SessionIntent, way: string): void {
    const before = this.#paths.get(name);
    const isSame = before?.sessionKey === way;
    const path = isSame ? before : new MonitoredPath(way, this.#requests + 1, this.#components.clock.date());
    path.strict = bfdStrict;
    if (!isSame) {
      path.isHeld = before?.isHeld ?? false;
      if (before !== undefined) this.#cancelHoldTimer(before);
      this.#paths.set(name, path);
    }
    this.#decide(name, path);
  }

  #request(sessions: readonly SessionOptions[]): void {
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
    this.#checkLater();
  }

  async #send(bfd: BfdSessions, sessions: readonly SessionOptions[], request: number): Promise<void> {
    const refused = await bfd.set(sessions);
    this.#answered = request;
    this.#refused(refused);
    await this.#check();
  }

  #start(): BfdSessions {
    const bfd = this.#components.startBfd();
    bfd.onChange((name, transition) => this.#changed(name, transition));
    return bfd;
  }

  #sessionOf({ peer: name, bfd, peerAddress, interface: networkInterface, sourceAddress }: SessionIntent): SessionOptions | undefined {
    if (bfd === undefined) return undefined;
    // A peer without a configured address has the address at which the speaker found it.
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
    const path = this.#paths.get(name);
    if (path === undefined || path.request > this.#answered || this.#stopped) return;
    const { clock, log } = this.#components;
    if (path.step(transition, clock.now())) {
      log.warn({ peer: name, reason: path.status.reason }, 'BFD lost the path to the peer');
      this.#hold(name, path);
    }
    this.#decide(name, path);
    this.#options.onStatusChanged();
  }

  /** Holds the BGP session back or lets it go. A session that came up without BFD continues; only its successor must wait. */
  #decide(name: string, path: MonitoredPath): void {
    const now = this.#components.clock.now();
    if (path.mayEstablish(now)) {
      this.#cancelHoldTimer(path);
      if (path.isHeld) this.#restore(name, path);
      return;
    }
    if (!path.isHeld && this.#options.peer(name)?.status().state !== 'Established') this.#hold(name, path);
    const remaining = path.holdRemaining(now);
    if (remaining === undefined) this.#cancelHoldTimer(path);
    else if (!this.#holdTimers.has(path)) this.#startHoldTimer(name, path, remaining);
  }

  #hold(name: string, path: MonitoredPath): void {
    // Set first: the speaker reports the end of the session back to this class.
    path.isHeld = true;
    this.#options.peer(name)?.pathLost();
    if (path.strict) this.#components.log.info({ peer: name, reason: path.holdReason() }, 'the session waits for BFD');
    this.#options.onStatusChanged();
  }

  #restore(name: string, path: MonitoredPath): void {
    path.isHeld = false;
    this.#options.peer(name)?.pathRestored();
    this.#options.onStatusChanged();
  }

  #startHoldTimer(name: string, path: MonitoredPath, milliseconds: number): void {
    const cancel = this.#components.clock.after(milliseconds, () => {
      this.#holdTimers.delete(path);
      if (this.#paths.get(name) === path) this.#decide(name, path);
    });
    this.#holdTimers.set(path, cancel);
  }

  #cancelHoldTimer(path: MonitoredPath): void {
    this.#holdTimers.get(path)?.();
    this.#holdTimers.delete(path);
  }

  #forget(name: string): void {
    const path = this.#paths.get(name);
    if (path === undefined) return;
    this.#paths.delete(name);
    this.#cancelHoldTimer(path);
    if (path.isHeld) this.#restore(name, path);
  }

  #refused(refused: readonly Pick<Refusal, 'name' | 'message'>[]): void {
    const problems = new Map(refused.map(({ name, message }) => [name, message]));
    for (const [name, path] of this.#paths) this.#update(name, path, () => void (path.refusal = problems.get(name)));
  }

  /** BFD transitions do not tell why a session cannot send or receive, or what is unsafe about it, so the monitor polls for that. */
  #checkLater(): void {
    this.#cancelCheck?.();
    this.#cancelCheck = this.#components.clock.after(limits.bfdPollMilliseconds, () => {
      void this.#check();
      if (this.#paths.size > 0) this.#checkLater();
    });
  }

  async #check(): Promise<void> {
    const requests = this.#requests;
    const status = await this.#bfd?.status();
    for (const { name, problem, remote, warnings } of status?.sessions ?? []) {
      const path = this.#paths.get(name);
      if (path === undefined || path.request > requests || this.#stopped) continue;
      path.recordRemoteState(remote.state);
      this.#decide(name, path);
      this.#update(name, path, () => {
        path.fault = problem;
        path.warning = warnings.join('; ');
      });
    }
  }

  #update(name: string, path: MonitoredPath, change: () => void): void {
    if (this.#stopped) return;
    const { problem: before, warning } = path;
    change();
    const { log } = this.#components;
    const now = this.problem(name);
    if (path.problem !== undefined && path.problem !== before && now !== undefined) {
      log.warn({ peer: name, reason: reasonText(now) }, 'no BFD with the peer');
    }
    if (path.warning !== '' && path.warning !== warning)
      log.warn({ peer: name, reason: path.warning }, 'BFD runs differently than requested');
    if (path.problem !== before || path.warning !== warning) this.#options.onStatusChanged();
  }
}
