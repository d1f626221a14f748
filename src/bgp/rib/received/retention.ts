import type { Family } from '../../../net/address.ts';
import type { Negotiated } from '../../negotiation/negotiate.ts';
import type { Capability } from '../../wire/capability.ts';
import { familyOfAfi } from '../../wire/update.ts';

/** How long the routes of one family outlive the session. */
export interface FamilyRetention {
  /** The peer forwarded during its restart, so that routes of the earlier session are still good (the F bit). */
  readonly forwardingPreserved: boolean;
  /** Seconds for long-lived stale routes after the restart time. 0: none (RFC 9494). */
  readonly longLivedSeconds: number;
  /** The same bit in the capability for long-lived graceful restart. */
  readonly longLivedPreserved: boolean;
}

/** The agreement of both sides about routes of a session that has ended. Without graceful restart no family outlives it. */
export interface Retention {
  readonly restartSeconds: number;
  /** The routes also outlive a session that a NOTIFICATION ended (RFC 8538). */
  readonly afterNotification: boolean;
  readonly families: ReadonlyMap<Family, FamilyRetention>;
}

/** Reads the agreement from the negotiated values and the peer's capabilities. */
export function retentionOf({ gracefulRestart, families, longLivedFamilies }: Negotiated, capabilities: readonly Capability[]): Retention {
  const retained = new Map<Family, FamilyRetention>();
  const restart = capabilities.findLast((each) => each.kind === 'gracefulRestart');
  const longLived = capabilities.filter((each) => each.kind === 'longLivedGracefulRestart').flatMap((each) => each.families);
  if (gracefulRestart !== undefined && restart !== undefined) {
    for (const { afi, safi, forwardingPreserved } of restart.families) {
      const family = familyOfAfi(afi, safi);
      if (family === undefined || !families.includes(family)) continue;
      const terms = longLivedFamilies.includes(family)
        ? longLived.findLast((each) => familyOfAfi(each.afi, each.safi) === family)
        : undefined;
      const longLivedPreserved = terms?.forwardingPreserved ?? false;
      retained.set(family, { forwardingPreserved, longLivedSeconds: terms?.staleTime ?? 0, longLivedPreserved });
    }
  }
  return {
    restartSeconds: gracefulRestart?.peerRestartTime ?? 0,
    afterNotification: gracefulRestart?.notification ?? false,
    families: retained,
  };
}
