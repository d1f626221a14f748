import { defined } from '../../../lang/defined.ts';
import type { Change, HeraldObject, KindName } from '../../../model/store/snapshot.ts';
import type { KeptObject, SourceProblem } from '../../source.ts';
import type { Destination } from './collection.ts';

interface ConfigPresenceOptions {
  /** True when HeraldConfig must exist; its defaults then do not count. */
  readonly required: boolean;
  /** The present time in milliseconds since the epoch. */
  readonly now: () => number;
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
  /** The object in force as written. */
  #written: unknown;
  /** When the object was deleted. */
  #deletedAt = 0;

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

  /** Returns the deleted object while it stays in force. */
  kept(): KeptObject[] {
    if (!this.#waited) return [];
    const kept = { since: this.#deletedAt, ...defined({ inForce: this.#written }) };
    return this.problems().map((problem) => ({ object: 'HeraldConfig/default', problem, ...kept }));
  }

  /** Names the object that `begin` waits for. Undefined when none is missing. */
  missingPrerequisite(): string | undefined {
    if (!this.#options.required || !this.#begun || this.#waited || this.#isThere) return undefined;
    return 'HeraldConfig/default is not there, or cannot be used: create it (--wait-for-config)';
  }

  upsert(object: HeraldObject, written?: unknown): Change[] {
    this.#written = written;
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
    this.#deletedAt = this.#options.now();
    this.#options.changed();
    return [];
  }
}
