import type { Transition } from './session-status.ts';
import type { SessionState } from './wire/codes.ts';

/** What a session says to the protocol whose path it watches, such as BGP (RFC 5882). */

export interface WatchedPath {
  readonly state: SessionState;
  readonly remoteState: SessionState;
  /** It was up, and was lost, and is not up again. */
  readonly failed: boolean;
}

export interface ClientOptions {
  /** Nothing is established before BFD is up (strict mode, draft-ietf-idr-bgp-bfd-strict-mode). */
  readonly strict: boolean;
  /** Milliseconds for which the client waits for BFD at most; afterwards it goes on without. Infinity is a real strict mode. */
  readonly holdTime: number;
}

/**
 * Whether the path was lost, so that the client closes its session: the peer is silent or says that it cannot hear us. What either
 * operator has shut down on purpose is no loss (RFC 5882 3.2).
 */
export function isLoss({ from, to, remoteState }: Transition): boolean {
  return from === 'Up' && to === 'Down' && remoteState !== 'AdminDown';
}

/**
 * Whether the client may establish a session over the path (RFC 5882 4.1), after it has waited for so many milliseconds. BFD that never
 * came up is a peer without BFD, and holds nothing back unless that is asked for; BFD that was lost says that the peer has it.
 */
export function mayEstablish({ state, remoteState, failed }: WatchedPath, { strict, holdTime }: ClientOptions, waited: number): boolean {
  const isOff = state === 'AdminDown' || remoteState === 'AdminDown';
  if (state === 'Up' || isOff) return true;
  return !(strict || failed) || waited >= holdTime;
}
