import type { HeraldConfig } from '../../model/kinds/types.ts';
import { serviceKey } from '../../model/objects/metadata.ts';
import type { LoadBalancing } from '../../model/objects/load-balancing.ts';
import type { Service } from '../../model/objects/service.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { compareAddresses, formatAddress } from '../../net/address.ts';
import type { HashInput } from '../../net/connection-hash.ts';
import { slotTableSizes, type SlotTable, type SlotTableSize } from '../../net/frontend.ts';
import type { Target } from './endpoints.ts';
import { fillSlots, type SlotCandidate } from './slot-table.ts';

/** The hash by which backends are chosen. */
export interface Hashing {
  readonly hashed: HashInput;
  /** Larger for many endpoints (`slotsFor`). */
  readonly slots: SlotTableSize;
}

/** Where a frontend is: HeraldConfig may ask for consistent hashing at load balancer addresses and external IPs alone. */
type Place = 'external address' | 'elsewhere';

/** Returns how backends are chosen for a Service's frontends at this place. */
export function algorithmOf(config: HeraldConfig, service: Service, place: Place): LoadBalancing {
  if (service.loadBalancing !== undefined) return service.loadBalancing;
  const isHashed = config.consistentHashing && place === 'external address' && service.externalTrafficPolicy === 'Cluster';
  return isHashed ? 'consistent' : config.loadBalancing;
}

/** Returns the hash of an algorithm. Undefined: it has none. */
export function hashingOf(algorithm: LoadBalancing, config: HeraldConfig, service: Service): Hashing | undefined {
  const hashed = hashInputOf(algorithm, service);
  return hashed === undefined ? undefined : { hashed, slots: service.hashSlots ?? config.hashSlots };
}

function hashInputOf(algorithm: LoadBalancing, { affinitySeconds }: Service): HashInput | undefined {
  switch (algorithm) {
    case 'consistent':
      // The client alone when sessionAffinity is ClientIP: it then keeps its backend without any stored state or time-out.
      return affinitySeconds === undefined ? 'connection' : 'client';
    case 'source-hash':
      return 'client';
    case 'destination-hash':
      return 'destination';
    case 'random':
    case 'round-robin':
    case 'weighted-round-robin':
    case 'least-connections':
    case 'weighted-least-connections':
    case 'shortest-expected-delay':
    case 'never-queue':
      return undefined;
  }
}

/**
 * Returns the hash of the source by which every node finds the same backend for a packet to a load balancer address or external IP.
 * Undefined when there is none. Under policy Local no two nodes have the same backends.
 */
export function consistentHashing(config: HeraldConfig, service: Service): Hashing | undefined {
  if (service.externalTrafficPolicy === 'Local') return undefined;
  const hashing = hashingOf(algorithmOf(config, service, 'external address'), config, service);
  return hashing?.hashed === 'destination' ? undefined : hashing;
}

/**
 * Returns the smallest table size, at least the requested one, with four slots for each backend; else the largest. When a Service outgrows
 * its table, nearly all slots change their backend once.
 */
export function slotsFor(backends: number, asked: SlotTableSize): SlotTableSize {
  return slotTableSizes.find((size) => size >= asked && size >= 4 * backends) ?? slotTableSizes[3];
}

/** Builds the table for targets in backend order (`sortTargets`). Needs at least one target. */
export function slotTable(service: Service, targets: readonly Target[], { hashed, slots }: Hashing): SlotTable {
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

/** Caches the last tables of a Service: its ports, frontends and plans share them as long as the endpoints stay. */
const known = new WeakMap<Service, readonly Filled[]>();
/** For both families: all endpoints of the cluster, those near the node, and those on the node. */
const maximumKnown = 6;

function filled(service: Service, candidates: readonly SlotCandidate[], size: number): Uint16Array {
  const ofService = known.get(service) ?? [];
  const found = ofService.find((one) => one.table.length === size && sameCandidates(one.candidates, candidates));
  if (found !== undefined) return found.table;
  const table = fillSlots(service.metadata.uid, candidates, size);
  known.set(service, [{ candidates, table }, ...ofService.slice(0, maximumKnown - 1)]);
  return table;
}

function sameCandidates(some: readonly SlotCandidate[], others: readonly SlotCandidate[]): boolean {
  return (
    some.length === others.length &&
    some.every(({ name, weight }, index) => name === others[index]?.name && weight === others[index].weight)
  );
}
