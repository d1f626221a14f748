import type { ServiceKey } from '../../model/objects/metadata.ts';
import type { Put } from '../../telemetry/metrics.ts';
import type { Reconciliation } from '../provider.ts';
import { limits } from '../limits.ts';

/** Counts Services by the pool that refused them and its reason. */
export class PoolRefusals {
  readonly #counts = new Map<string, { readonly pool: string; readonly reason: string; services: number }>();
  readonly #known = new Map<ServiceKey, readonly string[]>();

  replaceRefusals(key: ServiceKey, details: NonNullable<Reconciliation['details']>): void {
    const after = details.slice(0, limits.measuredRefusals).map(({ of: pool, code: reason }) => {
      const text = `${pool} ${reason}`;
      if (!this.#counts.has(text)) this.#counts.set(text, { pool, reason, services: 0 });
      return text;
    });
    for (const text of after) this.#add(text, 1);
    for (const text of this.#known.get(key) ?? []) this.#add(text, -1);
    if (after.length === 0) this.#known.delete(key);
    else this.#known.set(key, after);
  }

  put(put: Put<'herald_pending_services_by_pool'>): void {
    for (const { services, pool, reason } of this.#counts.values()) put('herald_pending_services_by_pool', { pool, reason }, services);
  }

  #add(text: string, more: 1 | -1): void {
    const count = this.#counts.get(text);
    if (count === undefined) return;
    count.services += more;
    // Pools can be deleted, so empty counts are dropped.
    if (count.services === 0) this.#counts.delete(text);
  }
}
