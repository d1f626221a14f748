/**
 * The messages of BGP-4 as values: decoding and encoding alone, without sessions, timers or sockets.
 *
 *   const framer = new Framer();
 *   framer.push(chunk);
 *   for (let next = framer.next(); next.kind === 'frame'; next = framer.next()) {
 *     const result = decodeBody(next.type, next.body, { families: [4, 6] });
 *     if (result.ok && result.value.kind === 'update') for (const nlri of result.value.announced) show([...readPaths(nlri)]);
 *   }
 *
 * Units are those of the wire: seconds for times, unsigned numbers for AS numbers and BGP identifiers, network byte order for next hops.
 */
export {
  decodeBody,
  decodeMessage,
  encodeMessage,
  type Message,
  type MessageContent,
  type OtherMessage,
  type WireSession,
} from './message.ts';
export {
  bmpInitiation,
  bmpPeerDown,
  bmpPeerFlag,
  bmpStatistic,
  bmpTermination,
  bmpTerminationReason,
  bmpType,
  bmpVersion,
} from './bmp/bmp-codes.ts';
export {
  bmpHeaderLength,
  bmpLength,
  bmpText,
  decodeBmpMessage,
  encodeBmpMessage,
  type BmpMessage,
  type BmpPeer,
  type BmpTlv,
} from './bmp/bmp-message.ts';
export { Framer, type Framing, type FramingSession } from './framer.ts';
export { asPathLength, mergeAs4Path, type AsPathSegment } from './attributes/as-path.ts';
export type { Aggregator, PathAttributes, RawAttribute } from './attributes/decode-attributes.ts';
export type { AddPathFamily, Capability, GracefulRestart, GracefulRestartFamily, LongLivedFamily, NextHopTuple } from './capability.ts';
export {
  afi,
  asTrans,
  attributeType,
  capabilityCode,
  cease,
  errorCode,
  errorName,
  errorNumbers,
  familyName,
  headerError,
  messageType,
  openError,
  refreshSubtype,
  routeRefreshError,
  safi,
  updateError,
} from './codes.ts';
export { linkBandwidthCommunity, linkBandwidthOf, type ExtendedCommunity, type LinkBandwidth } from './attributes/communities.ts';
export type { Community } from '../route.ts';
export type { Decoded, Disposition, Fault } from './fault.ts';
export { nlriOf, readPaths, type Nlri, type Path } from './nlri.ts';
export { keepaliveMessage } from './header.ts';
export {
  ceaseNotification,
  decodeNotification,
  describeNotification,
  encodeNotification,
  hardReset,
  innermost,
  maximumPrefixesNotification,
  shutdownMessageOf,
  type Notification,
} from './notification.ts';
export { decodeOpen, encodeOpen, type OpenMessage } from './open.ts';
export { decodeRouteRefresh, encodeRouteRefresh, type RouteRefresh } from './route-refresh.ts';
export { decodeUpdate, encodeEndOfRib, encodeUpdate, type UpdateContent, type UpdateMessage, type UpdateSession } from './update.ts';
export { address, addressBytes, addressFromBytes, formatAddress, parseAddress, type Address, type Family } from '../../net/address.ts';
export { formatPrefix, parsePrefix, prefix, type Prefix } from '../../net/prefix.ts';
