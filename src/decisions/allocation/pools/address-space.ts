import { closestName } from '../../../lang/closest-name.ts';
import { defined } from '../../../lang/defined.ts';
import { compareAddresses, type Address, type Family } from '../../../net/address.ts';
import { rangeContains, rangeOfPrefix, rangeSize, rangesOverlap, type AddressRange } from '../../../net/range.ts';
import type { IPAddressPool } from '../../../model/kinds/types.ts';
import { reason, type Reason } from '../../../model/reasons.ts';
import { containsAddress, lowerBound, type RefusedPool } from './pools.ts';
import { createFreeIntervals, type FreeIntervals } from './free-intervals.ts';
import { noOwners, type KnownOwners } from './owners-in-pools.ts';

export type AddressSpace = ReturnType<typeof createAddressSpace>;

/** avoidBuggyIPs: some equipment takes addresses that end in .0 or .255 for network or broadcast addresses, whatever the prefix length. */
export function isBuggy({ family, value }: Address): boolean {
  return family === 4 && (value & 0xffn) % 0xffn === 0n;
}

/** Returns why the pool of this name gives nothing at all: it does not exist, or it is refused. Undefined when it gives addresses. */
export function whyPoolUnavailable(space: AddressSpace, pool: string): Reason | undefined {
  if (space.pools.some(({ metadata }) => metadata.name === pool)) return undefined;
  const refused = space.refused.find(({ pool: { metadata } }) => metadata.name === pool);
  if (refused !== undefined) return refused.reason;
  const known = space.pools.map(({ metadata }) => metadata.name);
  return reason('PoolNotFound', { pool, ...defined({ meant: closestName(pool, known) }) });
}

interface Block {
  readonly pool: IPAddressPool;
  readonly range: AddressRange;
  readonly free: FreeIntervals;
  /** The parts of the range that belong to something else as a whole, ascending and disjoint. */
  readonly holes: readonly AddressRange[];
  /** Other addresses that belong to something else. */
  readonly ofOthers: Set<bigint>;
  held: bigint;
}

/** The addresses of the effective pools, and which of them are free. The pools are disjoint, as `effectivePools` returns them. */
export function createAddressSpace(pools: readonly IPAddressPool[], refused: readonly RefusedPool[], owners: KnownOwners = noOwners) {
  const taken = owners.inPools.ranges.map(({ prefix }) => rangeOfPrefix(prefix));
  const byPool = new Map(pools.map((pool) => [pool.metadata.name, pool.addresses.map((range) => blockOf(pool, range, taken))]));
  const ascending = [...byPool.values()].flat().sort((a, b) => compareAddresses(a.range.first, b.range.first));
  const blocks = (pool: string, family: Family): readonly Block[] =>
    (byPool.get(pool) ?? []).filter(({ range }) => range.first.family === family);
  for (const { prefix } of owners.inPools.hosts.values()) noteOwned(blockAt(ascending, prefix.address), prefix.address);
  const avoids = ({ pool }: Block, address: Address): boolean => pool.avoidBuggyIPs && isBuggy(address);
  const excluded = (block: Block, address: Address): boolean =>
    block.ofOthers.has(address.value) || avoids(block, address) || isInHole(block, address);

  return {
    /** The effective pools, sorted by name. */
    pools: pools.toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1)),
    /** Refused pools. They assign nothing; addresses held in them stay. */
    refused,
    /** Returns the effective pool that contains the address. */
    poolOf: (address: Address) => blockAt(ascending, address)?.pool,
    /** Returns all pools that contain the address, the effective one first. */
    poolsOf: (address: Address): readonly IPAddressPool[] => [
      ...[blockAt(ascending, address)?.pool ?? []].flat(),
      ...refused.flatMap(({ pool }) => (containsAddress(pool, address) ? [pool] : [])),
    ],
    /** Returns the first free address of the pool: ranges in the order written, upwards within each. */
    lowestFree(pool: string, family: Family): Address | undefined {
      const found = blocks(pool, family).values();
      return found.map((block) => lowest(block, excluded)).find((address) => address !== undefined);
    },
    hasFamily: (pool: string, family: Family) => blocks(pool, family).length > 0,
    /** Returns what else has the address, so that no Service gets it. */
    ownerOf: owners.ownerOf,
    /** Returns what else no pool gives the address for: also an external IP, or an address that another controller gave. */
    ownerInPools: (address: Address) => owners.inPools.ownerOf(address),
    /** Marks an address as held. Does nothing when no pool contains it. */
    markHeld(address: Address): void {
      const block = blockAt(ascending, address);
      if (block !== undefined && block.free.markHeld(address) && !excluded(block, address)) block.held++;
    },
    /** Marks an address as free. Does nothing when no pool contains it. */
    markFree(address: Address): void {
      const block = blockAt(ascending, address);
      // An excluded address may be held from before; once released it is not assigned again.
      if (block === undefined || block.free.has(address) || excluded(block, address)) return;
      block.free.markFree(address);
      block.held--;
    },
    usage(pool: string, family: Family): { readonly total: bigint; readonly free: bigint } {
      let [total, held] = [0n, 0n];
      for (const block of blocks(pool, family)) {
        total += sizeOf(block, block.range);
        for (const hole of block.holes) total -= sizeOf(block, hole);
        for (const value of block.ofOthers) if (!avoids(block, { family, value })) total--;
        held += block.held;
      }
      return { total, free: total - held };
    },
    /** See FreeIntervals. */
    steps: () => ascending.reduce((sum, { free }) => sum + free.steps(), 0),
  };
}

function blockOf(pool: IPAddressPool, range: AddressRange, taken: readonly AddressRange[]): Block {
  const holes = holesIn(range, taken);
  return { pool, range, free: createFreeIntervals(range, holes), holes, ofOthers: new Set(), held: 0n };
}

/** Returns the parts of the range that are taken, ascending and disjoint. */
function holesIn(range: AddressRange, taken: readonly AddressRange[]): AddressRange[] {
  const holes: AddressRange[] = [];
  const overlapping = taken.filter((other) => rangesOverlap(range, other));
  for (const { first, last } of overlapping.toSorted((a, b) => compareAddresses(a.first, b.first))) {
    const cut = {
      first: compareAddresses(first, range.first) < 0 ? range.first : first,
      last: compareAddresses(last, range.last) > 0 ? range.last : last,
    };
    const before = holes.at(-1);
    if (before === undefined || before.last.value < cut.first.value) holes.push(cut);
    else if (before.last.value < cut.last.value) holes[holes.length - 1] = { first: before.first, last: cut.last };
  }
  return holes;
}

function isInHole({ holes }: Block, address: Address): boolean {
  const hole = holes[lowerBound(holes, ({ last }) => compareAddresses(last, address) < 0)];
  return hole !== undefined && rangeContains(hole, address);
}

function noteOwned(block: Block | undefined, address: Address): void {
  if (block !== undefined && !isInHole(block, address)) block.ofOthers.add(address.value);
}

/** Counts the addresses of a range that the pool does not avoid. */
function sizeOf({ pool }: Block, range: AddressRange): bigint {
  return pool.avoidBuggyIPs && range.first.family === 4 ? rangeSize(range) - buggyIn(range) : rangeSize(range);
}

/** Removes excluded addresses from the free ones when the search meets them, each once. */
function lowest(block: Block, excluded: (block: Block, address: Address) => boolean): Address | undefined {
  for (;;) {
    const address = block.free.lowest();
    if (address === undefined || !excluded(block, address)) return address;
    block.free.markHeld(address);
  }
}

function blockAt(ascending: readonly Block[], address: Address): Block | undefined {
  const block = ascending[lowerBound(ascending, ({ range }) => compareAddresses(range.last, address) < 0)];
  return block !== undefined && rangeContains(block.range, address) ? block : undefined;
}

/** Counts the addresses of an IPv4 range that end in .0 or .255. */
function buggyIn({ first, last }: AddressRange): bigint {
  const upTo = (end: bigint, octet: bigint): bigint => (end < octet ? 0n : (end - octet) / 256n + 1n);
  const count = (end: bigint): bigint => upTo(end, 0n) + upTo(end, 255n);
  return count(last.value) - (first.value === 0n ? 0n : count(first.value - 1n));
}
