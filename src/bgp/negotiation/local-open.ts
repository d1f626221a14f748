import type { Family } from '../../net/address.ts';
import type { Capability } from '../wire/capability.ts';
import { afi, asTrans, safi } from '../wire/codes.ts';
import type { OpenMessage } from '../wire/open.ts';
import { afiOf } from '../wire/update.ts';

/** The values that the speaker sends in its OPEN, and those that it demands in the peer's. */
export interface LocalOpen {
  readonly localAsn: number;
  /** `internal`: the local AS. `external`: any other AS. `auto`: the AS that the peer sends. */
  readonly peerAsn: number | 'internal' | 'external' | 'auto';
  /** The AS numbers that the peer may have. Absent: any that `peerAsn` allows. */
  readonly peerAsns?: readonly (number | AsnRange)[];
  readonly routerId: number;
  /** In seconds. */
  readonly holdTime: number;
  /** In seconds. An OPEN with a smaller hold time is refused (RFC 4271 6.2 allows that). Absent or 0: only the limits of the RFC apply. */
  readonly minimumHoldTime?: number;
  readonly families: readonly Family[];
  /** The session runs over IPv6, so IPv4 routes need RFC 8950. */
  readonly overIpv6: boolean;
  readonly gracefulRestart?: LocalRestart;
  /** The local role towards the peer (RFC 9234 4.1). When absent, the OPEN carries no role and the peer's role is ignored. */
  readonly role?: Role;
  /** Refuse a peer that sends no role. */
  readonly strictRole?: boolean;
  /** Families for which the speaker accepts several paths of one prefix (RFC 7911). */
  readonly addPathReceive?: readonly Family[];
  /** Families for which the speaker sends path identifiers if the peer accepts them (RFC 7911). */
  readonly addPathSend?: readonly Family[];
  /**
   * Seconds that the peer may keep stale routes after the restart time has passed (RFC 9494). When absent, the capability is not offered.
   */
  readonly longLivedStaleTime?: number;
  /** Retry without optional parameters after the peer refused them (RFC 5492 3). */
  readonly capabilityFallback?: boolean;
  /** Send the OPEN without optional parameters. */
  readonly withoutOptionalParameters?: true;
}

/** AS numbers from the first to the last. */
export interface AsnRange {
  readonly from: number;
  readonly to: number;
}

/** The local values of the graceful restart capability (RFC 4724 3). */
export interface LocalRestart {
  /** Seconds that the peer keeps the routes while this speaker restarts. */
  readonly restartTime: number;
  /** This process follows an earlier one and has not had a session with the peer yet. */
  readonly restarted: boolean;
  /** Forwarding went on during the restart. */
  readonly forwardingPreserved: boolean;
}

/** The local role in a session (RFC 9234 4.1). */
export type Role = 'provider' | 'routeServer' | 'routeServerClient' | 'customer' | 'peer';

/** The codes of the roles. */
export const roles: Readonly<Record<Role, number>> = { provider: 0, routeServer: 1, routeServerClient: 2, customer: 3, peer: 4 };

export function localOpenMessage(localOpen: LocalOpen): OpenMessage {
  const { localAsn, holdTime, routerId, withoutOptionalParameters } = localOpen;
  const capabilities = withoutOptionalParameters === true ? [] : capabilitiesOf(localOpen);
  return { version: 4, asn: localAsn > 0xffff ? asTrans : localAsn, holdTime, routerId, capabilities };
}

/** Lists the capabilities in ascending order of their codes, so that the same configuration gives the same octets. */
function capabilitiesOf(localOpen: LocalOpen): Capability[] {
  const { families, gracefulRestart, role, addPathReceive = [], addPathSend = [], longLivedStaleTime } = localOpen;
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
  const severalPaths = ([4, 6] as const)
    .map((family) => ({
      afi: afiOf(family),
      safi: safi.unicast,
      receive: addPathReceive.includes(family),
      send: addPathSend.includes(family),
    }))
    .filter(({ receive, send }) => receive || send);
  if (severalPaths.length > 0) capabilities.push({ kind: 'addPath', families: severalPaths });
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
