import { defined } from '../../lang/defined.ts';
import { withGracefulShutdownAttributes } from '../../decisions/announcement/last-resort.ts';
import type { RouteCommunity, RouteIntent } from '../../decisions/announcement/route.ts';
import { formatPrefix } from '../../net/prefix.ts';

/** A route as it is sent, without next hop and AS path, which the speaker sets. Plain data. */
export interface SentRoute {
  readonly prefix: string;
  readonly communities: readonly string[];
  readonly localPref?: number;
  readonly med?: number;
  readonly asPathPrepend: number;
}

/** `internal`: the peer is in the same AS. Only then LOCAL_PREF is sent, and the AS path is not prepended. */
export function sentRoute(route: RouteIntent, internal: boolean): SentRoute {
  const { prefix, communities, localPref, med, asPathPrepend } = withGracefulShutdownAttributes(route);
  return {
    prefix: formatPrefix(prefix),
    communities: communities.map(communityText),
    ...(localPref === undefined || !internal ? {} : { localPref }),
    ...defined({ med }),
    asPathPrepend: internal ? 0 : asPathPrepend,
  };
}

/** "192.0.2.1/32, communities 64512:100, localPref 200, med 5, prepended 2 times". */
export function routeText({ prefix, communities, localPref, med, asPathPrepend }: SentRoute): string {
  return [
    prefix,
    ...(communities.length === 0 ? [] : [`communities ${communities.join(' ')}`]),
    ...(localPref === undefined ? [] : [`localPref ${localPref}`]),
    ...(med === undefined ? [] : [`med ${med}`]),
    ...(asPathPrepend === 0 ? [] : [`own AS prepended ${asPathPrepend} times`]),
  ].join(', ');
}

function communityText(community: RouteCommunity): string {
  if (community.kind === 'standard') return `${community.value >>> 16}:${community.value & 0xffff}`;
  return ['large', community.globalAdministrator, community.localData1, community.localData2].join(':');
}
