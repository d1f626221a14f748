import { defined } from '../../../lang/defined.ts';
import { formatAddress, type Family } from '../../../net/address.ts';
import { formatPrefix, maskedPrefix, type Prefix } from '../../../net/prefix.ts';
import { maximumContendingPaths, maximumSpecificPaths } from '../../limits.ts';
import { mergeAs4Path } from '../../wire/attributes/as-path.ts';
import { nextHopsOf, readPaths, type Nlri } from '../../wire/nlri.ts';
import type { UpdateMessage } from '../../wire/update.ts';
import { routerIdAddress } from './received-route.ts';

/** The attributes of a path by which its speaker is known. */
export interface PathOrigin {
  readonly nextHops: readonly string[];
  /** The nearest AS first. */
  readonly asPath: readonly number[];
  /** The router that brought the route into the AS (RFC 4456). */
  readonly originatorId?: string;
}

/**
 * A path that the peer announces for a prefix of ours, or for a part of it. A peer announces its best path if that is not ours. A path with our
 * own AS is among them, although no route is taken from it (RFC 4271 9.1.2).
 */
export interface ContendingPath extends PathOrigin {
  /** The prefix that this speaker announces to the peer. */
  readonly own: string;
  /** The prefix of the peer: the same, or a part of it. */
  readonly prefix: string;
}

/** Paths of one UPDATE share their origin. */
interface SpecificPath {
  readonly prefix: Prefix;
  readonly origin: PathOrigin;
}

/** The longest prefixes that the default-free zone has. Addresses of Services are longer, so a full table costs no memory here. */
const widest: Readonly<Record<Family, number>> = { 4: 24, 6: 48 };
/** The lengths at which prefixes are announced that hold a longer one. */
const shorter: Readonly<Record<Family, readonly number[]>> = {
  4: [24, 25, 26, 27, 28, 29, 30, 31],
  6: [48, 56, 60, 64, 80, 96, 104, 112, 116, 120, 122, 124, 125, 126, 127],
};

/**
 * The paths of a peer that are longer than those of the default-free zone, whether import rules accept them or not, to find those for prefixes
 * that this speaker announces as well. The path may be the peer's best one for longer than we announce the prefix, so it is kept in any case.
 */
export class ContendingPaths {
  readonly #paths = new Map<string, SpecificPath>();

  /** Takes an UPDATE. Returns the prefixes whose path has changed. A peer that sends several paths of a prefix tells nothing of the best one. */
  take(update: UpdateMessage): readonly Prefix[] {
    const changed: Prefix[] = [];
    for (const nlri of update.treatAsWithdraw ? [...update.withdrawn, ...update.announced] : update.withdrawn) this.#remove(nlri, changed);
    if (!update.treatAsWithdraw) for (const nlri of update.announced) this.#add(nlri, update, changed);
    return changed;
  }

  /**
   * Returns the first paths for prefixes that `announces` knows, at most `maximumContendingPaths`. `counts` tells which origins count, and is asked
   * once for each UPDATE, so that paths of speakers that belong together hide no other.
   */
  contending(announces: (prefix: Prefix) => boolean, counts: (origin: PathOrigin) => boolean): ContendingPath[] {
    const found: ContendingPath[] = [];
    const judged = new Map<PathOrigin, boolean>();
    for (const { prefix, origin } of this.#paths.values()) {
      if (!judged.has(origin)) judged.set(origin, counts(origin));
      const own = judged.get(origin) === true ? announcedAround(prefix, announces) : undefined;
      if (own !== undefined) found.push({ own: formatPrefix(own), prefix: formatPrefix(prefix), ...origin });
      if (found.length === maximumContendingPaths) break;
    }
    return found;
  }

  #remove(nlri: Nlri, changed: Prefix[]): void {
    if (this.#paths.size === 0 || nlri.pathIds) return;
    for (const { prefix } of readPaths(nlri)) if (this.#paths.delete(formatPrefix(prefix))) changed.push(prefix);
  }

  #add(nlri: Nlri, { attributes }: UpdateMessage, changed: Prefix[]): void {
    if (nlri.pathIds || nlri.nextHop === undefined || !hasSpecific(nlri)) return;
    const { asPath = [], as4Path, aggregator, originatorId } = attributes;
    const origin: PathOrigin = {
      nextHops: nextHopsOf(nlri.nextHop).map(formatAddress),
      asPath: mergeAs4Path(asPath, as4Path, aggregator?.asn).flatMap(({ asns }) => asns),
      ...defined({ originatorId: originatorId === undefined ? undefined : formatAddress(routerIdAddress(originatorId)) }),
    };
    for (const { prefix } of readPaths(nlri)) {
      const key = formatPrefix(prefix);
      if (prefix.length <= widest[nlri.family] || (this.#paths.size >= maximumSpecificPaths && !this.#paths.has(key))) continue;
      this.#paths.set(key, { prefix, origin });
      changed.push(prefix);
    }
  }
}

/** Returns the announced prefix that is equal, or the longest that holds it. */
export function announcedAround(prefix: Prefix, announces: (prefix: Prefix) => boolean): Prefix | undefined {
  if (announces(prefix)) return prefix;
  const lengths = shorter[prefix.address.family].filter((length) => length < prefix.length);
  return lengths
    .toReversed()
    .map((length) => maskedPrefix(prefix.address, length))
    .find(announces);
}

/** Looks at the lengths only: allocates nothing for a prefix of a full table. */
function hasSpecific({ family, bytes }: Nlri): boolean {
  for (let at = 0; at < bytes.length;) {
    const length = bytes[at] ?? 0;
    if (length > widest[family]) return true;
    at += 1 + ((length + 7) >>> 3);
  }
  return false;
}
