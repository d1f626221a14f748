import { defined } from '../../../lang/defined.ts';
import type { Address } from '../../../net/address.ts';
import type { Prefix } from '../../../net/prefix.ts';
import { defaultLocalPref, type Community } from '../../route.ts';
import { mergeAs4Path, type AsPathSegment } from '../../wire/attributes/as-path.ts';
import type { PathAttributes } from '../../wire/attributes/decode-attributes.ts';
import { nextHopsOf } from '../../wire/nlri.ts';

/** The peer that sent a route. */
export interface RouteSource {
  /** The name of the peer. */
  readonly peer: string;
  readonly address: Address;
  readonly asn: number;
  /** The BGP identifier of the peer. */
  readonly routerId: Address;
  /** The peer is in the local AS. */
  readonly internal: boolean;
}

/** A route that a peer announced and that the import rules accepted. */
export interface ReceivedRoute extends ReceivedPath {
  readonly prefix: Prefix;
  /** The path identifier, on a session with ADD-PATH (RFC 7911). */
  readonly pathId?: number;
  /**
   * Present while the route outlives its session: `restart` until the peer has sent it again, has sent End-of-RIB, or its restart time is
   * over (RFC 4724 4.2); then `longLived` if both sides agreed on that (RFC 9494).
   */
  readonly stale?: 'restart' | 'longLived';
}

/** The attributes of a received route. All prefixes of an UPDATE share their lists. */
export interface ReceivedPath {
  readonly from: RouteSource;
  /** The next hop. A global IPv6 address may be followed by the link-local one (RFC 2545 3). */
  readonly nextHops: readonly Address[];
  readonly origin: 'igp' | 'egp' | 'incomplete';
  /** The nearest AS first, with the AS numbers of AS4_PATH from a peer with two-octet AS numbers (RFC 6793). */
  readonly asPath: readonly AsPathSegment[];
  readonly med?: number;
  /** The value of the import rule, else of an internal peer, else 100. */
  readonly localPref: number;
  readonly communities: readonly Community[];
  /** The router that brought the route into the AS (RFC 4456). */
  readonly originatorId?: Address;
  readonly clusterList?: readonly Address[];
  /** The AS number in ONLY_TO_CUSTOMER (RFC 9234 5). */
  readonly onlyToCustomer?: number;
}

/**
 * A change of the accepted routes. `announced`: the route is new. `changed`: it replaces one of the same prefix and path identifier, or
 * became stale or fresh. `withdrawn`: `route` is the one that is gone.
 */
export interface RouteChange {
  readonly kind: 'announced' | 'changed' | 'withdrawn';
  readonly route: ReceivedRoute;
}

const origins = ['igp', 'egp', 'incomplete'] as const;

/** Returns the path of an UPDATE without errors. Copies what it needs, because the attributes are views of the received octets. */
export function receivedPath(attributes: PathAttributes, nextHop: Uint8Array, from: RouteSource): ReceivedPath {
  const { origin = 2, asPath = [], as4Path, aggregator, med, localPref, communities = [], originatorId, clusterList } = attributes;
  return {
    from,
    nextHops: nextHopsOf(nextHop),
    origin: origins[origin] ?? 'incomplete',
    asPath: mergeAs4Path(asPath, as4Path, aggregator?.asn),
    localPref: localPref ?? defaultLocalPref,
    communities,
    ...defined({
      med,
      originatorId: originatorId === undefined ? undefined : routerIdAddress(originatorId),
      clusterList: clusterList?.map(routerIdAddress),
      onlyToCustomer: attributes.onlyToCustomer,
    }),
  };
}

/** Returns a BGP identifier as an address. */
export const routerIdAddress = (routerId: number): Address => ({ family: 4, value: BigInt(routerId) });
