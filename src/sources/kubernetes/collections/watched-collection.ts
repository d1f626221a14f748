import { Reflector, type ReflectorComponents } from '../../../kube/reflector/reflector.ts';
import type { Collection } from './collection.ts';
import type { WatchedKind } from './watched-kinds.ts';

/** Runs the reflector of one kind: begins, ends and relists when the kind must be read in another way. */
export class WatchedCollection {
  readonly collection: Collection;
  readonly #resource: WatchedKind['resource'];
  readonly #components: ReflectorComponents;
  #stop = new AbortController();
  #running: Promise<void> = Promise.resolve();
  #closed = false;

  constructor({ resource }: WatchedKind, collection: Collection, components: ReflectorComponents) {
    this.#resource = resource;
    this.collection = collection;
    this.#components = components;
  }

  /** The result rejects only for programming errors here or in a listener. */
  begin(): Promise<void> {
    if (this.#closed) return Promise.resolve();
    this.#stop.abort();
    this.#stop = new AbortController();
    const running = new Reflector(this.#resource, this.collection, this.#components).run(this.#stop.signal);
    // After the first read such an error is unhandled on purpose, and ends the process.
    this.#running = running.finally(() => undefined);
    return running;
  }

  /** After it resolves, nothing is reported any more; known objects stay. */
  async end(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  /** Ends for good: a relist that is under way begins nothing any more. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.end();
  }

  /** Resolves when everything was read again. */
  async relist(): Promise<void> {
    await this.end();
    this.collection.begin();
    await Promise.race([this.begin(), this.collection.read]);
  }
}
