import { Reflector, type ReflectorComponents } from '../../../kube/reflector/reflector.ts';
import { anySelects } from '../../../model/objects/label-selector.ts';
import type { Store } from '../../../model/store/store.ts';
import type { SourceProblem } from '../../source.ts';
import type { Collection, CollectionEvents } from './collection.ts';
import { limits } from '../limits.ts';
import { PermittedCollection } from './permitted-collection.ts';

interface Watched {
  readonly collection: Collection;
  readonly stop: AbortController;
}

/**
 * Reads the Secrets with BGP passwords: only those that BGPPeers name. Each is watched by name, which is all that a Role must allow.
 */
export class PeerSecrets {
  readonly #store: Store;
  readonly #node: string | undefined;
  readonly #components: ReflectorComponents;
  readonly #events: CollectionEvents;
  readonly #watched = new Map<string, Watched>();
  #leftOut: readonly string[] = [];

  /** `node` limits it to peers of this node. Undefined means all peers. */
  constructor(store: Store, node: string | undefined, events: CollectionEvents, components: ReflectorComponents) {
    this.#store = store;
    this.#node = node;
    this.#components = components;
    this.#events = events;
  }

  /** Watches the Secrets that BGPPeers name now and forgets the others. */
  follow(): void {
    const named = [...this.#named()].toSorted();
    const wanted = new Set(named.slice(0, limits.secrets));
    const leftOut = named.slice(limits.secrets);
    for (const [key, { collection, stop }] of this.#watched) {
      if (wanted.has(key)) continue;
      this.#watched.delete(key);
      stop.abort();
      collection.clear();
    }
    for (const key of wanted) if (!this.#watched.has(key)) this.#watched.set(key, this.#watch(key));
    if (leftOut.join() === this.#leftOut.join()) return;
    this.#leftOut = leftOut;
    this.#events.problemsChanged();
  }

  /** Resolves when the API server has answered for each Secret, if only that reading is forbidden. */
  async read(): Promise<void> {
    await Promise.all([...this.#watched.values()].map(({ collection }) => collection.read));
  }

  problems(): SourceProblem[] {
    const tooMany = this.#leftOut.map((key): SourceProblem => ({
      severity: 'error',
      object: `Secret/${key}`,
      message: `is not read: BGPPeers name more than ${limits.secrets} Secrets`,
      fix: 'let peers share Secrets',
    }));
    return [...tooMany, ...[...this.#watched.values()].flatMap(({ collection }) => collection.problems())];
  }

  close(): void {
    for (const { stop } of this.#watched.values()) stop.abort();
  }

  #named(): Set<string> {
    const labels = this.#node === undefined ? undefined : this.#store.nodes.get(this.#node)?.metadata.labels;
    const named = new Set<string>();
    for (const { passwordSecret, nodeSelectors } of this.#store.peers.values()) {
      if (passwordSecret === undefined) continue;
      const ours = this.#node === undefined || (labels !== undefined && anySelects(nodeSelectors, labels));
      if (ours) named.add(`${passwordSecret.namespace}/${passwordSecret.name}`);
    }
    return named;
  }

  #watch(key: string): Watched {
    const [namespace = '', name = ''] = key.split('/', 2);
    // A forbidden Secret must not stop the node's forwarding: only its session waits.
    const collection = new PermittedCollection({ kind: 'Secret', apiVersion: 'v1' }, this.#store, this.#events, {
      about: `${key}: `,
      fix: `allow it: a Role in ${namespace} with list and watch of this Secret (resourceNames), as in manifests/base`,
    });
    const stop = new AbortController();
    const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/secrets`;
    const reflector = new Reflector({ path, fieldSelector: `metadata.name=${name}` }, collection, this.#components);
    void reflector.run(stop.signal);
    return { collection, stop };
  }
}
