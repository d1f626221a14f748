import { linkBandwidthText } from '../../../decisions/announcement/next-hops/link-bandwidth.ts';
import type { ServiceExplanation } from '../../../explain/service/service.ts';
import type { PeerExplanation, NodeExplanation } from '../../../explain/service/service-node.ts';
import type { Reason } from '../../../model/reasons.ts';
import type { Health, PathArrow, PathRouter } from '../../contract.ts';
import type { NodeGroup } from './path-nodes.ts';
import { routersOfPeers, type RouterPeers } from './path-sessions.ts';
import { healthOf, whysOf } from './why.ts';

/** Returns the routers and links by which clients reach the nodes, with an arrow to each node that should announce an address there. */
export function routersOfPath(
  explanation: ServiceExplanation,
  groups: readonly NodeGroup[],
): { readonly routers: readonly PathRouter[]; readonly routes: readonly PathArrow[] } {
  const peers = [...new Set(explanation.nodes.flatMap((node) => peersOf(node).map(({ peer }) => peer)))].toSorted();
  const routers = routersOfPeers(peers, explanation.nodes).map((router) => {
    const bySession = router.peers.map((peer) => ({ peer, arrows: groups.flatMap((group) => arrowOfPeer(peer, group)) }));
    const arrows = groups.flatMap(({ id }) =>
      joinedArrow(
        router.name,
        bySession.flatMap((one) => one.arrows.filter(({ to }) => to === id)),
      ),
    );
    return { router: routerOf(explanation, router, bySession), arrows };
  });
  const links = linksOf(explanation, groups);
  return {
    routers: [...routers, ...links].map(({ router }) => router),
    routes: [...routers, ...links].flatMap(({ arrows }) => arrows),
  };
}

/** One arrow for all sessions of a router with a node. */
function joinedArrow(router: string, arrows: readonly PathArrow[]): PathArrow[] {
  const [first] = arrows;
  if (first === undefined) return [];
  const used = arrows.filter(({ health }) => health !== 'off');
  const whys = new Map(arrows.flatMap((arrow) => arrow.whys).map((why) => [why.text, why]));
  const labels = new Set(arrows.flatMap(({ label }) => (label === '' ? [] : label.split(', '))));
  return [{ from: `peer ${router}`, to: first.to, health: healthOfArrows(used), label: [...labels].join(', '), whys: [...whys.values()] }];
}

/** Sessions to peers, of all addresses that are announced by BGP. */
function peersOf({ addresses }: NodeExplanation): readonly PeerExplanation[] {
  return addresses.flatMap(({ type, peers }) => (type === 'ClusterIP' ? [] : peers));
}

function routerOf(
  { nodes }: ServiceExplanation,
  { name, peers }: RouterPeers,
  bySession: readonly { readonly peer: string; readonly arrows: readonly PathArrow[] }[],
): PathRouter {
  const sessions = nodes.flatMap((node) => (node.sessions ?? []).filter(({ peer }) => peers.includes(peer)));
  const asns = [...new Set(sessions.map(({ peerASN }) => String(peerASN)))];
  return {
    id: `peer ${name}`,
    name,
    kind: 'peer',
    detail: asns.length === 1 ? `AS ${asns[0]}` : '',
    health: healthOfArrows(bySession.flatMap(({ arrows }) => arrows)),
    sessions: bySession.map(({ peer, arrows }) => {
      const addresses = [...new Set(sessions.flatMap((session) => (session.peer === peer ? [session.address] : [])))];
      const [only = ''] = addresses;
      return { peer, address: addresses.length > 1 ? `${addresses.length} addresses` : only, health: healthOfArrows(arrows) };
    }),
  };
}

/** A router that has a route from at least one node leads clients on. */
function healthOfArrows(arrows: readonly PathArrow[]): Health {
  const healths = arrows.map(({ health }) => health).filter((health) => health !== 'off');
  if (healths.length === 0) return 'off';
  if (healths.every((health) => health === 'good')) return 'good';
  if (healths.includes('good') || healths.includes('doubtful')) return 'doubtful';
  return healths.includes('bad') ? 'bad' : 'unknown';
}

function arrowOfPeer(peer: string, { id, nodes }: NodeGroup): PathArrow[] {
  const [first] = nodes;
  if (first === undefined) return [];
  const told = first.addresses.flatMap((address) =>
    address.type === 'ClusterIP'
      ? []
      : address.peers.filter((one) => one.peer === peer).map((toPeer) => ({ toPeer, reason: toPeer.reason ?? address.reason })),
  );
  if (told.length === 0) return [];
  const reasons = told.flatMap(({ reason }) => (reason === undefined || noProblem.has(reason.code) ? [] : [reason]));
  const warnings = told.flatMap(({ toPeer }) => toPeer.warning ?? []);
  const sent = new Set(told.filter(({ reason }) => reason === undefined).flatMap(({ toPeer }) => toPeer.prefixes.map(labelOf(toPeer))));
  return [
    {
      from: `peer ${peer}`,
      to: id,
      health: healthOfRoutes(sent.size, reasons, warnings),
      label: [...sent].join(', '),
      whys: whysOf([...reasons, ...warnings]),
    },
  ];
}

/** "192.0.2.1/32", "192.0.2.1/32 (3 Mbit/s for 3 endpoints here)". */
function labelOf({ routes = [] }: PeerExplanation): (prefix: string) => string {
  return (prefix) => {
    const bandwidth = routes.find((route) => route.prefix === prefix)?.linkBandwidth;
    return bandwidth === undefined ? prefix : `${prefix} (${linkBandwidthText(bandwidth)})`;
  };
}

function healthOfRoutes(sent: number, reasons: readonly Reason[], warnings: readonly Reason[]): Health {
  if (sent === 0) return reasons.length === 0 ? 'off' : healthOf(reasons);
  return reasons.length + warnings.length === 0 ? 'good' : 'doubtful';
}

/** Reasons for which a node announces nothing although all is well. */
const noProblem = new Set<Reason['code']>([
  'NoLocalEndpoints',
  'BeyondMaxNextHops',
  'NodeNotSelected',
  'ServiceNotSelected',
  'PeerNotInAdvertisement',
  'PeerFamilyNotCarried',
]);

interface DrawnLink {
  readonly router: PathRouter;
  readonly arrows: readonly PathArrow[];
}

/** For each address that is announced by ARP or NDP, the node that answers. */
function linksOf({ l2 = [] }: ServiceExplanation, groups: readonly NodeGroup[]): DrawnLink[] {
  return l2.map(({ address, protocol, owner, reason, candidates }): DrawnLink => {
    const id = `link ${address}`;
    const interfaces = candidates.find(({ node }) => node === owner)?.interfaces.map(({ name }) => name) ?? [];
    const detail =
      owner === undefined ? 'no node answers' : `${owner} answers${interfaces.length === 0 ? '' : ` on ${interfaces.join(', ')}`}`;
    const group = groups.find(({ nodes }) => nodes.some(({ node }) => node === owner));
    const health = owner === undefined ? 'bad' : 'good';
    const arrows: PathArrow[] = group === undefined ? [] : [{ from: id, to: group.id, health, label: address, whys: [] }];
    const router: PathRouter = { id, name: `${protocol} ${address}`, kind: 'link', detail, health, sessions: [] };
    if (reason === undefined) return { router, arrows };
    return { router: { ...router, health: healthOf([reason]), detail: whysOf([reason])[0]?.text ?? detail }, arrows };
  });
}
