import type { SessionStatus } from '../../model/objects/node-state.ts';
import { reason, type Reason } from '../../model/reasons.ts';

/** Why the routes that were decided are not at a peer; undefined: its session is up. `session`: as the agent reports it, if it does. */
export function whySessionDown(peer: string, session: SessionStatus | undefined): Reason | undefined {
  if (session?.state === 'Established') return undefined;
  const { state = 'unknown to the agent', lastError = '', damping, bfd } = session ?? {};
  if (bfd?.awaited !== undefined) return reason('BFDAwaited', { peer, why: bfd.awaited });
  if (damping?.until === undefined) return reason('SessionDown', { peer, state, lastError });
  return reason('SessionHeldBack', { peer, until: damping.until, flaps: damping.flapsInLastHour, lastError });
}
