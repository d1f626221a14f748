import {
  judgeServiceFilters,
  selectiveFilters,
  type FilteredHost,
  type ServiceFilterJudgement,
} from '../../decisions/host/service-filters.ts';
import type { ServiceKey } from '../../model/objects/metadata.ts';
import type { ServiceDifference } from '../../model/objects/node-state.ts';
import type { Reason } from '../../model/reasons.ts';
import type { Frontend } from '../../net/frontend.ts';
import type { HostFilter } from '../../net/host-filter.ts';
import { limits } from '../limits.ts';

/** What a node forwards, by Service. The list of frontends of a Service is a new one when its plan changed. */
export type Forwarded = ReadonlyMap<ServiceKey, { readonly forwarding: { readonly frontends: readonly Frontend[] } }>;

/** Judges filters of other programs for each Service. It judges a Service again when the filters, the host or the Service's plan changed. */
export class ServiceFilters {
  #filters: readonly HostFilter[] = [];
  #selective: readonly HostFilter[] = [];
  /** The host of the last check, as text. */
  #host = '';
  #known = new WeakMap<readonly Frontend[], ServiceFilterJudgement>();
  #filtered: readonly Omit<ServiceDifference, 'aspect'>[] = [];
  #undecided: readonly Reason[] = [];

  /** `host.text` is equal for equal hosts. */
  check(filters: readonly HostFilter[], forwarded: Forwarded, host: FilteredHost & { readonly text: string }): void {
    if (filters !== this.#filters || host.text !== this.#host) {
      this.#known = new WeakMap();
      this.#selective = selectiveFilters(filters);
    }
    [this.#filters, this.#host] = [filters, host.text];
    const filtered: Omit<ServiceDifference, 'aspect'>[] = [];
    const undecided = new Map<string, Reason>();
    for (const [service, { forwarding }] of this.#selective.length === 0 ? [] : forwarded) {
      // The report lists no more, and says so.
      if (filtered.length > limits.differingServices) break;
      const known = this.#known.get(forwarding.frontends) ?? judgeServiceFilters(this.#selective, service, forwarding.frontends, host);
      this.#known.set(forwarding.frontends, known);
      for (const reason of known.filtered) filtered.push({ service, reason });
      for (const reason of known.undecided) {
        const key = reason.code === 'FilterNotDecided' ? `${reason.details.chain} ${reason.details.rule} ${reason.details.looksAt}` : '';
        if (!undecided.has(key) && undecided.size < limits.undecidedFilters) undecided.set(key, reason);
      }
    }
    const isSame =
      filtered.length === this.#filtered.length && filtered.every(({ reason }, index) => reason === this.#filtered[index]?.reason);
    if (!isSame) this.#filtered = filtered;
    this.#undecided = [...undecided.values()];
  }

  /** Returns the Services whose packets a filter certainly drops: the same list while nothing is judged anew. */
  filtered(): readonly Omit<ServiceDifference, 'aspect'>[] {
    return this.#filtered;
  }

  /** Returns the rules that could not be judged, each with one Service as an example. */
  undecided(): readonly Reason[] {
    return this.#undecided;
  }
}
