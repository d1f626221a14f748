import type { Family } from '../net/address.ts';
import { formatPrefix } from '../net/prefix.ts';
import { fault, type Fault } from './wire/fault.ts';
import { readNlri } from './wire/nlri.ts';
import { maximumPrefixesNotification } from './wire/notification.ts';
import type { UpdateMessage } from './wire/update.ts';

/** Prefixes of a family that a peer may announce. */
export interface MaximumPrefixes {
  readonly ipv4?: number;
  readonly ipv6?: number;
}

/**
 * What the peer announces is counted and not stored: this speaker learns nothing. Only where a maximum is set are the prefixes
 * remembered, one more than the maximum at most.
 */
export class ReceivedRoutes {
  /** Announcements since the session was established. */
  readonly announced: Record<Family, number> = { 4: 0, 6: 0 };
  readonly #maximum: Readonly<Record<Family, number>>;
  readonly #present: Readonly<Record<Family, Set<string>>> = { 4: new Set(), 6: new Set() };

  constructor(maximum: MaximumPrefixes = {}) {
    this.#maximum = { 4: maximum.ipv4 ?? Infinity, 6: maximum.ipv6 ?? Infinity };
  }

  /** The family of which there are more prefixes than allowed now. */
  add(update: UpdateMessage): { readonly family: Family; readonly maximum: number } | undefined {
    for (const { family, bytes } of [...update.withdrawn, ...(update.treatAsWithdraw ? update.announced : [])]) {
      if (this.#maximum[family] === Infinity) continue;
      for (const prefix of readNlri(family, bytes)) this.#present[family].delete(formatPrefix(prefix));
    }
    if (update.treatAsWithdraw) return undefined;
    for (const { family, bytes, count } of update.announced) {
      this.announced[family] += count;
      const maximum = this.#maximum[family];
      if (maximum === Infinity) continue;
      const present = this.#present[family];
      for (const prefix of readNlri(family, bytes)) {
        present.add(formatPrefix(prefix));
        if (present.size > maximum) return { family, maximum };
      }
    }
    return undefined;
  }
}

export function tooManyPrefixes({ family, maximum }: { readonly family: Family; readonly maximum: number }): Fault {
  const { code, subcode, data } = maximumPrefixesNotification(family, maximum);
  return fault('reset', code, subcode, `the peer announces more than ${maximum} IPv${family} prefixes`, data);
}
