import { maximumAttributeLength, maximumPrepend } from './limits.ts';
import { defaultLocalPref, type Community, type Route } from './route.ts';

/** What routes share on the wire, whatever the session: the unit by which they are packed. Compared by identity. */
export interface AttributeSet {
  readonly canonical: string;
  readonly localPref: number;
  readonly med: number | undefined;
  /** Sorted, without duplicates. */
  readonly standard: readonly number[];
  readonly large: readonly (readonly [number, number, number])[];
  readonly prepend: number;
}

export type AttributeSetResult =
  | { readonly ok: true; readonly value: Omit<AttributeSet, 'canonical'>; readonly canonical: string }
  | { readonly ok: false; readonly why: string };

/** The canonical form of a route's attributes, or why no UPDATE can carry them. */
export function attributeSetOf(route: Route): AttributeSetResult {
  const { communities = [], asPathPrepend: prepend = 0, localPref = defaultLocalPref, med } = route;
  if (prepend > maximumPrepend) return { ok: false, why: `asPathPrepend ${prepend} is above ${maximumPrepend}` };
  const { standard, large } = sortCommunities(communities);
  const length = worstLength(prepend, standard.length, large.length);
  if (length > maximumAttributeLength) {
    return { ok: false, why: `its attributes take ${length} octets, more than the ${maximumAttributeLength} that an UPDATE has room for` };
  }
  const value = { localPref, med, standard, large, prepend };
  return { ok: true, value, canonical: `${localPref}|${med ?? ''}|${prepend}|${standard.join()}|${large.join(';')}` };
}

/** Interns attribute sets: equal sets are one object as long as somebody holds it. */
export class AttributeSets {
  readonly #byCanonical = new Map<string, { readonly set: AttributeSet; uses: number }>();

  get size(): number {
    return this.#byCanonical.size;
  }

  acquire(route: Route): { readonly ok: true; readonly set: AttributeSet } | { readonly ok: false; readonly why: string } {
    const result = attributeSetOf(route);
    if (!result.ok) return result;
    let entry = this.#byCanonical.get(result.canonical);
    if (entry === undefined) {
      entry = { set: { canonical: result.canonical, ...result.value }, uses: 0 };
      this.#byCanonical.set(result.canonical, entry);
    }
    entry.uses++;
    return { ok: true, set: entry.set };
  }

  /** One more holder of a set that is held already. */
  retain(set: AttributeSet): void {
    const entry = this.#byCanonical.get(set.canonical);
    if (entry !== undefined) entry.uses++;
  }

  release(set: AttributeSet): void {
    const entry = this.#byCanonical.get(set.canonical);
    if (entry !== undefined && --entry.uses === 0) this.#byCanonical.delete(set.canonical);
  }
}

function sortCommunities(communities: readonly Community[]): Pick<AttributeSet, 'standard' | 'large'> {
  const standard = new Set<number>();
  const large = new Map<string, readonly [number, number, number]>();
  for (const community of communities) {
    if (community.kind === 'standard') {
      standard.add(community.value);
    } else {
      const triple = [community.globalAdministrator, community.localData1, community.localData2] as const;
      large.set(triple.join(), triple);
    }
  }
  return {
    standard: [...standard].sort((a, b) => a - b),
    large: [...large.values()].sort((a, b) => a[0] - b[0] || a[1] - b[1] || a[2] - b[2]),
  };
}

/** Octets for the most demanding session: AS_PATH and AS4_PATH, a 32-octet next hop, LOCAL_PREF and MED. */
function worstLength(prepend: number, standard: number, large: number): number {
  const path = 6 + 4 * (prepend + 1);
  const list = (count: number, each: number): number => (count === 0 ? 0 : 4 + count * each);
  return 4 + 2 * path + 42 + 7 + 7 + list(standard, 4) + list(large, 12);
}
