import type { Change, HeraldObject, KindName } from '../../../model/store/snapshot.ts';
import type { SourceProblem } from '../../source.ts';
import type { Destination } from './collection.ts';

interface ConfigPresenceOptions {
  /** Without a HeraldConfig nobody knows what is wanted: its defaults do not count. */
  readonly required: boolean;
  /** What is wrong has changed. */
  readonly changed: () => void;
}

/**
 * Whether HeraldConfig is there, where it must be. Its defaults are for nodes on which nobody else forwards: an agent that is installed together
 * with its settings, and is faster than they are, or that sees them deleted first when all is removed, must not take a kube-proxy's place.
 */
export class ConfigWaiter implements Destination {
  readonly #destination: Destination;
  readonly #options: ConfigPresenceOptions;
  readonly #came = Promise.withResolvers<void>();
  #isThere = false;
  #begun = false;
  #waited = false;

  constructor(destination: Destination, options: ConfigPresenceOptions) {
    this.#destination = destination;
    this.#options = options;
  }

  /** To be called when the first answer was read. Resolves when there is what is needed. */
  async begin(): Promise<void> {
    this.#begun = true;
    if (this.#options.required && !this.#isThere) {
      this.#options.changed();
      await this.#came.promise;
    }
    this.#waited = true;
  }

  problems(): SourceProblem[] {
    if (!this.#options.required || this.#isThere || !this.#begun) return [];
    const message = this.#waited
      ? 'was deleted: what it said stays in force'
      : 'is not there, or cannot be used: nothing is done on this node until it is (--wait-for-config)';
    return [{ severity: 'error', object: 'HeraldConfig/default', message, fix: 'create it, with services: external beside a kube-proxy' }];
  }

  /** What `begin` waits for; undefined: nothing. */
  awaited(): string | undefined {
    if (!this.#options.required || !this.#begun || this.#waited || this.#isThere) return undefined;
    return 'HeraldConfig/default is not there, or cannot be used: create it (--wait-for-config)';
  }

  upsert(object: HeraldObject): Change[] {
    if (!this.#isThere) {
      this.#isThere = true;
      this.#came.resolve();
      if (this.#begun) this.#options.changed();
    }
    return this.#destination.upsert(object);
  }

  remove(kind: KindName, key: string): Change[] {
    if (!this.#options.required) return this.#destination.remove(kind, key);
    this.#isThere = false;
    this.#options.changed();
    return [];
  }
}
