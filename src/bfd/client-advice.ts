import type { Transition } from './session-status.ts';
import type { SessionState } from './wire/codes.ts';

/** The advice of a BFD session to the protocol that it protects, such as BGP (RFC 5882). */

export interface WatchedPath {
  readonly state: SessionState;
  readonly remoteState: SessionState;
}

/**
 * Tells whether the path was lost, so that the client must close its session: the peer is silent, or says that it receives nothing. A
 * shutdown by either operator is no loss (RFC 5882 3.2).
 */
export function isLoss({ from, to, remoteState }: Transition): boolean {
  return from === 'Up' && to === 'Down' && remoteState !== 'AdminDown';
}

/**
 * Tells whether the client may establish a session over the path (RFC 5882 4.1). It waits for BFD at most `holdTime` milliseconds; with
 * Infinity it waits for ever (strict mode, draft-ietf-idr-bgp-bfd-strict-mode). `waited`: milliseconds since BFD sent its first packet, or
 * since it lost the path. The client also waits for BFD that never came up: the peer may still be Up with an earlier process, and when it
 * hears this one, it goes down and closes whatever session its client has by then.
 */
export function mayEstablish({ state, remoteState }: WatchedPath, waited: number, holdTime: number): boolean {
  const isOff = state === 'AdminDown' || remoteState === 'AdminDown';
  return state === 'Up' || isOff || waited >= holdTime;
}
