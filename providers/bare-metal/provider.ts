import { defined } from '../../src/lang/defined.ts';
import type { Claim, Provider, Reconciliation, Released } from '../../src/controller/provider.ts';
import type {
  AddressPools,
  ChangeListener,
  PeriodicWork,
  RecordedAddresses,
  Recovery,
  ResourceHolder,
} from '../../src/controller/provider-parts.ts';
import {
  createAllocator,
  type Allocation,
  type Allocator,
  type KeptInPool,
  type PoolUsage,
} from '../../src/decisions/allocation/allocator.ts';
import { decideAllocationClaim, isOtherClass } from '../../src/decisions/allocation/claim.ts';
import { inOrderOfPrecedence } from '../../src/decisions/allocation/held-twice.ts';
import { inOrderOfCreation } from '../../src/decisions/allocation/order.ts';
import { addressesOfOthers, type AddressesOfOthers } from '../../src/decisions/addresses-of-others.ts';
import { knownOwners, noOwners, ownedBy, sameOwners, type KnownOwners } from '../../src/decisions/allocation/pools/owners-in-pools.ts';
import { effectivePools } from '../../src/decisions/allocation/pools/pools.ts';
import { allocationRequest, type AllocationRequest } from '../../src/decisions/allocation/request.ts';
import { AddressQueue } from '../../src/decisions/allocation/address-queue.ts';
import { serviceKey, type ServiceKey } from '../../src/model/objects/metadata.ts';
import { sameAddress, type Address } from '../../src/net/address.ts';
import type { ReleasedAddress } from '../../src/model/parse/released-address.ts';
import type { Reason } from '../../src/model/reasons.ts';
import { assignedAddresses, type Service } from '../../src/model/objects/service.ts';
import type { Change, Snapshot } from '../../src/model/store/snapshot.ts';

/** Assigns addresses of IPAddressPools to Services. The agents announce and forward them. */
export class BareMetalProvider implements Provider, Recovery, ResourceHolder, ChangeListener, PeriodicWork, AddressPools {
  readonly name = 'bare-metal';
  readonly #allocator: Allocator;
  readonly #waiting: AddressQueue;
  #withheld: Reason | undefined;
  #owners: KnownOwners = noOwners;
  /** The owners that objects other than Services state, of which `#owners` was made. */
  #fixed: AddressesOfOthers | undefined;
  /** Services with an address of a pool that no Service gets, as of the same moment. */
  #owning: ReadonlySet<string> = new Set();

  /** `allocator` must be empty. */
  constructor(allocator = createAllocator([])) {
    this.#allocator = allocator;
    this.#waiting = new AddressQueue(allocator);
  }

  claim(service: Service, snapshot: Snapshot): Claim {
    return decideAllocationClaim(service, snapshot.config);
  }

  adopt(snapshot: Snapshot, recorded: RecordedAddresses, uids: ReadonlyMap<ServiceKey, string>): void {
    this.#setPools(snapshot);
    // The order makes two controllers, and the agents, find the same owners in the same record.
    const ours = inOrderOfPrecedence(snapshot).filter((service) => {
      const claim = this.claim(service, snapshot);
      return claim.mine || isOtherClass(claim.reason);
    });
    const inOrder = new Map(ours.map((service) => [serviceKey(service.metadata), service] as const));
    for (const [key, { metadata, ...service }] of inOrder) {
      const uid = uids.get(key) ?? metadata.uid;
      this.adoptService({ ...service, metadata: { ...metadata, uid } }, recorded.get(key) ?? [], snapshot, 'always');
    }
    for (const [key, service] of inOrder)
      if (!recorded.has(key)) this.adoptService(service, assignedAddresses(service), snapshot, 'always');
    for (const [key, addresses] of recorded) if (!inOrder.has(key)) this.#allocator.adopt(reservation(key, addresses), addresses);
  }

  adoptService(service: Service, addresses: readonly Address[], snapshot: Snapshot, when: 'free' | 'always'): readonly ServiceKey[] {
    const request = allocationRequest(service, snapshot);
    const held = this.#allocator.assignmentOf(request.service)?.addresses ?? [];
    const among = (all: readonly Address[], address: Address): boolean => all.some((one) => sameAddress(one, address));
    const gone = held.filter((address) => !among(addresses, address));
    if (gone.length === 0 && addresses.every((address) => among(held, address))) return [];
    if (when === 'free' && (addresses.length === 0 || !this.#allocator.isFree(request, addresses))) return [];
    this.#allocator.adopt(request, addresses);
    return this.#call(gone);
  }

  suspendAllocation(reason: Reason | undefined): void {
    this.#withheld = reason;
  }

  holds(key: ServiceKey): boolean {
    return this.#allocator.assignmentOf(key) !== undefined || this.#waiting.has(key);
  }

  // oxlint-disable-next-line typescript/require-await -- the contract is asynchronous for providers that call an API
  async reconcile(service: Service, snapshot: Snapshot): Promise<Reconciliation> {
    const key = serviceKey(service.metadata);
    const { hostname } = service;
    const request = allocationRequest(service, snapshot);
    const { addresses, reason, pools } = this.#withholds(request) ?? this.#allocator.stage(request);
    if (reason === undefined) this.#waiting.dequeue(key);
    else this.#waiting.enqueue(request, reason);
    return {
      ingress: addresses.map((address) => ({ address, ...defined({ hostname }), ipMode: 'VIP' })),
      ...(reason === undefined ? {} : { reason, details: pools.map(({ pool, reason: { code } }) => ({ of: pool, code })) }),
    };
  }

  statusWritten(key: ServiceKey): readonly ServiceKey[] {
    return this.#call(this.#allocator.confirm(key));
  }

  disown(key: ServiceKey): void {
    this.#waiting.dequeue(key);
    this.#allocator.markDeleted(key);
  }

  // oxlint-disable-next-line typescript/require-await -- as above
  async release(key: ServiceKey, _: Snapshot, now: number): Promise<Released> {
    this.#waiting.dequeue(key);
    const addresses = this.#allocator.release(key, now);
    return { addresses, requeue: this.#call(addresses) };
  }

  restoreKept(released: readonly ReleasedAddress[]): void {
    this.#allocator.restoreReleased(released);
  }

  keptAddresses(): readonly KeptInPool[] {
    return this.#allocator.releasedAddresses();
  }

  runDue(now: number): readonly ServiceKey[] {
    return this.#call(this.#allocator.expireReleased(now));
  }

  usage(): readonly PoolUsage[] {
    return this.#allocator.usage();
  }

  affected(changes: readonly Change[], snapshot: Snapshot): Iterable<ServiceKey> {
    const everything = changes.some(({ kind }) => kind === 'HeraldConfig');
    const namespaces = new Set(changes.filter(({ kind }) => kind === 'Namespace').map(({ key }) => key));
    const pools = changes.some(({ kind }) => kind === 'IPAddressPool') || this.#haveOwnersChanged(changes, snapshot);
    if (pools) this.#setPools(snapshot);
    for (const { kind, key } of changes) {
      const service = kind === 'Service' ? snapshot.services.get(key as ServiceKey) : undefined;
      if (service === undefined) continue;
      const request = allocationRequest(service, snapshot);
      this.#allocator.expect(request);
      // A Service that arrives with addresses keeps them. They are adopted now, so that no Service decided before it gets them.
      const isNew = !this.#waiting.has(request.service) && this.#allocator.assignmentOf(request.service) === undefined;
      if (isNew && this.claim(service, snapshot).mine) this.adoptService(service, assignedAddresses(service), snapshot, 'free');
    }
    if (!everything && !pools && namespaces.size === 0) return [];
    if (everything) this.#dismissOthers(snapshot);
    // Freed addresses go to waiting Services first, in the order in which they began to wait.
    const concerned = [...snapshot.services].filter(
      ([, { type, metadata }]) => everything || (type === 'LoadBalancer' && (pools || namespaces.has(metadata.namespace))),
    );
    const others = inOrderOfCreation(
      concerned.map(([key]) => key),
      snapshot,
    );
    return new Set([...this.#waiting.inOrder(), ...others]);
  }

  /** Returns the Services that may use the freed addresses; none while allocation is suspended, because resuming requeues all. */
  #call(freed: readonly Address[]): readonly ServiceKey[] {
    return this.#withheld === undefined ? this.#waiting.takeNext(freed) : [];
  }

  /** The result while allocation is suspended. Undefined when the Service asks only for addresses that it holds. */
  #withholds(request: AllocationRequest): Allocation | undefined {
    if (this.#withheld === undefined) return undefined;
    const held = this.#allocator.assignmentOf(request.service)?.addresses ?? [];
    const { addresses } = this.#allocator.decide(request);
    if (addresses.every((address) => held.some((own) => sameAddress(own, address))) && addresses.length > 0) return undefined;
    return { addresses: held, reason: this.#withheld, pools: [], freed: [] };
  }

  /**
   * Removes Services from the waiting line that HeraldConfig gives to another controller. They may keep what they hold, but get nothing
   * new.
   */
  #dismissOthers(snapshot: Snapshot): void {
    for (const key of this.#waiting.inOrder()) {
      const service = snapshot.services.get(key);
      if (service !== undefined && !this.claim(service, snapshot).mine) this.#waiting.dequeue(key);
    }
  }

  /** Nodes and Services change often, the addresses of pools that belong to them rarely. */
  #haveOwnersChanged(changes: readonly Change[], snapshot: Snapshot): boolean {
    const mayOwn = ({ kind, key }: Change): boolean =>
      kind === 'ExternalIPPolicy' || (kind === 'Service' && (this.#owning.has(key) || this.#ownsPoolAddress(key as ServiceKey, snapshot)));
    if (this.#fixed === addressesOfOthers(snapshot) && !changes.some(mayOwn)) return false;
    return !sameOwners(this.#owners, this.#ownersOf(snapshot));
  }

  #ownsPoolAddress(key: ServiceKey, snapshot: Snapshot): boolean {
    const service = snapshot.services.get(key);
    const owned = service === undefined ? [] : ownedBy(snapshot, service, this.#isHeld);
    return owned.some(
      ({ prefix: { address } }) => this.#allocator.poolOf(address) !== undefined && this.#owners.inPools.ownerOf(address) === undefined,
    );
  }

  readonly #isHeld = (address: Address): boolean => this.#allocator.holdersOf(address).length > 0;

  #ownersOf(snapshot: Snapshot): KnownOwners {
    this.#fixed = addressesOfOthers(snapshot);
    return knownOwners(snapshot, this.#isHeld);
  }

  #setPools(snapshot: Snapshot): void {
    const { pools, refused } = effectivePools(snapshot.pools);
    this.#owners = this.#ownersOf(snapshot);
    const owners = this.#owners.inPools.hosts.values();
    this.#owning = new Set(owners.flatMap(({ kind, name }) => (kind === 'Service' ? [name] : [])));
    this.#allocator.setPools(pools, [...refused.values()], this.#owners);
  }
}

/** Returns a request that holds recorded addresses of a Service whose manifest is unreadable. They are shared with no other Service. */
function reservation(service: ServiceKey, addresses: readonly Address[]): AllocationRequest {
  return {
    service,
    namespace: service.slice(0, service.indexOf('/')),
    namespaceLabels: {},
    labels: {},
    families: [...new Set(addresses.map(({ family }) => family))],
    policy: 'PreferDualStack',
    requestedAddresses: addresses,
    sharingNamespaces: [],
    keepsAddresses: false,
    ports: [],
    externalTrafficPolicy: 'Cluster',
    selectorText: '',
  };
}
