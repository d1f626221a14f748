import type { ServiceKey } from '../../../model/objects/metadata.ts';
import { limits } from '../limits.ts';

/** One version of one object. */
export interface ObjectVersion {
  readonly uid: string;
  readonly resourceVersion: string;
}

interface Chain {
  readonly uid: string;
  /** Successive versions: each but the first is the result of our write on the one before. */
  readonly before: Set<string>;
  readonly last: string;
}

/**
 * Tracks our own writes until the watch has caught up. A decision based on the version before our write is as good for the version after
 * it, because only our write differs. Without this, each second of two quick writes would be refused.
 */
export class OwnWrites {
  readonly #chains = new Map<ServiceKey, Chain>();

  /** Returns the version that a write must name to fail after a write of another program. */
  resourceVersionFor(key: ServiceKey, from: ObjectVersion): string {
    return this.isLatest(key, from) ? (this.#chains.get(key)?.last ?? from.resourceVersion) : from.resourceVersion;
  }

  /** True when no other program wrote after our last write, as far as was known when `from` was read. */
  isLatest(key: ServiceKey, { uid, resourceVersion }: ObjectVersion): boolean {
    const chain = this.#chains.get(key);
    return chain !== undefined && chain.uid === uid && (chain.last === resourceVersion || chain.before.has(resourceVersion));
  }

  recordWrite(key: ServiceKey, from: ObjectVersion, last: string): void {
    const chain = this.isLatest(key, from) ? this.#chains.get(key) : undefined;
    const behind = chain !== undefined && chain.last !== from.resourceVersion && chain.before.size < limits.ownWrites;
    // After one version was seen, no earlier one will be seen.
    const before = new Set(behind ? [...chain.before, chain.last] : [from.resourceVersion]);
    this.#chains.set(key, { uid: from.uid, before, last });
  }

  forgetService(key: ServiceKey): void {
    this.#chains.delete(key);
  }
}
