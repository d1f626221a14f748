import { formatAddress } from '../../../src/net/address.ts';
import { prefixContains, type Prefix } from '../../../src/net/prefix.ts';
import type { Endpoint, EndpointSlice } from '../../../src/model/objects/endpoint-slice.ts';
import type { ServiceKey } from '../../../src/model/objects/metadata.ts';
import { reason, type Reason } from '../../../src/model/reasons.ts';
import type { Snapshot } from '../../../src/model/store/snapshot.ts';
import { AwsError } from '../cloud/error.ts';
import type { CheckedTargets } from '../model/circumstances.ts';
import { limits } from '../model/limits.ts';
import type { PodReader, TargetPod } from '../model/pods.ts';

/** An address is that of a Pod, on this node, or `refused` says why it is not. */
type Verdict = { readonly node: string } | { readonly refused: string };

/**
 * Checks that endpoints are pods. The author of an EndpointSlice can write any address into it, also that of a database or of a node, and a
 * load balancer with such a target would open it to clients. So the Pod that an endpoint names must exist and must have the address.
 *
 * Results are cached for a while, because most endpoints stay the same from one reconcile to the next.
 */
export class TargetPods {
  readonly #reader: PodReader | undefined;
  readonly #now: () => number;
  readonly #checked = new Map<string, { readonly at: number; readonly verdict: Verdict }>();

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
    const slices = new Map<ServiceKey, readonly EndpointSlice[]>();
    const refused = new Map<ServiceKey, readonly Reason[]>();
    for (const service of services) {
      const checked = [];
      for (const slice of snapshot.endpointSlices(service)) checked.push(await this.#checkSlice(slice, snapshot.config.aws.targetCIDRs));
      slices.set(
        service,
        checked.map(({ slice }) => slice),
      );
      refused.set(
        service,
        checked.flatMap((one) => one.refused ?? []),
      );
    }
    return { slices: (service) => slices.get(service) ?? [], refusedTargets: (service) => refused.get(service) ?? [] };
  }

  /** Returns the node of each address that was found to be a pod's, when it was last checked. */
  nodesOf(slices: readonly EndpointSlice[]): ReadonlyMap<string, string> {
    const nodes = new Map<string, string>();
    for (const slice of slices) {
      for (const endpoint of slice.endpoints) {
        const verdict = this.#reader === undefined ? assumed(endpoint) : this.#checked.get(keyOf(slice, endpoint))?.verdict;
        if (verdict !== undefined && 'node' in verdict) nodes.set(formatAddress(endpoint.address), verdict.node);
      }
    }
    return nodes;
  }

  async #checkSlice(slice: EndpointSlice, allowed: readonly Prefix[]): Promise<{ slice: EndpointSlice; refused?: Reason }> {
    if (this.#reader === undefined) return { slice };
    const used = slice.endpoints.filter(({ ready, serving, terminating }) => ready || serving || terminating);
    const verdicts = await this.#verdicts(this.#reader, slice, used);
    const isRefused = ({ verdict, endpoint }: CheckedEndpoint): boolean =>
      'refused' in verdict && !allowed.some((prefix) => prefixContains(prefix, endpoint.address));
    const wrong = verdicts.filter(isRefused);
    const [first] = wrong;
    const right = verdicts.filter((one) => !isRefused(one)).map(({ endpoint }) => endpoint);
    if (first === undefined || !('refused' in first.verdict)) return { slice: { ...slice, endpoints: right } };
    const { namespace, name } = slice.metadata;
    const details = { slice: `${namespace}/${name}`, address: formatAddress(first.endpoint.address), others: wrong.length - 1 };
    return { slice: { ...slice, endpoints: right }, refused: reason('AwsTargetRefused', { ...details, why: first.verdict.refused }) };
  }

  /** Reads several Pods at a time: one after the other, a thousand would take seconds. */
  async #verdicts(reader: PodReader, slice: EndpointSlice, endpoints: readonly Endpoint[]): Promise<CheckedEndpoint[]> {
    const all: CheckedEndpoint[] = [];
    for (let at = 0; at < endpoints.length; at += limits.podReads) {
      const batch = endpoints.slice(at, at + limits.podReads);
      all.push(
        ...(await Promise.all(batch.map(async (endpoint) => ({ endpoint, verdict: await this.#verdict(reader, slice, endpoint) })))),
      );
    }
    return all;
  }

  async #verdict(reader: PodReader, slice: EndpointSlice, endpoint: Endpoint): Promise<Verdict> {
    const key = keyOf(slice, endpoint);
    const known = this.#checked.get(key);
    if (known !== undefined && this.#now() - known.at < secondsOf(known.verdict) * 1000) return known.verdict;
    const { pod: name } = endpoint;
    if (name === undefined) return { refused: 'its targetRef names no Pod of its namespace' };
    const verdict = judge(name, formatAddress(endpoint.address), await readPod(reader, slice.metadata.namespace, name));
    this.#checked.delete(key);
    this.#checked.set(key, { at: this.#now(), verdict });
    const [oldest] = this.#checked.keys();
    if (this.#checked.size > limits.checkedPods && oldest !== undefined) this.#checked.delete(oldest);
    return verdict;
  }
}

type TargetSource = Pick<Snapshot, 'endpointSlices' | 'config'>;

interface CheckedEndpoint {
  readonly endpoint: Endpoint;
  readonly verdict: Verdict;
}

function assumed({ nodeName = '' }: Endpoint): Verdict {
  return { node: nodeName };
}

function keyOf({ metadata }: EndpointSlice, { pod = '', address }: Endpoint): string {
  return `${metadata.namespace}/${pod} ${formatAddress(address)}`;
}

/** A refusal is checked again sooner: the Pod may have got its address after the slice was written. */
function secondsOf(verdict: Verdict): number {
  return 'refused' in verdict ? limits.refusedPodSeconds : limits.checkedPodSeconds;
}

function judge(name: string, address: string, pod: TargetPod | undefined): Verdict {
  if (pod === undefined) return { refused: `Pod ${name} does not exist` };
  if (pod.phase === 'Succeeded' || pod.phase === 'Failed') return { refused: `Pod ${name} has ended` };
  return pod.addresses.includes(address) ? { node: pod.node } : { refused: `Pod ${name} does not have this address` };
}

async function readPod(reader: PodReader, namespace: string, name: string): Promise<TargetPod | undefined> {
  try {
    return await reader.read(namespace, name);
  } catch (cause) {
    if (!(cause instanceof Error) || typeof (cause as { readonly code?: unknown }).code !== 'string') throw cause;
    const message = `Pod ${namespace}/${name} cannot be read: ${cause.message}`;
    throw new AwsError({ code: 'pods', operation: 'elbv2:RegisterTargets', awsCode: '', requestId: '', message, cause });
  }
}
