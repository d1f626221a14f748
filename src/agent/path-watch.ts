import type { Peer } from '../bgp/index.ts';
import { diagnosticName, isLoss, type ManagerStatus, type Refusal, type SessionOptions, type Transition } from '../bfd/index.ts';
import type { SessionIntent } from '../decisions/announcement/peers.ts';
import type { BfdStatus } from '../model/node-state.ts';
import { reason, says, type Reason } from '../model/reasons.ts';
import { formatAddress } from '../net/address.ts';
import type { Cancel, Clock } from '../system/clock.ts';
import type { Log } from '../system/log.ts';
import { limits } from './limits.ts';

/** What is used of src/bfd: `Bfd`, or a double of it. */
export interface BfdSessions {
  set(sessions: readonly SessionOptions[]): Promise<readonly Refusal[]>;
  onChange(listener: (name: string, transition: Transition) => void): () => void;
  status(): Promise<ManagerStatus>;
  stop(): Promise<void>;
}

export interface PathWatchComponents {
  /** Called when the first session with BFD is wanted: it runs in a thread. Throws where this host cannot have it. */
  readonly startBfd: () => BfdSessions;
  readonly clock: Clock;
  readonly log: Log;
}

export interface PathWatchOptions {
  readonly peer: (name: string) => Peer | undefined;
  /** What `status` and `problem` say is another than before. */
  readonly news: () => void;
}

/** What is known of one path. */
interface Watched {
  status: BfdStatus;
  problem: Reason | undefined;
  /** The path was lost, and BGP waits. */
  waiting: Cancel | undefined;
}

/**
 * BFD beside the BGP sessions: where it was up and is lost it closes the BGP session and holds it back for a moment, or until the path is
 * there again. BFD that never came up holds nothing back: the peer may have none, or only while it has BGP (RFC 5882 4.1).
 */
export class PathWatch {
  readonly #components: PathWatchComponents;
  readonly #options: PathWatchOptions;
  readonly #watched = new Map<string, Watched>();
  #bfd: BfdSessions | undefined;
  #intents: readonly SessionIntent[] = [];
  /** What was asked for last, as text. */
  #asked = '[]';
  #cancelLook: Cancel | undefined;
  #stopped = false;

  constructor(components: PathWatchComponents, options: PathWatchOptions) {
    this.#components = components;
    this.#options = options;
  }

  /** These are the BGP sessions that there are; those with `bfd` are watched. To be called again when peers without an address are found. */
  follow(intents: readonly SessionIntent[]): void {
    this.#intents = intents;
    this.refresh();
  }

  refresh(): void {
    if (this.#stopped) return;
    const sessions = this.#intents.flatMap((intent) => this.#sessionOf(intent) ?? []);
    const names = new Set(sessions.map(({ name }) => name));
    for (const name of this.#watched.keys()) if (!names.has(name)) this.#forget(name);
    for (const name of names) if (!this.#watched.has(name)) this.#watched.set(name, newlyWatched(this.#components.clock));
    const asked = JSON.stringify(sessions);
    if (asked === this.#asked) return;
    this.#asked = asked;
    this.#ask(sessions);
  }

  status(peer: string): BfdStatus | undefined {
    return this.#watched.get(peer)?.status;
  }

  /** Why a peer has no BFD although it should. */
  problem(peer: string): Reason | undefined {
    return this.#watched.get(peer)?.problem;
  }

  /** Says AdminDown to all, so that they keep our routes whatever becomes of the sessions; resolves when they have heard it. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancelLook?.();
    for (const { waiting } of this.#watched.values()) waiting?.();
    await this.#bfd?.stop();
  }

  #ask(sessions: readonly SessionOptions[]): void {
    if (this.#bfd === undefined && sessions.length === 0) return;
    try {
      this.#bfd ??= this.#start();
    } catch (error) {
      const problem = (error as Error).message;
      this.#refused(sessions.map(({ name }) => ({ name, message: problem })));
      return;
    }
    void this.#bfd.set(sessions).then((refused) => this.#refused(refused));
    this.#lookLater();
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
      ...(networkInterface === undefined ? {} : { interface: networkInterface }),
      ...(sourceAddress === undefined ? {} : { localAddress: formatAddress(sourceAddress) }),
      ...(minimumTtl === undefined ? {} : { multihop: { minimumTtl } }),
    };
  }

  #changed(name: string, transition: Transition): void {
    const watched = this.#watched.get(name);
    if (watched === undefined || this.#stopped) return;
    watched.status = statusOf(transition);
    if (isLoss(transition)) {
      const { log } = this.#components;
      log.warn({ peer: name, reason: watched.status.reason }, 'BFD: the way to the peer is lost');
      this.#options.peer(name)?.pathLost();
      watched.waiting?.();
      watched.waiting = this.#components.clock.after(limits.bfdHoldMilliseconds, () => this.#restore(name, watched));
    } else if (transition.to === 'Up' || transition.remoteState === 'AdminDown') {
      this.#restore(name, watched);
    }
    this.#options.news();
  }

  #restore(name: string, watched: Watched): void {
    watched.waiting?.();
    watched.waiting = undefined;
    this.#options.peer(name)?.pathRestored();
  }

  #forget(name: string): void {
    const watched = this.#watched.get(name);
    this.#watched.delete(name);
    if (watched?.waiting !== undefined) this.#restore(name, watched);
  }

  #refused(refused: readonly Pick<Refusal, 'name' | 'message'>[]): void {
    const problems = new Map(refused.map(({ name, message }) => [name, message]));
    for (const [name, watched] of this.#watched) this.#setProblem(name, watched, problems.get(name));
  }

  /** What keeps a session from sending or receiving is nothing that a state machine tells. */
  #lookLater(): void {
    this.#cancelLook?.();
    this.#cancelLook = this.#components.clock.after(limits.bfdLookMilliseconds, () => {
      void this.#look();
      if (this.#watched.size > 0) this.#lookLater();
    });
  }

  async #look(): Promise<void> {
    const status = await this.#bfd?.status();
    for (const { name, problem } of status?.sessions ?? []) {
      const watched = this.#watched.get(name);
      if (watched !== undefined) this.#setProblem(name, watched, problem);
    }
  }

  #setProblem(name: string, watched: Watched, problem: string | undefined): void {
    const before = watched.problem === undefined ? undefined : says(watched.problem);
    watched.problem = problem === undefined ? undefined : reason('BFDNotPossible', { peer: name, problem });
    const now = watched.problem === undefined ? undefined : says(watched.problem);
    if (now === before || this.#stopped) return;
    if (now !== undefined) this.#components.log.warn({ peer: name, reason: now }, 'no BFD with the peer');
    this.#options.news();
  }
}

function newlyWatched(clock: Clock): Watched {
  return { status: { state: 'Down', since: clock.date().toISOString() }, problem: undefined, waiting: undefined };
}

function statusOf({ at, to, diagnostic, remoteState, remoteDiagnostic }: Transition): BfdStatus {
  const why = remoteState === 'AdminDown' ? `the peer has it shut down (${diagnosticName(remoteDiagnostic)})` : diagnosticName(diagnostic);
  return {
    state: to,
    since: at.toISOString(),
    ...(to === 'Up' || (diagnostic === 0 && remoteState !== 'AdminDown') ? {} : { reason: why }),
  };
}
