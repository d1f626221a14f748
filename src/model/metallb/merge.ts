import { originText, type TranslatedFrom } from '../objects/metadata.ts';
import type { Change, HeraldObject, KindName } from '../store/snapshot.ts';
import { objectKey, type Store } from '../store/store.ts';
import { metallbKinds } from './kinds.ts';

/** Kinds of which both groups have objects. */
const shared: ReadonlySet<string> = new Set(metallbKinds.filter(({ refused }) => refused === undefined).map(({ kind }) => kind));

/** An object that another one of its name keeps out. */
interface Shadowed {
  readonly origin: TranslatedFrom;
  /** What is used in its place, for people. */
  readonly by: string;
}

/**
 * Files the objects of herald.dev and those made of MetalLB's under one name each, as here names are of the cluster and there of a
 * namespace. An object of herald.dev goes before any other; of two of MetalLB, the one whose namespace sorts first. What is kept out
 * comes in when the other goes.
 */
export class MergedObjects {
  readonly #store: Store;
  /** By "kind/name": what each origin has, "" for herald.dev. */
  readonly #candidates = new Map<string, Map<string, HeraldObject>>();
  /** Names with more than one candidate. */
  readonly #contested = new Set<string>();

  constructor(store: Store) {
    this.#store = store;
  }

  upsert(object: HeraldObject): Change[] {
    if (!shared.has(object.kind)) return this.#store.upsert(object);
    return this.#settle(object.kind, object.metadata.name, object.metadata.origin?.namespace ?? '', object);
  }

  /** `key`: the name of an object of herald.dev; "namespace/name" of one of MetalLB. */
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

/** "namespace/name" of where an object comes from, which is not always where it is filed. */
export function sourceKey(object: HeraldObject): string {
  const { origin } = object.metadata;
  return origin === undefined ? objectKey(object) : `${origin.namespace}/${origin.name}`;
}

function inOrder(candidates: ReadonlyMap<string, HeraldObject> | undefined): HeraldObject[] {
  return [...(candidates ?? [])].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, object]) => object);
}
