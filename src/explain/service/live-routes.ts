import { defined } from '../../lang/defined.ts';
import { linkBandwidthText } from '../../decisions/announcement/next-hops/link-bandwidth.ts';
import type { LiveRoute } from '../../live/contract.ts';
import type { ServiceKey } from '../../model/objects/metadata.ts';
import { reason } from '../../model/reasons.ts';
import { limits } from '../limits.ts';
import type { RouteRow, RouteReport } from '../routes/route-report.ts';
import { byNodePeerAndPrefix } from '../routes/route-text.ts';
import type { LiveNodes } from '../sessions/live-view.ts';
import type { NodeExplanation, PeerExplanation } from './service-node.ts';

/** Replaces expected routes by sent ones where agents answered. One that was not sent keeps its reason, or gets NotSent. */
export function withLiveRoutes(
  table: RouteReport,
  live: LiveNodes,
  wanted: { readonly peer?: string; readonly service?: ServiceKey },
): RouteReport {
  const asked = [...live].flatMap(([node, { routes }]) => (routes === undefined ? [] : [{ node, routes }]));
  if (asked.length === 0) return table;
  const decided = table.routes.filter(({ node }) => live.get(node)?.routes === undefined);
  const told = asked.flatMap(({ node, routes }) => [
    ...routes.filter((route) => isWanted(route, wanted)).map((route) => liveRow(node, route)),
    ...unsent(table.routes, node, routes),
  ]);
  const rows = [...decided, ...told].toSorted(byNodePeerAndPrefix);
  return { ...table, routes: rows.slice(0, limits.routes), more: table.more + Math.max(0, rows.length - limits.routes) };
}

/** Adds the routes that the agent has sent for the Service to an explanation. A route that was sent has no reason against it. */
export function withLiveNode(explanation: NodeExplanation, live: LiveNodes): NodeExplanation {
  const { node } = explanation;
  const routes = live.get(node)?.routes;
  if (routes === undefined) return explanation;
  const addresses = explanation.addresses.map((address) => ({
    ...address,
    peers: address.peers.map((toPeer): PeerExplanation => {
      if (toPeer.prefixes.length === 0) return toPeer;
      const sent = routes.filter(({ peer, prefix }) => peer === toPeer.peer && toPeer.prefixes.includes(prefix));
      const { reason: reported, ...others } = toPeer;
      const complete = toPeer.prefixes.every((prefix) => sent.some((route) => route.prefix === prefix && route.nextHops.length > 0));
      return { ...others, live: sent, ...(complete ? {} : { reason: reported ?? reason('NotSent', { node, peer: toPeer.peer }) }) };
    }),
  }));
  return { ...explanation, addresses };
}

/** "192.0.2.1/32, next hop 10.1.0.11, AS path 64512, communities 64512:100, med 5". */
export function liveRouteText({ prefix, nextHops, asPath, localPref, med, linkBandwidth, communities, changing }: LiveRoute): string {
  return [
    prefix,
    `next hop ${nextHops.join(' ') || 'none'}`,
    ...(asPath.length === 0 ? [] : [`AS path ${asPath.join(' ')}`]),
    ...(communities.length === 0 ? [] : [`communities ${communities.join(' ')}`]),
    ...(localPref === undefined ? [] : [`localPref ${localPref}`]),
    ...(med === undefined ? [] : [`med ${med}`]),
    ...(linkBandwidth === undefined ? [] : [`link bandwidth ${linkBandwidthText({ megabitsPerSecond: linkBandwidth })}`]),
    ...(changing === true ? ['about to change'] : []),
  ].join(', ');
}

function isWanted({ peer, services }: LiveRoute, wanted: { readonly peer?: string; readonly service?: ServiceKey }): boolean {
  return (wanted.peer === undefined || peer === wanted.peer) && (wanted.service === undefined || services.includes(wanted.service));
}

function liveRow(node: string, route: LiveRoute): RouteRow {
  const { peer, prefix, nextHops, asPath, localPref, med, linkBandwidth, communities, services, moreServices } = route;
  return {
    node,
    peer,
    prefix,
    nextHop: nextHops.join(' '),
    asPath,
    asPathPrepend: Math.max(0, asPath.length - 1),
    communities,
    ...defined({ localPref, med, linkBandwidth: linkBandwidth === undefined ? undefined : { megabitsPerSecond: linkBandwidth } }),
    services: services as readonly ServiceKey[],
    ...defined({ moreServices }),
    live: true,
  };
}

/** Rows of routes that were decided but not sent. */
function unsent(rows: readonly RouteRow[], node: string, routes: readonly LiveRoute[]): RouteRow[] {
  const sent = new Set(routes.map(({ peer, prefix }) => `${peer} ${prefix}`));
  return rows
    .filter((row) => row.node === node && !sent.has(`${row.peer} ${row.prefix}`))
    .map((row) => ({ ...row, live: true, reason: row.reason ?? reason('NotSent', { node, peer: row.peer }) }));
}
