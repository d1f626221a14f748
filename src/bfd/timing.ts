import type { Random } from '../system/random.ts';

/** The arithmetic of RFC 5880 6.8; all intervals are in microseconds, as on the wire. */

/** Time between two of our packets before jitter; undefined: the peer wants none (RFC 5880 6.8.7). */
export function transmitInterval(desiredMinTx: number, remoteMinRx: number): number | undefined {
  return remoteMinRx === 0 ? undefined : Math.max(desiredMinTx, remoteMinRx);
}

/**
 * The interval less up to a quarter, so that systems on one network do not fall into step. Where one lost packet is a lost peer it is
 * at least a tenth less, or the peer's timer would race with the packet (RFC 5880 6.8.7).
 */
export function jittered(interval: number, detectMultiplier: number, random: Random): number {
  const most = detectMultiplier === 1 ? 0.9 : 1;
  return interval * (0.75 + (most - 0.75) * random());
}

/** Silence after which the peer is given up (RFC 5880 6.8.4). */
export function detectionTime(remoteDetectMultiplier: number, requiredMinRx: number, remoteDesiredMinTx: number): number {
  return remoteDetectMultiplier * Math.max(requiredMinRx, remoteDesiredMinTx);
}

/** A session that is not Up says at least this, and sends no faster (RFC 5880 6.8.3). */
export const slowInterval = 1_000_000;

export const toMilliseconds = (microseconds: number): number => microseconds / 1000;
export const toMicroseconds = (milliseconds: number): number => milliseconds * 1000;
