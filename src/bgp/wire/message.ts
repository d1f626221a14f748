import { messageType } from './codes.ts';
import { decoded, failed, type Decoded } from './fault.ts';
import { frameOf, type FramingSession } from './framer.ts';
import { keepaliveMessage } from './header.ts';
import { decodeNotification, encodeNotification, type Notification } from './notification.ts';
import { decodeOpen, encodeOpen, type OpenMessage } from './open.ts';
import { decodeRouteRefresh, encodeRouteRefresh, type RouteRefresh } from './route-refresh.ts';
import { decodeUpdate, encodeUpdateMessage, type UpdateContent, type UpdateMessage, type UpdateSession } from './update.ts';

/** What both sides of a session agreed on, as far as it changes the meaning of octets. What is absent has its default. */
export interface WireSession extends FramingSession {
  /** RFC 6793: AS numbers in AS_PATH and AGGREGATOR have four octets. Default true. */
  readonly fourOctetAsn?: boolean;
  /** The peer is in our AS. Default false. */
  readonly internal?: boolean;
  /** Families that were negotiated: prefixes of others are ignored. Default both. */
  readonly families?: UpdateSession['families'];
  /** Families whose prefixes come with path identifiers (RFC 7911). Default none. */
  readonly addPathReceive?: UpdateSession['families'];
}

type OtherMessage =
  | ({ readonly kind: 'open' } & OpenMessage)
  | ({ readonly kind: 'notification' } & Notification)
  | { readonly kind: 'keepalive' }
  | ({ readonly kind: 'routeRefresh' } & RouteRefresh);

/** Any message, decoded. */
export type Message = OtherMessage | ({ readonly kind: 'update' } & UpdateMessage);

/** Any message to encode: one that was decoded, or made. */
export type MessageContent = OtherMessage | ({ readonly kind: 'update' } & UpdateContent);

/**
 * Decodes one whole message, header included. It never throws, and takes time linear in the number of octets. What is
 * wrong in a way that ends a session (RFC 4271 6, RFC 7606) is the `fault`, whose code, subcode and data are those of the
 * NOTIFICATION to answer with; what can be tolerated is in the `faults` of an UPDATE.
 *
 * The octets of prefixes, next hops, data and unread values are views of `bytes`. A stream is cut into messages with `Framer`.
 */
export function decodeMessage(bytes: Uint8Array, session: WireSession = {}): Decoded<Message> {
  const framing = frameOf(bytes, session);
  return framing.kind === 'fault' ? failed(framing.fault) : decodeBody(framing.type, framing.body, session);
}

/** Decodes what a `Framer` has cut out: the type of a message, which the framer has checked, and its octets behind the header. */
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
 * Encodes a message, header included. Numbers are taken to be in the range of their field, and it is an AssertionError if
 * the message would have more than `maximum` octets (default 4096; up to 65535 for an UPDATE or a NOTIFICATION to a peer
 * that has said the capability of RFC 8654). Only the data of a NOTIFICATION is cut to what fits.
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
