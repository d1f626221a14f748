import { maximumMessageLength } from '../limits.ts';
import { errorCode, headerError, messageType, refreshSubtype, routeRefreshError } from './codes.ts';
import { fault, type Fault } from './fault.ts';
import { headerLength } from './header.ts';

export type Framing =
  | { readonly kind: 'needMore' }
  | { readonly kind: 'frame'; readonly type: number; readonly body: Uint8Array }
  /** `octets`: what was received and is no message, as far as it is there. */
  | { readonly kind: 'fault'; readonly fault: Fault; readonly octets: Uint8Array };

/** What the capabilities of a session allow of the messages that arrive. */
export interface FramingSession {
  /** Octets of the longest UPDATE, NOTIFICATION and ROUTE-REFRESH, header included. Default 4096. */
  readonly maximum?: number;
  /** Both sides have RFC 7313. */
  readonly enhancedRouteRefresh?: boolean;
}

/** Shortest message of each type, RFC 4271 4 and RFC 2918 3; a KEEPALIVE and a ROUTE-REFRESH have exactly this length. */
const shortest: Readonly<Record<number, number>> = {
  [messageType.open]: 29,
  [messageType.update]: 23,
  [messageType.notification]: 21,
  [messageType.keepalive]: 19,
  [messageType.routeRefresh]: 23,
};

const needMore: Framing = { kind: 'needMore' };
const nothing = new Uint8Array(0);

/**
 * Cuts a byte stream into messages. The caller takes frames until `needMore` before it pushes again, which bounds the
 * buffer to one message and one read. A fault is final: what follows it is dropped.
 *
 * Time is linear in the number of octets, also where each comes in a chunk of its own.
 */
export class Framer {
  #maximum: number;
  #enhancedRouteRefresh = false;
  /** What was received lies between `start` and `end`. Octets before `end` are never written again: frames are views of them. */
  #buffer: Uint8Array = nothing;
  #start = 0;
  #end = 0;
  #broken: Framing | undefined;

  /** `maximum`: octets of the longest message, header included. */
  constructor(maximum: number = maximumMessageLength) {
    this.#maximum = maximum;
  }

  /**
   * From the next message on, an UPDATE, NOTIFICATION or ROUTE-REFRESH may have this many octets, header included: 65535
   * after RFC 8654 was negotiated. An OPEN and a KEEPALIVE never have more than 4096 (RFC 8654 4).
   */
  setMaximum(length: number): void {
    this.#maximum = length;
  }

  /** RFC 7313 was negotiated, or not: it changes the answer to a ROUTE-REFRESH of a wrong length. */
  setEnhancedRouteRefresh(negotiated: boolean): void {
    this.#enhancedRouteRefresh = negotiated;
  }

  /** Octets that are held and not yet part of a frame. */
  get pending(): number {
    return this.#end - this.#start;
  }

  /** The framer may keep a view of the chunk: the caller does not write to it again. */
  push(chunk: Uint8Array): void {
    if (this.#broken !== undefined || chunk.length === 0) return;
    const pending = this.pending;
    if (pending === 0) {
      this.#buffer = chunk;
      this.#start = 0;
    } else if (this.#end + chunk.length > this.#buffer.length) {
      // Twice as much as is there, so that a message in many small chunks is copied about once, but not more than it can need.
      const grown = new Uint8Array(Math.max(pending + chunk.length, Math.min(2 * pending, this.#maximum)));
      grown.set(this.#buffer.subarray(this.#start, this.#end));
      grown.set(chunk, pending);
      this.#buffer = grown;
      this.#start = 0;
    } else {
      this.#buffer.set(chunk, this.#end);
    }
    this.#end = this.#start + pending + chunk.length;
  }

  next(): Framing {
    if (this.#broken !== undefined) return this.#broken;
    if (this.pending < headerLength) return needMore;
    const received = this.#buffer.subarray(this.#start, this.#end);
    const session = { maximum: this.#maximum, enhancedRouteRefresh: this.#enhancedRouteRefresh };
    const wrongHeader = checkHeader(received, session);
    if (wrongHeader !== undefined) return this.#break(wrongHeader, received);
    const length = lengthOf(received);
    if (received.length < length) return needMore;
    const message = received.subarray(0, length);
    const wrong = checkRouteRefresh(message);
    if (wrong !== undefined) return this.#break(wrong, received);
    this.#start += length;
    if (this.pending === 0) this.#buffer = nothing;
    return { kind: 'frame', type: message[18] ?? 0, body: message.subarray(headerLength) };
  }

  #break(fault: Fault, octets: Uint8Array): Framing {
    this.#buffer = nothing;
    this.#start = 0;
    this.#end = 0;
    this.#broken = { kind: 'fault', fault, octets };
    return this.#broken;
  }
}

/** One whole message, as `Framer` would cut it out of a stream. */
export function frameOf(message: Uint8Array, session: FramingSession): Exclude<Framing, { readonly kind: 'needMore' }> {
  const framer = new Framer(session.maximum);
  framer.setEnhancedRouteRefresh(session.enhancedRouteRefresh ?? false);
  framer.push(message);
  const framing = framer.next();
  if (framing.kind !== 'needMore' && framer.pending === 0) return framing;
  const problem = `${message.length} octets are not one message`;
  return { kind: 'fault', fault: fault('reset', errorCode.header, headerError.badLength, problem, message.slice(16, 18)), octets: message };
}

const lengthOf = (header: Uint8Array): number => (header[16] ?? 0) * 256 + (header[17] ?? 0);

/** RFC 4271 6.1, from the first 19 octets alone. */
function checkHeader(header: Uint8Array, { maximum, enhancedRouteRefresh }: Required<FramingSession>): Fault | undefined {
  for (let i = 0; i < 16; i++) {
    if (header[i] !== 0xff) {
      return fault('reset', errorCode.header, headerError.notSynchronized, 'the marker of a message header is not all ones');
    }
  }
  const length = lengthOf(header);
  const type = header[18] ?? 0;
  const minimum = shortest[type];
  if (length < headerLength || length > maximum) return badLength(header);
  if (minimum === undefined) {
    return fault('reset', errorCode.header, headerError.badType, `the message type ${type} is unknown`, header.slice(18, 19));
  }
  // RFC 7313 5 has an answer of its own, for which the whole message is needed: see checkRouteRefresh.
  if (type === messageType.routeRefresh) return enhancedRouteRefresh || length === minimum ? undefined : badLength(header);
  const longest = type === messageType.keepalive ? minimum : type === messageType.open ? maximumMessageLength : maximum;
  return length < minimum || length > longest ? badLength(header) : undefined;
}

function badLength(header: Uint8Array): Fault {
  const problem = `a message of type ${header[18] ?? 0} has ${lengthOf(header)} octets`;
  return fault('reset', errorCode.header, headerError.badLength, problem, header.slice(16, 18));
}

/**
 * RFC 7313 5: a ROUTE-REFRESH of a wrong length is answered with the complete message, but one of an unknown subtype is
 * ignored, whatever its length. Without RFC 7313 the header alone was enough.
 */
function checkRouteRefresh(message: Uint8Array): Fault | undefined {
  if (message[18] !== messageType.routeRefresh || message.length === shortest[messageType.routeRefresh]) return undefined;
  const subtype = message[headerLength + 2];
  if (subtype !== undefined && subtype > refreshSubtype.end) return undefined;
  const problem = `a ROUTE-REFRESH has ${message.length} octets`;
  return fault('reset', errorCode.routeRefresh, routeRefreshError.invalidLength, problem, message.slice());
}
