import type { SessionStatus } from '../../model/objects/node-state.ts';
import { reason, type Reason } from '../../model/reasons.ts';

/** Returns why decided routes are not at a peer. Undefined when its session is up. `session` is the agent's report, if there is one. */
export function whySessionDown(peer: string, session: SessionStatus | undefined): Reason | undefined {
  if (session?.state === 'Established') return undefined;
  const { state = 'unknown to the agent', lastError = '', damping, bfd } = session ?? {};
  if (bfd?.awaited !== undefined) return reason('BFDAwaited', { peer, why: bfd.awaited });
  if (damping?.until === undefined) return reason('SessionDown', { peer, state, lastError });
  return reason('SessionHeldBack', { peer, until: damping.until, flaps: damping.flapsInLastHour, lastError });
}
