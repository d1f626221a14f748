import { labels, mirrorManager } from '../annotations.ts';
import type { EndpointSlice } from '../objects/endpoint-slice.ts';
import type { ServiceKey } from '../objects/metadata.ts';

const none: readonly EndpointSlice[] = [];

/** EndpointSlices by the Service that owns them. The cost of a change depends only on the number of slices of its Service. */
export class SliceIndex {
  readonly #byService = new Map<ServiceKey, Map<string, EndpointSlice>>();
  /** Sorted lists that were requested since the last change of their Service. */
  readonly #sorted = new Map<ServiceKey, readonly EndpointSlice[]>();

  /** Returns the slices of a Service, sorted by name. Mirrors of core/v1 Endpoints count only when there is no other slice. */
  slicesOf(service: ServiceKey): readonly EndpointSlice[] {
    const known = this.#sorted.get(service);
    if (known !== undefined) return known;
    const slices = this.#byService.get(service);
    if (slices === undefined) return none;
    const all = [...slices.values()].sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
    const own = all.filter((slice) => !isMirror(slice));
    const result = own.length > 0 ? own : all;
    this.#sorted.set(service, result);
    return result;
  }

  /** Replaces one version of a slice with another. Returns the Services whose endpoints may have changed. */
  replace(before: EndpointSlice | undefined, after: EndpointSlice | undefined): ServiceKey[] {
    const services = new Set<ServiceKey>();
    if (before?.service !== undefined) {
      services.add(before.service);
      const slices = this.#byService.get(before.service);
      slices?.delete(before.metadata.name);
      if (slices?.size === 0) this.#byService.delete(before.service);
    }
    if (after?.service !== undefined) {
      services.add(after.service);
      const slices = this.#byService.get(after.service) ?? new Map<string, EndpointSlice>();
      slices.set(after.metadata.name, after);
      this.#byService.set(after.service, slices);
    }
    for (const service of services) this.#sorted.delete(service);
    return [...services];
  }
}

function isMirror(slice: EndpointSlice): boolean {
  return slice.metadata.labels[labels.managedBy] === mirrorManager;
}
