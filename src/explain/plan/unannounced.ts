import { decideAnnouncement } from '../../decisions/announcement/decision.ts';
import { l2DecisionsOf } from '../../decisions/l2/decisions-of.ts';
import { onceEach, placeOf, unansweredAddresses, type UnansweredPool } from '../../decisions/l2/local-pools.ts';
import { groupCauses } from '../../decisions/verdict/causes/causes.ts';
import { networkAddresses, type NetworkAddress } from '../../decisions/addresses-of-others.ts';
import { reason, type Reason } from '../../model/reasons.ts';
import { assignedAddresses, type Service } from '../../model/objects/service.ts';
import type { ServiceKey } from '../../model/objects/metadata.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { formatAddress, sameAddress, type Address } from '../../net/address.ts';
import { formatPrefix, isHostPrefix, prefixContains, type Prefix } from '../../net/prefix.ts';
import type { NodeRoutes } from './node-routes.ts';
import type { RouteChanges } from './route-changes.ts';

/** An address of a Service that no node would announce: a new one, or one that a node announces now. */
export interface UnannouncedAddress {
  readonly service: ServiceKey;
  readonly address: string;
  readonly reason: Reason;
}

/** A route that leads to nodes instead of to a Node or router that has an address in it. */
export interface DivertedAddress {
  /** The route, "198.51.100.0/24". */
  readonly prefix: string;
  readonly address: string;
  /** The object that has the address. */
  readonly kind: NetworkAddress['kind'];
  readonly name: string;
  /** The nodes that would announce the route, sorted. */
  readonly nodes: readonly string[];
}

/** The addresses that some node announces to routers, as text, before and after an edit. */
export interface AnnouncedAddresses {
  readonly before: ReadonlySet<string>;
  readonly after: ReadonlySet<string>;
}

/** Returns the addresses of LoadBalancer Services that no node would announce after the edit, sorted by Service. */
export function unannouncedAddresses(current: Snapshot, proposed: Snapshot, { before, after }: AnnouncedAddresses): UnannouncedAddress[] {
  const [ownedBefore, ownedAfter] = [ownedOnLinks(current), ownedOnLinks(proposed)];
  const found = [...proposed.services].flatMap(([key, service]): UnannouncedAddress[] => {
    if (service.type !== 'LoadBalancer') return [];
    const had = current.services.get(key);
    const held = had === undefined ? [] : assignedAddresses(had);
    return assignedAddresses(service).flatMap((address): UnannouncedAddress[] => {
      const text = formatAddress(address);
      if (after.has(text) || ownedAfter(address)) return [];
      const isNew = !held.some((one) => sameAddress(one, address));
      if (!isNew && !before.has(text) && !ownedBefore(address)) return [];
      return [{ service: key, address: text, reason: whyUnannounced(proposed, service, address) }];
    });
  });
  return found.toSorted((a, b) => (a.service < b.service ? -1 : a.service > b.service ? 1 : 0));
}

/**
 * Returns the pools that would be announced to routers only although nodes have a link in the network of an address, and are not now. Nodes
 * report links while there is an advertisement, so before that nothing is found.
 */
export function newlyUnanswered(current: Snapshot, proposed: Snapshot): UnansweredPool[] {
  const ofAll = (snapshot: Snapshot): UnansweredPool[] =>
    onceEach([...snapshot.services.values()].flatMap((service) => unansweredAddresses(snapshot, service)));
  const known = new Set(ofAll(current).map(placeOf));
  return ofAll(proposed).filter((one) => !known.has(placeOf(one)));
}

/** Before nodes report their links, their answers are not known: `owners` of the plan says so. */
function ownedOnLinks(snapshot: Snapshot): (address: Address) => boolean {
  const decisions = l2DecisionsOf(snapshot);
  return (address) => {
    const decision = decisions?.decide(address);
    if (decision === undefined) return false;
    if (!('reason' in decision)) return decision.candidates.length > 0;
    return decision.reason.code !== 'NoAdvertisement' && !snapshot.nodeStates.values().some(({ links }) => links !== undefined);
  };
}

function whyUnannounced(snapshot: Snapshot, service: Service, address: Address): Reason {
  const found = [...snapshot.nodes.keys()].toSorted().flatMap((node) => {
    const { addresses, reason } = decideAnnouncement(snapshot, service, node);
    const result = addresses.find((one) => one.type === 'LoadBalancer' && sameAddress(one.address, address))?.result;
    const because = result?.announce === false ? (reasonsOfPeers(result) ?? [result.reason]) : reason === undefined ? [] : [reason];
    return because.map((one) => ({ view: { node }, reason: one }));
  });
  return groupCauses(found)[0]?.reason ?? reason(snapshot.nodes.size === 0 ? 'NoNodes' : 'NoAddress', undefined);
}

interface PeerResults {
  readonly peers?: readonly { readonly result: { readonly reason: Reason } | object }[];
}

function reasonsOfPeers({ peers }: PeerResults): Reason[] | undefined {
  return peers?.flatMap(({ result }) => ('reason' in result ? [result.reason] : []));
}

/** Collects, node by node, the addresses of Nodes and routers that lie in a route of another node after the edit, and did not before. */
export class DivertedAddresses {
  readonly #before: NetworkIndex;
  readonly #after: NetworkIndex;
  readonly #found = new Map<string, DivertedAddress>();

  constructor(current: Snapshot, proposed: Snapshot) {
    this.#before = new NetworkIndex(current);
    this.#after = new NetworkIndex(proposed);
  }

  addNode(node: string, { before, after }: RouteChanges): void {
    const known = this.#before.divertedBy(node, before);
    for (const [key, { prefix, of }] of this.#after.divertedBy(node, after)) {
      if (known.has(key)) continue;
      const { nodes = [] } = this.#found.get(key) ?? {};
      this.#found.set(key, {
        prefix,
        address: formatAddress(of.prefix.address),
        kind: of.kind,
        name: of.name,
        nodes: [...nodes, node].toSorted(),
      });
    }
  }

  get all(): DivertedAddress[] {
    return [...this.#found.values()];
  }
}

class NetworkIndex {
  readonly #all: readonly NetworkAddress[];
  readonly #byAddress: ReadonlyMap<string, readonly NetworkAddress[]>;

  constructor(snapshot: Snapshot) {
    this.#all = networkAddresses(snapshot);
    this.#byAddress = Map.groupBy(this.#all, ({ prefix: { address } }) => formatAddress(address));
  }

  divertedBy(node: string, { routes }: NodeRoutes): Map<string, { readonly prefix: string; readonly of: NetworkAddress }> {
    const prefixes = new Map([...routes.values()].map(({ route: { prefix } }) => [formatPrefix(prefix), prefix]));
    const found = new Map<string, { readonly prefix: string; readonly of: NetworkAddress }>();
    for (const [text, prefix] of prefixes) {
      for (const of of this.#inside(prefix)) {
        // Packets for its own address arrive at the node in any case.
        if (of.kind !== 'Node' || of.name !== node) found.set(`${text} ${of.kind} ${of.name}`, { prefix: text, of });
      }
    }
    return found;
  }

  #inside(prefix: Prefix): readonly NetworkAddress[] {
    if (isHostPrefix(prefix)) return this.#byAddress.get(formatAddress(prefix.address)) ?? [];
    return this.#all.filter(({ prefix: { address } }) => prefixContains(prefix, address));
  }
}
