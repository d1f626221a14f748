import { maximumMessageLength, maximumShutdownMessage } from '../limits.ts';
import { cease, errorCode, errorName, messageType } from './codes.ts';
import { noData } from './fault.ts';
import { encodeMessage, headerLength } from './message.ts';
import { octets } from './writer.ts';

/** NOTIFICATION, RFC 4271 4.5: error code (1) | subcode (1) | data. */
export interface Notification {
  readonly code: number;
  readonly subcode: number;
  readonly data: Uint8Array;
}

/** Total: a NOTIFICATION is never answered with another, so nothing in it may be an error (RFC 4271 6.4). */
export function decodeNotification(body: Uint8Array): Notification {
  return { code: body[0] ?? 0, subcode: body[1] ?? 0, data: body.slice(2) };
}

export function encodeNotification({ code, subcode, data }: Notification): Uint8Array {
  const room = maximumMessageLength - headerLength - 2;
  return encodeMessage(messageType.notification, octets(code, subcode, data.subarray(0, room)));
}

/** A Cease; the text travels with Administrative Shutdown and Administrative Reset only (RFC 9003 2). */
export function ceaseNotification(subcode: number, message?: string): Notification {
  const data = message !== undefined && carriesText(errorCode.cease, subcode) ? encodeShutdownMessage(message) : noData;
  return { code: errorCode.cease, subcode, data };
}

/** RFC 8538 3: the peer is to forget our routes although it keeps them after other NOTIFICATIONs. */
export function hardReset({ code, subcode, data }: Notification): Notification {
  return { code: errorCode.cease, subcode: cease.hardReset, data: octets(code, subcode, data) };
}

/** What a Hard Reset carries; any other NOTIFICATION is its own. */
export function innermost(notification: Notification): Notification {
  const { code, subcode, data } = notification;
  const carries = code === errorCode.cease && subcode === cease.hardReset && data.length >= 2;
  return carries ? { code: data[0] ?? 0, subcode: data[1] ?? 0, data: data.subarray(2) } : notification;
}

/** The text of a received Cease for people: without control characters, never longer than what RFC 9003 allows. */
export function shutdownMessageOf({ code, subcode, data }: Notification): string | undefined {
  if (!carriesText(code, subcode)) return undefined;
  const length = data[0] ?? 0;
  if (length === 0 || length > data.length - 1) return undefined;
  // Invalid UTF-8 becomes U+FFFD: a receiver must not do more than show the text (RFC 9003 2).
  const text = new TextDecoder('utf-8').decode(data.subarray(1, 1 + length));
  const clean = text.replace(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, ' ').trim();
  return clean === '' ? undefined : clean;
}

/** "Cease: Administrative Shutdown (6/2): "maintenance"", and what a Hard Reset carries. */
export function describeNotification(notification: Notification): string {
  const inner = innermost(notification);
  const outer = inner === notification ? '' : `${errorName(notification.code, notification.subcode)} with `;
  const text = shutdownMessageOf(inner);
  return `${outer}${errorName(inner.code, inner.subcode)}${text === undefined ? '' : `: ${JSON.stringify(text)}`}`;
}

const carriesText = (code: number, subcode: number): boolean =>
  code === errorCode.cease && (subcode === cease.administrativeShutdown || subcode === cease.administrativeReset);

/** Length octet and UTF-8, cut between characters at the RFC's bound. */
function encodeShutdownMessage(message: string): Uint8Array {
  const text = new Uint8Array(maximumShutdownMessage);
  const { written } = new TextEncoder().encodeInto(message, text);
  return octets(written, text.subarray(0, written));
}
