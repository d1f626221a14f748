import type { Change, HeraldObject, KindName } from '../../../model/store/snapshot.ts';
import type { SourceProblem } from '../../source.ts';
import type { Destination } from './collection.ts';

interface ConfigPresenceOptions {
  /** True when HeraldConfig must exist; its defaults then do not count. */
  readonly required: boolean;
  /** Called when the problem changed. */
  readonly changed: () => void;
}

/**
 * Waits for HeraldConfig when it must exist. Its defaults are for nodes without another forwarding program. An agent that starts before its
 * settings are installed, or sees them deleted first during removal, must not replace a kube-proxy.
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

  /** Called after the first list was read. Resolves when the required object exists. */
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

  /** Names the object that `begin` waits for. Undefined when none is missing. */
  missingPrerequisite(): string | undefined {
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
