import { compareAddresses, formatAddress, type Address, type Family } from '../../../net/address.ts';
import { rangeContains, rangeSize, type AddressRange } from '../../../net/range.ts';
import type { IPAddressPool } from '../../../model/kinds/types.ts';
import { reason, type Reason } from '../../../model/reasons.ts';
import { containsAddress, lowerBound, type RefusedPool } from './pools.ts';
import { createFreeIntervals, type FreeIntervals } from './free-intervals.ts';
import type { NetworkAddresses } from './network-addresses.ts';

export type AddressSpace = ReturnType<typeof createAddressSpace>;

/** avoidBuggyIPs: some equipment takes addresses that end in .0 or .255 for network or broadcast addresses, whatever the prefix length. */
export function isBuggy({ family, value }: Address): boolean {
  return family === 4 && (value & 0xffn) % 0xffn === 0n;
}

/** Returns why the pool of this name gives nothing at all: it does not exist, or it is refused. Undefined when it gives addresses. */
export function whyPoolUnavailable(space: AddressSpace, pool: string): Reason | undefined {
  if (space.pools.some(({ metadata }) => metadata.name === pool)) return undefined;
  const refused = space.refused.find(({ pool: { metadata } }) => metadata.name === pool);
  return refused === undefined ? reason('PoolNotFound', { pool }) : refused.reason;
}

interface Block {
  readonly pool: IPAddressPool;
  readonly range: AddressRange;
  readonly free: FreeIntervals;
  /** Addresses of Nodes and BGPPeers. */
  readonly ofNetwork: Set<bigint>;
  held: bigint;
}

/** The addresses of the effective pools, and which of them are free. The pools are disjoint, as `effectivePools` returns them. */
export function createAddressSpace(
  pools: readonly IPAddressPool[],
  refused: readonly RefusedPool[],
  network: NetworkAddresses = new Map(),
) {
  const byPool = new Map(pools.map((pool) => [pool.metadata.name, pool.addresses.map((range) => blockOf(pool, range))]));
  const ascending = [...byPool.values()].flat().sort((a, b) => compareAddresses(a.range.first, b.range.first));
  const blocks = (pool: string, family: Family): readonly Block[] =>
    (byPool.get(pool) ?? []).filter(({ range }) => range.first.family === family);
  for (const { address } of network.values()) blockAt(ascending, address)?.ofNetwork.add(address.value);
  const avoids = ({ pool }: Block, address: Address): boolean => pool.avoidBuggyIPs && isBuggy(address);
  const excluded = (block: Block, address: Address): boolean => block.ofNetwork.has(address.value) || avoids(block, address);

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
    /** Returns which Node or BGPPeer has the address itself, so that no Service gets it. */
    ownerInNetwork: (address: Address) => network.get(formatAddress(address))?.of,
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
        total += block.pool.avoidBuggyIPs && family === 4 ? rangeSize(block.range) - buggyIn(block.range) : rangeSize(block.range);
        for (const value of block.ofNetwork) if (!avoids(block, { family, value })) total--;
        held += block.held;
      }
      return { total, free: total - held };
    },
    /** See FreeIntervals. */
    steps: () => ascending.reduce((sum, { free }) => sum + free.steps(), 0),
  };
}

function blockOf(pool: IPAddressPool, range: AddressRange): Block {
  return { pool, range, free: createFreeIntervals(range), ofNetwork: new Set(), held: 0n };
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
