import type { HeraldConfig } from '../../model/kinds/types.ts';
import { serviceKey, type ServiceKey } from '../../model/objects/metadata.ts';
import type { Service } from '../../model/objects/service.ts';
import type { Reason } from '../../model/reasons.ts';
import { providerTables } from '../../model/provider-tables.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { decideAllocationClaim } from './claim.ts';
import { limits } from './limits.ts';

/** A Service that waits for an address which no controller gives. */
export interface UnclaimedService {
  readonly service: ServiceKey;
  readonly reason: Reason;
}

/**
 * Returns why no controller serves a LoadBalancer without a class: Herald is not the default, and no other controller left a trace on it.
 * Undefined when Herald serves it, or another controller does: it has an address or the finalizer of a cloud's controller.
 */
export function whyUnclaimed(service: Service, config: HeraldConfig): Reason | undefined {
  const { metadata, ingress } = service;
  if (metadata.deleting || ingress.length > 0 || (metadata.finalizers ?? []).some(isOfController)) return undefined;
  const claim = decideAllocationClaim(service, config);
  return !claim.mine && claim.reason.code === 'ClassNotSet' ? claim.reason : undefined;
}

/** Returns how long a Service without a class waits until it is unclaimed: another controller may be slow, as clouds are. */
export function unclaimedAfter({ services, config }: Pick<Snapshot, 'services' | 'config'>): number {
  const isServed = [...services.values()].some(
    ({ type, loadBalancerClass, ingress }) => type === 'LoadBalancer' && loadBalancerClass === undefined && ingress.length > 0,
  );
  return isServed && !config.defaultClass ? limits.servedElsewhereMilliseconds : limits.unclaimedMilliseconds;
}

/** Returns the Services that no controller serves, by age, sorted by name. `now`: milliseconds since the epoch. */
export function unclaimedServices(snapshot: Snapshot, now: number): UnclaimedService[] {
  if (snapshot.config.defaultClass) return [];
  const before = now - unclaimedAfter(snapshot);
  const found: UnclaimedService[] = [];
  for (const service of snapshot.services.values()) {
    const reason = whyUnclaimed(service, snapshot.config);
    // oxlint-disable-next-line no-restricted-globals -- reading a date from text is pure
    const created = Date.parse(service.metadata.creationTimestamp);
    // Without a creation time (a directory) the age is unknown, and the Service counts.
    if (reason !== undefined && !(created > before)) found.push({ service: serviceKey(service.metadata), reason });
  }
  return found.toSorted((a, b) => (a.service < b.service ? -1 : 1));
}

/** The finalizer of Kubernetes' cloud controllers, and those of load balancer controllers named after them. */
function isOfController(finalizer: string): boolean {
  const rivals = providerTables().flatMap(({ rivalFinalizers = [] }) => rivalFinalizers);
  return ['service.kubernetes.io/', 'herald.dev/', ...rivals].some((prefix) => finalizer.startsWith(prefix));
}
