import { requestedDrain } from '../../../model/kinds/requested-drain.ts';
import type { BGPAdvertisement } from '../../../model/kinds/types.ts';
import { anySelects } from '../../../model/objects/label-selector.ts';
import { serviceKey } from '../../../model/objects/metadata.ts';
import type { Service } from '../../../model/objects/service.ts';
import type { Snapshot } from '../../../model/store/snapshot.ts';
import { BasisMemo, basisOf, exactBasisOf } from '../../../model/store/versioned-map.ts';
import type { Family } from '../../../net/address.ts';
import { formatPrefix, type Prefix } from '../../../net/prefix.ts';
import { mixBits, textHash } from '../../../net/text-hash.ts';
import { nodesOfEndpoints } from '../../forwarding/endpoints.ts';
import { isHeard } from './heard-routes.ts';
import { heldBackFamily } from './hold-back.ts';
import type { PeerAnnouncement } from '../peer-routes.ts';

/** The nodes that `maxNextHops` of a BGPAdvertisement lets announce a prefix. */
export interface NextHops {
  /** The nodes on which the choice depends, in the order of rank: those up to the last one that is needed, or all. */
  readonly asked: readonly string[];
  /** The nodes that routers are known to have as next hops, in the order of rank. At most `maxNextHops`. */
  readonly heard: readonly string[];
  /** False: as many nodes as allowed are heard, and the node comes after them. */
  readonly includes: (node: string) => boolean;
}

interface BoundedPrefix {
  readonly advertisement: BGPAdvertisement;
  readonly most: number;
  readonly prefix: Prefix;
  /** Under policy Local only nodes with an endpoint can announce. */
  readonly isLocal: boolean;
  /** Milliseconds since the epoch, to ignore old reports. Absent: no report is too old. */
  readonly now: number | undefined;
  /** See `OwnState`. */
  readonly awaitsReports: true | undefined;
}

/**
 * Chooses the nodes that may announce a prefix by rendezvous hashing: each node has a rank for each prefix, which no other node changes, so a
 * node that goes or comes moves only what it had or gets. A node is left out when as many nodes as allowed rank before it and are heard by
 * routers. So a new next hop is announced before an old one goes, and a node whose agent, sessions or rules fail is replaced. A node that drains
 * or does not forward the family counts for nobody.
 *
 * Without any report, as in manifests that no process serves, every node counts as heard, except for an agent. `routesAt` returns what a node would
 * announce by this advertisement without a bound.
 */
export function chooseNextHops(
  snapshot: Snapshot,
  service: Service,
  { advertisement, most, prefix, isLocal, now, awaitsReports }: BoundedPrefix,
  routesAt: (node: string) => readonly PeerAnnouncement[],
): NextHops {
  const { family } = prefix.address;
  const hosts = isLocal ? nodesOfEndpoints(snapshot, service) : undefined;
  const asked: string[] = [];
  const heard: string[] = [];
  for (const name of nodesByRank(snapshot, prefix)) {
    if (hosts !== undefined && !hosts.has(name)) continue;
    if (!anySelects(advertisement.nodeSelectors, snapshot.nodes.get(name)?.metadata.labels ?? {})) continue;
    asked.push(name);
    if (isLeaving(snapshot, name, family)) continue;
    const routes = routesAt(name);
    if (!routes.some(({ result }) => 'routes' in result && result.routes.some(({ lastResort }) => lastResort !== true))) continue;
    const isUnknown = snapshot.nodeStates.size === 0 && awaitsReports !== true;
    if (!isUnknown && !isHeard(snapshot, service, name, () => routes, now)) continue;
    heard.push(name);
    if (heard.length < most) continue;
    const chosen = new Set(asked);
    return { asked, heard, includes: (node) => chosen.has(node) };
  }
  return { asked, heard, includes: () => true };
}

function isLeaving(snapshot: Snapshot, name: string, family: Family): boolean {
  const node = snapshot.nodes.get(name);
  return (
    (node !== undefined && requestedDrain(snapshot.config, node) !== undefined) || heldBackFamily(snapshot, name, family) !== undefined
  );
}

const hashes = new BasisMemo<{ readonly names: readonly string[]; readonly hashes: Uint32Array }>();

/** More nodes than this never have ranks at once. The number of a node and its score together fit into an exact number. */
const mostNodes = 2 ** 21;

/** Yields the names of nodes in the order of their rank for a prefix. Nodes of equal score are in the order of their names. */
function* nodesByRank({ nodes }: Snapshot, prefix: Prefix): Iterable<string> {
  const known = hashes.get(nodes, basisOf(nodes), () => {
    const names = [...nodes.keys()].toSorted();
    return { names, hashes: Uint32Array.from(names, (name) => textHash(name, 0x811c_9dc5)) };
  });
  const ofPrefix = textHash(formatPrefix(prefix), 0x811c_9dc5);
  const ranks = Float64Array.from(known.hashes, (hash, index) => mixBits(hash ^ ofPrefix) * mostNodes + index).sort();
  for (const rank of ranks) yield known.names[rank % mostNodes] ?? '';
}

/** "a", "a and b", "a, b, c and 5 others". */
export function nextHopsText({ heard }: Pick<NextHops, 'heard'>): string {
  const shown = heard.slice(0, shownNames);
  const more = heard.length - shown.length;
  const all = more === 0 ? shown : [...shown, `${more} other${more === 1 ? '' : 's'}`];
  return all.length < 2 ? all.join('') : `${all.slice(0, -1).join(', ')} and ${all.at(-1)}`;
}

const shownNames = 3;

const choices = new BasisMemo<Map<string, NextHops>>();

/**
 * Returns the choice for one prefix of a Service, computed once for questions about many nodes: those of the Service that was asked about
 * last are kept while nothing changes.
 */
export function nextHopsOf(
  snapshot: Snapshot,
  service: Service,
  bounded: BoundedPrefix,
  routesAt: (node: string) => readonly PeerAnnouncement[],
): NextHops {
  const { config, nodes, nodeStates, peers, advertisements, pools, communities, externalIPPolicies, serviceCIDRs, secrets } = snapshot;
  const few = [pools, communities, externalIPPolicies, serviceCIDRs, secrets].flatMap((map) => basisOf(map));
  const many = [...basisOf(nodes), ...exactBasisOf(nodeStates), ...basisOf(peers), ...basisOf(advertisements)];
  const { namespace } = service.metadata;
  const own = [
    service,
    snapshot.endpointSlices(serviceKey(service.metadata)),
    snapshot.namespaces.get(namespace),
    config,
    bounded.now,
    bounded.awaitsReports,
  ];
  const known = choices.get(nodes, [...own, ...few, ...many], () => new Map());
  const key = `${bounded.advertisement.metadata.name} ${formatPrefix(bounded.prefix)} ${bounded.isLocal}`;
  const choice = known.get(key) ?? chooseNextHops(snapshot, service, bounded, routesAt);
  known.set(key, choice);
  return choice;
}
