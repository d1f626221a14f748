import { formatAddress, type Address } from '../../net/address.ts';
import type { ServiceKey } from '../../model/objects/metadata.ts';
import type { Allocator } from './allocator.ts';
import type { AllocationRequest } from './request.ts';
import { servicesToRetry, type Waiting } from './services-to-retry.ts';

/**
 * The Services that wait for addresses, in the order in which they began to, and which of them are looked at when something becomes
 * free. What was foreseen for those that are called may not come about, as one of them takes what another was to get: then, once all of
 * them were looked at, what is left is offered to the others.
 */
export class WaitingLine {
  readonly #allocator: Allocator;
  readonly #waiting = new Map<ServiceKey, Waiting>();
  /** Those that were called and not looked at since. */
  readonly #called = new Set<ServiceKey>();
  /** What they were called for. */
  readonly #offered = new Map<string, Address>();
  #arrivals = 0;

  constructor(allocator: Allocator) {
    this.#allocator = allocator;
  }

  /** The Service was looked at, and lacks what it asks for. */
  wait(request: AllocationRequest): void {
    const { service } = request;
    this.#called.delete(service);
    this.#waiting.set(service, { request, since: this.#waiting.get(service)?.since ?? this.#arrivals++ });
  }

  /** The Service waits for nothing any more. */
  leave(service: ServiceKey): void {
    this.#called.delete(service);
    this.#waiting.delete(service);
  }

  has(service: ServiceKey): boolean {
    return this.#waiting.has(service);
  }

  inOrder(): ServiceKey[] {
    return [...this.#waiting].toSorted(([, a], [, b]) => a.since - b.since).map(([key]) => key);
  }

  /** The Services to look at now that something became free on `freed`, the longest waiting first. */
  call(freed: readonly Address[]): ServiceKey[] {
    const offer = [...this.#left(), ...freed];
    const called = servicesToRetry(this.#waiting.values(), offer, this.#allocator);
    for (const service of called) this.#called.add(service);
    if (called.length > 0) for (const address of offer) this.#offered.set(formatAddress(address), address);
    return called;
  }

  /** What those that were called have not taken, once all of them were looked at. Who joins an address offers it anew himself. */
  #left(): Address[] {
    if (this.#called.size > 0) return [];
    const left = [...this.#offered.values()].filter((address) => this.#allocator.holdersOf(address).length === 0);
    this.#offered.clear();
    return left;
  }
}
