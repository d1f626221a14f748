import { notReportedBy, type NodeState, type SessionFamily, type SessionStatus } from '../../../model/objects/node-state.ts';
import { isKnownCode, reason, type Reason } from '../../../model/reasons.ts';
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

/** Returns why the session of a node with a peer is not up, by the report of the node. Undefined: it is up. */
export function whySessionOf(state: NodeState, peer: string): Reason | undefined {
  const session = state.sessions.find((one) => one.peer === peer);
  // Sessions open after the first commit of the rules.
  const missing = session === undefined ? (state.problem ?? notReportedBy(state, `a session with BGPPeer "${peer}"`)) : undefined;
  return missing ?? whySessionDown(peer, session);
}

/** False for a code of a newer agent. The live API passes it on as it is. */
function isKnown({ code }: Reason): boolean {
  return code !== 'UnknownReason' && isKnownCode(code);
}

/** BFD needs about three exchanges after BGP is up. */
const bfdStartMilliseconds = 10_000;

/** Parts of a status that matter for a session that is up. */
type SessionParts = Pick<SessionStatus, 'state' | 'since' | 'bfd'> & {
  readonly families?: readonly Pick<SessionFamily, 'family'>[];
  /** The two sides negotiated graceful restart. A report does not say. */
  readonly gracefulRestart?: boolean;
};

/**
 * Returns why an established session lacks a part that its BGPPeer asks for: BFD, an address family, or graceful restart. Undefined: it has all, or may still
 * get it. `now`: milliseconds since the epoch.
 */
export function whyIncomplete(facts: SessionFacts, session: SessionParts | undefined, now: number): Reason | undefined {
  if (session?.state !== 'Established') return undefined;
  return whyWithoutBfd(facts, session, now) ?? whyWithoutFamily(facts, session) ?? whyWithoutRestart(facts, session);
}

function whyWithoutRestart({ peer, router, local, ...facts }: SessionFacts, { gracefulRestart }: SessionParts): Reason | undefined {
  const isMissing = facts.gracefulRestart && gracefulRestart === false;
  return isMissing ? reason('PeerGracefulRestartNotNegotiated', { peer, router, local }) : undefined;
}

function whyWithoutFamily(facts: SessionFacts, { families }: SessionParts): Reason | undefined {
  // Older agents do not report families.
  if (families === undefined) return undefined;
  const missing = (['IPv4', 'IPv6'] as const).find((one) => asksFor(facts, one) && !families.some(({ family }) => family === one));
  return missing === undefined ? undefined : familyNotNegotiated(facts, missing);
}

/** True if the BGPPeer asks for the family. */
export function asksFor({ families }: SessionFacts, family: 'IPv4' | 'IPv6'): boolean {
  return families.split(' ').includes(family.toLowerCase());
}

/** The BGPPeer asks for the family, and the established session does not carry it. */
export function familyNotNegotiated({ peer, router, local, addedFamily }: SessionFacts, family: 'IPv4' | 'IPv6'): Reason {
  return reason('PeerFamilyNotNegotiated', { peer, router, local, family, isAdded: addedFamily === family.toLowerCase() });
}

function whyWithoutBfd(facts: SessionFacts, { since, bfd }: SessionParts, now: number): Reason | undefined {
  if (bfd === undefined || bfd.state === 'Up' || bfd.state === 'AdminDown') return undefined;
  // oxlint-disable-next-line no-restricted-globals -- reading a date from text is pure
  const [up, changed] = [Date.parse(since), Date.parse(bfd.since)];
  if (now - Math.max(up, changed) < bfdStartMilliseconds) return undefined;
  const { peer, router, local, bfdProfile: profile } = facts;
  const why = bfd.reason ?? 'there is no answer';
  return reason('BFDDown', { peer, router, local, since: bfd.since, latest: '', why, profile, tcpWorks: true });
}
