import { defined } from '../../lang/defined.ts';
import type { Family } from '../../net/address.ts';
import type { IPAddressPool } from '../../model/kinds/types.ts';
import { releasedManifest, type ReleasedAddress } from '../../model/parse/released-address.ts';
import { reason, type Reason } from '../../model/reasons.ts';
import type { PoolUsage } from '../allocation/allocator.ts';
import { whyPoolGivesNoMore } from '../allocation/pools/pool-eligibility.ts';
import type { ObjectStatus } from './object-status.ts';

/** The largest int64 stands for counts above it, as in MetalLB. */
export const uncountable = 2n ** 63n - 1n;
const uncountableBits = 62n;

interface PoolContext {
  /** Why the pool assigns nothing. */
  readonly refused: Reason | undefined;
  /** Usage of this pool. A family that it lacks is absent. */
  readonly usage: readonly PoolUsage[];
  readonly conflicts: readonly string[];
  /** An address that the pool contains and the cluster needs. The pool assigns addresses nevertheless. */
  readonly clusterAddress?: Reason | undefined;
  readonly released: readonly ReleasedAddress[];
}

export function poolStatus(pool: IPAddressPool, { refused, usage, conflicts, clusterAddress, released }: PoolContext): ObjectStatus {
  const of = (family: Family): PoolUsage | undefined => usage.find((one) => one.family === family);
  const unready = refused ?? whyPoolGivesNoMore(pool) ?? clusterAddress ?? whyFull(pool, usage);
  return {
    ...defined({ refused, unready }),
    fields: {
      assignedIPv4: of(4)?.assigned ?? 0,
      assignedIPv6: of(6)?.assigned ?? 0,
      availableIPv4: available(of(4)),
      availableIPv6: hasUncountableBlock(pool) && refused === undefined ? uncountable : available(of(6)),
      usage: usage.map(({ assigned, total }) => `${assigned}/${shortly(total)}`).join(', '),
      conflicts,
      released: releasedManifest(released),
    },
  };
}

/** A pool with room in one family is not full, because most Services ask for one. */
function whyFull({ metadata: { name } }: IPAddressPool, usage: readonly PoolUsage[]): Reason | undefined {
  const full = usage.filter(({ free }) => free === 0n);
  const [first] = full;
  if (first === undefined || full.length < usage.length) return undefined;
  return reason('PoolFull', { pool: name, family: `IPv${first.family}`, total: String(first.total) });
}

function available(usage: PoolUsage | undefined): bigint {
  const free = usage?.free ?? 0n;
  return free > uncountable ? uncountable : free;
}

function hasUncountableBlock({ addresses }: IPAddressPool): boolean {
  return addresses.some(({ first, last }) => first.family === 6 && last.value - first.value + 1n >= 2n ** uncountableBits);
}

/** Formats a count as "256" or "2^64". */
function shortly(count: bigint): string {
  const bits = count.toString(2).length - 1;
  return bits >= 32 && count === 2n ** BigInt(bits) ? `2^${bits}` : String(count);
}
