import type { Family } from '../../net/address.ts';
import type { Capability } from '../wire/capability.ts';
import { afi, asTrans, safi } from '../wire/codes.ts';
import type { OpenMessage } from '../wire/open.ts';
import { afiOf } from '../wire/update.ts';

/** What we say in OPEN and what we expect of the peer's. */
export interface LocalOpen {
  readonly localAsn: number;
  /** `internal`: ours. `external`: any other. `auto`: whichever the peer says. */
  readonly peerAsn: number | 'internal' | 'external' | 'auto';
  readonly routerId: number;
  /** Seconds. */
  readonly holdTime: number;
  /** Seconds: less is refused (RFC 4271 6.2 leaves that to us). Absent or 0: whatever the RFC allows. */
  readonly minimumHoldTime?: number;
  readonly families: readonly Family[];
  /** The session runs over IPv6: IPv4 routes need RFC 8950. */
  readonly overIpv6: boolean;
  readonly gracefulRestart?: LocalRestart;
  /** Our role towards the peer (RFC 9234 4.1). Absent: none is said, and the peer's does not matter. */
  readonly role?: Role;
  /** A peer that says no role is refused. */
  readonly strictRole?: boolean;
  /** Families of which we take several paths for one prefix (RFC 7911). */
  readonly addPathReceive?: readonly Family[];
  /** Seconds that the peer may keep our routes after graceful restart has given up on us (RFC 9494). Absent: not offered. */
  readonly longLivedStaleTime?: number;
  /** Whether to try without optional parameters after the peer refused them (RFC 5492 3). */
  readonly capabilityFallback?: boolean;
  /** OPEN goes without optional parameters. */
  readonly withoutOptionalParameters?: true;
}

/** What we say about our restarts (RFC 4724 3). */
export interface LocalRestart {
  /** Seconds that the peer keeps our routes while we are gone. */
  readonly restartTime: number;
  /** This process follows another, and has not been in session with the peer yet. */
  readonly restarted: boolean;
  /** Forwarding went on while we were gone. */
  readonly forwardingPreserved: boolean;
}

/** RFC 9234 4.1; the number is the code. */
export const roles = { provider: 0, routeServer: 1, routeServerClient: 2, customer: 3, peer: 4 } as const;
export type Role = keyof typeof roles;

export function localOpenMessage(localOpen: LocalOpen): OpenMessage {
  const { localAsn, holdTime, routerId, withoutOptionalParameters } = localOpen;
  const capabilities = withoutOptionalParameters === true ? [] : capabilitiesOf(localOpen);
  return { version: 4, asn: localAsn > 0xffff ? asTrans : localAsn, holdTime, routerId, capabilities };
}

/** In ascending order of their codes, so that OPEN is the same bytes for the same configuration. */
function capabilitiesOf(localOpen: LocalOpen): Capability[] {
  const { families, gracefulRestart, role, addPathReceive = [], longLivedStaleTime } = localOpen;
  const each = families.map((family) => ({ afi: afiOf(family), safi: safi.unicast }));
  const capabilities: Capability[] = each.map((family) => ({ kind: 'multiprotocol', ...family }));
  capabilities.push({ kind: 'routeRefresh' });
  if (advertisesExtendedNextHop(localOpen)) {
    capabilities.push({ kind: 'extendedNextHop', tuples: [{ afi: afi.ipv4, safi: safi.unicast, nextHopAfi: afi.ipv6 }] });
  }
  capabilities.push({ kind: 'extendedMessage' });
  if (role !== undefined) capabilities.push({ kind: 'role', role: roles[role] });
  if (gracefulRestart !== undefined) {
    const { restartTime, restarted, forwardingPreserved } = gracefulRestart;
    const restarting = each.map((family) => ({ ...family, forwardingPreserved }));
    capabilities.push({ kind: 'gracefulRestart', restarted, notification: true, restartTime, families: restarting });
  }
  capabilities.push({ kind: 'fourOctetAsn', asn: localOpen.localAsn });
  if (addPathReceive.length > 0) {
    const receiving = addPathReceive.map((family) => ({ afi: afiOf(family), safi: safi.unicast, receive: true, send: false }));
    capabilities.push({ kind: 'addPath', families: receiving });
  }
  capabilities.push({ kind: 'enhancedRouteRefresh' });
  if (gracefulRestart !== undefined && longLivedStaleTime !== undefined) {
    const { forwardingPreserved } = gracefulRestart;
    const stale = each.map((family) => ({ ...family, forwardingPreserved, staleTime: longLivedStaleTime }));
    capabilities.push({ kind: 'longLivedGracefulRestart', families: stale });
  }
  return capabilities;
}

export const advertisesExtendedNextHop = ({ overIpv6, families, withoutOptionalParameters }: LocalOpen): boolean =>
  overIpv6 && families.includes(4) && withoutOptionalParameters !== true;
