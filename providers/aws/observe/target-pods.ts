import { defined } from '../../../src/lang/defined.ts';
import { formatAddress } from '../../../src/net/address.ts';
import { prefixContains } from '../../../src/net/prefix.ts';
import type { Endpoint, EndpointSlice } from '../../../src/model/objects/endpoint-slice.ts';
import type { ServiceKey } from '../../../src/model/objects/metadata.ts';
import { reason, type Reason } from '../../../src/model/reasons.ts';
import type { Snapshot } from '../../../src/model/store/snapshot.ts';
import { AwsError } from '../cloud/error.ts';
import type { CheckedTargets } from '../model/circumstances.ts';
import { limits } from '../model/limits.ts';
import { gateOf, type GatedPod, type PodIdentity, type PodReader, type TargetPod } from '../model/pods.ts';
import { awsConfig } from '../tables/config/config.ts';

/** An address is that of a Pod, on this node, or `refused` says why it is not. `gated`: the Pod has gates for load balancers. */
type Verdict = Accepted | { readonly refused: string };

interface Accepted {
  readonly node: string;
  readonly identity: PodIdentity;
  readonly gated?: GatedState;
}

interface GatedState {
  readonly uid: string;
  /** Gates for load balancers. */
  readonly gates: readonly string[];
  readonly unmet: readonly string[];
  readonly areContainersReady: boolean;
}

/**
 * Checks that endpoints are pods. The author of an EndpointSlice can write any address into it, also that of a database or of a node, and a
 * load balancer with such a target would open it to clients. So the Pod that an endpoint names must exist and must have the address.
 *
 * Results are cached for a while, because most endpoints stay the same from one reconcile to the next.
 */
export class TargetPods {
  readonly #reader: PodReader | undefined;
  readonly #now: () => number;
  readonly #checked = new Map<string, CheckedResult>();

  /** `reader`: absent where there are no Pods to compare with (standalone): then every endpoint counts as a pod. */
  constructor(reader: PodReader | undefined, now: () => number) {
    this.#reader = reader;
    this.#now = now;
  }

  /** True where endpoints are compared with Pods. */
  get comparesPods(): boolean {
    return this.#reader !== undefined;
  }

  /** Returns the endpoints that may be targets, and a reason for each slice with others. Rejects with AwsError when a Pod cannot be read. */
  async check(services: readonly ServiceKey[], snapshot: TargetSource): Promise<CheckedTargets> {
    const checked = new Map<ServiceKey, CheckedSlice[]>();
    for (const service of services) {
      const ofService: CheckedSlice[] = [];
      for (const slice of snapshot.endpointSlices(service)) ofService.push(await this.#checkSlice(service, slice, snapshot));
      checked.set(service, ofService);
    }
    const of = (service: ServiceKey): readonly CheckedSlice[] => checked.get(service) ?? [];
    const slices = (service: ServiceKey): readonly EndpointSlice[] => of(service).map(({ slice }) => slice);
    return {
      slices,
      refusedTargets: (service) => of(service).flatMap(({ refused }) => refused ?? []),
      gatedPods: (service) => of(service).flatMap(({ gated }) => gated),
      podIdentities: (service) => this.#byAddress(slices(service), (verdict) => verdict?.identity),
    };
  }

  /** Returns the node of each address that was found to be a pod's, when it was last checked. */
  nodesOf(slices: readonly EndpointSlice[]): ReadonlyMap<string, string> {
    return this.#byAddress(slices, (verdict, { nodeName = '' }) => (this.#reader === undefined ? nodeName : verdict?.node));
  }

  /** Returns what `read` finds in the last verdict on the endpoint at each address: undefined if it was not checked, or refused. */
  #byAddress<Value>(
    slices: readonly EndpointSlice[],
    read: (verdict: Accepted | undefined, endpoint: Endpoint) => Value | undefined,
  ): ReadonlyMap<string, Value> {
    const found = new Map<string, Value>();
    for (const slice of slices) {
      for (const endpoint of slice.endpoints) {
        const verdict = this.#checked.get(keyOf(slice, endpoint))?.verdict;
        const value = read(verdict !== undefined && 'node' in verdict ? verdict : undefined, endpoint);
        if (value !== undefined) found.set(formatAddress(endpoint.address), value);
      }
    }
    return found;
  }

  /**
   * Returns those of these addresses that are still those of Pods of the namespace, also when no EndpointSlice has them any more. Reads the
   * Pods again. A Pod is known here if an EndpointSlice had it since this process started. Rejects with AwsError when a Pod cannot be read.
   */
  async remaining(namespace: string, addresses: readonly string[]): Promise<ReadonlySet<string>> {
    if (this.#reader === undefined) return new Set(addresses);
    const asked = new Set(addresses);
    const known = this.#checked
      .values()
      .filter(({ slice, endpoint }) => slice.metadata.namespace === namespace && asked.has(formatAddress(endpoint.address)))
      .toArray();
    const found = new Set<string>();
    for (const { slice, endpoint, at } of known) {
      if (this.#now() - at >= limits.lastTargetCheckSeconds * 1000) this.#checked.delete(keyOf(slice, endpoint));
      const [checked] = await this.#verdicts(this.#reader, slice, [endpoint]);
      if (checked !== undefined && 'node' in checked.verdict) found.add(formatAddress(endpoint.address));
    }
    return found;
  }

  /** Opens the gates of these Pods. Returns why one could not be opened. */
  async openGates(pods: readonly GatedPod[]): Promise<readonly Reason[]> {
    const problems: Reason[] = [];
    for (const pod of pods) {
      const key = `${pod.namespace}/${pod.name} ${pod.address}`;
      try {
        await this.#reader?.openGate?.(pod, { reason: 'TargetHealthy', message: 'The load balancer sends to the Pod' });
        this.#checked.delete(key);
      } catch (error) {
        if (!hasCode(error)) throw error;
        problems.push(reason('AwsGateNotOpened', { pod: `${pod.namespace}/${pod.name}`, gate: pod.gate, why: error.message }));
      }
    }
    return problems;
  }

  async #checkSlice(service: ServiceKey, slice: EndpointSlice, { config, nodes }: TargetSource): Promise<CheckedSlice> {
    if (this.#reader === undefined) return { slice, gated: [] };
    const gate = gateOf(service.split('/')[1] ?? '');
    const gated = await this.#gatedPods(this.#reader, gate, slice);
    // Such a Pod becomes ready for other clients only after it is a target, and a moment after its gate has opened.
    const waiting = gated
      .filter(({ endpoint, node, pod }) => pod.areContainersReady && !endpoint.ready && nodes.get(node)?.ready !== false)
      .map(({ endpoint }) => endpoint);
    const admitted = waiting.map((endpoint) => ({ ...endpoint, ready: true, serving: true }));
    const isUsed = (endpoint: Endpoint): boolean => endpoint.ready || endpoint.serving || endpoint.terminating;
    const used = slice.endpoints.filter((endpoint) => isUsed(endpoint) && !waiting.includes(endpoint));
    const verdicts = await this.#verdicts(this.#reader, slice, used);
    const isRefused = ({ verdict, endpoint }: CheckedEndpoint): boolean =>
      'refused' in verdict && !awsConfig.of(config).targetCIDRs.some((prefix) => prefixContains(prefix, endpoint.address));
    const wrong = verdicts.filter(isRefused);
    const [first] = wrong;
    const right = [...verdicts.filter((one) => !isRefused(one)).map(({ endpoint }) => endpoint), ...admitted];
    const pods = gated.flatMap(({ pod, isWaiting }) => (isWaiting ? [pod] : []));
    if (first === undefined || !('refused' in first.verdict)) return { slice: { ...slice, endpoints: right }, gated: pods };
    const { namespace, name } = slice.metadata;
    const details = { slice: `${namespace}/${name}`, address: formatAddress(first.endpoint.address), others: wrong.length - 1 };
    const refused = reason('AwsTargetRefused', { ...details, why: first.verdict.refused });
    return { slice: { ...slice, endpoints: right }, refused, gated: pods };
  }

  /** Returns the Pods of the slice that have the gate, with their endpoints. */
  async #gatedPods(reader: PodReader, gate: string, slice: EndpointSlice): Promise<CheckedPod[]> {
    const present = slice.endpoints.filter(({ terminating, pod }) => !terminating && pod !== undefined);
    const { namespace } = slice.metadata;
    return (await this.#verdicts(reader, slice, present)).flatMap(({ endpoint, verdict }) => {
      if ('refused' in verdict || verdict.gated?.gates.includes(gate) !== true) return [];
      const { uid, unmet, areContainersReady } = verdict.gated;
      const pod = { namespace, name: endpoint.pod ?? '', uid, gate, address: formatAddress(endpoint.address), areContainersReady };
      return [{ endpoint, pod, node: verdict.node, isWaiting: unmet.includes(gate) }];
    });
  }

  /** Reads several Pods at a time: one after the other, a thousand would take seconds. */
  async #verdicts(reader: PodReader, slice: OfNamespace, endpoints: readonly Endpoint[]): Promise<CheckedEndpoint[]> {
    const all: CheckedEndpoint[] = [];
    for (let at = 0; at < endpoints.length; at += limits.podReads) {
      const batch = endpoints.slice(at, at + limits.podReads);
      all.push(
        ...(await Promise.all(batch.map(async (endpoint) => ({ endpoint, verdict: await this.#verdict(reader, slice, endpoint) })))),
      );
    }
    return all;
  }

  async #verdict(reader: PodReader, slice: OfNamespace, endpoint: Endpoint): Promise<Verdict> {
    const key = keyOf(slice, endpoint);
    const known = this.#checked.get(key);
    if (known !== undefined && this.#now() - known.at < secondsOf(known.verdict, endpoint) * 1000) return known.verdict;
    const { pod: name } = endpoint;
    if (name === undefined) return { refused: 'its targetRef names no Pod of its namespace' };
    const verdict = judge(name, formatAddress(endpoint.address), await readPod(reader, slice.metadata.namespace, name));
    this.#checked.delete(key);
    this.#checked.set(key, { at: this.#now(), verdict, slice: { metadata: { namespace: slice.metadata.namespace } }, endpoint });
    const [oldest] = this.#checked.keys();
    if (this.#checked.size > limits.checkedPods && oldest !== undefined) this.#checked.delete(oldest);
    return verdict;
  }
}

type TargetSource = Pick<Snapshot, 'endpointSlices' | 'config' | 'nodes'>;

type OfNamespace = { readonly metadata: Pick<EndpointSlice['metadata'], 'namespace'> };

interface CheckedResult {
  readonly at: number;
  readonly verdict: Verdict;
  readonly slice: OfNamespace;
  readonly endpoint: Endpoint;
}

interface CheckedSlice {
  readonly slice: EndpointSlice;
  readonly refused?: Reason;
  readonly gated: readonly GatedPod[];
}

interface CheckedPod {
  readonly endpoint: Endpoint;
  readonly pod: GatedPod;
  readonly node: string;
  /** Its gate is not open yet. */
  readonly isWaiting: boolean;
}

interface CheckedEndpoint {
  readonly endpoint: Endpoint;
  readonly verdict: Verdict;
}

function keyOf({ metadata }: OfNamespace, { pod = '', address }: Endpoint): string {
  return `${metadata.namespace}/${pod} ${formatAddress(address)}`;
}

/**
 * A refusal is checked again sooner: the Pod may have got its address after the slice was written. So is a Pod with gates until it is ready:
 * no EndpointSlice shows the changes before that.
 */
function secondsOf(verdict: Verdict, { ready }: Endpoint): number {
  if ('refused' in verdict) return limits.refusedPodSeconds;
  return verdict.gated === undefined || (ready && verdict.gated.unmet.length === 0) ? limits.checkedPodSeconds : limits.gatedPodSeconds;
}

function judge(name: string, address: string, pod: TargetPod | undefined): Verdict {
  if (pod === undefined) return { refused: `Pod ${name} does not exist` };
  if (pod.phase === 'Succeeded' || pod.phase === 'Failed') return { refused: `Pod ${name} has ended` };
  if (!pod.addresses.includes(address)) return { refused: `Pod ${name} does not have this address` };
  const { node, uid = '', containers = [], gates: all = [], unmetGates = [] } = pod;
  const identity = { name, ...defined({ uid: pod.uid, created: pod.created, quicServerId: pod.quicServerId }) };
  const gates = all.filter((gate) => gate.startsWith(gateOf('')));
  if (gates.length === 0) return { node, identity };
  const unmet = unmetGates.filter((gate) => gates.includes(gate));
  return { node, identity, gated: { uid, gates, unmet, areContainersReady: containers.every(({ ready }) => ready) } };
}

function hasCode(error: unknown): error is Error & { readonly code: string } {
  return error instanceof Error && typeof (error as { readonly code?: unknown }).code === 'string';
}

async function readPod(reader: PodReader, namespace: string, name: string): Promise<TargetPod | undefined> {
  try {
    return await reader.read(namespace, name);
  } catch (cause) {
    if (!hasCode(cause)) throw cause;
    const message = `Pod ${namespace}/${name} cannot be read: ${cause.message}`;
    throw new AwsError({ code: 'pods', operation: 'elbv2:RegisterTargets', awsCode: '', requestId: '', message, cause });
  }
}
