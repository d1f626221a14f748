import type { Transition } from './session-status.ts';
import type { SessionState } from './wire/codes.ts';

/** The advice of a BFD session to the protocol that it protects, such as BGP (RFC 5882). */

export interface WatchedPath {
  readonly state: SessionState;
  readonly remoteState: SessionState;
  /** The session was up, went down, and is not up again. */
  readonly failed: boolean;
}

export interface ClientOptions {
  /** Do not establish anything before BFD is up (strict mode, draft-ietf-idr-bgp-bfd-strict-mode). */
  readonly strict: boolean;
  /**
   * Milliseconds for which the client waits for BFD at most. Afterwards it establishes its session without BFD. With Infinity it waits for
   * ever.
   */
  readonly holdTime: number;
}

/**
 * Tells whether the path was lost, so that the client must close its session: the peer is silent, or says that it receives nothing. A
 * shutdown by either operator is no loss (RFC 5882 3.2).
 */
export function isLoss({ from, to, remoteState }: Transition): boolean {
  return from === 'Up' && to === 'Down' && remoteState !== 'AdminDown';
}

/**
 * Tells whether the client may establish a session over the path (RFC 5882 4.1), after it has waited `waited` milliseconds. If BFD never
 * came up, the peer may not run BFD, so only strict mode waits. If BFD was lost, the peer does run it, so the client always waits.
 */
export function mayEstablish({ state, remoteState, failed }: WatchedPath, { strict, holdTime }: ClientOptions, waited: number): boolean {
  const isOff = state === 'AdminDown' || remoteState === 'AdminDown';
  if (state === 'Up' || isOff) return true;
  return !(strict || failed) || waited >= holdTime;
}
