import { defined } from '../../lang/defined.ts';
import { formatAddress, type Address, sameAddress } from '../../net/address.ts';
import type { ServiceKey } from '../../model/objects/metadata.ts';
import type { Reason } from '../../model/reasons.ts';
import type { Allocator } from './allocator.ts';
import { placeOf } from './ledger/sole-holders.ts';
import type { AllocationRequest } from './request.ts';

/**
 * The Services that wait for addresses, in waiting order. Decides which of them are reconciled when something becomes free. A chosen
 * Service may take another address than expected; after all chosen ones were decided, what they left is offered to the others.
 */
export class AddressQueue {
  readonly #allocator: Allocator;
  readonly #waiting = new Map<ServiceKey, Waiting & { readonly place?: string }>();
  /** Services whose reason is a full pool, by namespace and pool (`placeOf`). The reason may name a Service that holds an address there. */
  readonly #places = new Map<string, Set<ServiceKey>>();
  /** Chosen Services that were not decided since. */
  readonly #called = new Set<ServiceKey>();
  /** The addresses for which Services were chosen. */
  readonly #offered = new Map<string, Address>();
  #arrivals = 0;

  constructor(allocator: Allocator) {
    this.#allocator = allocator;
  }

  /** Adds a Service that was decided and lacks what it asks for, for this reason. */
  enqueue(request: AllocationRequest, { code, details }: Reason): void {
    const { service, namespace } = request;
    const since = this.#waiting.get(service)?.since ?? this.#arrivals++;
    this.dequeue(service);
    const place = code === 'PoolFull' || code === 'NoPoolFits' ? placeOf(namespace, details.pool) : undefined;
    this.#waiting.set(service, { request, since, ...defined({ place }) });
    if (place !== undefined) this.#places.set(place, (this.#places.get(place) ?? new Set()).add(service));
  }

  /** Removes a Service that waits for nothing. */
  dequeue(service: ServiceKey): void {
    this.#called.delete(service);
    const place = this.#waiting.get(service)?.place;
    this.#waiting.delete(service);
    if (place === undefined) return;
    const there = this.#places.get(place);
    there?.delete(service);
    if (there?.size === 0) this.#places.delete(place);
  }

  has(service: ServiceKey): boolean {
    return this.#waiting.has(service);
  }

  inOrder(): ServiceKey[] {
    return [...this.#waiting].toSorted(([, a], [, b]) => a.since - b.since).map(([key]) => key);
  }

  /**
   * Returns the Services to reconcile after something became free on `freed`, the longest waiting first. Once all chosen ones were decided,
   * returns those whose reason may name another Service than before.
   */
  takeNext(freed: readonly Address[]): ServiceKey[] {
    const offer = [...this.#left(), ...freed];
    const called = servicesToRetry(this.#waiting.values(), offer, this.#allocator);
    for (const service of called) this.#called.add(service);
    if (called.length > 0) for (const address of offer) this.#offered.set(formatAddress(address), address);
    return this.#called.size > 0 ? called : this.#misnaming();
  }

  #misnaming(): ServiceKey[] {
    return [...this.#allocator.takeChangedHolders()].flatMap((place) => [...(this.#places.get(place) ?? [])]);
  }

  /** Returns what the chosen Services did not take, once all were decided. A joined address is offered again by that decision. */
  #left(): Address[] {
    if (this.#called.size > 0) return [];
    const left = [...this.#offered.values()].filter((address) => this.#allocator.holdersOf(address).length === 0);
    this.#offered.clear();
    return left;
  }
}

/** A Service that waits for an address. `since` is any number that grows, such as a clock reading or a counter. */
export interface Waiting {
  readonly request: AllocationRequest;
  readonly since: number;
}

/**
 * Returns the Services to reconcile after something became free on `freed`, the longest waiting first. Only those that would get what they
 * ask for: one freed address requeues one Service, not ten thousand. Services with a sharing key are all included, because several may fit
 * on one address, and so are those with a quota, because their room does not depend on the address.
 */
export function servicesToRetry(waiting: Iterable<Waiting>, freed: readonly Address[], allocator: Allocator): ServiceKey[] {
  if (freed.length === 0) return [];
  const pools = new Set(freed.map((address) => allocator.poolOf(address)));
  const couldUse = ({ requestedAddresses, requestedPool }: AllocationRequest): boolean => {
    if (requestedAddresses.length > 0) return requestedAddresses.some((wanted) => pools.has(allocator.poolOf(wanted)));
    return requestedPool === undefined || pools.has(requestedPool);
  };
  const inOrder = [...waiting]
    .filter(({ request }) => couldUse(request))
    .sort((a, b) => a.since - b.since || (a.request.service < b.request.service ? -1 : 1));
  const retry: ServiceKey[] = [];
  let left = freed.length;
  for (const { request } of inOrder) {
    if (left === 0 && request.sharingKey === undefined && !allocator.hasQuota(request)) continue;
    const { reason, addresses } = allocator.decide(request);
    if (reason !== undefined) continue;
    retry.push(request.service);
    if (request.sharingKey === undefined && addresses.some((address) => freed.some((other) => sameAddress(address, other)))) left--;
  }
  return retry;
}
