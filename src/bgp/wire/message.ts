import { messageType } from './codes.ts';
import { decoded, failed, type Decoded } from './fault.ts';
import { frameOf, type FramingSession } from './framer.ts';
import { keepaliveMessage } from './header.ts';
import { decodeNotification, encodeNotification, type Notification } from './notification.ts';
import { decodeOpen, encodeOpen, type OpenMessage } from './open.ts';
import { decodeRouteRefresh, encodeRouteRefresh, type RouteRefresh } from './route-refresh.ts';
import { decodeUpdate, encodeUpdateMessage, type UpdateContent, type UpdateMessage, type UpdateSession } from './update.ts';

/** Negotiated values that change the meaning of octets. Absent fields have their defaults. */
export interface WireSession extends FramingSession {
  /** AS numbers in AS_PATH and AGGREGATOR have four octets (RFC 6793). Default true. */
  readonly fourOctetAsn?: boolean;
  /** The peer is in the local AS. Default false. */
  readonly internal?: boolean;
  /** Negotiated families. Prefixes of other families are ignored. Default: both. */
  readonly families?: UpdateSession['families'];
  /** Families whose prefixes come with path identifiers (RFC 7911). Default: none. */
  readonly addPathReceive?: UpdateSession['families'];
}

export type OtherMessage =
  | ({ readonly kind: 'open' } & OpenMessage)
  | ({ readonly kind: 'notification' } & Notification)
  | { readonly kind: 'keepalive' }
  | ({ readonly kind: 'routeRefresh' } & RouteRefresh);

/** Any decoded message. */
export type Message = OtherMessage | ({ readonly kind: 'update' } & UpdateMessage);

/** Any message to encode: decoded before, or built by the program. */
export type MessageContent = OtherMessage | ({ readonly kind: 'update' } & UpdateContent);

/**
 * Decodes one whole message with its header. Never throws; time is linear in the number of octets. An error that ends a session (RFC 4271
 * 6, RFC 7606) is returned as `fault`; its code, subcode and data are those of the NOTIFICATION to answer with. Tolerated errors are in the
 * `faults` of an UPDATE.
 *
 * Prefixes, next hops, data and undecoded values are views of `bytes`. Use `Framer` to cut a stream into messages.
 */
export function decodeMessage(bytes: Uint8Array, session: WireSession = {}): Decoded<Message> {
  const framing = frameOf(bytes, session);
  return framing.kind === 'fault' ? failed(framing.fault) : decodeBody(framing.type, framing.body, session);
}

/** Decodes a message that a `Framer` has cut out. `type` was checked by the framer; `body` has the octets after the header. */
export function decodeBody(type: number, body: Uint8Array, session: WireSession = {}): Decoded<Message> {
  switch (type) {
    case messageType.open:
      return tagged('open', decodeOpen(body));
    case messageType.update: {
      const { fourOctetAsn = true, internal = false, families = [4, 6], addPathReceive = [] } = session;
      return tagged('update', decodeUpdate(body, { fourOctetAsn, internal, families, addPathReceive }));
    }
    case messageType.notification:
      return tagged('notification', decoded(decodeNotification(body)));
    case messageType.routeRefresh:
      return tagged('routeRefresh', decoded(decodeRouteRefresh(body)));
    default:
      return decoded({ kind: 'keepalive' });
  }
}

/**
 * Encodes a message with its header. Numbers must be in the range of their fields. Throws AssertionError if the message would have more
 * than `maximum` octets (default 4096; up to 65535 for an UPDATE or NOTIFICATION to a peer that sent the capability of RFC 8654). Only the
 * data of a NOTIFICATION is cut to fit.
 */
export function encodeMessage(message: MessageContent, session: Pick<WireSession, 'fourOctetAsn' | 'maximum'> = {}): Uint8Array {
  switch (message.kind) {
    case 'open':
      return encodeOpen(message);
    case 'update':
      return encodeUpdateMessage(message, { fourOctetAsn: session.fourOctetAsn ?? true }, session.maximum);
    case 'notification':
      return encodeNotification(message, session.maximum);
    case 'keepalive':
      return keepaliveMessage.slice();
    case 'routeRefresh':
      return encodeRouteRefresh(message);
  }
}

function tagged<K extends Message['kind'], T>(kind: K, result: Decoded<T>): Decoded<{ readonly kind: K } & T> {
  return result.ok ? decoded({ kind, ...result.value }) : result;
}
