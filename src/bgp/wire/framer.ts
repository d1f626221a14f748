import { maximumMessageLength } from '../limits.ts';
import { errorCode, headerError, messageType } from './codes.ts';
import { fault, type Fault } from './fault.ts';
import { headerLength } from './message.ts';

export type Framing =
  | { readonly kind: 'needMore' }
  | { readonly kind: 'frame'; readonly type: number; readonly body: Uint8Array }
  | { readonly kind: 'fault'; readonly fault: Fault };

/** Shortest message of each type, RFC 4271 4 and RFC 2918 3; a KEEPALIVE and a ROUTE-REFRESH have exactly this length. */
const shortest: Readonly<Record<number, number>> = {
  [messageType.open]: 29,
  [messageType.update]: 23,
  [messageType.notification]: 21,
  [messageType.keepalive]: 19,
  [messageType.routeRefresh]: 23,
};

const needMore: Framing = { kind: 'needMore' };

/**
 * Cuts a byte stream into messages. The caller takes frames until `needMore` before it pushes again, which bounds the
 * buffer to one message and one read. A fault is decided from the header alone and is final.
 */
export class Framer {
  #buffer: Uint8Array = new Uint8Array(0);
  #broken: Framing | undefined;

  push(chunk: Uint8Array): void {
    if (this.#broken !== undefined) return;
    if (this.#buffer.length === 0) {
      this.#buffer = chunk;
      return;
    }
    const joined = new Uint8Array(this.#buffer.length + chunk.length);
    joined.set(this.#buffer);
    joined.set(chunk, this.#buffer.length);
    this.#buffer = joined;
  }

  next(): Framing {
    if (this.#broken !== undefined) return this.#broken;
    const buffer = this.#buffer;
    if (buffer.length < headerLength) return needMore;
    const wrong = checkHeader(buffer);
    if (wrong !== undefined) {
      this.#buffer = new Uint8Array(0);
      this.#broken = { kind: 'fault', fault: wrong };
      return this.#broken;
    }
    const length = lengthOf(buffer);
    if (buffer.length < length) return needMore;
    this.#buffer = buffer.subarray(length);
    return { kind: 'frame', type: buffer[18] ?? 0, body: buffer.subarray(headerLength, length) };
  }
}

const lengthOf = (header: Uint8Array): number => (header[16] ?? 0) * 256 + (header[17] ?? 0);

/** RFC 4271 6.1. */
function checkHeader(header: Uint8Array): Fault | undefined {
  for (let i = 0; i < 16; i++) {
    if (header[i] !== 0xff) {
      return fault('reset', errorCode.header, headerError.notSynchronized, 'the marker of a message header is not all ones');
    }
  }
  const length = lengthOf(header);
  const type = header[18] ?? 0;
  const minimum = shortest[type];
  const badLength = (): Fault =>
    fault('reset', errorCode.header, headerError.badLength, `a message of type ${type} has ${length} octets`, header.slice(16, 18));
  if (length < headerLength || length > maximumMessageLength) return badLength();
  if (minimum === undefined) {
    return fault('reset', errorCode.header, headerError.badType, `the message type ${type} is unknown`, header.slice(18, 19));
  }
  const exact = type === messageType.keepalive || type === messageType.routeRefresh;
  return length < minimum || (exact && length !== minimum) ? badLength() : undefined;
}
