import type { ServiceKey } from '../../../model/objects/metadata.ts';
import { limits } from '../limits.ts';

/** Of which object, in which form, something is true. */
export interface ObjectVersion {
  readonly uid: string;
  readonly resourceVersion: string;
}

interface Chain {
  readonly uid: string;
  /** Versions one after the other, of which each but the first is what we made of the one before, and nobody else anything. */
  readonly before: Set<string>;
  readonly last: string;
}

/**
 * What came of our own writes, until the watch has caught up with them: a decision that was taken from the version before a write of ours is as
 * good for the one after it, as they differ by nothing but what we wrote. Without that, each second of two quick writes would be refused.
 */
export class OwnWrites {
  readonly #chains = new Map<ServiceKey, Chain>();

  /** The version that a write must name so that it fails where anybody but us came between. */
  resourceVersionFor(key: ServiceKey, from: ObjectVersion): string {
    return this.isLatest(key, from) ? (this.#chains.get(key)?.last ?? from.resourceVersion) : from.resourceVersion;
  }

  /** Whether nobody has written since our last write, as far as was known when `from` was seen. */
  isLatest(key: ServiceKey, { uid, resourceVersion }: ObjectVersion): boolean {
    const chain = this.#chains.get(key);
    return chain !== undefined && chain.uid === uid && (chain.last === resourceVersion || chain.before.has(resourceVersion));
  }

  recordWrite(key: ServiceKey, from: ObjectVersion, last: string): void {
    const chain = this.isLatest(key, from) ? this.#chains.get(key) : undefined;
    const behind = chain !== undefined && chain.last !== from.resourceVersion && chain.before.size < limits.ownWrites;
    // What was seen in one version will not be seen in an earlier one.
    const before = new Set(behind ? [...chain.before, chain.last] : [from.resourceVersion]);
    this.#chains.set(key, { uid: from.uid, before, last });
  }

  forgetService(key: ServiceKey): void {
    this.#chains.delete(key);
  }
}
