import { usesLinks } from '../../decisions/l2/link-advertisements.ts';
import { reachesBackendsAt } from '../../decisions/forwarding/balancing.ts';
import { wantsDirectReturn } from '../../decisions/direct-return/plan.ts';
import type { ServiceKey } from '../../model/objects/metadata.ts';
import type { AddressClaim, NodeState } from '../../model/objects/node-state.ts';
import { ownersOfReport } from '../../decisions/addresses-of-others.ts';
import { formatAddress, parseAddress, address as parse, sameAddress } from '../../net/address.ts';
import { formatPrefix } from '../../net/prefix.ts';
import type { Change, HeraldObject, KindName, Snapshot } from '../../model/store/snapshot.ts';

/** The work of one pass. */
interface Work {
  readonly services: readonly ServiceKey[];
  /** True: the node's own settings or sessions may differ. */
  readonly node: boolean;
  /** Highest resourceVersion among the changes, by kind. */
  readonly versions: ReadonlyMap<KindName, bigint>;
}

/** Kinds that any Service or session may depend on. Their objects are few and change rarely. */
const shared: ReadonlySet<KindName> = new Set<KindName>([
  'IPAddressPool',
  'BGPPeer',
  'BFDProfile',
  'BGPAdvertisement',
  'L2Advertisement',
  'Community',
  'ExternalIPPolicy',
  'HeraldConfig',
  'ServiceCIDR',
  'Secret',
]);

/** Collects changes until a pass takes them: the Services to plan again, each once however often it changed. */
export class PendingWork {
  readonly #node: string;
  readonly #services = new Set<ServiceKey>();
  /** Services of a failed pass that no later change named. */
  readonly #retriedServices = new Set<ServiceKey>();
  #nodeChanged = false;
  /** Same, for the node's own settings and sessions. */
  #retryNode = false;
  #versions = new Map<KindName, bigint>();
  readonly #consumed = new Map<KindName, bigint>();
  #begun = false;
  /** Links in each node's last report, as text, by name of the node. */
  readonly #links = new Map<string, string>();
  /** The claims of each node's last report, by name of the node. */
  readonly #claims = new Map<string, readonly AddressClaim[]>();
  /** The addresses that belong to each node and its routers by its last report and its Node, as text, by name of the node. */
  readonly #addresses = new Map<string, string>();
  /** The direct server return part of each node's last report, by name of the node. */
  readonly #directReturn = new Map<string, string>();

  constructor(node: string) {
    this.#node = node;
  }

  /** True after the first successful pass. */
  get hasSynced(): boolean {
    return this.#begun;
  }

  get isEmpty(): boolean {
    return this.#services.size === 0 && this.#retriedServices.size === 0 && !this.#nodeChanged && !this.#retryNode;
  }

  /** Number of Services that wait for a pass. */
  get waiting(): number {
    return this.#services.union(this.#retriedServices).size;
  }

  /** Highest resourceVersion that a successful pass used, by kind. */
  get consumed(): Record<string, string> {
    return Object.fromEntries([...this.#consumed].map(([kind, version]) => [kind, version.toString()]));
  }

  addService(key: ServiceKey): void {
    this.#services.add(key);
  }

  addAll(snapshot: Snapshot): void {
    this.#nodeChanged = true;
    for (const [node, state] of snapshot.nodeStates) {
      this.#directReturn.set(node, directReturnText(state));
      this.#links.set(node, linksText(state));
      this.#claims.set(node, state.claims ?? []);
    }
    for (const node of snapshot.nodes.keys()) this.#addresses.set(node, ownText(snapshot, node));
    for (const key of snapshot.services.keys()) this.#services.add(key);
    for (const service of snapshot.services.values()) this.#recordVersion(service);
    // Later, only a change of the Node counts: the kubelet raises its version every few minutes.
    if (!this.#begun) this.#recordVersion(snapshot.nodes.get(this.#node));
  }

  addChanges(changes: readonly Change[], snapshot: Snapshot): void {
    for (const change of changes) {
      const { kind, key } = change;
      for (const service of change.services ?? []) this.#services.add(service);
      if (kind === 'Service') this.#services.add(key as ServiceKey);
      if (kind === 'Namespace') this.#addNamespace(key, snapshot);
      // Of other nodes, only podCIDRs matter, and the address if its pods are backends by consistent hashing, or if it is an external IP. Our
      // own labels and conditions matter to all Services.
      if (kind === 'Node') {
        this.#nodeChanged = true;
        this.#addServicesWithSlotsAt(key, snapshot);
        this.#addExternalIPsAt(key, snapshot);
        if (key === this.#node) this.#recordVersion(snapshot.nodes.get(key));
      }
      if (kind === 'Node' || kind === 'NodeState') this.#addOwned(key, snapshot);
      if (kind === 'NodeState' && saysOther(this.#directReturn, key, directReturnText(snapshot.nodeStates.get(key))))
        this.#addDirectReturn(snapshot);
      const isCandidate =
        kind === 'NodeState' &&
        key !== this.#node &&
        usesLinks(snapshot) &&
        saysOther(this.#links, key, linksText(snapshot.nodeStates.get(key)));
      const isRoster = kind === 'Node' && (key === this.#node || usesLinks(snapshot));
      if (kind === 'NodeState' && key !== this.#node) this.#addClaimed(key, snapshot);
      if (shared.has(kind) || isCandidate || isRoster) this.addAll(snapshot);
      if (kind === 'Service') this.#recordVersion(snapshot.services.get(key as ServiceKey));
    }
  }

  take(): Work {
    const work = {
      services: [...this.#retriedServices.union(this.#services)],
      node: this.#nodeChanged || this.#retryNode,
      versions: this.#versions,
    };
    this.#retriedServices.clear();
    this.#services.clear();
    this.#nodeChanged = false;
    this.#retryNode = false;
    this.#versions = new Map();
    return work;
  }

  /** Takes the work that came after the failed pass; the work of the failed pass stays. */
  takeNew(): Work {
    const work = { services: [...this.#services], node: this.#nodeChanged, versions: new Map() };
    this.#services.clear();
    this.#nodeChanged = false;
    return work;
  }

  markDone(work: Work): void {
    this.#begun = true;
    for (const [kind, version] of work.versions) raise(this.#consumed, kind, version);
  }

  /** Makes the work of a failed pass pending again, together with later work. */
  requeueFailed(work: Work): void {
    for (const key of work.services) this.#retriedServices.add(key);
    this.#retryNode ||= work.node;
    for (const [kind, version] of work.versions) raise(this.#versions, kind, version);
  }

  #addNamespace(namespace: string, snapshot: Snapshot): void {
    for (const [key, service] of snapshot.services) if (service.metadata.namespace === namespace) this.#services.add(key);
  }

  /** The order of the candidates of an address depends on its last claim, unless every advertisement fails back at once. */
  #addClaimed(node: string, snapshot: Snapshot): void {
    const [before, now] = [this.#claims.get(node) ?? [], snapshot.nodeStates.get(node)?.claims ?? []];
    this.#claims.set(node, now);
    if ([...snapshot.l2Advertisements.values()].every(({ failback }) => failback === 'immediate')) return;
    const texts = [before, now].map((claims) => new Map(claims.map((claim) => [claimText(claim), claim])));
    const [gone, come] = texts.map((some, at) => [...some].filter(([text]) => texts[1 - at]?.has(text) === false));
    for (const [, { address }] of [...(gone ?? []), ...(come ?? [])])
      for (const service of snapshot.holdersOf(parse(address))) this.#services.add(service);
  }

  /** An address that belongs to a node, or no longer does, concerns the Services that have it. */
  #addOwned(node: string, snapshot: Snapshot): void {
    const [before, now] = [this.#addresses.get(node) ?? '', ownText(snapshot, node)].map((text) => new Set(text.split(' ')));
    if (!saysOther(this.#addresses, node, ownText(snapshot, node)) || before === undefined || now === undefined) return;
    for (const text of before.symmetricDifference(now)) {
      const read = parseAddress(text);
      if (!read.ok) continue;
      for (const service of [...snapshot.holdersOf(read.value), ...snapshot.declaredBy(read.value)]) this.#services.add(service);
    }
  }

  /** Services with direct server return depend on what every node reports about it. */
  #addDirectReturn(snapshot: Snapshot): void {
    this.#nodeChanged = true;
    for (const [key, service] of snapshot.services) if (wantsDirectReturn(snapshot.config, service)) this.#services.add(key);
  }

  #addServicesWithSlotsAt(node: string, snapshot: Snapshot): void {
    for (const [key, service] of snapshot.services) if (reachesBackendsAt(snapshot, service, node)) this.#services.add(key);
  }

  #addExternalIPsAt(node: string, snapshot: Snapshot): void {
    const own = snapshot.nodes.get(node)?.internalIPs ?? [];
    for (const [key, { externalIPs }] of snapshot.services)
      if (externalIPs.some((address) => own.some((each) => sameAddress(each, address)))) this.#services.add(key);
  }

  #recordVersion(object: HeraldObject | undefined): void {
    if (object !== undefined) raise(this.#versions, object.kind, BigInt(object.metadata.resourceVersion || '0'));
  }
}

function raise(versions: Map<KindName, bigint>, kind: KindName, version: bigint): void {
  if (version > (versions.get(kind) ?? -1n)) versions.set(kind, version);
}

/** Notes what the last report of a node says, as text. Returns true if it is new: most reports only show that an agent is alive. */
function saysOther(known: Map<string, string>, node: string, says: string): boolean {
  if (says === (known.get(node) ?? '')) return false;
  known.set(node, says);
  return true;
}

const claimText = ({ address, number, givesBack }: AddressClaim): string => `${address} ${number} ${givesBack === true}`;

/** Returns as text everything on which the order of candidates depends. */
function linksText(state: NodeState | undefined): string {
  if (state?.links === undefined) return '';
  const links = state.links.map(({ name, linkAddress, networks, addresses }) => [
    name,
    linkAddress,
    networks.map(formatPrefix),
    addresses.map(formatAddress),
  ]);
  return JSON.stringify([links, state.heldBack?.map(({ family }) => family), state.problem?.code]);
}

/** Returns the addresses that belong to a node, its links and its routers, separated by spaces. */
function ownText(snapshot: Snapshot, node: string): string {
  const { internalIPs = [], externalIPs = [] } = snapshot.nodes.get(node) ?? {};
  const state = snapshot.nodeStates.get(node);
  const reported = state === undefined ? [] : ownersOfReport(node, state);
  return [...new Set([...internalIPs, ...externalIPs, ...reported.map(({ prefix }) => prefix.address)].map(formatAddress))].join(' ');
}

function directReturnText(state: NodeState | undefined): string {
  const { directReturn } = state ?? {};
  return directReturn === undefined ? '' : JSON.stringify({ ...directReturn, networks: directReturn.networks.map(formatPrefix) });
}
