import { reason, type Reason } from '../../model/reasons.ts';

/** Returns the reason for a difference between this host's clock and the API server's. Positive seconds: ours is ahead. */
export function clockReason(seconds: number): Reason {
  return reason('ClockSkew', { seconds: Math.round(Math.abs(seconds)), direction: seconds > 0 ? 'ahead of' : 'behind' });
}
