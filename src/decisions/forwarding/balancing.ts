import type { HeraldConfig } from '../../model/kinds/types.ts';
import { serviceKey } from '../../model/objects/metadata.ts';
import type { Service } from '../../model/objects/service.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { compareAddresses, formatAddress } from '../../net/address.ts';
import type { HashInput } from '../../net/connection-hash.ts';
import { slotTableSizes, type SlotTable, type SlotTableSize } from '../../net/frontend.ts';
import type { Target } from './endpoints.ts';
import { fillSlots, type SlotCandidate } from './slot-table.ts';

/** Consistent hashing of a Service's load balancer addresses and external IPs. */
export interface ConsistentHashing {
  /** The client alone when sessionAffinity is ClientIP: the client then keeps its backend without any stored state or time-out. */
  readonly hashed: HashInput;
  /** Larger for many endpoints (`slotsFor`). */
  readonly slots: SlotTableSize;
}

/**
 * Returns undefined when backends are chosen at random. Under policy Local no two nodes have the same backends. NodePorts and ClusterIPs
 * are random too, because no router moves their connections between nodes.
 */
export function consistentHashing(config: HeraldConfig, service: Service): ConsistentHashing | undefined {
  const wanted = service.loadBalancing === undefined ? config.consistentHashing : service.loadBalancing === 'consistent';
  if (!wanted || service.externalTrafficPolicy === 'Local') return undefined;
  return { hashed: service.affinitySeconds === undefined ? 'connection' : 'client', slots: service.hashSlots ?? config.hashSlots };
}

/**
 * Returns the smallest table size, at least the requested one, with four slots for each backend; else the largest. When a Service outgrows
 * its table, nearly all slots change their backend once.
 */
export function slotsFor(backends: number, asked: SlotTableSize): SlotTableSize {
  return slotTableSizes.find((size) => size >= asked && size >= 4 * backends) ?? slotTableSizes[3];
}

/** Builds the table for targets in backend order (`sortTargets`). Needs at least one target. */
export function slotTable(service: Service, targets: readonly Target[], { hashed, slots }: ConsistentHashing): SlotTable {
  const candidates = targets.map((target, index): SlotCandidate => ({ name: nameOf(targets, index), weight: target.weight ?? 1 }));
  return { hashed, backendOf: filled(service, candidates, slotsFor(targets.length, slots)) };
}

/** Sorts targets into the order that backends have everywhere. */
export function sortTargets<T extends Pick<Target, 'address' | 'port'>>(targets: readonly T[]): T[] {
  return targets.toSorted((a, b) => compareAddresses(a.address, b.address) || a.port - b.port);
}

/** True when the Service's plan depends on the address of a node, because one of its backends is there. */
export function reachesBackendsAt(snapshot: Snapshot, service: Service, nodeName: string): boolean {
  if (consistentHashing(snapshot.config, service) === undefined) return false;
  return snapshot
    .endpointSlices(serviceKey(service.metadata))
    .some(({ endpoints }) => endpoints.some((endpoint) => endpoint.nodeName === nodeName));
}

/**
 * Names a target by its address, so that all ports of a Service have the same table and a client hashed by address alone reaches the same
 * pod on each port. Several ports of one address are numbered.
 */
function nameOf(targets: readonly Target[], index: number): string {
  const { address } = targets[index] as Target;
  let before = 0;
  while (index > before && compareAddresses((targets[index - before - 1] as Target).address, address) === 0) before++;
  return before === 0 ? formatAddress(address) : `${formatAddress(address)} ${before}`;
}

interface Filled {
  readonly candidates: readonly SlotCandidate[];
  readonly table: Uint16Array;
}

/** Caches the last table of each family of a Service: its ports, frontends and plans share it as long as the endpoints stay. */
const known = new WeakMap<Service, Map<boolean, Filled>>();

function filled(service: Service, candidates: readonly SlotCandidate[], size: number): Uint16Array {
  const isIPv6 = candidates[0]?.name.includes(':') === true;
  const ofService = known.get(service) ?? new Map<boolean, Filled>();
  known.set(service, ofService);
  const last = ofService.get(isIPv6);
  if (last?.table.length === size && sameCandidates(last.candidates, candidates)) return last.table;
  const table = fillSlots(service.metadata.uid, candidates, size);
  ofService.set(isIPv6, { candidates, table });
  return table;
}

function sameCandidates(some: readonly SlotCandidate[], others: readonly SlotCandidate[]): boolean {
  return (
    some.length === others.length &&
    some.every(({ name, weight }, index) => name === others[index]?.name && weight === others[index].weight)
  );
}
