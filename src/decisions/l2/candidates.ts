import { requestedDrain } from '../../model/kinds/requested-drain.ts';
import type { L2Advertisement } from '../../model/kinds/types.ts';
import { isExcludedNode } from '../../model/objects/cluster.ts';
import type { Labels } from '../../model/objects/metadata.ts';
import { anySelects, selects } from '../../model/objects/label-selector.ts';
import { notReportedBy, type AddressClaim, type HeldBackFamily, type NodeLink } from '../../model/objects/node-state.ts';
import { reason, reasonText, remedyText, type Reason, type ReasonCode } from '../../model/reasons.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { formatAddress, type Address, type Family } from '../../net/address.ts';
import { formatPrefix, type Prefix } from '../../net/prefix.ts';
import { PrefixTable } from '../prefix-table.ts';
import { namesOf } from '../announcement/advertisements.ts';
import { causeOf, heldBackFamily } from '../announcement/next-hops/hold-back.ts';
import { drainsInFavourOf } from '../announcement/last-resort.ts';
import { advertisedAt, type Advertised } from './advertised.ts';
import { lostCarrier } from './link-troubles.ts';
import { lastClaims, type LastClaim } from './last-claims.ts';
import { hasPeerFor } from './link-advertisements.ts';
import { linksFor, linksText, wantedText } from './node-links.ts';
import type { Service } from '../../model/objects/service.ts';
import { nodesOfEndpoints, reachability, topologyOf } from '../forwarding/endpoints.ts';
import { textHash } from '../../net/text-hash.ts';

/**
 * The most nodes that stand ready for an address. Each watches each other one by BFD, so a node has at most this many sessions less one on a
 * link, whatever the size of the cluster.
 */
export const mostCandidates = 32;

export interface L2Candidate {
  readonly node: string;
  /** Sum of the weights of the preferences that select the node. */
  readonly weight: number;
  /** Why the node answers only while no other candidate lives: it drains, or it does not forward the family. */
  readonly lastResort?: Reason;
  /** The node comes before better placed ones, because it was the last to claim the address and `failback` lets it keep that. */
  readonly keeps?: true;
  /** At least one. */
  readonly links: readonly NodeLink[];
}

/** Which nodes answer for an address by ARP or NDP, in this order: the first that lives. */
export type L2Decision =
  | { readonly reason: Reason }
  | ({
      /** The best one first. At least one, at most `mostCandidates`. */
      readonly candidates: readonly L2Candidate[];
      readonly settings: L2Settings;
    } & Advertised);

/** Of several advertisements of an address, the first one by name decides these settings. */
export type L2Settings = Pick<L2Advertisement, 'onConflict' | 'failback' | 'failbackSeconds' | 'refreshInterval' | 'promiscuous'>;

/** Knowledge of a node about itself before its report says so. */
export interface OwnLinks {
  readonly node: string;
  readonly links: readonly NodeLink[];
  readonly heldBack: readonly HeldBackFamily[];
  readonly claims: readonly AddressClaim[];
}

export interface L2Decisions {
  decide(address: Address): L2Decision;
  /** Decides once for questions about many nodes. */
  about(address: Address): L2AddressDecision;
  /** Returns the last claim of an address. Undefined: no node of ours ever announced it. */
  lastClaim(address: Address): LastClaim | undefined;
}

/** The decision for one address as of the moment at which it was taken. */
export interface L2AddressDecision {
  readonly decision: L2Decision;
  /** Returns the first rule by which a node is no candidate. Undefined: it is one, or the address is not announced at all. */
  readonly whyNot: (node: string) => Reason | undefined;
}

/**
 * Decides for all addresses of a snapshot. What is alike for many addresses is computed once, so the result is valid only until a Node, a
 * NodeState, an advertisement, a BGPPeer or a HeraldConfig changes. Node readiness does not matter: the nodes themselves notice who lives.
 */
export function createL2Decisions(snapshot: Snapshot, own?: OwnLinks): L2Decisions {
  const linksOf = (node: string): readonly NodeLink[] | undefined =>
    node === own?.node ? own.links : snapshot.nodeStates.get(node)?.links;
  const networks = networksOf(snapshot, linksOf);
  const isOnLink = (address: Address): boolean => networks.around(address).length > 0;
  let claims: ReadonlyMap<string, LastClaim> | undefined;
  const lastClaim = (address: Address): LastClaim | undefined => (claims ??= lastClaims(snapshot, own)).get(formatAddress(address));
  const groups = new Map<string, readonly L2Candidate[]>();

  const judge = ({ advertisements }: Advertised, address: Address, node: string): L2Candidate | { readonly reason: Reason } => {
    const object = snapshot.nodes.get(node);
    if (object === undefined) return { reason: reason('NodeUnknown', { node }) };
    const { labels } = object.metadata;
    const selecting = advertisements.filter(({ nodeSelectors }) => anySelects(nodeSelectors, labels));
    if (selecting.length === 0) return { reason: reason('NodeNotSelected', { node, advertisements: namesOf(advertisements) }) };
    if (!selecting.some((one) => hasPeerFor(one, snapshot.peers.values(), labels))) return { reason: reason('NoPeers', { node }) };
    if (object.networkUnavailable) return { reason: reason('NodeNetworkUnavailable', { node }) };
    if (isExcludedNode(object)) return { reason: reason('NodeExcluded', { node }) };
    const report = snapshot.nodeStates.get(node);
    if (report?.problem?.code === 'NodeNotThisHost') return { reason: report.problem };
    const drain = requestedDrain(snapshot.config, object);
    if (drain === 'force') return { reason: reason('NodeDrained', { node }) };
    const known = linksOf(node);
    if (known === undefined) return { reason: (report && notReportedBy(report, 'its links')) ?? reason('L2LinksNotReported', { node }) };
    const links = linksFor(selecting, known, address);
    if (links.length === 0)
      return { reason: lostCarrier(report?.host, selecting, address) ?? noInterface(node, selecting, known, address) };
    const lastResort = drain === undefined ? whyHeldBack(node, address.family) : reason('NodeDraining', { node });
    return { node, weight: weightOf(advertisements, labels), links, ...(lastResort === undefined ? {} : { lastResort }) };
  };

  const whyHeldBack = (node: string, family: Family): Reason | undefined => {
    const held = heldBackFamily(snapshot, node, family, node === own?.node ? own.heldBack : undefined);
    return held === undefined ? undefined : reason('NodeHeldBack', { node, family: held.family, ...causeOf(held.reason) });
  };

  const judgeAll = (advertised: Advertised, address: Address, nodes: Iterable<string>): L2Candidate[] =>
    [...nodes].flatMap((node) => {
      const judged = judge(advertised, address, node);
      return 'reason' in judged ? [] : [judged];
    });

  /** The nodes that stand ready for all addresses with the same advertisements and networks. */
  const groupOf = (advertised: Advertised, address: Address): readonly L2Candidate[] => {
    const around = networks.around(address).map(formatPrefix);
    const key = JSON.stringify([address.family, advertised.advertisements.map(({ kind, metadata }) => [kind, metadata.name]), around]);
    const known = groups.get(key);
    if (known !== undefined) return known;
    const group = inOrderOfRank(judgeAll(advertised, address, snapshot.nodes.keys()), key).slice(0, mostCandidates);
    groups.set(key, group);
    return group;
  };

  const decide = (address: Address): L2Decision => {
    const advertised = advertisedAt(snapshot, address, isOnLink(address));
    if ('reason' in advertised) return advertised;
    const nodes = nodesWithEndpoints(snapshot, advertised.services, address.family);
    if (typeof nodes === 'object' && 'reason' in nodes) return nodes;
    const ready = nodes === 'all' ? groupOf(advertised, address) : judgeAll(advertised, address, nodes);
    if (ready.length === 0) return { reason: noCandidate(advertised, address, nodes === 'all' ? snapshot.nodes.keys() : nodes) };
    const settings = settingsOf(advertised);
    const usable = nodes === 'all' ? ready : withTerminatingLast(snapshot, advertised, address, ready);
    const ranked = inOrderOfRank(usable, formatAddress(address));
    const candidates = settings.failback === 'immediate' ? ranked : withKeeperFirst(ranked, lastClaim(address));
    return { ...advertised, candidates: candidates.slice(0, mostCandidates), settings };
  };

  const noCandidate = (advertised: Advertised, address: Address, nodes: Iterable<string>): Reason => {
    const names = [...nodes].sort();
    const [first] = names.flatMap((node) => {
      const judged = judge(advertised, address, node);
      return 'reason' in judged ? [judged.reason] : [];
    });
    // One node has its own, more precise reason.
    if (first !== undefined && names.length === 1) return first;
    return reason('L2NoCandidate', {
      advertisements: namesOf(advertised.advertisements),
      nodes: names.length,
      first: first === undefined ? 'there is no node' : reasonText(first),
      ...(first === undefined || selectionReasons.has(first.code) ? {} : { remedy: remedyText(first) }),
    });
  };

  return {
    decide,
    lastClaim,
    about(address) {
      const decision = decide(address);
      const advertised = advertisedAt(snapshot, address, isOnLink(address));
      if ('reason' in advertised) return { decision, whyNot: () => undefined };
      const nodes = nodesWithEndpoints(snapshot, advertised.services, address.family);
      const chosen = new Set('reason' in decision ? [] : decision.candidates.map(({ node }) => node));
      return {
        decision,
        whyNot: (node) => {
          const judged = judge(advertised, address, node);
          if ('reason' in judged) return judged.reason;
          if (typeof nodes === 'object' && 'reason' in nodes) return nodes.reason;
          if (nodes !== 'all' && !nodes.has(node)) return reason('NoLocalEndpoints', { node, policy: 'externalTrafficPolicy' });
          return 'reason' in decision || chosen.has(node) ? undefined : reason('L2BeyondCandidates', { node, most: mostCandidates });
        },
      };
    },
  };
}

function weightOf(advertisements: Advertised['advertisements'], labels: Labels): number {
  const preferences = advertisements.flatMap(({ preferredNodeSelectors }) => preferredNodeSelectors);
  return preferences.filter(({ preference }) => selects(preference, labels)).reduce((sum, { weight }) => sum + weight, 0);
}

function noInterface(node: string, selecting: Advertised['advertisements'], links: readonly NodeLink[], address: Address): Reason {
  const details = { node, address: formatAddress(address), wanted: wantedText(selecting, address), has: linksText(links) };
  const isDerived = selecting.every(({ kind }) => kind === 'BGPAdvertisement');
  return reason('L2NoInterface', isDerived ? { ...details, setting: 'answerOnLocalLinks' } : details);
}

/** Reasons of a node that the L2Advertisement itself may answer: its fix names all ways. */
const selectionReasons: ReadonlySet<ReasonCode> = new Set<ReasonCode>(['NodeNotSelected', 'L2NoInterface', 'L2LinksNotReported']);

/** Marks the nodes whose endpoints terminate as a last resort, if another candidate has ready ones: new connections are to go there. */
function withTerminatingLast(
  snapshot: Snapshot,
  { services }: Advertised,
  { family }: Address,
  candidates: readonly L2Candidate[],
): readonly L2Candidate[] {
  const usable = new Set(candidates.filter(({ lastResort }) => lastResort === undefined).map(({ node }) => node));
  return candidates.map((candidate) => {
    const { node, lastResort } = candidate;
    if (lastResort !== undefined) return candidate;
    const [other] = services.flatMap((service) => drainsInFavourOf(snapshot, service, family, node, (name) => usable.has(name)) ?? []);
    return other === undefined ? candidate : { ...candidate, lastResort: reason('EndpointsTerminating', { node, other }) };
  });
}

/** Moves the node that claimed the address last before better placed ones. A node that is a last resort keeps nothing. */
function withKeeperFirst(ranked: readonly L2Candidate[], claim: LastClaim | undefined): readonly L2Candidate[] {
  const at = ranked.findIndex(({ node }) => node === claim?.node);
  const keeper = ranked[at];
  if (keeper === undefined || at === 0 || keeper.lastResort !== undefined || claim?.givesBack === true) return ranked;
  return [{ ...keeper, keeps: true }, ...ranked.toSpliced(at, 1)];
}

function settingsOf({ advertisements: [first] }: Advertised): L2Settings {
  if (first === undefined) throw new RangeError('there is at least one advertisement');
  const { onConflict, failback, failbackSeconds, refreshInterval, promiscuous } = first;
  return { onConflict, failback, failbackSeconds, refreshInterval, promiscuous };
}

function networksOf({ nodes }: Snapshot, linksOf: (node: string) => readonly NodeLink[] | undefined): PrefixTable<Prefix> {
  const all = new PrefixTable<Prefix>();
  for (const node of nodes.keys())
    for (const { networks } of linksOf(node) ?? []) for (const network of networks) all.add(network, network);
  return all;
}

/**
 * Returns the nodes at which traffic for the Services of one address reaches an endpoint: every node as soon as one Service with policy
 * Cluster has an endpoint, otherwise those with an endpoint of their own.
 */
function nodesWithEndpoints(
  snapshot: Snapshot,
  services: readonly Service[],
  family: Family,
): 'all' | ReadonlySet<string> | { readonly reason: Reason } {
  const nodes = new Set<string>();
  let endpoints = 0;
  for (const service of services) {
    const places = service.externalTrafficPolicy === 'Local' ? nodesOfEndpoints(snapshot, service) : [''];
    for (const node of places) {
      const reach = reachability(snapshot, service, family, topologyOf(snapshot, node));
      endpoints = Math.max(endpoints, reach.endpoints);
      if (service.externalTrafficPolicy !== 'Local' && reach.cluster) return 'all';
      if (service.externalTrafficPolicy === 'Local' && reach.local) nodes.add(node);
    }
  }
  return nodes.size > 0 ? nodes : { reason: reason('NoEndpoints', { endpoints }) };
}

/** Any constant works. It must never change, or addresses move during an upgrade. */
const basis = 0x6c_32_61_64;

interface Ranked {
  readonly node: string;
  readonly weight: number;
  /** Present: the node answers only while no other candidate lives. */
  readonly lastResort?: unknown;
}

/**
 * Sorts candidates, the best one first: nodes that are no last resort, then by the weight of preferences, then by rendezvous hash of node
 * and `key`. Nodes that come or go therefore move only the addresses that they get or had. Every node computes the same order.
 */
function inOrderOfRank<C extends Ranked>(candidates: readonly C[], key: string): C[] {
  return candidates
    .map((candidate) => ({ candidate, score: textHash(`${candidate.node} ${key}`, basis) }))
    .toSorted(
      ({ candidate: a, score: scoreA }, { candidate: b, score: scoreB }) =>
        Number(a.lastResort !== undefined) - Number(b.lastResort !== undefined) ||
        b.weight - a.weight ||
        scoreB - scoreA ||
        (a.node < b.node ? -1 : 1),
    )
    .map(({ candidate }) => candidate);
}
