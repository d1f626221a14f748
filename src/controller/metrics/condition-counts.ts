import type { Condition } from '../../model/objects/condition.ts';
import type { ServiceKey } from '../../model/objects/metadata.ts';
import type { Put } from '../../telemetry/metrics.ts';

interface Count {
  readonly condition: string;
  readonly status: string;
  readonly reason: string;
  services: number;
}

/** Counts Services by condition. The cost of an update is the number of conditions of the Service. */
export class ConditionCounts {
  readonly #counts = new Map<string, Count>();
  readonly #known = new Map<ServiceKey, readonly string[]>();

  /** Replaces the conditions of a Service. None: the Service is gone or not Herald's. */
  replaceConditions(key: ServiceKey, conditions: readonly Condition[]): void {
    const after = conditions.map((condition) => this.#keyOf(condition));
    for (const one of after) this.#add(one, 1);
    for (const one of this.#known.get(key) ?? []) this.#add(one, -1);
    if (after.length === 0) this.#known.delete(key);
    else this.#known.set(key, after);
  }

  put(put: Put<'herald_service_conditions' | 'herald_pending_services'>): void {
    for (const { services, ...labels } of this.#counts.values()) {
      put('herald_service_conditions', labels, services);
      if (labels.condition === 'AddressAssigned' && labels.status === 'False')
        put('herald_pending_services', { reason: labels.reason }, services);
    }
  }

  #keyOf({ type, status, reason }: Condition): string {
    const condition = type.replace('herald.dev/', '');
    const key = `${condition} ${status} ${reason}`;
    if (!this.#counts.has(key)) this.#counts.set(key, { condition, status, reason, services: 0 });
    return key;
  }

  #add(key: string, more: 1 | -1): void {
    const count = this.#counts.get(key);
    if (count !== undefined) count.services += more;
  }
}
