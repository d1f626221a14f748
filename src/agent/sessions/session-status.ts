import type { DampingStatus, Peer, PeerStatus, PerFamily } from '../../bgp/index.ts';
import { isOfOtherSpeaker, prefixContended, type OwnSpeakers } from '../../decisions/announcement/sessions/contending-path.ts';
import { sessionCause } from '../../decisions/announcement/sessions/session-cause.ts';
import { asksFor, familyNotNegotiated, whyIncomplete } from '../../decisions/announcement/sessions/session-down.ts';
import type { SessionFacts } from '../../decisions/announcement/sessions/session-facts.ts';
import { defined } from '../../lang/defined.ts';
import type { BfdStatus, SessionFamily, SessionStatus } from '../../model/objects/node-state.ts';
import { reason, reasonText, type Reason, type ReasonCode } from '../../model/reasons.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { formatAddress } from '../../net/address.ts';
import { formatPrefix } from '../../net/prefix.ts';

/** A peer that gets no session, or whose session keeps its earlier settings, and the reason. */
export interface RefusedPeer {
  readonly address: string;
  readonly localASN: number;
  readonly reason: Reason;
}

/** A route that an established session cannot carry, or for which its router has another path. */
export interface UnsupportedRoute {
  readonly peer: string;
  readonly prefix: string;
  readonly reason: Reason;
}

/** A socket that does not listen. */
export interface FailedSocket {
  readonly port: number;
  readonly lastError?: string;
  readonly noVrf?: true;
}

interface SessionCondition {
  /** Why a router has another path for a route of ours. Absent: it is not known to have one. */
  readonly contended?: Reason | undefined;
  /** Why the peer's settings were refused, or why the session waits for BFD or has none. */
  readonly refusal: Reason | undefined;
  /** Set for a passive peer while the speaker cannot listen: the peer's connections never arrive. */
  readonly failedSocket: FailedSocket | undefined;
  readonly bfd: BfdStatus | undefined;
  /** Facts of BGPPeer and Node about the session. Undefined: unknown. */
  readonly facts: SessionFacts | undefined;
  /** Why the router may not reach the next hop of the other family than that of the session. Absent: nothing is known against it. */
  readonly nextHop?: Reason | undefined;
  /** The number of received routes in the kernel. */
  readonly installed: PerFamily;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** Reasons that do not stop a session: it runs, and connects again when it is down. */
const warnings: ReadonlySet<ReasonCode> = new Set<ReasonCode>(['BFDProfileMissing', 'BFDNotPossible', 'PeerPasswordGone']);

/** True for reasons that never explain why a session is down: it would run in spite of them. */
function isOnlyWarning({ code, details }: Reason): boolean {
  return warnings.has(code) || (code === 'PeerNotPossible' && details.keeps === true);
}

/** Converts the speaker's status of a peer into the status that a NodeState reports. */
export function sessionStatus(peer: PeerStatus, condition: SessionCondition): SessionStatus {
  const { refusal, failedSocket, bfd } = condition;
  const { negotiated, prefixesAdvertised } = peer;
  const isEstablished = peer.state === 'Established';
  const listenError = failedSocket && cannotListen(failedSocket);
  const error = (isEstablished ? undefined : listenError) ?? peer.lastError;
  // The next decision repeats a warning, but only the session knows why it is down: that goes first.
  const isSaidElsewhere = refusal === undefined || isEstablished || (isOnlyWarning(refusal) && error !== undefined);
  const lastError = isSaidElsewhere ? error : reasonText(refusal);
  return {
    peer: peer.name,
    address: peer.address === '' ? unnumberedOn(peer.interface) : peer.address,
    ...defined({ interface: peer.interface }),
    state: peer.state,
    since: peer.since.toISOString(),
    localASN: peer.localAsn,
    peerASN: peer.peerAsn,
    prefixesSent: prefixesAdvertised.ipv4 + prefixesAdvertised.ipv6,
    ...(negotiated === undefined ? {} : { families: familiesOf(negotiated, peer, condition.installed) }),
    ...defined({ lastError, cause: causeOf(peer, condition), warning: warningOf(peer, condition) }),
    ...dampingOf(peer.damping),
    ...defined({ bfd }),
  };
}

/** Returns why no router can connect. */
export function cannotListen({ port, lastError }: FailedSocket): string {
  return `cannot listen on port ${port}: ${lastError}`;
}

/** Returns the status of a peer that has no session. */
export function refusedStatus(peer: string, { address, localASN, reason: because }: RefusedPeer): SessionStatus {
  return { peer, address, state: 'Idle', since: '', localASN, peerASN: 0, prefixesSent: 0, lastError: reasonText(because), cause: because };
}

/** Returns what the BGPPeer says about a session, for a peer that the speaker does not have. */
export function configuredPeer(snapshot: Snapshot, peer: string): Omit<RefusedPeer, 'reason'> {
  const object = snapshot.peers.get(peer);
  if (object === undefined) return { address: '', localASN: 0 };
  const { peerAddress, interface: networkInterface, dynamicNeighbors: dynamic, myASN, localASN = myASN } = object;
  if (dynamic !== undefined) return { address: dynamic.ranges.map(formatPrefix).join(', '), localASN };
  return { address: peerAddress === undefined ? unnumberedOn(networkInterface) : formatAddress(peerAddress), localASN };
}

/** Returns why a session is down: refused settings come first, then an error of this host, then the evidence of the speaker. */
function causeOf({ state, outage, localAddress }: PeerStatus, condition: SessionCondition): Reason | undefined {
  if (state === 'Established') return undefined;
  const before = causeBefore(condition);
  if (before !== undefined) return before;
  const { failedSocket, bfd, facts } = condition;
  if (failedSocket !== undefined || outage === undefined || facts === undefined) return undefined;
  const { evidence, since, latest, wasEstablished } = outage;
  return sessionCause(
    { evidence, since: since.toISOString(), wasEstablished, ...defined({ latest, local: localAddress, bfdReason: bfd?.reason }) },
    facts,
  );
}

/** Returns why there can be no session, whatever the router does. */
export function causeBefore(condition: Pick<SessionCondition, 'refusal' | 'failedSocket' | 'facts'>): Reason | undefined {
  const { refusal, failedSocket, facts } = condition;
  if (refusal !== undefined && !isOnlyWarning(refusal)) return refusal;
  if (facts?.adminDown === true) return reason('PeerAdminDown', { peer: facts.peer });
  if (failedSocket?.noVrf === true && facts !== undefined) return reason('PeerVRFMissing', { peer: facts.peer, vrf: facts.vrf });
  return undefined;
}

function warningOf(peer: PeerStatus, { refusal, bfd, facts, nextHop, now, contended }: SessionCondition): Reason | undefined {
  const { state, since, negotiated, localAddress: local } = peer;
  if (state === 'Established' && refusal !== undefined) return refusal;
  if (facts === undefined || facts.adminDown) return undefined;
  const families = negotiated?.families.map((family) => ({ family: `IPv${family}` as const }));
  const gracefulRestart = negotiated && negotiated.gracefulRestart !== undefined;
  const parts = { state, since: since.toISOString(), ...defined({ bfd, families, gracefulRestart }) };
  const why = whyIncomplete({ ...facts, ...defined({ local }) }, parts, now);
  return why ?? contended ?? (state === 'Established' && families?.length === 2 ? nextHop : undefined);
}

/** Returns why an established session cannot carry routes that it should. */
export function unsupportedRoutesOf(
  { name: peer, state, notPossible, negotiated, localAddress: local }: PeerStatus,
  facts: SessionFacts | undefined,
): UnsupportedRoute[] {
  if (state !== 'Established') return [];
  return notPossible.map(({ prefix, why }) => {
    const family = prefix.includes(':') ? 'IPv6' : 'IPv4';
    const isNegotiated = negotiated?.families.some((one) => `IPv${one}` === family) !== false;
    const because =
      facts !== undefined && asksFor(facts, family) && !isNegotiated
        ? familyNotNegotiated({ ...facts, ...defined({ local }) }, family)
        : reason('RouteNotPossible', { peer, prefix, why });
    return { peer, prefix, reason: because };
  });
}

/** Returns the routes of an established session for which its router has a path to a speaker outside of this cluster. */
export function contendedRoutesOf(
  peer: Peer,
  { name, state, peerAsn }: PeerStatus,
  facts: Pick<SessionFacts, 'peer' | 'router'> | undefined,
  ours: OwnSpeakers | undefined,
): UnsupportedRoute[] {
  if (state !== 'Established' || facts === undefined || ours === undefined) return [];
  const others = peer.contendingPaths((origin) => isOfOtherSpeaker(origin, peerAsn, ours));
  return others.map((path) => ({ peer: name, prefix: path.own, reason: prefixContended(path, facts) }));
}

/** Counts the prefixes of each family that the two sides negotiated. */
function familiesOf(
  { families }: NonNullable<PeerStatus['negotiated']>,
  { prefixesAdvertised: sent, prefixesReceived: announced, received, refreshRequested }: PeerStatus,
  installed: PerFamily,
): SessionFamily[] {
  return families.map((family) => {
    const name = family === 4 ? 'ipv4' : 'ipv6';
    return {
      family: `IPv${family}`,
      sent: sent[name],
      received: announced[name],
      ...defined({ refreshRequested: refreshRequested[name]?.toISOString() }),
      ...(received === undefined ? {} : { accepted: received.accepted[name], installed: installed[name] }),
    };
  });
}

/** Empty for a session that did not flap in the last hour. */
function dampingOf({ penalty, flapsInLastHour, until }: DampingStatus): Pick<SessionStatus, 'damping'> {
  if (flapsInLastHour === 0) return {};
  return { damping: { penalty, flapsInLastHour, ...defined({ until: until?.toISOString() }) } };
}

function unnumberedOn(networkInterface: string | undefined): string {
  return networkInterface === undefined ? '' : `unnumbered on ${networkInterface}`;
}
