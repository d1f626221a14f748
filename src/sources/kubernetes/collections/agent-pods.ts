import type { KubeError } from '../../../kube/error.ts';
import { agentPod } from '../../../kube/format/protobuf/kinds/agent-pod.ts';
import type { RawObject } from '../../../kube/raw-object.ts';
import { Reflector, type ReflectorComponents, type ReflectorSink } from '../../../kube/reflector/reflector.ts';
import { agentPodSelector } from '../../../model/objects/agent-pod.ts';
import { readAgentPod } from '../../../model/parse/kubernetes/agent-pod.ts';
import type { Change } from '../../../model/store/snapshot.ts';
import type { Store } from '../../../model/store/store.ts';
import type { SourceProblem } from '../../source.ts';
import type { CollectionEvents } from './collection.ts';

/**
 * Watches the Pods of agents in Herald's namespace: their kubelets show which agents live. Without the right to do so, a report counts as
 * long as the kubelet of its node lives.
 */
export class AgentPods implements ReflectorSink {
  readonly #store: Store;
  readonly #namespace: string;
  readonly #components: ReflectorComponents;
  readonly #events: CollectionEvents;
  readonly #stop = new AbortController();
  readonly #answered = Promise.withResolvers<void>();
  #running: Promise<void> = Promise.resolve();
  #changes: Change[] = [];
  #trouble: SourceProblem | undefined;

  constructor(store: Store, namespace: string, events: CollectionEvents, components: ReflectorComponents) {
    this.#store = store;
    this.#namespace = namespace;
    this.#events = events;
    this.#components = components;
  }

  /** Resolves when the API server has answered, also if it refused. */
  get read(): Promise<void> {
    return this.#answered.promise;
  }

  /** Begins to watch. */
  begin(): void {
    const path = `/api/v1/namespaces/${encodeURIComponent(this.#namespace)}/pods`;
    const reflector = new Reflector({ path, labelSelector: agentPodSelector, table: agentPod }, this, this.#components);
    this.#running = reflector.run(this.#stop.signal);
  }

  problems(): readonly SourceProblem[] {
    return this.#trouble === undefined ? [] : [this.#trouble];
  }

  async end(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  present(key: string, raw: RawObject): void {
    this.#changes.push(...this.#store.setAgentPod(key, readAgentPod(raw)));
  }

  deleted(key: string): void {
    this.#changes.push(...this.#store.setAgentPod(key, undefined));
  }

  flush(): void {
    const changes = this.#changes;
    this.#changes = [];
    if (changes.length > 0) this.#events.changed(changes);
  }

  complete(): void {
    this.#changes.push(...this.#store.agentPodsRead(this.#namespace));
    this.flush();
    this.#answered.resolve();
  }

  failed(error: KubeError | undefined): void {
    const { message = '', fix = '' } = error ?? {};
    const about = `the Pods of agents in ${this.#namespace} cannot be read, so an agent counts as alive while the kubelet of its node is`;
    const allow = `allow it: a Role in ${this.#namespace} with list and watch of pods, as in manifests/base`;
    const isForbidden = error?.code === 'forbidden';
    this.#trouble =
      error === undefined ? undefined : { severity: 'warning', message: `${about}: ${message}`, fix: isForbidden ? allow : fix };
    if (isForbidden) this.#answered.resolve();
    this.#events.problemsChanged();
  }
}
