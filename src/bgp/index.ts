/**
 * A BGP-4 speaker as a library. It announces IPv4 and IPv6 unicast routes, keeps the received ones that rules accept, and can tell at any
 * time why a session is down or a route is not announced.
 */
export { Speaker, type PeerListener, type SpeakerOptions, type SpeakerRoutes, type StopOptions } from './speaker.ts';
export type { MonitoredSession, SessionWatcher, SpeakerExtension } from './session/monitored-session.ts';
export { SpeakerError, type ListenInput } from './options/speaker-options.ts';
export { UnknownOptionError } from './options/known-options.ts';
export type { Peer, PeerRoutes, PeerStatus, PerFamily } from './peer.ts';
export type { AdvertisedRoute } from './rib/advertised-route.ts';
export type { ContendingPath, PathOrigin } from './rib/received/contending-paths.ts';
export type { ReceivedPath, ReceivedRoute, RouteChange, RouteSource } from './rib/received/received-route.ts';
export type { ImportSettings, ReceivedStatus } from './rib/received/received-routes.ts';
export type { Refusal } from './rib/received/eligibility.ts';
export {
  selectBestPath,
  selectBestPaths,
  selectionSteps,
  type EliminatedRoute,
  type Selection,
  type SelectionOptions,
  type SelectionStep,
} from './rib/received/best-path.ts';
export type { AsPathSegment } from './wire/attributes/as-path.ts';
export type { ImportOptions, ImportRule, PrefixRangeInput, ResolvedImport } from './options/import-options.ts';
export type { ImportRules, ParsedImportRule, PrefixRange } from './rib/received/import-filter.ts';
export type { DampingStatus } from './session/damper.ts';
export type { Direction } from './negotiation/collision.ts';
export type { Negotiated, NegotiatedRestart } from './negotiation/negotiate.ts';
export type { NegotiatedStatus } from './negotiation/open-status.ts';
export {
  PeerClosedError,
  type NotificationStatus,
  type PeerEvent,
  type PeerEventOf,
  type PeerEventType,
  type StreamedEvent,
} from './diagnosis/events.ts';
export type { EventStream, Streamed } from './diagnosis/event-stream.ts';
export { Capture, type CaptureOptions } from './trace/capture.ts';
export { messageFacts, type AttributeFacts, type MessageFacts, type PathFacts, type UpdateFacts } from './trace/message-facts.ts';
export { decodeTraceLine, encodeTraceLine } from './trace/trace-lines.ts';
export { messageText } from './trace/message-text.ts';
export type { TraceStream } from './trace/tap.ts';
export type { TracedConnection, TracedMessage, TraceEvent } from './trace/trace-event.ts';
export type { Evidence, RefusedBy } from './diagnosis/evidence.ts';
export type { OutageStatus } from './diagnosis/outage.ts';
export type { KernelFinding, Problem } from './diagnosis/problem.ts';
export {
  changedFields,
  fieldClass,
  PeerOptionsError,
  resolveOptions,
  type AddressInput,
  type PeerOptions,
  type ResolvedOptions,
} from './options/peer-options.ts';
export { PeerGroupError, type PeerGroupOptions } from './options/peer-group-options.ts';
export type { GroupMember, PeerGroup, PeerGroupStatus } from './session/peer-group.ts';
export type { AsnRange } from './negotiation/local-open.ts';
export type { MaximumPrefixes } from './rib/received/prefix-counts.ts';
export type { NextHops } from './rib/update-format.ts';
export type { Community, Route } from './route.ts';
export { RouteError, type PathInput, type RouteInput } from './options/route-input.ts';
export { formatCommunity, parseCommunity } from './options/community-text.ts';
export { formatAddress, parseAddress, type Address, type Family } from '../net/address.ts';
export { formatPrefix, parsePrefix, type Prefix } from '../net/prefix.ts';
export type { Parsed } from '../net/parsed.ts';
export type { Cancel, Clock } from '../system/clock.ts';
export type { Log } from '../system/log.ts';
export type { Random } from '../system/random.ts';
export {
  BLACKHOLE,
  GRACEFUL_SHUTDOWN,
  LLGR_STALE,
  NO_ADVERTISE,
  NO_EXPORT,
  NO_EXPORT_SUBCONFED,
  NO_LLGR,
} from './wire/attributes/well-known-communities.ts';
export type { StateName } from './diagnosis/session-state.ts';
export type { ListenAddress } from './options/speaker-options.ts';
export type { ListeningStatus } from './session/listeners.ts';
export type { Role } from './negotiation/local-open.ts';
export type { Counters, FlapReason, MessageCounters } from './diagnosis/counters.ts';
export type { HistoryEntry } from './session/session.ts';
export type {
  Connection,
  ConnectionEvents,
  DialOptions,
  DiscoveryEvents,
  Endpoint,
  Endpoints,
  Incoming,
  KernelDrops,
  KeyScope,
  Listener,
  ListenerEvents,
  ListenOptions,
  PeerKey,
  SocketOptions,
  TcpAo,
  TcpAoAlgorithm,
  TcpAoKey,
  Transport,
  TransportFailure,
} from './transport/transport.ts';
export { linuxTransport, type LinuxTransportComponents } from './transport/linux.ts';
export { nodeTransport } from './transport/node.ts';
