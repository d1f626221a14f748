import { diagnosticName, isLoss, mayEstablish, type SessionOptions, type SessionState, type Transition } from '../../bfd/index.ts';
import type { BfdStatus } from '../../model/objects/node-state.ts';
import { limits } from '../limits.ts';

/** The way of a peer that is to wait for BFD whose BFDProfile does not exist yet. */
export const noProfile = 'no profile';

/** What BFD has said of the way to one peer, and what that means to BGP (RFC 5882). */
export class MonitoredPath {
  /** Another way is another BFD session: nothing is known of it yet. Empty: where the peer is has to be found out. */
  readonly sessionKey: string;
  /** The request to BFD that began it. What is heard before the answer to that one is of the session before. */
  readonly request: number;
  /** BGP waits for BFD, however long that takes. */
  strict = false;
  /** BGP is held back. */
  isHeld = false;
  /** Why BFD cannot be as it was asked for, and what keeps it from working, in words. */
  refusal: string | undefined;
  fault: string | undefined;
  /** What is not safe about it, in words; empty: nothing. */
  warning = '';
  #status: BfdStatus;
  #state: SessionState = 'Down';
  #remoteState: SessionState = 'Down';
  #failed = false;
  /** Counts once it has failed. */
  #lostAt = 0;

  constructor(way: string, request: number, since: Date) {
    this.sessionKey = way;
    this.request = request;
    this.#status = { state: 'Down', since: since.toISOString() };
  }

  get status(): BfdStatus {
    return {
      ...this.#status,
      ...(this.isAwaited ? { awaited: this.holdReason() } : {}),
      ...(this.warning === '' ? {} : { warning: this.warning }),
    };
  }

  get isAwaited(): boolean {
    return this.isHeld && this.strict;
  }

  get problem(): string | undefined {
    return this.fault ?? this.refusal;
  }

  /** A step of the state machine. True: the way was there, and is lost. */
  step(transition: Transition, now: number): boolean {
    const { to, remoteState } = transition;
    const lost = isLoss(transition);
    this.#status = statusOf(transition);
    this.#state = to;
    this.#remoteState = remoteState;
    this.#failed = to !== 'Up' && (this.#failed || lost);
    if (lost) this.#lostAt = now;
    return lost;
  }

  /** The peer may say another state without a step of ours: that it is shut down ends the waiting. */
  recordRemoteState(remoteState: SessionState): void {
    this.#remoteState = remoteState;
  }

  mayEstablish(now: number): boolean {
    const path = { state: this.#state, remoteState: this.#remoteState, failed: this.#failed };
    return mayEstablish(path, { strict: this.strict, holdTime: this.#holdTime }, now - this.#lostAt);
  }

  /** Milliseconds until BGP may try again whatever BFD says; undefined: that is up to BFD. */
  holdRemaining(now: number): number | undefined {
    return this.#holdTime === Infinity ? undefined : Math.max(0, this.#lostAt + this.#holdTime - now);
  }

  /** Why BGP waits. */
  holdReason(): string {
    if (this.problem !== undefined) return this.problem;
    if (this.sessionKey === noProfile) return 'its BFDProfile does not exist';
    if (this.sessionKey === '') return 'the router was not found yet';
    const { state, reason } = this.#status;
    return `it is ${state}${reason === undefined ? ' since there is no answer' : `, ${reason}`}`;
  }

  get #holdTime(): number {
    return this.strict ? Infinity : limits.bfdHoldMilliseconds;
  }
}

/** Whatever makes it another session of BFD. */
export function sessionKeyOf(session: SessionOptions | undefined): string {
  if (session === undefined) return '';
  const { peer, interface: networkInterface, localAddress, multihop } = session;
  return JSON.stringify([peer, networkInterface, localAddress, multihop !== undefined]);
}

function statusOf({ at, to, diagnostic, remoteState, remoteDiagnostic }: Transition): BfdStatus {
  const why = remoteState === 'AdminDown' ? `the peer has it shut down (${diagnosticName(remoteDiagnostic)})` : diagnosticName(diagnostic);
  return {
    state: to,
    since: at.toISOString(),
    ...(to === 'Up' || (diagnostic === 0 && remoteState !== 'AdminDown') ? {} : { reason: why }),
  };
}
