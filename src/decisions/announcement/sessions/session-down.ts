import type { SessionStatus } from '../../../model/objects/node-state.ts';
import { catalogue, reason, type Reason } from '../../../model/reasons.ts';
import type { SessionFacts } from './session-facts.ts';

/**
 * Returns why decided routes are not at a peer. Undefined when its session is up. `session` is the agent's report, if there is one. A
 * report of an older agent has no cause but a text.
 */
export function whySessionDown(peer: string, session: SessionStatus | undefined): Reason | undefined {
  if (session?.state === 'Established') return undefined;
  const { state = 'unknown to the agent', lastError = '', damping, bfd, cause } = session ?? {};
  if (bfd?.awaited !== undefined) return reason('BFDAwaited', { peer, why: bfd.awaited });
  if (damping?.until !== undefined) {
    return reason('SessionHeldBack', { peer, until: damping.until, flaps: damping.flapsInLastHour, lastError });
  }
  return cause !== undefined && isKnown(cause) ? cause : reason('SessionDown', { peer, state, lastError });
}

/** False for a code of a newer agent. The live API passes it on as it is. */
function isKnown({ code }: Reason): boolean {
  return code !== 'UnknownReason' && Object.hasOwn(catalogue, code);
}

/** BFD needs about three exchanges after BGP is up. */
const bfdStartMilliseconds = 10_000;

/**
 * Returns why an established session runs without the BFD that its BGPPeer asks for. Undefined: BFD is up, off, or may still come up.
 * `now`: milliseconds since the epoch.
 */
export function whyWithoutBfd(facts: SessionFacts, session: SessionStatus | undefined, now: number): Reason | undefined {
  const { state, since = '', bfd } = session ?? {};
  if (state !== 'Established' || bfd === undefined || bfd.state === 'Up' || bfd.state === 'AdminDown') return undefined;
  // oxlint-disable-next-line no-restricted-globals -- reading a date from text is pure
  const [up, changed] = [Date.parse(since), Date.parse(bfd.since)];
  if (now - Math.max(up, changed) < bfdStartMilliseconds) return undefined;
  const { peer, router, local, bfdProfile: profile } = facts;
  const why = bfd.reason ?? 'there is no answer';
  return reason('BFDDown', { peer, router, local, since: bfd.since, latest: '', why, profile, tcpWorks: true });
}
