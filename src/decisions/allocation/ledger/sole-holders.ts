import type { Family } from '../../../net/address.ts';
import type { ServiceKey } from '../../../model/objects/metadata.ts';
import { lowerBound } from '../pools/pools.ts';

/** An address of a pool that no Service shares with its holder, and that no other Service has reserved. */
export interface SoleAddress {
  readonly pool: string;
  readonly family: Family;
}

interface Wanted {
  readonly namespace: string;
  readonly pool: string;
  /** Not empty. */
  readonly families: readonly Family[];
}

export type SoleHolders = ReturnType<typeof createSoleHolders>;

export function placeOf(namespace: string, pool: string): string {
  return `${namespace}/${pool}`;
}

/** The Services whose release returns an address to a pool, by namespace, pool and families, so that a full pool can name one of them. */
export function createSoleHolders() {
  /** The Services by name, by place and families. */
  const holders = new Map<string, ServiceKey[]>();
  /** The keys of `holders` under which each Service stands, each with its place. */
  const keysOf = new Map<ServiceKey, ReadonlyMap<string, string>>();
  let changed = new Set<string>();

  const change = (key: string, place: string, service: ServiceKey, replace: (list: ServiceKey[], at: number) => void): void => {
    const list = holders.get(key) ?? [];
    const at = lowerBound(list, (other) => other < service);
    replace(list, at);
    if (list.length === 0) holders.delete(key);
    else holders.set(key, list);
    // A Service that is the first itself gets the second.
    if (at < 2) changed.add(place);
  };

  return {
    /** Replaces the addresses that the Service holds alone. */
    setAddresses(service: ServiceKey, addresses: readonly SoleAddress[]): void {
      const before = keysOf.get(service);
      const after = keysFor(service, addresses);
      for (const [key, place] of before ?? []) if (!after.has(key)) change(key, place, service, (list, at) => list.splice(at, 1));
      for (const [key, place] of after)
        if (before?.has(key) !== true) change(key, place, service, (list, at) => list.splice(at, 0, service));
      if (after.size === 0) keysOf.delete(service);
      else keysOf.set(service, after);
    },
    /** Returns the first Service by name that alone holds an address of each family. It is never `except`. */
    first({ namespace, pool, families }: Wanted, except: ServiceKey): ServiceKey | undefined {
      const list = holders.get(keyOf(placeOf(namespace, pool), families)) ?? [];
      return list[0] === except ? list[1] : list[0];
    },
    /** Returns the namespaces and pools in which `first` may answer differently than at the last call, each as `placeOf` names it. */
    takeChanged(): ReadonlySet<string> {
      const taken = changed;
      changed = new Set();
      return taken;
    },
  };
}

/** A Service with both families in a pool stands under each of them and under both. */
function keysFor(service: ServiceKey, addresses: readonly SoleAddress[]): Map<string, string> {
  const keys = new Map<string, string>();
  const namespace = service.slice(0, service.indexOf('/'));
  for (const { pool, family } of addresses) {
    const place = placeOf(namespace, pool);
    keys.set(keyOf(place, [family]), place);
    if (addresses.some((other) => other.pool === pool && other.family !== family)) keys.set(keyOf(place, [4, 6]), place);
  }
  return keys;
}

function keyOf(place: string, families: readonly Family[]): string {
  return `${place}/${families.toSorted((a, b) => a - b).join('')}`;
}
