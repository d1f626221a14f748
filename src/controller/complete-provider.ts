import { defined } from '../lang/defined.ts';
import type { KeptInPool, PoolUsage } from '../decisions/allocation/allocator.ts';
import { serviceKey, type ServiceKey } from '../model/objects/metadata.ts';
import type { Service } from '../model/objects/service.ts';
import type { Snapshot } from '../model/store/snapshot.ts';
import type { Provider, Reconciliation } from './provider.ts';
import type { AddressPools, ChangeListener, OrderedWork, PeriodicWork, Recovery, ResourceHolder } from './provider-parts.ts';

/** A provider with every part that the controller calls. */
export type CompleteProvider = Provider & Recovery & ResourceHolder & ChangeListener & PeriodicWork & OrderedWork & AddressPools;

/**
 * Fills in the optional parts that a provider does not have. Only this function knows that a part may be absent. Without ResourceHolder the
 * provider holds what it has reconciled since the controller started and not released since.
 */
export function completeProvider(provider: Provider): CompleteProvider {
  const held = new Set<ServiceKey>();
  return {
    name: provider.name,
    ...defined({ remote: provider.remote }),
    claim: (service, snapshot) => provider.claim(service, snapshot),
    reconcile(service: Service, snapshot: Snapshot): Promise<Reconciliation> {
      held.add(serviceKey(service.metadata));
      return provider.reconcile(service, snapshot);
    },
    async release(key, snapshot, now) {
      const released = await provider.release(key, snapshot, now);
      if (released.remaining === undefined) held.delete(key);
      return released;
    },
    holds: (key, service) => (provider.holds === undefined ? held.has(key) : provider.holds(key, service)),
    adopt: (snapshot, recorded, uids) => provider.adopt?.(snapshot, recorded, uids),
    affected: (changes, snapshot) => provider.affected?.(changes, snapshot) ?? [],
    runDue: (now) => provider.runDue?.(now) ?? [],
    urgencyOf: (key, service) => provider.urgencyOf?.(key, service) ?? 'change',
    adoptService: (service, addresses, snapshot, when) => provider.adoptService?.(service, addresses, snapshot, when) ?? [],
    suspendAllocation: (reason) => provider.suspendAllocation?.(reason),
    statusWritten: (key) => provider.statusWritten?.(key) ?? [],
    disown: (key) => provider.disown?.(key),
    restoreKept: (released) => provider.restoreKept?.(released),
    keptAddresses: () => provider.keptAddresses?.() ?? [],
    usage: () => provider.usage?.() ?? [],
  };
}

/** How much of each pool is assigned, over all providers. */
export function poolUsage(providers: readonly Provider[]): PoolUsage[] {
  return providers.flatMap((provider) => provider.usage?.() ?? []);
}

/** Addresses kept for Services that are gone, over all providers. */
export function keptInPools(providers: readonly Provider[]): KeptInPool[] {
  return providers.flatMap((provider) => provider.keptAddresses?.() ?? []);
}
