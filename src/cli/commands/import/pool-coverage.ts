import type { BGPAdvertisement, IPAddressPool, L2Advertisement } from '../../../model/kinds/types.ts';
import { selects } from '../../../model/objects/label-selector.ts';
import type { Snapshot } from '../../../model/store/snapshot.ts';

/**
 * Which advertisements cover which pools, as `coversPool` decides. Each advertisement is compared only with the pools that it names, and with
 * those that have a label of its selector.
 */
export class PoolCoverage {
  readonly #pools: Snapshot['pools'];
  readonly #byLabel = new Map<string, IPAddressPool[]>();
  readonly #announcers = new Map<string, BGPAdvertisement[]>();
  readonly #announced = new Set<string>();

  constructor({ pools, advertisements, l2Advertisements }: Snapshot) {
    this.#pools = pools;
    for (const pool of pools.values()) for (const label of Object.entries(pool.metadata.labels)) add(this.#byLabel, label.join('='), pool);
    for (const advertisement of advertisements.values()) {
      if (!advertisement.addressTypes.includes('LoadBalancer')) continue;
      for (const { metadata } of this.poolsOf(advertisement)) {
        add(this.#announcers, metadata.name, advertisement);
        this.#announced.add(metadata.name);
      }
    }
    for (const advertisement of l2Advertisements.values())
      for (const { metadata } of this.poolsOf(advertisement)) this.#announced.add(metadata.name);
  }

  /** The pools that the advertisement covers, in no order. */
  poolsOf({ ipAddressPools: names, ipAddressPoolSelectors: selectors }: BGPAdvertisement | L2Advertisement): Iterable<IPAddressPool> {
    if (names.length === 0 && selectors.length === 0) return this.#pools.values();
    const found = new Set(names.flatMap((name) => this.#pools.get(name) ?? []));
    for (const selector of selectors) {
      const [label] = Object.entries(selector.matchLabels);
      const candidates = label === undefined ? this.#pools.values() : (this.#byLabel.get(label.join('=')) ?? []);
      for (const pool of candidates) if (selects(selector, pool.metadata.labels)) found.add(pool);
    }
    return found;
  }

  /** The BGPAdvertisements of load balancer addresses that cover the pool. */
  announcersOf(pool: string): readonly BGPAdvertisement[] {
    return this.#announcers.get(pool) ?? [];
  }

  /** True when an advertisement of either kind covers the pool. */
  isAnnounced(pool: string): boolean {
    return this.#announced.has(pool);
  }
}

function add<T>(map: Map<string, T[]>, key: string, value: T): void {
  const same = map.get(key);
  if (same === undefined) map.set(key, [value]);
  else same.push(value);
}
