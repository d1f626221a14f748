import type { RawObject } from '../../kube/raw-object.ts';
import { Reflector, type ReflectorComponents, type ReflectorSink } from '../../kube/reflector/reflector.ts';

/** The DaemonSet that runs an agent. */
export interface DaemonSetName {
  readonly namespace: string;
  readonly name: string;
}

/** The value of metadata.finalizers by which a deletion leaves the pods (`kubectl delete --cascade=orphan`). */
const orphans = 'orphan';

/**
 * Follows the DaemonSet that runs this agent, and its namespace. The kubelet stops a pod in the same way for a restart and for a removal, so only
 * these objects tell the two apart. The watch was opened before a removal, and so it still reports one that deletes the agent's rights as well.
 */
export class Installation {
  readonly #stop = new AbortController();
  readonly #running: Promise<unknown>;
  readonly #daemonSet = new Existence();
  readonly #namespace = new Existence();

  constructor({ namespace, name }: DaemonSetName, components: ReflectorComponents) {
    const { signal } = this.#stop;
    const follow = (path: string, object: string, sink: ReflectorSink): Promise<void> =>
      new Reflector({ path, fieldSelector: `metadata.name=${object}` }, sink, components).run(signal);
    this.#running = Promise.all([
      follow(`/apis/apps/v1/namespaces/${namespace}/daemonsets`, name, this.#daemonSet),
      follow('/api/v1/namespaces', namespace, this.#namespace),
    ]);
  }

  /** True when the DaemonSet or its namespace existed and was deleted, or is being deleted with its pods. False while that is not known. */
  get removed(): boolean {
    return this.#daemonSet.ended || this.#namespace.ended;
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }
}

/** Watches for the deletion of one object. An object of the same name that was created later counts as the same. */
class Existence implements ReflectorSink {
  ended = false;

  present(_key: string, { metadata }: RawObject): void {
    const { deletionTimestamp, finalizers } = metadata;
    this.ended = deletionTimestamp !== undefined && !(Array.isArray(finalizers) && finalizers.includes(orphans));
  }

  deleted(): void {
    this.ended = true;
  }

  flush(): void {
    // Each report stands for itself.
  }

  complete(): void {
    // An object that was never seen was not deleted.
  }

  failed(): void {
    // Without the right to watch, a stop is a restart.
  }
}
