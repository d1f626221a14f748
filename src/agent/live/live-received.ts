import { formatCommunity } from '../../bgp/index.ts';
import { defined } from '../../lang/defined.ts';
import type { LiveReceivedRoute, Page } from '../../live/contract.ts';
import { pageOf, type LiveQuery } from '../../live/query.ts';
import { reasonText, remedyText } from '../../model/reasons.ts';
import { formatAddress } from '../../net/address.ts';
import { formatPrefix } from '../../net/prefix.ts';
import type { ReceivedRoutes, ReceivedState } from '../received/received-routes.ts';

export const receivedParameters = ['peer', 'family'] as const;

/** Returns a page of the routes that the peers announced and the agent accepted. Throws LiveQueryError. */
export function liveReceived(received: Pick<ReceivedRoutes, 'states'>, query: LiveQuery): Pick<Page<LiveReceivedRoute>, 'items' | 'next'> {
  const [peer, family] = [query.text('peer'), query.oneOf('family', ['IPv4', 'IPv6'])];
  const wanted = [...received.states()]
    .filter(({ route }) => (peer === undefined || route.from.peer === peer) && (family === undefined || familyOf(route) === family))
    .map((state) => ({ state, key: keyOf(state) }))
    .sort((a, b) => (a.key < b.key ? -1 : 1));
  const { items, ...rest } = pageOf(wanted, ({ key }) => key, query);
  return { items: items.map(({ state }) => liveRoute(state)), ...rest };
}

function keyOf({ route }: ReceivedState): string {
  return `${route.from.peer} ${familyOf(route)} ${formatPrefix(route.prefix)} ${route.pathId ?? ''}`;
}

function familyOf({ prefix }: ReceivedState['route']): 'IPv4' | 'IPv6' {
  return `IPv${prefix.address.family}`;
}

function liveRoute({ route, installed, reason: because }: ReceivedState): LiveReceivedRoute {
  const { from, prefix, nextHops, asPath, localPref, med, communities, stale } = route;
  return {
    peer: from.peer,
    family: familyOf(route),
    prefix: formatPrefix(prefix),
    nextHops: nextHops.map(formatAddress),
    asPath: asPath.flatMap(({ asns }) => asns),
    localPref,
    ...defined({ med, stale }),
    communities: communities.map(formatCommunity),
    installed,
    ...(because === undefined ? {} : { reason: { code: because.code, message: reasonText(because), fix: remedyText(because) } }),
  };
}
