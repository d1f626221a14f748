import type { LiveReceivedRoute } from '../../live/contract.ts';
import { limits } from '../limits.ts';
import type { LiveNodes } from '../sessions/live-view.ts';
import { tableLines } from '../text/table-text.ts';
import { alikeUnqueried } from '../text/unqueried.ts';
import type { RouteReport } from './route-report.ts';
import { byNodePeerAndPrefix } from './route-text.ts';

/** A route that an agent accepted from a peer. Plain data. */
export interface ReceivedRow extends LiveReceivedRoute {
  readonly node: string;
}

export interface ReceivedReport {
  /** Sorted by node, peer and prefix. */
  readonly received: readonly ReceivedRow[];
  /** The number of routes that `received` leaves out. */
  readonly more: number;
  /** Agents that could not be queried. Nothing is known of their routes. */
  readonly unasked?: RouteReport['unasked'];
}

export function receivedReport(live: LiveNodes, unasked: NonNullable<RouteReport['unasked']> = []): ReceivedReport {
  const rows = [...live].flatMap(([node, { received = [] }]) => received.map((route) => ({ node, ...route })));
  const sorted = rows.toSorted(byNodePeerAndPrefix);
  return {
    received: sorted.slice(0, limits.routes),
    more: Math.max(0, sorted.length - limits.routes),
    ...(unasked.length === 0 ? {} : { unasked }),
  };
}

const titles = ['Node', 'Peer', 'Prefix', 'Next Hop', 'State', 'AS Path', 'Communities'];
const wideTitles = ['Node', 'Peer', 'Prefix', 'Next Hop', 'State', 'Local Pref', 'MED', 'AS Path', 'Communities', 'Stale', 'Why Not'];

/** Returns one row for each accepted route of each peer. `wide` adds all attributes, and why a route is not in the kernel. */
export function renderReceived({ received, more, unasked = [] }: ReceivedReport, wide: boolean): string[] {
  const untold = alikeUnqueried(unasked).map(({ who, why }) => `${who} could not be queried: ${why}`);
  const beside = untold.length === 0 ? [] : ['', ...untold];
  if (received.length === 0) return ['No agent has accepted a route: the BGPPeer needs spec.import.', ...beside];
  return [
    ...tableLines(wide ? wideTitles : titles, received.map(wide ? wideCells : cells)),
    ...(more === 0 ? [] : ['', `${more} more routes: use --node or --peer.`]),
    ...beside,
  ];
}

/** "10.244.9.0/24 next hop 10.1.0.1: in the kernel", or why it is not. */
export function receivedText({ prefix, nextHops, reason }: LiveReceivedRoute): string {
  return `${prefix} next hop ${nextHops.join(' ')}: ${reason === undefined ? 'in the kernel' : reason.message}`;
}

function cells(row: ReceivedRow): string[] {
  return [...where(row), row.asPath.join(' '), row.communities.join(',')];
}

function wideCells(row: ReceivedRow): string[] {
  const { localPref, med, asPath, communities, stale = '', reason } = row;
  const attributes = [String(localPref), med === undefined ? '' : String(med), asPath.join(' '), communities.join(',')];
  return [...where(row), ...attributes, stale, reason?.message ?? ''];
}

function where({ node, peer, prefix, nextHops, reason }: ReceivedRow): string[] {
  return [node, peer, prefix, nextHops.join(' '), reason?.code ?? 'installed'];
}
