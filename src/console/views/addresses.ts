import { defined } from '../../lang/defined.ts';
import { reasonLine } from '../../decisions/verdict/verdict-text.ts';
import { announcedByText } from '../../explain/pools/announced-by.ts';
import type { PoolRow } from '../../explain/pools/pool-report.ts';
import type { IPAddressPool } from '../../model/kinds/types.ts';
import type { ServiceKey } from '../../model/objects/metadata.ts';
import { reasonText } from '../../model/reasons.ts';
import { assignedAddresses } from '../../model/objects/service.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { formatAddress, type Address } from '../../net/address.ts';
import { formatRange, rangeContains, rangeSize, rangesOverlap, type AddressRange } from '../../net/range.ts';
import type { AddressCell, AddressesView, AddressRangeView, AddressState, PoolView } from '../contract.ts';
import { limits } from '../limits.ts';
import type { Picture } from '../picture.ts';
import { readingFacts, timeText } from './reading-facts.ts';

/** Draws each pool as its address space. */
export function addressesView(picture: Picture): AddressesView {
  const { snapshot, overview } = picture;
  const used = usedAddresses(picture);
  const pools = overview.pools.flatMap((row): PoolView[] => {
    const object = snapshot.pools.get(row.pool);
    return object === undefined ? [] : [poolView(snapshot, object, row, used)];
  });
  return { ...readingFacts(picture), pools };
}

interface Used {
  readonly address: Address;
  readonly state: AddressState;
  readonly services: readonly ServiceKey[];
  readonly until?: string;
}

/** Addresses that Services have, and those that pools reserve or keep, sorted by address. */
function usedAddresses({ snapshot, released, now }: Picture): readonly Used[] {
  const found = new Map<string, Used & { readonly services: ServiceKey[] }>();
  for (const [key, service] of snapshot.services) {
    if (service.type !== 'LoadBalancer') continue;
    for (const address of assignedAddresses(service)) {
      const text = formatAddress(address);
      const one = found.get(text);
      if (one === undefined) found.set(text, { address, state: 'assigned', services: [key] });
      else one.services.push(key);
    }
  }
  for (const { service, address } of [...snapshot.pools.values()].flatMap(({ reservations }) => reservations)) {
    const text = formatAddress(address);
    if (!found.has(text)) found.set(text, { address, state: 'reserved', services: [service] });
  }
  for (const { service, address, until } of released) {
    const text = formatAddress(address);
    if (until > now && !found.has(text)) found.set(text, { address, state: 'kept', services: [service], until: timeText(until) });
  }
  return [...found.values()].toSorted((a, b) => (a.address.value < b.address.value ? -1 : 1));
}

function poolView(snapshot: Snapshot, pool: IPAddressPool, row: PoolRow, used: readonly Used[]): PoolView {
  const others = [...snapshot.pools.values()].filter((one) => one !== pool).flatMap(({ addresses }) => addresses);
  const reasons = [row.givesNothing, row.reason].flatMap((one) => one ?? []);
  const lines = [...new Set(reasons.map((one) => reasonLine(one)))];
  return {
    pool: row.pool,
    usage: row.usage,
    pending: row.pending,
    health: row.givesNothing !== undefined ? 'bad' : row.reason !== undefined || row.unannounced !== undefined ? 'doubtful' : 'good',
    isDraining: pool.draining,
    ranges: pool.addresses.map((range) => {
      const overlaps = others.filter((other) => rangesOverlap(range, other));
      return rangeView(range, used, { overlaps, isDraining: pool.draining });
    }),
    announced: row.unannounced === undefined ? announcedByText(row) : reasonText(row.unannounced),
    lines: row.unannounced === undefined ? lines : [...lines, reasonLine(row.unannounced)],
  };
}

/** Other facts that concern the addresses of a range. */
interface Around {
  readonly overlaps: readonly AddressRange[];
  readonly isDraining: boolean;
}

function rangeView(range: AddressRange, used: readonly Used[], around: Around): AddressRangeView {
  const { overlaps } = around;
  const size = rangeSize(range);
  const inside = used.filter(({ address }) => rangeContains(range, address));
  const listed = inside.slice(0, limits.holders);
  const blocks = size > BigInt(limits.cells) ? blocksOf(range, inside) : undefined;
  const step = BigInt(blocks?.size ?? 1);
  const cells = listed.map((one) => cellOf(range, one, around, step));
  return {
    range: formatRange(range),
    family: range.first.family === 4 ? 'IPv4' : 'IPv6',
    size: String(size),
    cells: blocks === undefined ? [...cells, ...overlapCells(range, overlaps, inside)] : cells,
    moreCells: inside.length - listed.length,
    ...defined({ blocks }),
  };
}

function cellOf(
  { first }: AddressRange,
  { address, state, services, until }: Used,
  { overlaps, isDraining }: Around,
  step: bigint,
): AddressCell {
  const doubled = overlaps.some((other) => rangeContains(other, address));
  return {
    at: Number((address.value - first.value) / step),
    address: formatAddress(address),
    state: doubled ? 'overlap' : isDraining && state === 'assigned' ? 'draining' : state,
    services: services.slice(0, limits.sharers),
    ...defined({ until }),
  };
}

/** Addresses that nobody has and that belong to two pools. Only of a small range. */
function overlapCells({ first, last }: AddressRange, overlaps: readonly AddressRange[], used: readonly Used[]): AddressCell[] {
  if (overlaps.length === 0) return [];
  const taken = new Set(used.map(({ address }) => address.value));
  const cells: AddressCell[] = [];
  for (let { value } = first; value <= last.value; value++) {
    const address: Address = { family: first.family, value };
    if (taken.has(value) || !overlaps.some((other) => rangeContains(other, address))) continue;
    cells.push({ at: Number(value - first.value), address: formatAddress(address), state: 'overlap', services: [] });
  }
  return cells;
}

function blocksOf(range: AddressRange, used: readonly Used[]): NonNullable<AddressRangeView['blocks']> {
  const count = BigInt(limits.blocks);
  const size = (rangeSize(range) + count - 1n) / count;
  const blocks = Array<number>(Number((rangeSize(range) + size - 1n) / size)).fill(0);
  for (const { address } of used) {
    const block = Number((address.value - range.first.value) / size);
    blocks[block] = (blocks[block] ?? 0) + 1;
  }
  return { size: String(size), used: blocks };
}
