import assert from 'node:assert';
import { setTimeout as sleep } from 'node:timers/promises';
import { podAddress } from './address-plan.ts';
import type { HeraldInLab } from './herald.ts';
import type { Lab, Pod } from './lab.ts';

/**
 * Does what the controllers of Kubernetes do to a set of pods and to the EndpointSlices of its Services, in their order and with their
 * delays.
 *
 *     pod is there            ready=false serving=false terminating=false
 *     its probe succeeded     ready=true  serving=true  terminating=false
 *     it is deleted           ready=false serving=true  terminating=true    it still serves: its grace period
 *     its containers ended    ready=false serving=false terminating=true
 *     it is gone              not in the slice
 */
type Phase = 'starting' | 'ready' | 'terminating' | 'ended';

interface Member {
  readonly pod: Pod;
  phase: Phase;
}

const conditions: Readonly<Record<Phase, object>> = {
  starting: { ready: false, serving: false, terminating: false },
  ready: { ready: true, serving: true, terminating: false },
  terminating: { ready: false, serving: true, terminating: true },
  ended: { ready: false, serving: false, terminating: true },
};

/** Milliseconds from the deletion of a pod to SIGTERM, as with `preStop: { sleep: { seconds: 5 } }`, which manuals recommend. */
const preStopMs = 5000;

/** Usual milliseconds from the end of the containers to the kubelet's report, and from there to the removal of the pod. */
const kubeletMs = 300;
const removalMs = 100;

export interface PodSetOptions {
  /** At most 7 characters. */
  readonly name: string;
  /** Names in the namespace shop. All these Services have the same pods. */
  readonly services: readonly string[];
  /** The nodes of the pods, one entry for each pod. */
  readonly nodes: readonly string[];
  /** The ordinal of the first pod address on each node. Later pods count up from it. 0 by default. */
  readonly firstOrdinal?: number;
}

/** The pods of a Deployment behind some Services. */
export class PodSet {
  readonly #lab: Lab;
  readonly #herald: HeraldInLab;
  readonly #options: PodSetOptions;
  readonly #members = new Set<Member>();
  readonly #ending = new Set<Promise<void>>();
  readonly #taken = new Map<string, number>();
  #made = 0;
  #published: Promise<void> = Promise.resolve();

  private constructor(lab: Lab, herald: HeraldInLab, options: PodSetOptions) {
    this.#lab = lab;
    this.#herald = herald;
    this.#options = options;
  }

  static async start(lab: Lab, herald: HeraldInLab, options: PodSetOptions): Promise<PodSet> {
    const set = new PodSet(lab, herald, options);
    for (const node of options.nodes) await set.add(node);
    return set;
  }

  /** The nodes that have a ready pod. */
  get nodes(): readonly string[] {
    return [...new Set(this.#inPhase('ready').map(({ pod }) => pod.spec.node))].toSorted();
  }

  /** Adds a pod. It is ready when this resolves. No two successive pods get the same address. */
  async add(node: string): Promise<void> {
    const ordinal = this.#taken.get(node) ?? this.#options.firstOrdinal ?? 0;
    this.#taken.set(node, ordinal + 1);
    const name = `${this.#options.name}-${++this.#made}`;
    const pod = await this.#lab.addPod({ name, node, address: podAddress(this.#lab.node(node).plan, ordinal) });
    const member: Member = { pod, phase: 'starting' };
    this.#members.add(member);
    await this.#publish();
    await this.#enter(member, 'ready');
  }

  /** Deletes the oldest pod of a node. Resolves when the slices show it. `ended` resolves when the pod is gone. */
  async remove(node: string): Promise<void> {
    const member = this.#inPhase('ready').find(({ pod }) => pod.spec.node === node);
    assert(member, `${node} has no ready pod`);
    await this.#enter(member, 'terminating');
    const ending = this.#end(member).finally(() => this.#ending.delete(ending));
    this.#ending.add(ending);
  }

  /** Resolves when all deleted pods are gone. */
  async ended(): Promise<void> {
    await Promise.all(this.#ending);
  }

  /**
   * Replaces all pods with maxSurge 1 and maxUnavailable 0: adds a pod on the node with the fewest, and when it is ready, deletes an old
   * one on the node with the most. It does not wait for terminating pods.
   */
  async roll(): Promise<void> {
    const old = this.#inPhase('ready').length;
    for (let replaced = 0; replaced < old; replaced++) {
      await this.add(this.#nodeWith((a, b) => a - b));
      await this.remove(this.#nodeWith((a, b) => b - a));
    }
  }

  #nodeWith(order: (a: number, b: number) => number): string {
    const counts = [...new Set(this.#options.nodes)].map((node) => ({
      node,
      count: this.#inPhase('ready').filter(({ pod }) => pod.spec.node === node).length,
    }));
    const [first] = counts.toSorted((a, b) => order(a.count, b.count));
    assert(first);
    return first.node;
  }

  async #end(member: Member): Promise<void> {
    await sleep(preStopMs);
    await member.pod.terminate();
    await sleep(kubeletMs);
    await this.#enter(member, 'ended');
    await sleep(removalMs);
    this.#members.delete(member);
    await this.#publish();
    await this.#lab.removePod(member.pod.name);
  }

  async #enter(member: Member, phase: Phase): Promise<void> {
    member.phase = phase;
    await this.#publish();
  }

  #inPhase(phase: Phase): Member[] {
    return [...this.#members].filter((member) => member.phase === phase);
  }

  /** Writes the slices, one write at a time. Each write has the state at its start. */
  #publish(): Promise<void> {
    this.#published = this.#published.then(() => this.#write());
    return this.#published;
  }

  #write(): Promise<void> {
    const objects = this.#options.services.flatMap((service) => (['ipv4', 'ipv6'] as const).map((family) => this.#slice(service, family)));
    return this.#herald.write(`slices-${this.#options.name}.yaml`, objects.map((object) => JSON.stringify(object)).join('\n---\n'));
  }

  #slice(service: string, family: 'ipv4' | 'ipv6'): object {
    return {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: {
        namespace: 'shop',
        name: `${this.#options.name}-${service}-${family}`,
        labels: { 'kubernetes.io/service-name': service },
      },
      addressType: family === 'ipv4' ? 'IPv4' : 'IPv6',
      ports: [
        { name: 'http', protocol: 'TCP', port: 8080 },
        { name: 'echo', protocol: 'UDP', port: 8080 },
      ],
      endpoints: [...this.#members].map(({ pod, phase }) => ({
        addresses: [pod.address[family]],
        nodeName: pod.spec.node,
        conditions: conditions[phase],
      })),
    };
  }
}
