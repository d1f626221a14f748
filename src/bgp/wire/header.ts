import assert from 'node:assert';
import { maximumMessageLength } from '../limits.ts';
import { messageType } from './codes.ts';
import { octets, u16 } from './writer.ts';

/**
 * The header of every message (RFC 4271 4.1):
 *   marker (16 octets, all ones) | length (2, header included) | type (1)
 */
export const headerLength = 19;

const marker: readonly number[] = Array<number>(16).fill(0xff);

/**
 * Adds the header. The caller must not pass a message longer than `maximum` octets: RFC 8654 allows more than 4096 only if both sides
 * support it.
 */
export function withHeader(type: number, body: Uint8Array, maximum: number = maximumMessageLength): Uint8Array {
  const length = headerLength + body.length;
  assert(length <= maximum, `a message of ${length} octets`);
  return octets(marker, u16(length), type, body);
}

/** One KEEPALIVE for all sessions. It must not be written to. */
export const keepaliveMessage: Uint8Array = withHeader(messageType.keepalive, new Uint8Array(0));
