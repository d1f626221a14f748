import { alikeUnqueried } from '../text/unqueried.ts';
import { linkBandwidthText } from '../../decisions/announcement/next-hops/link-bandwidth.ts';
import { reasonText } from '../../model/reasons.ts';
import { tableLines } from '../text/table-text.ts';
import type { UnreadableKind } from '../../model/store/unreadable-kind.ts';
import { unshownLines } from '../unread-objects.ts';
import type { RouteRow, RouteReport } from './route-report.ts';

const titles = ['Node', 'Peer', 'Prefix', 'Next Hop', 'State', 'Communities', 'Service'];
const wideTitles = [...titles.toSpliced(5, 0, 'Local Pref', 'MED', 'Bandwidth', 'AS Path'), 'Told By', 'Why Not'];

/** Returns one row for each route to each peer. `wide` adds all attributes, and why a peer does not have the route. */
export function renderRoutes({ routes, more, unasked = [] }: RouteReport, wide: boolean, unread: readonly UnreadableKind[] = []): string[] {
  const untold = alikeUnqueried(unasked).map(
    ({ who, why }) => `${who} could not be queried, so routes are as decided and reported: ${why}`,
  );
  const beside = untold.length === 0 ? [] : ['', ...untold];
  const unshown = unshownLines(unread, ['Service', 'Node', 'BGPAdvertisement']);
  if (routes.length === 0) return [...(unshown.length > 0 ? unshown : ['There are no routes.']), ...beside];
  return [
    ...tableLines(wide ? wideTitles : titles, routes.map(wide ? wideCells : cells)),
    ...(more === 0 ? [] : ['', `${more} more routes: use --node, --peer or --service.`]),
    ...beside,
  ];
}

function cells(row: RouteRow): string[] {
  return [...where(row), row.communities.join(','), forWhat(row)];
}

function wideCells(row: RouteRow): string[] {
  const { localPref, med, linkBandwidth, asPath, communities, reason, live } = row;
  const bandwidth = linkBandwidth === undefined ? '' : linkBandwidthText(linkBandwidth);
  const attributes = [numeral(localPref), numeral(med), bandwidth, asPath.join(' '), communities.join(',')];
  return [...where(row), ...attributes, forWhat(row), live === true ? 'agent' : 'report', reason === undefined ? '' : reasonText(reason)];
}

function where({ node, peer, prefix, nextHop, reason }: RouteRow): string[] {
  return [node, peer, prefix, nextHop, reason?.code ?? 'sent'];
}

function forWhat({ services, moreServices }: RouteRow): string {
  return `${services.join(',')}${moreServices === undefined ? '' : ` and ${moreServices} more`}`;
}

function numeral(value: number | undefined): string {
  return value === undefined ? '' : String(value);
}
