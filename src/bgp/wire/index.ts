/** BGP messages to octets and back, alone: no session, no sockets, no time. */
export { Framer } from './framer.ts';
export { decodeOpen, encodeOpen, type OpenMessage } from './open.ts';
export { decodeNotification, describeNotification, encodeNotification, type Notification } from './notification.ts';
export { decodeUpdate, encodeEndOfRib, encodeUpdate } from './update.ts';
export { decodeRouteRefresh, encodeRouteRefresh, type RouteRefresh } from './refresh.ts';
export { keepaliveMessage } from './message.ts';
export type { Capability } from './capability.ts';
export { errorName, messageType } from './codes.ts';
