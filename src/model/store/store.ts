import { defined } from '../../lang/defined.ts';
import { AddressIndex } from './address-index.ts';
import { AgentLives } from './agent-lives.ts';
import type { AgentPod } from '../objects/agent-pod.ts';
import type { Namespace, Node, Secret, ServiceCIDR } from '../objects/cluster.ts';
import type {
  BFDProfile,
  BGPAdvertisement,
  BGPPeer,
  Community,
  ExternalIPPolicy,
  HeraldConfig,
  IPAddressPool,
  L2Advertisement,
} from '../kinds/types.ts';
import { defaultConfig } from '../kinds/default-config.ts';
import type { EndpointSlice } from '../objects/endpoint-slice.ts';
import type { ServiceKey } from '../objects/metadata.ts';
import type { NodeState } from '../objects/node-state.ts';
import { sameContent } from './same-content.ts';
import type { Address } from '../../net/address.ts';
import type { Ingress, Service } from '../objects/service.ts';
import { SliceIndex } from './slice-index.ts';
import type { Change, HeraldObject, KindName, Snapshot } from './snapshot.ts';
import { VersionedMap } from './versioned-map.ts';

type ServiceRecord = Pick<Service, 'ingress' | 'addressTaken' | 'recordedTerms' | 'recordedPools'>;

/**
 * The snapshot in memory, written by a source. Every method returns the changes that readers must see: none when the content is the same,
 * even with another resourceVersion. The cost of a change does not depend on the number of objects.
 */
export class Store implements Snapshot {
  readonly services = new Map<ServiceKey, Service>();
  readonly nodes = new VersionedMap<string, Node>(sameContent);
  readonly namespaces = new Map<string, Namespace>();
  readonly serviceCIDRs = new Map<string, ServiceCIDR>();
  readonly secrets = new Map<string, Secret>();
  readonly pools = new Map<string, IPAddressPool>();
  readonly peers = new VersionedMap<string, BGPPeer>(sameContent);
  readonly advertisements = new VersionedMap<string, BGPAdvertisement>(sameContent);
  readonly l2Advertisements = new VersionedMap<string, L2Advertisement>(sameContent);
  readonly bfdProfiles = new Map<string, BFDProfile>();
  readonly communities = new Map<string, Community>();
  readonly externalIPPolicies = new Map<string, ExternalIPPolicy>();
  readonly nodeStates = new VersionedMap<string, NodeState>(samePlacement);
  /** Used when there is no HeraldConfig. */
  readonly #defaultConfig: HeraldConfig;
  readonly #configs = new Map<string, HeraldConfig>();
  readonly #slices = new Map<string, EndpointSlice>();
  readonly #index = new SliceIndex();
  /** Services as in their manifests, before recorded addresses replace those of the manifest. */
  readonly #manifests = new Map<ServiceKey, Service>();
  readonly #records = new Map<ServiceKey, ServiceRecord>();
  readonly #addresses = new AddressIndex();
  readonly #lives = new AgentLives();
  readonly #collections: Readonly<Record<KindName, Map<string, HeraldObject>>>;

  constructor(config = defaultConfig) {
    this.#defaultConfig = config;
    // Each map holds one kind and `upsert` chooses it by kind. The compiler cannot check that the two agree.
    const collections: Readonly<Record<KindName, unknown>> = {
      Service: this.services,
      EndpointSlice: this.#slices,
      Node: this.nodes,
      Namespace: this.namespaces,
      ServiceCIDR: this.serviceCIDRs,
      Secret: this.secrets,
      IPAddressPool: this.pools,
      BGPPeer: this.peers,
      BGPAdvertisement: this.advertisements,
      L2Advertisement: this.l2Advertisements,
      BFDProfile: this.bfdProfiles,
      Community: this.communities,
      ExternalIPPolicy: this.externalIPPolicies,
      HeraldConfig: this.#configs,
      NodeState: this.nodeStates,
    };
    this.#collections = collections as Readonly<Record<KindName, Map<string, HeraldObject>>>;
  }

  get config(): HeraldConfig {
    return this.#configs.get('default') ?? this.#defaultConfig;
  }

  holdersOf(address: Address): readonly ServiceKey[] {
    return this.#addresses.holdersOf(address);
  }

  declaredBy(address: Address): readonly ServiceKey[] {
    return this.#addresses.declaredBy(address);
  }

  endpointSlices(service: ServiceKey): readonly EndpointSlice[] {
    return this.#index.slicesOf(service);
  }

  upsert(object: HeraldObject): Change[] {
    const key = objectKey(object);
    if (object.kind === 'NodeState') return this.#replace('NodeState', key, this.#judged(object));
    if (object.kind === 'Node') return [...this.#replace('Node', key, object), ...this.#judgeAgain([key])];
    if (object.kind !== 'Service') return this.#replace(object.kind, key, object);
    this.#manifests.set(key as ServiceKey, object);
    return this.#replace('Service', key, this.#withRecord(object, key as ServiceKey));
  }

  /** Removes an object. Removing a missing object changes nothing. */
  remove(kind: KindName, key: string): Change[] {
    if (kind === 'Service') this.#manifests.delete(key as ServiceKey);
    return this.#replace(kind, key, undefined);
  }

  /**
   * Sets the recorded addresses of a Service, which replace those of its manifest: Herald writes the record, people write the manifest.
   * Undefined removes the record. A record may arrive before its Service and outlive it.
   */
  setIngress(key: ServiceKey, ingress: readonly Ingress[] | undefined, precedence: Omit<ServiceRecord, 'ingress'> = {}): Change[] {
    if (ingress === undefined) this.#records.delete(key);
    else this.#records.set(key, { ingress, ...precedence });
    const manifest = this.#manifests.get(key);
    return manifest === undefined ? [] : this.#replace('Service', key, this.#withRecord(manifest, key));
  }

  /** Sets the Pod of an agent, by "namespace/name". Undefined removes it. */
  setAgentPod(key: string, pod: AgentPod | undefined): Change[] {
    return this.#judgeAgain(this.#lives.set(key, pod));
  }

  /** Notes that all agents' Pods of a namespace are known. */
  agentPodsRead(namespace: string): Change[] {
    this.#lives.setRead(namespace);
    return this.#judgeAgain(this.nodeStates.keys());
  }

  /** Sets the nodes whose agents have ended, as the host of this process shows. Their reports count no longer. */
  setEndedAgents(nodes: ReadonlySet<string>): Change[] {
    return [...this.#lives.setEnded(nodes)].flatMap((node) => {
      const state = this.nodeStates.get(node);
      return state === undefined ? [] : this.#replace('NodeState', node, this.#judged(state));
    });
  }

  #judgeAgain(nodes: Iterable<string>): Change[] {
    return [...nodes].flatMap((node) => {
      const state = this.nodeStates.get(node);
      return state?.pod === undefined ? [] : this.#replace('NodeState', node, this.#judged(state));
    });
  }

  #judged(state: NodeState): NodeState {
    const { isAlive: before, ...written } = state;
    const isAlive = this.#lives.judge(state, this.nodes.get(state.metadata.name));
    return isAlive === before ? state : { ...written, ...defined({ isAlive }) };
  }

  #withRecord(manifest: Service, key: ServiceKey): Service {
    const record = this.#records.get(key);
    return record === undefined ? manifest : { ...manifest, ...record };
  }

  #replace(kind: KindName, key: string, after: HeraldObject | undefined): Change[] {
    const collection = this.#collections[kind];
    const before = collection.get(key);
    if (after === undefined) collection.delete(key);
    else collection.set(key, after);
    const services = this.#affectedServices(kind, key, before, after);
    if (sameContent(before, after)) return [];
    return [{ kind, key, ...defined({ services }) }];
  }

  #affectedServices(
    kind: KindName,
    key: string,
    before: HeraldObject | undefined,
    after: HeraldObject | undefined,
  ): readonly ServiceKey[] | undefined {
    if (kind === 'EndpointSlice') return this.#index.replace(before as EndpointSlice | undefined, after as EndpointSlice | undefined);
    if (kind !== 'Service') return undefined;
    const others = this.#addresses.replace(key as ServiceKey, before as Service | undefined, after as Service | undefined);
    return others.length === 0 ? undefined : others;
  }
}

/** True if two reports of a node say the same about its part in ARP and NDP announcement. Most reports only show that an agent is alive. */
function samePlacement(before: NodeState, after: NodeState): boolean {
  return (
    sameContent(before.links, after.links) &&
    sameContent(before.claims, after.claims) &&
    sameContent(before.interfaces, after.interfaces) &&
    sameContent(before.routers, after.routers) &&
    sameContent(before.heldBack, after.heldBack) &&
    sameContent(before.problem, after.problem)
  );
}

/** Returns "namespace/name", or the name of a cluster-scoped object. */
export function objectKey({ metadata: { namespace, name } }: HeraldObject): string {
  return namespace === '' ? name : `${namespace}/${name}`;
}
