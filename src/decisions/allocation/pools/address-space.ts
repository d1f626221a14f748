import { compareAddresses, type Address, type Family } from '../../../net/address.ts';
import { rangeContains, rangeSize, type AddressRange } from '../../../net/range.ts';
import type { IPAddressPool } from '../../../model/kinds/types.ts';
import { reason, type Reason } from '../../../model/reasons.ts';
import { containsAddress, refusalOf, type RefusedPool } from './pools.ts';
import { createFreeIntervals, type FreeIntervals } from './free-intervals.ts';

/** The addresses of the pools that give, and which of them are free. These pools are disjoint, as `effectivePools` leaves them. */
export interface AddressSpace {
  /** Those that give, by name. */
  readonly pools: readonly IPAddressPool[];
  /** Those that give nothing: addresses that are held in them stay in place. */
  readonly refused: readonly RefusedPool[];
  /** The pool that gives the address. */
  poolOf(address: Address): IPAddressPool | undefined;
  /** All pools that the address is in, the one that gives first. */
  poolsOf(address: Address): readonly IPAddressPool[];
  /** The first free address of the pool: its ranges in the order written, upwards in each. */
  lowestFree(pool: string, family: Family): Address | undefined;
  hasFamily(pool: string, family: Family): boolean;
  /** Marks an address as held. No effect where it is in no pool. */
  take(address: Address): void;
  /** Marks an address as free again. No effect where it is in no pool. */
  give(address: Address): void;
  usage(pool: string, family: Family): { readonly total: bigint; readonly free: bigint };
  /** See FreeIntervals. */
  steps(): number;
}

/** avoidBuggyIPs: some equipment takes these for network or broadcast addresses, whatever the prefix length. */
export function isBuggy({ family, value }: Address): boolean {
  return family === 4 && (value & 0xffn) % 0xffn === 0n;
}

/** Returns why the pool of this name gives nothing at all: it does not exist, or it is refused. Undefined when it gives addresses. */
export function whyPoolUnavailable(space: AddressSpace, pool: string): Reason | undefined {
  if (space.pools.some(({ metadata }) => metadata.name === pool)) return undefined;
  const refused = space.refused.find(({ pool: { metadata } }) => metadata.name === pool);
  return refused === undefined ? reason('PoolNotFound', { pool }) : refusalOf(refused).reason;
}

interface Block {
  readonly pool: IPAddressPool;
  readonly range: AddressRange;
  readonly free: FreeIntervals;
  held: bigint;
}

export function createAddressSpace(pools: readonly IPAddressPool[], refused: readonly RefusedPool[]): AddressSpace {
  const byPool = new Map(pools.map((pool) => [pool.metadata.name, pool.addresses.map((range) => blockOf(pool, range))]));
  const ascending = [...byPool.values()].flat().sort((a, b) => compareAddresses(a.range.first, b.range.first));
  const blocks = (pool: string, family: Family): readonly Block[] =>
    (byPool.get(pool) ?? []).filter(({ range }) => range.first.family === family);
  const excluded = ({ pool }: Block, address: Address): boolean => pool.avoidBuggyIPs && isBuggy(address);

  return {
    pools: pools.toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1)),
    refused,
    poolOf: (address) => blockAt(ascending, address)?.pool,
    poolsOf: (address) => [
      ...[blockAt(ascending, address)?.pool ?? []].flat(),
      ...refused.flatMap(({ pool }) => (containsAddress(pool, address) ? [pool] : [])),
    ],
    lowestFree(pool, family) {
      for (const block of blocks(pool, family)) {
        const address = lowest(block, excluded);
        if (address !== undefined) return address;
      }
      return undefined;
    },
    hasFamily: (pool, family) => blocks(pool, family).length > 0,
    take(address) {
      const block = blockAt(ascending, address);
      if (block !== undefined && block.free.take(address) && !excluded(block, address)) block.held++;
    },
    give(address) {
      const block = blockAt(ascending, address);
      // An address that the pool avoids may be held from before, but it is never given again.
      if (block === undefined || block.free.has(address) || excluded(block, address)) return;
      block.free.give(address);
      block.held--;
    },
    usage(pool, family) {
      let [total, held] = [0n, 0n];
      for (const block of blocks(pool, family)) {
        total += block.pool.avoidBuggyIPs && family === 4 ? rangeSize(block.range) - buggyIn(block.range) : rangeSize(block.range);
        held += block.held;
      }
      return { total, free: total - held };
    },
    steps: () => ascending.reduce((sum, { free }) => sum + free.steps(), 0),
  };
}

function blockOf(pool: IPAddressPool, range: AddressRange): Block {
  return { pool, range, free: createFreeIntervals(range), held: 0n };
}

/** Avoided addresses are dropped from the free ones when they are met: each once, at most two in a row. */
function lowest(block: Block, excluded: (block: Block, address: Address) => boolean): Address | undefined {
  for (;;) {
    const address = block.free.lowest();
    if (address === undefined || !excluded(block, address)) return address;
    block.free.take(address);
  }
}

function blockAt(ascending: readonly Block[], address: Address): Block | undefined {
  let [low, high] = [0, ascending.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    const block = ascending[middle];
    if (block !== undefined && compareAddresses(block.range.last, address) < 0) low = middle + 1;
    else high = middle;
  }
  const block = ascending[low];
  return block !== undefined && rangeContains(block.range, address) ? block : undefined;
}

/** How many addresses of an IPv4 range end in .0 or .255. */
function buggyIn({ first, last }: AddressRange): bigint {
  const upTo = (end: bigint, octet: bigint): bigint => (end < octet ? 0n : (end - octet) / 256n + 1n);
  const count = (end: bigint): bigint => upTo(end, 0n) + upTo(end, 255n);
  return count(last.value) - (first.value === 0n ? 0n : count(first.value - 1n));
}
