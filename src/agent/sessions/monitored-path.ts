import { diagnosticName, isLoss, mayEstablish, type SessionOptions, type SessionState, type Transition } from '../../bfd/index.ts';
import type { BfdStatus } from '../../model/objects/node-state.ts';
import { limits } from '../limits.ts';

/** The session key of a strict peer whose BFDProfile does not exist yet. */
export const noProfile = 'no profile';

/** The state of BFD on the path to one peer, and its consequences for BGP (RFC 5882). */
export class MonitoredPath {
  /** Identifies the BFD session. Another key is a new session, still unknown. Empty: the address of the peer is not known yet. */
  readonly sessionKey: string;
  /** The request to BFD that created the session. Transitions that arrive before its answer belong to the previous session. */
  readonly request: number;
  /** True: BGP waits for BFD for as long as it takes. */
  strict = false;
  /** True: BGP is held back. */
  isHeld = false;
  /** Why BFD refused the session (`refusal`), and what keeps it from working (`fault`), in words. */
  refusal: string | undefined;
  fault: string | undefined;
  /** Warnings about the session, in words. Empty when there are none. */
  warning = '';
  #status: BfdStatus;
  #state: SessionState = 'Down';
  #remoteState: SessionState = 'Down';
  #failed = false;
  /** Valid while `#failed` is true. */
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

  /** Applies a transition of BFD. Returns true if the path was up and is lost. */
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

  /** The peer may report another state without a transition of ours. AdminDown of the peer ends the wait. */
  recordRemoteState(remoteState: SessionState): void {
    this.#remoteState = remoteState;
  }

  mayEstablish(now: number): boolean {
    const path = { state: this.#state, remoteState: this.#remoteState, failed: this.#failed };
    return mayEstablish(path, { strict: this.strict, holdTime: this.#holdTime }, now - this.#lostAt);
  }

  /** Returns the milliseconds until BGP may retry without BFD. Undefined: BGP waits until BFD allows it. */
  holdRemaining(now: number): number | undefined {
    return this.#holdTime === Infinity ? undefined : Math.max(0, this.#lostAt + this.#holdTime - now);
  }

  /** Returns why BGP waits. */
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

/** Returns a key that differs for settings that need a new BFD session. */
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
