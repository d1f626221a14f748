import { coversPool } from '../../decisions/announcement/advertisements.ts';
import type { IPAddressPool } from '../../model/kinds/types.ts';
import { reason, type Reason } from '../../model/reasons.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';

/** The advertisements of a pool, by name. */
export interface AnnouncedBy {
  /** BGPAdvertisements that announce addresses of the pool. */
  readonly advertisements: readonly string[];
  /** L2Advertisements that do. Absent: none. */
  readonly l2Advertisements?: readonly string[];
  /** Why neither kind announces them. */
  readonly unannounced?: Reason;
}

export function announcedBy(snapshot: Pick<Snapshot, 'advertisements' | 'l2Advertisements'>, pool: IPAddressPool): AnnouncedBy {
  const bgp = [...snapshot.advertisements.values()].filter((one) => one.addressTypes.includes('LoadBalancer') && coversPool(one, pool));
  const l2 = [...snapshot.l2Advertisements.values()].filter((one) => coversPool(one, pool));
  const names = (list: readonly (typeof bgp)[number][] | typeof l2): string[] => list.map(({ metadata }) => metadata.name).toSorted();
  return {
    advertisements: names(bgp),
    ...(l2.length === 0 ? {} : { l2Advertisements: names(l2) }),
    ...(bgp.length + l2.length === 0 ? { unannounced: reason('NoAdvertisement', { type: 'LoadBalancer' }) } : {}),
  };
}

/** "BGPAdvertisement a, b; L2Advertisement c". */
export function announcedByText({ advertisements, l2Advertisements = [] }: AnnouncedBy): string {
  return [
    ...(advertisements.length === 0 ? [] : [`BGPAdvertisement ${advertisements.join(', ')}`]),
    ...(l2Advertisements.length === 0 ? [] : [`L2Advertisement ${l2Advertisements.join(', ')}`]),
  ].join('; ');
}
