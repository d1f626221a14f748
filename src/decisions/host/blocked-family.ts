import type { Reason } from '../../model/reasons.ts';
import type { Family } from '../../net/address.ts';

/** An address family that the host certainly does not forward, and the problem of the host that prevents it. */
export interface BlockedFamily {
  readonly family: Family;
  readonly reason: Reason;
}
