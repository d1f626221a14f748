/**
 * A BGP-4 speaker as a library: announces routes over sessions that it opens, with IPv4 and IPv6 unicast, and can say at
 * any time why a session is down or a route is not announced.
 */
export { Speaker, type SpeakerRoutes, type StopOptions } from './speaker.ts';
export { SpeakerError, type ListenInput, type PeerListener, type SpeakerOptions } from './speaker-options.ts';
export type { Peer, PeerRoutes, PeerStatus, PerFamily } from './peer.ts';
export type { AdvertisedRoute } from './advertised.ts';
export type { DampingStatus } from './damper.ts';
export type { NegotiatedStatus } from './open-status.ts';
export {
  PeerClosedError,
  type NotificationStatus,
  type PeerEvent,
  type PeerEventOf,
  type PeerEventType,
  type StreamedEvent,
} from './events.ts';
export type { EventStream, Streamed } from './event-stream.ts';
export { Capture, type CaptureOptions } from './trace/capture.ts';
export { messageFacts, type AttributeFacts, type MessageFacts, type PathFacts, type UpdateFacts } from './trace/message-facts.ts';
export { decodeTraceLine, encodeTraceLine } from './trace/trace-lines.ts';
export { messageText } from './trace/message-text.ts';
export type { TraceStream } from './trace/tap.ts';
export type { TracedConnection, TracedMessage, TraceEvent } from './trace/trace-event.ts';
export type { Problem, TransportFailure } from './problem.ts';
export {
  changedFields,
  fieldClass,
  PeerOptionsError,
  resolveOptions,
  type AddressInput,
  type PeerOptions,
  type ResolvedOptions,
} from './peer-options.ts';
export type { NextHops } from './outbound.ts';
export type { Community, Route } from './route.ts';
export { RouteError, type RouteInput } from './route-input.ts';
export { formatCommunity, parseCommunity } from './community-text.ts';
export { formatAddress, parseAddress, type Address, type Family } from '../net/address.ts';
export { formatPrefix, parsePrefix, type Prefix } from '../net/prefix.ts';
export type { Parsed } from '../net/parsed.ts';
export type { Clock } from '../system/clock.ts';
export type { Log } from '../system/log.ts';
export type { Random } from '../system/random.ts';
export { BLACKHOLE, GRACEFUL_SHUTDOWN, LLGR_STALE, NO_ADVERTISE, NO_EXPORT, NO_EXPORT_SUBCONFED, NO_LLGR } from './communities.ts';
export type { StateName } from './fsm-events.ts';
export type { ListenAddress, ListeningStatus } from './listening.ts';
export type { Role } from './identity.ts';
export type { Counters, FlapReason, MessageCounters } from './counters.ts';
export type { HistoryEntry } from './session.ts';
export type { Connection, ConnectionEvents, DialOptions, Endpoint, Endpoints, Transport } from './transport/transport.ts';
export { linuxTransport } from './transport/linux.ts';
export { nodeTransport } from './transport/node.ts';
