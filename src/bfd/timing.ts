import type { Random } from '../system/random.ts';
import { longestSlot } from './limits.ts';

/** The arithmetic of RFC 5880 6.8. All intervals are in microseconds, as on the wire. */

/** Returns the interval between sent packets before jitter. Undefined: the peer wants none (RFC 5880 6.8.7). */
export function transmitInterval(desiredMinTx: number, remoteMinRx: number): number | undefined {
  return remoteMinRx === 0 ? undefined : Math.max(desiredMinTx, remoteMinRx);
}

/**
 * Shortens the interval at random by up to a quarter, so that systems on one network do not synchronize. With detect multiplier 1 it is at
 * least a tenth shorter, or the peer's timer could expire before the packet arrives (RFC 5880 6.8.7).
 */
export function jittered(interval: number, detectMultiplier: number, random: Random): number {
  const most = detectMultiplier === 1 ? 0.9 : 1;
  return interval * (0.75 + (most - 0.75) * random());
}

/**
 * Returns when to send the packet after the one that was sent at `sent`, both in milliseconds of the clock: after the jittered interval, or
 * a little earlier, at the beginning of a slot. At least three quarters of the interval pass.
 */
export function transmissionTime(sent: number, interval: number, detectMultiplier: number, random: Random): number {
  const slot = slotOf(toMilliseconds(interval));
  const due = Math.floor((sent + toMilliseconds(jittered(interval, detectMultiplier, random))) / slot) * slot;
  return due < sent + toMilliseconds(0.75 * interval) ? due + slot : due;
}

/** Returns the end of the slot in which something is due after waiting for `period`. All are in milliseconds. */
export function endOfSlot(due: number, period: number): number {
  const slot = slotOf(period);
  return Math.ceil(due / slot) * slot;
}

/** Many sessions are due in the same slot, so that the thread wakes once for all of them. The jitter, a quarter, has at least ten slots. */
const slotOf = (period: number): number => Math.min(longestSlot, period / 40);

/** Returns the silence after which the session goes down (RFC 5880 6.8.4). */
export function detectionTime(remoteDetectMultiplier: number, requiredMinRx: number, remoteDesiredMinTx: number): number {
  return remoteDetectMultiplier * Math.max(requiredMinRx, remoteDesiredMinTx);
}

/** Smallest transmit interval of a session that is not Up (RFC 5880 6.8.3). */
export const slowInterval = 1_000_000;

export const toMilliseconds = (microseconds: number): number => microseconds / 1000;
export const toMicroseconds = (milliseconds: number): number => milliseconds * 1000;
