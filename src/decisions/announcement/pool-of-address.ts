import { defined } from '../../lang/defined.ts';
import type { Labels, ServiceKey } from '../../model/objects/metadata.ts';
import { anySelects } from '../../model/objects/label-selector.ts';
import { recordedPoolOf, type RecordedPool } from '../../model/objects/pool-record.ts';
import { assignedAddresses, type Service } from '../../model/objects/service.ts';
import type { BGPAdvertisement, IPAddressPool, L2Advertisement } from '../../model/kinds/types.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { bitsOf, sameAddress, type Address } from '../../net/address.ts';
import { containsAddress, poolsOf } from '../allocation/pools/pools.ts';
import { coversPool, poolPrefixes, type NamedPool } from './advertisements.ts';

/** A pool by whose advertisements an address is announced. */
export type PoolOfAddress = NamedPool &
  (
    | { readonly isKept?: false; readonly contains: IPAddressPool }
    /** By the record of the Service the address was of this pool, which contains it no longer. */
    | { readonly isKept: true }
  );

/**
 * Returns the pools by whose advertisements an address is announced, in order of precedence: those that contain it, the effective one first,
 * then the one on record. So an edit of pools takes no route away, and a pool that takes the address over decides alone once it is
 * announced. `services`: those that hold the address.
 */
export function poolsOfAddress(snapshot: Snapshot, services: readonly Service[], address: Address): readonly PoolOfAddress[] {
  const containing = poolsOf(snapshot.pools, address).map((pool): PoolOfAddress => ({ metadata: pool.metadata, contains: pool }));
  const names = new Set(containing.map(({ metadata }) => metadata.name));
  const former = services.flatMap((service): PoolOfAddress[] => {
    const recorded = recordedPoolOf(service, address);
    if (recorded === undefined || names.has(recorded.pool)) return [];
    names.add(recorded.pool);
    return [{ ...asPool(snapshot, recorded), isKept: true }];
  });
  return [...containing, ...former];
}

/** The part of an advertisement of either kind that selects pools and Services. */
type Selecting = Pick<BGPAdvertisement, 'ipAddressPools' | 'ipAddressPoolSelectors' | 'serviceSelectors'>;

/**
 * Returns the first of the pools that an advertisement covers, at best one that selects one of the Services: overlapping pools do not reveal
 * which one gave an address, and a pool created later must not withdraw it. Undefined: no advertisement covers any of them.
 */
export function announcedPool<P extends NamedPool>(
  pools: readonly P[],
  advertisements: readonly Selecting[],
  services: readonly Service[],
): P | undefined {
  const selecting = advertisements.filter((one) => services.some(({ metadata }) => anySelects(one.serviceSelectors, metadata.labels)));
  const coveredBy = (some: typeof advertisements): P | undefined => pools.find((pool) => some.some((one) => coversPool(one, pool)));
  return coveredBy(selecting) ?? coveredBy(advertisements);
}

/**
 * Returns the pools of a Service's addresses as its condition is to record them: of each the one by which it is announced. The recorded one
 * stays while it is needed, by BGP or at layer 2.
 */
export function poolsToRecord(snapshot: Snapshot, service: Service): RecordedPool[] {
  return assignedAddresses(service).flatMap((address): RecordedPool[] => {
    const pools = poolsOfAddress(snapshot, [service], address);
    const recorded = recordedPoolOf(service, address);
    const isRecorded = ({ metadata }: NamedPool): boolean => metadata.name === recorded?.pool;
    const announced = kindsOf(snapshot).flatMap((advertisements) => announcedPool(pools, advertisements, [service]) ?? []);
    const pool = announced.find(isRecorded) ?? announced[0] ?? pools.find(isRecorded) ?? pools[0];
    if (pool === undefined) return [];
    const block = neededBlock(snapshot, address, pool, isRecorded(pool) ? recorded?.block : undefined);
    const labels = selectedLabels(snapshot, pool.metadata.labels, recorded);
    return [{ address, pool: pool.metadata.name, labels, ...defined({ block }) }];
  });
}

/**
 * Returns the length of the largest block around the address that is or was of its pool. Undefined: no BGPAdvertisement makes an aggregate
 * inside it.
 */
function neededBlock(snapshot: Snapshot, address: Address, pool: PoolOfAddress, recorded: number | undefined): number | undefined {
  const field = address.family === 4 ? 'aggregationLength' : 'aggregationLengthV6';
  const blocks = pool.isKept === true ? [] : poolPrefixes(pool.contains, address);
  const largest = Math.min(...blocks.map(({ length }) => length), recorded ?? Infinity);
  const aggregating = balancedAdvertisements(snapshot).filter((one) => one[field] < bitsOf(address.family) && coversPool(one, pool));
  return aggregating.some((one) => one[field] >= largest) ? largest : undefined;
}

/**
 * Returns the first Service by name with an address that no longer lies in its pool on record, if the advertisement covers that pool. `pool`:
 * the name of the only pool to look at. The cost is proportional to the number of Services.
 */
export function keeperOf(snapshot: Snapshot, advertisement: BGPAdvertisement | L2Advertisement, pool?: string): ServiceKey | undefined {
  const isKept = (service: Service, recorded: RecordedPool): boolean => {
    if (pool !== undefined && recorded.pool !== pool) return false;
    const existing = snapshot.pools.get(recorded.pool);
    if (existing !== undefined && containsAddress(existing, recorded.address)) return false;
    if (!coversPool(advertisement, asPool(snapshot, recorded))) return false;
    return assignedAddresses(service).some((address) => sameAddress(address, recorded.address));
  };
  const keepers = [...snapshot.services].filter(([, service]) => service.recordedPools?.some((one) => isKept(service, one)) === true);
  return keepers.map(([key]) => key).toSorted()[0];
}

function kindsOf(snapshot: Snapshot): readonly (readonly (BGPAdvertisement | L2Advertisement)[])[] {
  return [balancedAdvertisements(snapshot), [...snapshot.l2Advertisements.values()]];
}

/** Returns the BGPAdvertisements of addresses that pools give. */
export function balancedAdvertisements({ advertisements }: Pick<Snapshot, 'advertisements'>): BGPAdvertisement[] {
  return [...advertisements.values()].filter(({ addressTypes }) => addressTypes.includes('LoadBalancer'));
}

/** An existing pool has the labels that it has now, one that is gone those on record. */
function asPool({ pools }: Snapshot, { pool, labels }: RecordedPool): NamedPool {
  return { metadata: { name: pool, labels: pools.get(pool)?.metadata.labels ?? labels } };
}

/**
 * Returns the labels that selectors read. Others, such as the version of a chart, change often and decide nothing. Those on record stay: the
 * advertisement that reads them may come back after it was deleted.
 */
function selectedLabels(snapshot: Snapshot, labels: Labels, recorded: RecordedPool | undefined): Labels {
  const selectors = kindsOf(snapshot).flatMap((kind) => kind.flatMap(({ ipAddressPoolSelectors }) => ipAddressPoolSelectors));
  const keys = new Set([
    ...Object.keys(recorded?.labels ?? {}),
    ...selectors.flatMap(({ matchLabels, matchExpressions }) => [...Object.keys(matchLabels), ...matchExpressions.map(({ key }) => key)]),
  ]);
  return Object.fromEntries(Object.entries(labels).filter(([key]) => keys.has(key)));
}
