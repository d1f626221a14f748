import { Reflector, type ReflectorComponents } from '../../../kube/reflector/reflector.ts';
import type { Collection } from './collection.ts';
import type { WatchedKind } from './watched-kinds.ts';

/** One kind of objects on its way into the store: begun, ended, and begun anew where it is to be read in another way. */
export class WatchedCollection {
  readonly collection: Collection;
  readonly #resource: WatchedKind['resource'];
  readonly #components: ReflectorComponents;
  #stop = new AbortController();
  #running: Promise<void> = Promise.resolve();

  constructor({ resource }: WatchedKind, collection: Collection, components: ReflectorComponents) {
    this.#resource = resource;
    this.collection = collection;
    this.#components = components;
  }

  /** The result rejects for a mistake of ours only, or of whoever listens. */
  begin(): Promise<void> {
    this.#stop = new AbortController();
    const running = new Reflector(this.#resource, this.collection, this.#components).run(this.#stop.signal);
    // Nobody catches what comes of a mistake once reading goes on by itself, and the process ends.
    this.#running = running.finally(() => undefined);
    return running;
  }

  /** Nothing is said any more once it has resolved; what is known stays. */
  async end(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  /** Resolves when everything has been read anew. */
  async relist(): Promise<void> {
    await this.end();
    this.collection.begin();
    await Promise.race([this.begin(), this.collection.read]);
  }
}
