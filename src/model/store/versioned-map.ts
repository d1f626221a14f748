/**
 * A map that counts its changes, so that results which depend on all of its values can be cached. `isSame` may leave out parts of a value that
 * such results do not depend on.
 */
export class VersionedMap<K, V> extends Map<K, V> {
  version = 0;
  readonly #isSame: (before: V, after: V) => boolean;

  constructor(isSame: (before: V, after: V) => boolean = Object.is) {
    super();
    this.#isSame = isSame;
  }

  override set(key: K, value: V): this {
    const before = this.get(key);
    if (before === undefined || !this.#isSame(before, value)) this.version++;
    return super.set(key, value);
  }

  override delete(key: K): boolean {
    const isDeleted = super.delete(key);
    if (isDeleted) this.version++;
    return isDeleted;
  }

  override clear(): void {
    this.version++;
    super.clear();
  }
}

/** Returns values that stay the same while the map does: its version if it counts, otherwise all of its values. */
export function basisOf(map: ReadonlyMap<unknown, unknown>): readonly unknown[] {
  return map instanceof VersionedMap ? [map, map.version] : [map, ...map.values()];
}
