import type { Family } from '../../../net/address.ts';
import { formatPrefix } from '../../../net/prefix.ts';
import { fault, type Fault } from '../../wire/fault.ts';
import { readPaths, type Nlri } from '../../wire/nlri.ts';
import { maximumPrefixesNotification } from '../../wire/notification.ts';
import type { UpdateMessage } from '../../wire/update.ts';

/** The largest number of prefixes of each family that a peer may announce. */
export interface MaximumPrefixes {
  readonly ipv4?: number;
  readonly ipv6?: number;
}

/** Counts the prefixes that a peer announces. Where a maximum is set it also keeps the prefixes, at most one more than the maximum. */
export class PrefixCounts {
  /** Prefixes announced since the session was established. */
  readonly announced: Record<Family, number> = { 4: 0, 6: 0 };
  readonly #maximum: Readonly<Record<Family, number>>;
  readonly #present: Readonly<Record<Family, Set<string>>> = { 4: new Set(), 6: new Set() };

  constructor(maximum: MaximumPrefixes = {}) {
    this.#maximum = { 4: maximum.ipv4 ?? Infinity, 6: maximum.ipv6 ?? Infinity };
  }

  /** Counts an UPDATE. Returns the family that now exceeds its maximum, if any. */
  recordUpdate(update: UpdateMessage): { readonly family: Family; readonly maximum: number } | undefined {
    for (const nlri of [...update.withdrawn, ...(update.treatAsWithdraw ? update.announced : [])]) {
      if (this.#maximum[nlri.family] === Infinity) continue;
      for (const key of keysOf(nlri)) this.#present[nlri.family].delete(key);
    }
    if (update.treatAsWithdraw) return undefined;
    for (const nlri of update.announced) {
      const { family, count } = nlri;
      this.announced[family] += count;
      const maximum = this.#maximum[family];
      if (maximum === Infinity) continue;
      const present = this.#present[family];
      for (const key of keysOf(nlri)) {
        present.add(key);
        if (present.size > maximum) return { family, maximum };
      }
    }
    return undefined;
  }
}

/** With ADD-PATH each path of a prefix counts (RFC 7911 5). */
function* keysOf(nlri: Nlri): Generator<string> {
  for (const { prefix, pathId } of readPaths(nlri)) yield pathId === undefined ? formatPrefix(prefix) : `${formatPrefix(prefix)} ${pathId}`;
}

export function tooManyPrefixes({ family, maximum }: { readonly family: Family; readonly maximum: number }): Fault {
  const { code, subcode, data } = maximumPrefixesNotification(family, maximum);
  return fault('reset', code, subcode, `the peer announces more than ${maximum} IPv${family} prefixes`, data);
}
