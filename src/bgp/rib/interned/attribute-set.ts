import { formatAddress, sameAddress, type Address } from '../../../net/address.ts';
import { maximumExtendedAttributeLength, maximumPrepend } from '../../limits.ts';
import { defaultLocalPref, type Community, type Route } from '../../route.ts';

/** No route: in place of the number of an attribute set. */
export const none = 0;

type LargeCommunity = readonly [globalAdministrator: number, localData1: number, localData2: number];

/** The eight octets of an extended community (RFC 4360 2) as two 32-bit words. */
export type ExtendedCommunity = readonly [high: number, low: number];

/**
 * The path attributes of a route that do not depend on the session. Routes with equal attributes go into one UPDATE. Lists are sorted and
 * have no duplicates.
 */
export interface Attributes {
  /** The route's own next hop. Undefined: that of the session. */
  readonly nextHop: Address | undefined;
  readonly localPref: number;
  readonly med: number | undefined;
  readonly standard: readonly number[];
  readonly large: readonly LargeCommunity[];
  readonly extended: readonly ExtendedCommunity[];
  /** In octets per second. */
  readonly linkBandwidth: number | undefined;
  readonly prepend: number;
}

/** Interned attributes: equal attributes are one object with one number. */
export interface AttributeSet extends Attributes {
  /** Greater than 0. The number is reused after the last holder released the set. */
  readonly id: number;
  readonly canonical: string;
  /** Octets in an UPDATE, for the session that needs the most. */
  readonly length: number;
}

type AttributesResult = { readonly ok: true; readonly value: Attributes } | { readonly ok: false; readonly why: string };

interface Held extends AttributeSet {
  holders: number;
}

const noCommunities: readonly Community[] = [];

/** Returns the canonical attributes of a route, or why no UPDATE can carry them. */
function attributesOf(route: Route): AttributesResult {
  const { communities = noCommunities, asPathPrepend: prepend = 0, localPref = defaultLocalPref } = route;
  const { nextHop, med, linkBandwidth } = route;
  if (prepend > maximumPrepend) return { ok: false, why: `asPathPrepend ${prepend} is above ${maximumPrepend}` };
  if (linkBandwidth !== undefined && !(linkBandwidth >= 0 && linkBandwidth <= largestFloat)) {
    return { ok: false, why: `linkBandwidth ${linkBandwidth} is not a number of octets per second that a 32-bit IEEE float can hold` };
  }
  const value = { nextHop, localPref, med, linkBandwidth, prepend, ...sortCommunities(communities) };
  const length = worstLength(value);
  return length > maximumExtendedAttributeLength
    ? { ok: false, why: tooLong(length, maximumExtendedAttributeLength) }
    : { ok: true, value };
}

export const tooLong = (length: number, room: number): string =>
  `its attributes take ${length} octets, more than the ${room} that an UPDATE has room for`;

/** Interns attributes: equal attributes share one set and one number as long as the set has a holder. */
export class AttributeSets {
  readonly #byCanonical = new Map<string, Held>();
  readonly #byId: (Held | undefined)[] = [undefined];
  readonly #freed: number[] = [];
  /** The set acquired last. Routes often come in runs with the same attributes. */
  #latest: Held | undefined;
  #longest = 0;
  /** The next hops that routes bring, with the number of sets that have each. */
  readonly #nextHops = new Map<string, number>();
  readonly #nextHopAdded: (nextHop: Address) => void;

  /** `nextHopAdded` is called before a route has a next hop that no other route has. */
  constructor(nextHopAdded: (nextHop: Address) => void = () => {}) {
    this.#nextHopAdded = nextHopAdded;
  }

  get size(): number {
    return this.#byCanonical.size;
  }

  /** An upper bound for the length of all sets. */
  get longest(): number {
    return this.#longest;
  }

  /** Tells whether a route brings its own next hop. */
  get haveNextHops(): boolean {
    return this.#nextHops.size > 0;
  }

  /** Tells whether a route brings this next hop. */
  hasNextHop(address: Address): boolean {
    return this.haveNextHops && this.#nextHops.has(formatAddress(address));
  }

  get(id: number): AttributeSet | undefined {
    return this.#byId[id];
  }

  /** Returns the attribute set of a route and makes the caller a holder of it; or tells why there is none. */
  acquire(route: Route): { readonly ok: true; readonly set: AttributeSet } | { readonly ok: false; readonly why: string } {
    const latest = this.#latest;
    if (latest !== undefined && isWrittenAs(latest, route)) {
      latest.holders++;
      return { ok: true, set: latest };
    }
    const result = attributesOf(route);
    if (!result.ok) return result;
    const canonical = canonicalOf(result.value);
    const held = this.#byCanonical.get(canonical) ?? this.#add(canonical, result.value);
    held.holders++;
    this.#latest = held;
    return { ok: true, set: held };
  }

  /** Adds holders to a set that is already held. */
  retain(id: number, times = 1): void {
    const held = this.#byId[id];
    if (held !== undefined) held.holders += times;
  }

  release(id: number, times = 1): void {
    const held = this.#byId[id];
    if (held === undefined || (held.holders -= times) > 0) return;
    this.#byCanonical.delete(held.canonical);
    this.#byId[id] = undefined;
    this.#freed.push(id);
    if (held.nextHop !== undefined) this.#countNextHop(held.nextHop, -1);
    if (this.#latest === held) this.#latest = undefined;
    if (this.size === 0) this.#longest = 0;
  }

  #add(canonical: string, attributes: Attributes): Held {
    const id = this.#freed.pop() ?? this.#byId.length;
    const held = { ...attributes, id, canonical, length: worstLength(attributes), holders: 0 };
    this.#longest = Math.max(this.#longest, held.length);
    this.#byId[id] = held;
    this.#byCanonical.set(canonical, held);
    if (held.nextHop !== undefined) this.#countNextHop(held.nextHop, 1);
    return held;
  }

  #countNextHop(nextHop: Address, change: 1 | -1): void {
    const key = formatAddress(nextHop);
    const count = (this.#nextHops.get(key) ?? 0) + change;
    if (count === 0) this.#nextHops.delete(key);
    else this.#nextHops.set(key, count);
    if (change === 1 && count === 1) this.#nextHopAdded(nextHop);
  }
}

/** Tells whether the route lists exactly these attributes. Communities in another order need the canonical form instead. */
function isWrittenAs(set: AttributeSet, route: Route): boolean {
  const { communities = noCommunities, asPathPrepend = 0, localPref = defaultLocalPref } = route;
  if (set.med !== route.med || set.localPref !== localPref) return false;
  if (set.nextHop !== route.nextHop && !isSame(set.nextHop, route.nextHop)) return false;
  if (set.prepend !== asPathPrepend || set.linkBandwidth !== route.linkBandwidth) return false;
  if (communities.length !== set.standard.length + set.large.length + set.extended.length) return false;
  let [standard, large, extended] = [0, 0, 0];
  for (const community of communities) {
    switch (community.kind) {
      case 'standard':
        if (set.standard[standard++] !== community.value) return false;
        break;
      case 'large': {
        const triple = set.large[large++];
        if (triple?.[0] !== community.globalAdministrator) return false;
        if (triple[1] !== community.localData1 || triple[2] !== community.localData2) return false;
        break;
      }
      case 'extended': {
        const [high, low] = extendedCommunityWords(community.type, community.subtype, community.value);
        const halves = set.extended[extended++];
        if (halves?.[0] !== high || halves[1] !== low) return false;
        break;
      }
    }
  }
  return true;
}

const isSame = (a: Address | undefined, b: Address | undefined): boolean => a !== undefined && b !== undefined && sameAddress(a, b);

function canonicalOf({ nextHop, localPref, med, prepend, linkBandwidth, standard, large, extended }: Attributes): string {
  const numbers = `${nextHop === undefined ? '' : formatAddress(nextHop)}|${localPref}|${med ?? ''}|${prepend}|${linkBandwidth ?? ''}`;
  return `${numbers}|${standard.join()}|${large.join(';')}|${extended.join(';')}`;
}

function sortCommunities(communities: readonly Community[]): Pick<Attributes, 'standard' | 'large' | 'extended'> {
  const standard = new Set<number>();
  const large = new Map<string, LargeCommunity>();
  const extended = new Map<string, ExtendedCommunity>();
  for (const community of communities) {
    switch (community.kind) {
      case 'standard':
        standard.add(community.value);
        break;
      case 'large': {
        const triple = [community.globalAdministrator, community.localData1, community.localData2] as const;
        large.set(triple.join(), triple);
        break;
      }
      case 'extended': {
        const halves = extendedCommunityWords(community.type, community.subtype, community.value);
        extended.set(halves.join(), halves);
        break;
      }
    }
  }
  return {
    standard: [...standard].sort((a, b) => a - b),
    large: [...large.values()].sort((a, b) => a[0] - b[0] || a[1] - b[1] || a[2] - b[2]),
    extended: [...extended.values()].sort(compareExtended),
  };
}

export const compareExtended = (a: ExtendedCommunity, b: ExtendedCommunity): number => a[0] - b[0] || a[1] - b[1];

/** Encodes type (1 octet), subtype (1) and value (6) as two words (RFC 4360 2). */
export function extendedCommunityWords(type: number, subtype: number, value: number): ExtendedCommunity {
  const upper = Math.floor(value / 0x1_0000_0000) & 0xffff;
  return [(((type & 0xff) << 24) | ((subtype & 0xff) << 16) | upper) >>> 0, value % 0x1_0000_0000];
}

const largestFloat = 3.402_823_466_385_288_6e38;

/** Counts the octets for the session that needs the most: AS_PATH and AS4_PATH, a 32-octet next hop, LOCAL_PREF and MED. */
function worstLength({ prepend, standard, large, extended, linkBandwidth }: Attributes): number {
  const path = 6 + 4 * (prepend + 1);
  const list = (count: number, each: number): number => (count === 0 ? 0 : 4 + count * each);
  const extendedCount = extended.length + (linkBandwidth === undefined ? 0 : 1);
  return 4 + 2 * path + 42 + 7 + 7 + list(standard.length, 4) + list(large.length, 12) + list(extendedCount, 8);
}
