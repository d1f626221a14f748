import type { Family } from '../../net/address.ts';
import { maximumMessageLength, maximumShutdownMessage } from '../limits.ts';
import { afi, cease, errorCode, errorName, familyName, messageType, safi } from './codes.ts';
import { noData } from './fault.ts';
import { withHeader, headerLength } from './header.ts';
import { decodeText, Reader } from './reader.ts';
import { encodeText, octets, u16, u32 } from './writer.ts';

/** NOTIFICATION (RFC 4271 4.5): error code (1) | subcode (1) | data. */
export interface Notification {
  readonly code: number;
  readonly subcode: number;
  readonly data: Uint8Array;
}

/** Accepts any octets: a NOTIFICATION is never answered with another one, so it cannot cause an error (RFC 4271 6.4). */
export function decodeNotification(body: Uint8Array): Notification {
  return { code: body[0] ?? 0, subcode: body[1] ?? 0, data: body.slice(2) };
}

/** Encodes the message. Data that does not fit into `maximum` octets is cut off. */
export function encodeNotification({ code, subcode, data }: Notification, maximum: number = maximumMessageLength): Uint8Array {
  const room = maximum - headerLength - 2;
  return withHeader(messageType.notification, octets(code, subcode, data.subarray(0, room)), maximum);
}

/** Builds a Cease. The text is sent with Administrative Shutdown and Administrative Reset only (RFC 9003 2). */
export function ceaseNotification(subcode: number, message?: string): Notification {
  const data = message !== undefined && carriesText(errorCode.cease, subcode) ? encodeShutdownMessage(message) : noData;
  return { code: errorCode.cease, subcode, data };
}

/** Builds the Cease for too many prefixes, with the family and the maximum (RFC 4486 4). */
export function maximumPrefixesNotification(family: Family, maximum: number): Notification {
  return { ...ceaseNotification(cease.maximumPrefixes), data: octets(u16(family === 4 ? afi.ipv4 : afi.ipv6), safi.unicast, u32(maximum)) };
}

/** Wraps a NOTIFICATION in a Hard Reset (RFC 8538 3): the peer drops the routes that it would keep after other NOTIFICATIONs. */
export function hardReset({ code, subcode, data }: Notification): Notification {
  return { code: errorCode.cease, subcode: cease.hardReset, data: octets(code, subcode, data) };
}

/** Returns the NOTIFICATION inside a Hard Reset, or the given one if it is none. Only one level is unwrapped. */
export function innermost(notification: Notification): Notification {
  const { code, subcode, data } = notification;
  const carries = code === errorCode.cease && subcode === cease.hardReset && data.length >= 2;
  return carries ? { code: data[0] ?? 0, subcode: data[1] ?? 0, data: data.subarray(2) } : notification;
}

/** Returns the text of a received Cease, without control characters and at most as long as RFC 9003 allows. */
export function shutdownMessageOf({ code, subcode, data }: Notification): string | undefined {
  if (!carriesText(code, subcode)) return undefined;
  const length = data[0] ?? 0;
  if (length === 0 || length > data.length - 1) return undefined;
  const text = decodeText(data.subarray(1, 1 + length));
  return text === '' ? undefined : text;
}

/** Returns for example "Cease: Hard Reset (6/9) of Cease: Administrative Shutdown (6/2): "maintenance"". */
export function describeNotification(notification: Notification): string {
  const inner = innermost(notification);
  return inner === notification ? describe(inner) : `${errorName(notification.code, notification.subcode)} of ${describe(inner)}`;
}

function describe(notification: Notification): string {
  const name = errorName(notification.code, notification.subcode);
  const text = shutdownMessageOf(notification);
  if (text !== undefined) return `${name}: ${JSON.stringify(text)}`;
  const bound = prefixBoundOf(notification);
  return bound === undefined ? name : `${name}: ${bound}`;
}

/** AFI (2) | SAFI (1) | maximum (4), which the sender may leave out (RFC 4486 4). */
function prefixBoundOf({ code, subcode, data }: Notification): string | undefined {
  if (code !== errorCode.cease || subcode !== cease.maximumPrefixes || data.length !== 7) return undefined;
  const reader = new Reader(data);
  const family = familyName(reader.u16(), reader.u8());
  return `at most ${reader.u32()} of ${family}`;
}

const carriesText = (code: number, subcode: number): boolean =>
  code === errorCode.cease && (subcode === cease.administrativeShutdown || subcode === cease.administrativeReset);

/** A length octet and UTF-8, cut between characters at the limit of RFC 9003. */
function encodeShutdownMessage(message: string): Uint8Array {
  const text = encodeText(message, maximumShutdownMessage);
  return octets(text.length, text);
}
