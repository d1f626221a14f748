import type { ServiceKey } from '../../model/objects/metadata.ts';

type Labels = Readonly<Record<string, string>>;

/** Counts Services by labels. The cost of an update is the number of labels of the Service. */
export class ServiceCounts<L extends Labels> {
  readonly #dropsEmpty: boolean;
  readonly #counts = new Map<string, { readonly labels: L; services: number }>();
  readonly #known = new Map<ServiceKey, readonly string[]>();

  /** `dropsEmpty`: labels that no Service has any more are dropped, because there may be ever new ones. Else their count is 0. */
  constructor({ dropsEmpty }: { readonly dropsEmpty: boolean }) {
    this.#dropsEmpty = dropsEmpty;
  }

  values(): Iterable<{ readonly labels: L; readonly services: number }> {
    return this.#counts.values();
  }

  /** Replaces the labels of a Service. None: the Service is gone or not Herald's. */
  replace(service: ServiceKey, labels: readonly L[]): void {
    const after = labels.map((one) => this.#keyOf(one));
    for (const key of after) this.#add(key, 1);
    for (const key of this.#known.get(service) ?? []) this.#add(key, -1);
    if (after.length === 0) this.#known.delete(service);
    else this.#known.set(service, after);
  }

  #keyOf(labels: L): string {
    const key = Object.values(labels).join(' ');
    if (!this.#counts.has(key)) this.#counts.set(key, { labels, services: 0 });
    return key;
  }

  #add(key: string, more: 1 | -1): void {
    const count = this.#counts.get(key);
    if (count === undefined) return;
    count.services += more;
    if (this.#dropsEmpty && count.services === 0) this.#counts.delete(key);
  }
}
