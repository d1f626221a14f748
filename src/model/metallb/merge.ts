import { originText, type TranslatedFrom } from '../objects/metadata.ts';
import type { Change, HeraldObject, KindName } from '../store/snapshot.ts';
import { objectKey, type Store } from '../store/store.ts';
import { metallbKinds } from './kinds.ts';

/** Kinds that herald.dev and metallb.io both have. */
const shared: ReadonlySet<string> = new Set(metallbKinds.filter(({ refused }) => refused === undefined).map(({ kind }) => kind));

/** An object that is not used because another object has the same name. */
interface Shadowed {
  readonly origin: TranslatedFrom;
  /** The object that is used instead, as text for people. */
  readonly by: string;
}

/**
 * Stores one object for each kind and name, chosen from objects of herald.dev and translated objects of MetalLB. Names can collide, because
 * names of herald.dev are cluster-wide and names of MetalLB belong to a namespace. An object of herald.dev takes precedence, then the
 * MetalLB object whose namespace sorts first. When the chosen object is removed, the next one takes its place.
 */
export class MergedObjects {
  readonly #store: Store;
  /** All objects by "kind/name", then by namespace of the MetalLB object ("" for herald.dev). */
  readonly #candidates = new Map<string, Map<string, HeraldObject>>();
  /** The "kind/name" keys with more than one object. */
  readonly #contested = new Set<string>();

  constructor(store: Store) {
    this.#store = store;
  }

  upsert(object: HeraldObject): Change[] {
    if (!shared.has(object.kind)) return this.#store.upsert(object);
    return this.#settle(object.kind, object.metadata.name, object.metadata.origin?.namespace ?? '', object);
  }

  /** Removes an object. `key` is the name of an object of herald.dev, or "namespace/name" of a MetalLB object. */
  remove(kind: KindName, key: string): Change[] {
    if (!shared.has(kind)) return this.#store.remove(kind, key);
    const slash = key.indexOf('/');
    return this.#settle(kind, key.slice(slash + 1), slash < 0 ? '' : key.slice(0, slash), undefined);
  }

  shadowed(): Shadowed[] {
    return [...this.#contested].sort().flatMap((id) => {
      const [first, ...others] = inOrder(this.#candidates.get(id));
      if (first === undefined) return [];
      const by =
        first.metadata.origin === undefined ? `${first.kind}/${first.metadata.name} of herald.dev` : originText(first.metadata.origin);
      return others.flatMap(({ metadata: { origin } }) => (origin === undefined ? [] : [{ origin, by }]));
    });
  }

  #settle(kind: KindName, name: string, namespace: string, object: HeraldObject | undefined): Change[] {
    const id = `${kind}/${name}`;
    const candidates = this.#candidates.get(id) ?? new Map<string, HeraldObject>();
    if (object === undefined) candidates.delete(namespace);
    else candidates.set(namespace, object);
    if (candidates.size === 0) this.#candidates.delete(id);
    else this.#candidates.set(id, candidates);
    if (candidates.size > 1) this.#contested.add(id);
    else this.#contested.delete(id);
    const [first] = inOrder(candidates);
    return first === undefined ? this.#store.remove(kind, name) : this.#store.upsert(first);
  }
}

/** Returns the key of the object in its source: "namespace/name" of the original object for a translated one, else the store's key. */
export function sourceKey(object: HeraldObject): string {
  const { origin } = object.metadata;
  return origin === undefined ? objectKey(object) : `${origin.namespace}/${origin.name}`;
}

function inOrder(candidates: ReadonlyMap<string, HeraldObject> | undefined): HeraldObject[] {
  return [...(candidates ?? [])].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, object]) => object);
}
