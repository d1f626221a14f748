import { poolOf, sameFamilies, sameOutcome, type Outcome } from './outcome.ts';
import type { Pool, WantedService } from './objects.ts';

/** A Service that has another outcome in Herald than in MetalLB. */
export interface Case {
  readonly service: WantedService;
  readonly metallb: Outcome;
  readonly herald: Outcome;
  /** Before the change. */
  readonly before: { readonly metallb: Outcome; readonly herald: Outcome };
  readonly pools: readonly Pool[];
  /** All Services, with what each has in MetalLB and in Herald. */
  readonly services: Outcomes;
  /** The same before the change. */
  readonly earlier: Outcomes;
}

/** What each Service has in MetalLB and in Herald. */
type Outcomes = ReadonlyMap<string, { readonly service: WantedService; readonly metallb: Outcome; readonly herald: Outcome }>;

/** An intended difference. */
export interface Difference {
  /** The name of its row on docs/reference/metallb-compatibility.md, which has the reason. */
  readonly row: string;
  readonly applies: (one: Case) => boolean;
}

/** All intended differences, the most specific first. Everything else must be equal. */
export const differences: readonly Difference[] = [
  {
    row: 'Sharing across namespaces',
    applies: (one) => partners(one, 'metallb').some(({ namespace }) => namespace !== one.service.namespace),
  },
  {
    row: '`PreferDualStack` with one requested address',
    applies: ({ service, metallb, herald }) =>
      service.policy === 'PreferDualStack' &&
      isEmpty(metallb) &&
      requestedAddresses(service).length === 1 &&
      herald.addresses.join() === requestedAddresses(service).join(),
  },
  {
    row: 'Requested addresses of two pools',
    applies: ({ service, metallb, herald, pools }) =>
      isEmpty(metallb) &&
      new Set(requestedAddresses(service).map((address) => poolOf(pools, address)?.name)).size === 2 &&
      herald.addresses.join() === requestedAddresses(service).toSorted().join(),
  },
  {
    row: 'A request that cannot be met',
    applies: (one) => isEmpty(one.metallb) && keepsSome(one) && asksForSomething(one) && mayShareAll(one),
  },
  {
    row: 'A sharing Service that changes its `externalTrafficPolicy`',
    applies: (one) => isEmpty(one.metallb) && keepsSome(one) && !mayShareAll(one) && nodesCanServeAll(one),
  },
  {
    row: 'An address that still fits',
    applies: (one) =>
      !isEmpty(one.metallb) &&
      sameFamilies(one.metallb, one.herald) &&
      one.herald.addresses.some((address) => one.before.herald.addresses.includes(address) && !one.metallb.addresses.includes(address)),
  },
  {
    row: 'A second family that becomes free',
    applies: ({ service, metallb, herald, before }) =>
      service.policy === 'PreferDualStack' &&
      herald.addresses.length === 1 &&
      metallb.addresses.length === 2 &&
      herald.addresses.join() === before.herald.addresses.join() &&
      metallb.addresses.includes(herald.addresses[0] ?? ''),
  },
  {
    row: 'Order of pools',
    applies: ({ service, metallb, herald, pools }) =>
      requestedAddresses(service).length === 0 &&
      sameFamilies(metallb, herald) &&
      metallb.pools.join() !== herald.pools.join() &&
      tierOf(pools, metallb) === tierOf(pools, herald),
  },
  {
    row: 'Which address of a pool',
    applies: (one) =>
      sameFamilies(one.metallb, one.herald) &&
      one.metallb.pools.join() === one.herald.pools.join() &&
      requestedAddresses(one.service).length === 0 &&
      partners(one, 'herald').length > 0 &&
      mayShareAll(one),
  },
  {
    row: 'Waiting Services',
    applies: (one) => waited(one) && isEmpty(one.metallb) !== isEmpty(one.herald) && (rivals(one).length > 0 || wasGivenUp(one)),
  },
];

const isEmpty = ({ addresses }: Outcome): boolean => addresses.length === 0;

/** True when all addresses that the Service has in Herald are some that it had before. */
const keepsSome = ({ herald, before }: Case): boolean =>
  !isEmpty(herald) && herald.addresses.every((address) => before.herald.addresses.includes(address));

const waited = ({ before }: Pick<Case, 'before'>): boolean => isEmpty(before.metallb) && isEmpty(before.herald);

/** Returns the Services that have the address of this one on the other side only. */
function rivals(one: Case): WantedService[] {
  const [mine, side] = isEmpty(one.herald) ? [one.metallb, 'herald' as const] : [one.herald, 'metallb' as const];
  return [...one.services.values()]
    .filter((other) => other.service !== one.service && !sameOutcome(other.metallb, other.herald))
    .filter((other) => other[side].addresses.some((address) => mine.addresses.includes(address)))
    .map((other) => other.service);
}

/** True when another Service, which has kept the rest of its addresses, gave up the address that this one got in Herald. */
const wasGivenUp = ({ herald, services, earlier }: Case): boolean =>
  herald.addresses.some((address) =>
    [...earlier].some(([key, was]) => {
      const is = services.get(key);
      return was.metallb.addresses.includes(address) && is !== undefined && !isEmpty(is.metallb) && !is.metallb.addresses.includes(address);
    }),
  );

/** Returns the other Services that have one of the addresses of the Service on one side. */
function partners({ service, services, ...outcomes }: Case, side: 'metallb' | 'herald'): WantedService[] {
  const mine = outcomes[side].addresses;
  return [...services.values()]
    .filter((other) => other.service !== service && other[side].addresses.some((address) => mine.includes(address)))
    .map((other) => other.service);
}

/** True when the Service may share its addresses in Herald with all Services that have them too. */
const mayShareAll = (one: Case): boolean =>
  nodesCanServeAll(one) &&
  partners(one, 'herald').every(
    (other) => other.trafficPolicy === one.service.trafficPolicy && (other.trafficPolicy === 'Cluster' || other.app === one.service.app),
  );

/** True when the Services on the addresses have one key and no port twice. */
function nodesCanServeAll(one: Case): boolean {
  const { service } = one;
  const key = sharingKey(service);
  return partners(one, 'herald').every(
    (other) =>
      key !== undefined &&
      key === sharingKey(other) &&
      !service.ports.some((mine) => other.ports.some(({ port, protocol }) => port === mine.port && protocol === mine.protocol)),
  );
}

function annotation({ annotations }: WantedService, name: string): string | undefined {
  return annotations[`metallb.io/${name}`] ?? annotations[`metallb.universe.tf/${name}`];
}

const sharingKey = (service: WantedService): string | undefined => annotation(service, 'allow-shared-ip');

function requestedAddresses(service: WantedService): string[] {
  const written = annotation(service, 'loadBalancerIPs') ?? service.loadBalancerIP;
  return written === undefined ? [] : written.split(',').map((text) => text.trim());
}

/** An address of a family that the Service no longer has is lost on both sides, so nothing explains it. */
const asksForSomething = ({ service, herald }: Case): boolean =>
  herald.families.every((family) => service.families.includes(family)) &&
  (requestedAddresses(service).length > 0 || annotation(service, 'address-pool') !== undefined || service.policy === 'RequireDualStack');

/** Returns the rank that MetalLB gives to the pool. Pools of one rank come in random order. */
function tierOf(pools: readonly Pool[], { pools: [name] }: Outcome): string {
  const pool = pools.find((one) => one.name === name);
  if (pool === undefined) return `no pool: ${name ?? ''}`;
  const allocation = pool.spec.serviceAllocation;
  return allocation === undefined ? 'general' : `pinned, ${allocation.priority}`;
}
