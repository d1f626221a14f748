import { resolveAdvertisement } from '../../../decisions/announcement/advertisements.ts';
import type { BGPAdvertisement, IPAddressPool } from '../../../model/kinds/types.ts';
import type { Remark } from '../../../model/metallb/import.ts';
import { reasonText, remedyText } from '../../../model/reasons.ts';
import type { Snapshot } from '../../../model/store/snapshot.ts';
import type { Family } from '../../../net/address.ts';
import { rangeToPrefixes } from '../../../net/range.ts';
import type { PoolCoverage } from './pool-coverage.ts';

/**
 * Reports pools whose addresses the advertisement would aggregate to more than a block of the pool. MetalLB looks only at the largest block
 * of each range; Herald leaves out the addresses of every block that is too small.
 */
export function aggregateRemarks(advertisement: BGPAdvertisement, snapshot: Snapshot, coverage: PoolCoverage): Remark[] {
  if (!advertisement.addressTypes.includes('LoadBalancer')) return [];
  return [...coverage.poolsOf(advertisement)].flatMap((pool) =>
    ([4, 6] as const).flatMap((family) => tooShort(advertisement, snapshot, pool, family)),
  );
}

const originOf = (pool: IPAddressPool) =>
  ({ type: 'LoadBalancer', pool, prefixes: [], name: `IPAddressPool "${pool.metadata.name}"` }) as const;

/** Reports the smallest block of one family that is too small. */
function tooShort(advertisement: BGPAdvertisement, snapshot: Snapshot, pool: IPAddressPool, family: Family): Remark[] {
  const length = family === 4 ? advertisement.aggregationLength : advertisement.aggregationLengthV6;
  const ranges = pool.addresses.filter(({ first }) => first.family === family).map(rangeToPrefixes);
  const [smallest] = ranges.flat().toSorted((a, b) => b.length - a.length);
  if (smallest === undefined || length >= smallest.length) return [];
  const answer = resolveAdvertisement(snapshot, { ...advertisement, communities: [] }, smallest.address, {
    ...originOf(pool),
    prefixes: [smallest],
  });
  if (!('reason' in answer)) return [];
  const refused = ranges.some((blocks) => blocks.every((block) => length < block.length));
  const theirs = refused ? 'MetalLB accepts no configuration' : 'MetalLB announces it nevertheless';
  return [
    {
      level: 'differs',
      field: family === 4 ? 'spec.aggregationLength' : 'spec.aggregationLengthV6',
      message: `${reasonText(answer.reason)}: Herald does not announce that block, and ${theirs}`,
      fix: remedyText(answer.reason),
    },
  ];
}
