import { sameAddress, type Address } from '../../../net/address.ts';
import type { Role } from '../../negotiation/local-open.ts';
import type { PathAttributes } from '../../wire/attributes/decode-attributes.ts';
import type { AsPathSegment } from '../../wire/attributes/as-path.ts';
import type { ReceivedPath } from './received-route.ts';

/** Why a received route is not used. The import rules are one reason; the others follow from the protocol, and no rule can overrule them. */
export type Refusal =
  | 'filter'
  /** The path has an AS_SET or AS_CONFED_SET (RFC 9774 3). */
  | 'asSet'
  /** The path has the local AS (RFC 4271 9.1.2). */
  | 'asLoop'
  /** The local router brought the route into the AS (RFC 4456 8). */
  | 'originatorLoop'
  /** The next hop is an address of the local router (RFC 4271 5.1.3). */
  | 'ownNextHop'
  /** ONLY_TO_CUSTOMER shows that the route must not come from a peer of this role (RFC 9234 5). */
  | 'routeLeak';

/** The facts about the session that decide whether a route may be used. */
export interface EligibilityContext {
  readonly localAsn: number;
  readonly routerId: Address;
  /** The local address of the session, if it is known. */
  readonly localAddress: Address | undefined;
  /** The role of the peer, if both sides sent one. */
  readonly peerRole: Role | undefined;
}

/** Returns why the protocol forbids the use of a path, or undefined if it allows it. */
export function ineligible(path: ReceivedPath, attributes: PathAttributes, context: EligibilityContext): Refusal | undefined {
  const { localAsn, routerId, localAddress } = context;
  if (hasSet(attributes.asPath) || hasSet(attributes.as4Path)) return 'asSet';
  if (path.asPath.some(({ asns }) => asns.includes(localAsn))) return 'asLoop';
  if (path.originatorId !== undefined && sameAddress(path.originatorId, routerId)) return 'originatorLoop';
  if (localAddress !== undefined && path.nextHops.some((nextHop) => sameAddress(nextHop, localAddress))) return 'ownNextHop';
  return isLeak(path, context) ? 'routeLeak' : undefined;
}

const hasSet = (segments: readonly AsPathSegment[] = []): boolean =>
  segments.some(({ kind }) => kind === 'set' || kind === 'confederationSet');

function isLeak({ onlyToCustomer, from }: ReceivedPath, { peerRole }: EligibilityContext): boolean {
  if (onlyToCustomer === undefined) return false;
  if (peerRole === 'customer' || peerRole === 'routeServerClient') return true;
  return peerRole === 'peer' && onlyToCustomer !== from.asn;
}
