import { defined } from '../../lang/defined.ts';
import { decideAllocationClaim } from '../../decisions/allocation/claim.ts';
import { inOrderOfService } from '../../decisions/allocation/order.ts';
import { effectivePools } from '../../decisions/allocation/pools/pools.ts';
import { allocationRequest } from '../../decisions/allocation/request.ts';
import { clusterAddressesIn } from '../../decisions/configuration/cluster-addresses.ts';
import { conflictsOf } from '../../decisions/configuration/pool-conflicts.ts';
import { poolStatus } from '../../decisions/configuration/pool-status.ts';
import type { ServiceKey } from '../../model/objects/metadata.ts';
import type { Reason } from '../../model/reasons.ts';
import type { ReleasedAddress } from '../../model/parse/released-address.ts';
import { assignedAddresses } from '../../model/objects/service.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { formatAddress } from '../../net/address.ts';
import { formatRange } from '../../net/range.ts';
import { allocatorOf } from './allocation.ts';
import { announcedBy, announcedByText, type AnnouncedBy } from './announced-by.ts';
import { limits } from '../limits.ts';
import { whyGivesNothing } from './gives-nothing.ts';
import { withFix } from '../text/reason-lines.ts';

/** Which Services have addresses of an IPAddressPool, and why others get none. Plain data. */
interface PoolExplanation extends AnnouncedBy {
  readonly pool: string;
  readonly addresses: readonly string[];
  /** One entry for each family of the pool. Counts are text, because IPv6 pools exceed the range of numbers. */
  readonly usage: readonly { readonly family: string; readonly assigned: number; readonly free: string; readonly total: string }[];
  /** Why no Service of any namespace would get an address from the pool. */
  readonly reason?: Reason;
  /** Another problem of the pool, which may give addresses nevertheless. */
  readonly warning?: Reason;
  readonly holders: readonly { readonly service: ServiceKey; readonly addresses: readonly string[] }[];
  /** Services without an address, in waiting order, and why this pool gives them none. No reason: it would give them one. */
  readonly waiting: readonly { readonly service: ServiceKey; readonly reason?: Reason }[];
  /** Holders and waiting Services that are not listed. */
  readonly more: number;
}

export function explainPool(snapshot: Snapshot, name: string, released: readonly ReleasedAddress[] = []): PoolExplanation | undefined {
  const pool = snapshot.pools.get(name);
  if (pool === undefined) return undefined;
  const allocator = allocatorOf(snapshot, released);
  const refused = effectivePools(snapshot.pools).refused.get(name);
  const usage = allocator.usage().filter((one) => one.pool === name);
  const conflicts = conflictsOf(snapshot.pools.values()).get(name) ?? [];
  const clusterAddress = clusterAddressesIn(snapshot, [pool]).get(name);
  const { unready } = poolStatus(pool, { refused: refused?.reason, usage, conflicts, clusterAddress, released: [] });
  const holders = [...allocator.assignments()].flatMap(({ service, addresses }) => {
    const held = addresses.filter((address) => allocator.poolOf(address) === name).map(formatAddress);
    return held.length === 0 ? [] : [{ service, addresses: held }];
  });
  const waiting = waitingServices(snapshot).map((service) => {
    const found = snapshot.services.get(service);
    const survey = found === undefined ? [] : allocator.survey(allocationRequest(found, snapshot));
    const because = survey.find((one) => one.pool === name)?.reason;
    return { service, ...defined({ reason: because }) };
  });
  const why = whyGivesNothing(pool, { snapshot, allocator, refused });
  return {
    pool: name,
    addresses: pool.addresses.map(formatRange),
    usage: usage.map(({ family, assigned, free, total }) => ({
      family: `IPv${family}`,
      assigned,
      free: String(free),
      total: String(total),
    })),
    ...defined({ reason: why, warning: unready?.code === why?.code ? undefined : unready }),
    ...announcedBy(snapshot, pool),
    holders: holders.toSorted((a, b) => (a.service < b.service ? -1 : 1)).slice(0, limits.services),
    waiting: waiting.slice(0, limits.services),
    more: Math.max(0, holders.length - limits.services) + Math.max(0, waiting.length - limits.services),
  };
}

/** Herald's Services without an address, in the order in which they wait. */
export function waitingServices(snapshot: Snapshot): ServiceKey[] {
  return inOrderOfService(snapshot, new Map()).filter((key) => {
    const service = snapshot.services.get(key);
    return service !== undefined && decideAllocationClaim(service, snapshot.config).mine && assignedAddresses(service).length === 0;
  });
}

export function renderPool(explanation: PoolExplanation): string[] {
  const { pool, addresses, usage, reason: because, warning, unannounced, holders, waiting, more } = explanation;
  const given = usage.map(
    ({ family, assigned, free, total }) => `${family} ${assigned} given, ${shortCount(free)} of ${shortCount(total)} free`,
  );
  return [
    `IPAddressPool ${pool}`,
    '',
    `Addresses  ${addresses.join(', ')}`,
    `Usage      ${given.join('; ') || 'none'}`,
    ...(because === undefined ? [] : withFix('Gives      nothing more: ', because)),
    ...(warning === undefined ? [] : withFix('Warning    ', warning)),
    ...(unannounced === undefined ? [`Announced  by ${announcedByText(explanation)}`] : withFix('Announced  by nothing: ', unannounced)),
    ...holders.map(({ service, addresses: held }) => `Held by    ${service}: ${held.join(', ')}`),
    ...waiting.flatMap(({ service, reason: why }) =>
      why === undefined ? [`Waits      ${service}: this pool would give it one`] : withFix(`Waits      ${service}: `, why),
    ),
    ...(more === 0 ? [] : [`           and ${more} more Services`]),
  ];
}

/** Shortens a large count of IPv6 addresses to a power of two. */
export function shortCount(count: string): string {
  if (count.length <= 12) return count;
  const digits = BigInt(count).toString(2);
  const bits = digits.length - 1;
  if (BigInt(count) === 2n ** BigInt(bits)) return `2^${bits}`;
  return `about 2^${digits[1] === '1' ? bits + 1 : bits}`;
}
