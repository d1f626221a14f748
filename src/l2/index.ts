/**
 * Announcement of addresses by ARP (RFC 826, 5227) and Neighbor Discovery (RFC 4861) as a library: one of several nodes on a segment answers
 * for each address, another takes over within a fraction of a second, and two owners end as soon as they hear each other. It runs in a
 * thread of its own.
 */
export { answersClients, type ClaimEvent, type ClaimState } from './claim/fsm.ts';
export type { Counters, IgnoreReason } from './counters.ts';
export type { Standing, Verdict } from './election/peer-view.ts';
export { L2, L2UnavailableError, type L2Options, type SessionFeed } from './l2.ts';
export type { AddressStatus, L2Event, L2Status, LinkStatus, PeerStatus } from './status.ts';
export type { AddressChanges, AddressEntry, Link, Peer, PeerSession, Refusal, Table } from './table.ts';
export type { SessionMessage } from './worker/messages.ts';
