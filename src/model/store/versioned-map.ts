/**
 * A map that counts its changes, so that results which depend on all of its values can be cached. `isSame` may leave out parts of a value that
 * most such results do not depend on.
 */
export class VersionedMap<K, V> extends Map<K, V> {
  version = 0;
  /** Counts every value that was set or deleted, also one that `isSame` takes for the earlier one. */
  writes = 0;
  readonly #isSame: (before: V, after: V) => boolean;

  constructor(isSame: (before: V, after: V) => boolean = Object.is) {
    super();
    this.#isSame = isSame;
  }

  override set(key: K, value: V): this {
    const before = this.get(key);
    if (before === undefined || !this.#isSame(before, value)) this.version++;
    this.writes++;
    return super.set(key, value);
  }

  override delete(key: K): boolean {
    const isDeleted = super.delete(key);
    if (isDeleted) {
      this.version++;
      this.writes++;
    }
    return isDeleted;
  }

  override clear(): void {
    this.version++;
    this.writes++;
    super.clear();
  }
}

/** Returns values that stay the same while the map does: its version if it counts, otherwise all of its values. */
export function basisOf(map: ReadonlyMap<unknown, unknown>): readonly unknown[] {
  return map instanceof VersionedMap ? [map, map.version] : [map, ...map.values()];
}

/** As `basisOf`, for results that depend on every part of the values. */
export function exactBasisOf(map: ReadonlyMap<unknown, unknown>): readonly unknown[] {
  return map instanceof VersionedMap ? [map, map.writes] : [map, ...map.values()];
}

/** Keeps one result for each owner while what the result depends on stays the same. */
export class BasisMemo<T> {
  readonly #known = new WeakMap<object, { readonly basis: readonly unknown[]; readonly result: T }>();

  /**
   * `basis`: the objects and versions that the result depends on, as `basisOf` lists them. Calls `create` when one of them has changed, or when
   * the result no longer holds for another reason.
   */
  get(owner: object, basis: readonly unknown[], create: () => T, holds: (result: T) => boolean = () => true): T {
    const known = this.#known.get(owner);
    const isKnown = known?.basis.length === basis.length && known.basis.every((object, index) => object === basis[index]);
    if (isKnown && holds(known.result)) return known.result;
    const result = create();
    this.#known.set(owner, { basis, result });
    return result;
  }
}
