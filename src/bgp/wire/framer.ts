import { maximumMessageLength } from '../limits.ts';
import { errorCode, headerError, messageType, refreshSubtype, routeRefreshError } from './codes.ts';
import { fault, type Fault } from './fault.ts';
import { headerLength } from './header.ts';

export type Framing =
  | { readonly kind: 'needMore' }
  | { readonly kind: 'frame'; readonly type: number; readonly body: Uint8Array }
  /** `octets`: the received octets that are no message, as far as they have arrived. */
  | { readonly kind: 'fault'; readonly fault: Fault; readonly octets: Uint8Array };

/** Negotiated values that change which messages are allowed. */
export interface FramingSession {
  /** Largest length of an UPDATE, NOTIFICATION or ROUTE-REFRESH in octets, with header. Default 4096. */
  readonly maximum?: number;
  /** Both sides support RFC 7313. */
  readonly enhancedRouteRefresh?: boolean;
}

/** Shortest message of each type (RFC 4271 4, RFC 2918 3). A KEEPALIVE and a ROUTE-REFRESH have exactly this length. */
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
 * Cuts a byte stream into messages. The caller takes frames until `needMore` before it pushes again, which limits the buffer to one message
 * and one read. A fault is final: later octets are dropped.
 *
 * Time is linear in the number of octets, even if each comes in a chunk of its own.
 */
export class Framer {
  #maximum: number;
  #enhancedRouteRefresh = false;
  /** The unread octets are between `start` and `end`. Octets before `end` are never overwritten, because frames are views of them. */
  #buffer: Uint8Array = nothing;
  #start = 0;
  #end = 0;
  #broken: Framing | undefined;

  /** `maximum`: length of the longest message in octets, with header. */
  constructor(maximum: number = maximumMessageLength) {
    this.#maximum = maximum;
  }

  /**
   * Sets the largest length of later UPDATE, NOTIFICATION and ROUTE-REFRESH messages in octets, with header: 65535 after RFC 8654 was
   * negotiated. An OPEN or KEEPALIVE never has more than 4096 (RFC 8654 4).
   */
  setMaximum(length: number): void {
    this.#maximum = length;
  }

  /** Tells the framer whether RFC 7313 was negotiated. It changes the answer to a ROUTE-REFRESH of wrong length. */
  setEnhancedRouteRefresh(negotiated: boolean): void {
    this.#enhancedRouteRefresh = negotiated;
  }

  /** Octets received that are not part of a frame yet. */
  get pending(): number {
    return this.#end - this.#start;
  }

  /** Adds received octets. The framer may keep a view of the chunk, so the caller must not write to it again. */
  push(chunk: Uint8Array): void {
    if (this.#broken !== undefined || chunk.length === 0) return;
    const pending = this.pending;
    if (pending === 0) {
      this.#buffer = chunk;
      this.#start = 0;
    } else if (this.#end + chunk.length > this.#buffer.length) {
      // The buffer doubles, so that a message in many small chunks is copied about once. It does not exceed the longest message.
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

/** Frames one whole message, as `Framer` does for a stream. */
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

/** Checks the header (RFC 4271 6.1). It needs the first 19 octets only. */
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
  // RFC 7313 5 answers with the whole message; see `checkRouteRefresh`.
  if (type === messageType.routeRefresh) return enhancedRouteRefresh || length === minimum ? undefined : badLength(header);
  const longest = type === messageType.keepalive ? minimum : type === messageType.open ? maximumMessageLength : maximum;
  return length < minimum || length > longest ? badLength(header) : undefined;
}

function badLength(header: Uint8Array): Fault {
  const problem = `a message of type ${header[18] ?? 0} has ${lengthOf(header)} octets`;
  return fault('reset', errorCode.header, headerError.badLength, problem, header.slice(16, 18));
}

/**
 * Checks the length of a ROUTE-REFRESH. A wrong length is answered with the complete message, but an unknown subtype is ignored whatever
 * its length (RFC 7313 5). Without RFC 7313 the header check was sufficient.
 */
function checkRouteRefresh(message: Uint8Array): Fault | undefined {
  if (message[18] !== messageType.routeRefresh || message.length === shortest[messageType.routeRefresh]) return undefined;
  const subtype = message[headerLength + 2];
  if (subtype !== undefined && subtype > refreshSubtype.end) return undefined;
  const problem = `a ROUTE-REFRESH has ${message.length} octets`;
  return fault('reset', errorCode.routeRefresh, routeRefreshError.invalidLength, problem, message.slice());
}
