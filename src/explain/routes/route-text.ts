import { defined } from '../../lang/defined.ts';
import { formatCommunity } from '../../decisions/announcement/communities.ts';
import { withGracefulShutdownAttributes } from '../../decisions/announcement/last-resort.ts';
import type { LinkBandwidth, RouteIntent } from '../../decisions/announcement/route.ts';
import { linkBandwidthText } from '../../decisions/announcement/next-hops/link-bandwidth.ts';
import { comparePrefixes, formatPrefix, parsePrefix } from '../../net/prefix.ts';

/** A route as it is sent, without next hop and AS path, which the speaker sets. Plain data. */
export interface SentRoute {
  readonly prefix: string;
  readonly communities: readonly string[];
  readonly localPref?: number;
  readonly med?: number;
  readonly asPathPrepend: number;
  readonly linkBandwidth?: LinkBandwidth;
}

/** `internal`: the peer is in the same AS. Only then LOCAL_PREF is sent, and the AS path is not prepended. */
export function sentRoute(route: RouteIntent, internal: boolean): SentRoute {
  const { prefix, communities, localPref, med, asPathPrepend, linkBandwidth } = withGracefulShutdownAttributes(route);
  return {
    prefix: formatPrefix(prefix),
    communities: communities.map(formatCommunity),
    ...(localPref === undefined || !internal ? {} : { localPref }),
    ...defined({ med }),
    asPathPrepend: internal ? 0 : asPathPrepend,
    ...defined({ linkBandwidth }),
  };
}

/** "192.0.2.1/32, communities 64512:100, localPref 200, med 5, prepended 2 times, link bandwidth 3 Mbit/s for 3 endpoints here". */
export function routeText({ prefix, communities, localPref, med, asPathPrepend, linkBandwidth }: SentRoute): string {
  return [
    prefix,
    ...(communities.length === 0 ? [] : [`communities ${communities.join(' ')}`]),
    ...(localPref === undefined ? [] : [`localPref ${localPref}`]),
    ...(med === undefined ? [] : [`med ${med}`]),
    ...(asPathPrepend === 0 ? [] : [`own AS prepended ${asPathPrepend} times`]),
    ...(linkBandwidth === undefined ? [] : [`link bandwidth ${linkBandwidthText(linkBandwidth)}`]),
  ].join(', ');
}

interface RowOfTable {
  readonly node: string;
  readonly peer: string;
  readonly prefix: string;
}

/** Compares rows of a table of routes. */
export function byNodePeerAndPrefix(a: RowOfTable, b: RowOfTable): number {
  if (a.node !== b.node) return a.node < b.node ? -1 : 1;
  if (a.peer !== b.peer) return a.peer < b.peer ? -1 : 1;
  const [one, other] = [parsePrefix(a.prefix), parsePrefix(b.prefix)];
  return one.ok && other.ok ? comparePrefixes(one.value, other.value) : 0;
}
