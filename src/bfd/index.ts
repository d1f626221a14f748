/**
 * BFD (RFC 5880) as a library: single-hop and multihop sessions over IPv4 and IPv6, in a thread of their own. It detects a lost path within
 * a fraction of a second, and can tell at any time why a session is not up.
 */
export { Bfd, BfdOptionsError, BfdUnavailableError, type BfdListener, type BfdOptions } from './bfd.ts';
export { isLoss, mayEstablish, type ClientOptions, type WatchedPath } from './client-advice.ts';
export type { DiscardReason, Discards, SessionCounters } from './counters.ts';
export type { ManagerStatus } from './manager.ts';
export { SessionOptionsError, type AddressInput, type ProfileOptions, type SessionOptions } from './session-options.ts';
export { formatAddress, parseAddress, type Address, type Family } from '../net/address.ts';
export type { Parsed } from '../net/parsed.ts';
export type { DownTime, RemoteStatus, SessionStatus, Transition } from './session-status.ts';
export { diagnostic, diagnosticName, type SessionState } from './wire/codes.ts';
export type { DecodeFault } from './wire/control-packet.ts';
export type { Refusal, StateFeed, StateMessage } from './worker/messages.ts';
