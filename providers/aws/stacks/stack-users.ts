import { serviceKey, type ServiceKey } from '../../../src/model/objects/metadata.ts';
import type { Service } from '../../../src/model/objects/service.ts';
import type { Snapshot } from '../../../src/model/store/snapshot.ts';
import { annotationTable } from '../annotations/table.ts';
import { decideAwsClaim } from '../desire/claim.ts';
import { memberOf, stackOf } from '../desire/stack.ts';
import { hasOurFinalizer } from '../model/service-metadata.ts';
import type { AwsSettings } from '../model/settings.ts';

/** Returns the keys of stacks that Services use. `any` includes Services that are being deleted or disowned; `served` does not. */
export function stacksInUse({ services, config }: Snapshot, settings: AwsSettings, which: 'any' | 'served' = 'any'): ReadonlySet<string> {
  const used = new Set<string>();
  for (const service of services.values()) {
    const claim = decideAwsClaim(service, config, settings);
    // The Service belongs to another provider now and is not released yet.
    if (!claim.mine && which === 'any' && hasOurFinalizer(service))
      used.add(serviceKey(service.metadata)).add(stackOf(memberOf(service, 'nlb')).key);
    if (!claim.mine) continue;
    const member = memberOf(service, claim.kind);
    const isServed = !service.metadata.deleting && member.values.disown !== true;
    if (which === 'any' || isServed) used.add(stackOf(member).key);
  }
  return used;
}

/** True when a Service has disowned its load balancer: the node rules that it needs are unknown. */
export function hasDisowned({ services, config }: Snapshot, settings: AwsSettings): boolean {
  return services.values().some((service) => {
    const claim =
      service.metadata.annotations[annotationTable.disown.key] === undefined ? undefined : decideAwsClaim(service, config, settings);
    return claim?.mine === true && memberOf(service, claim.kind).values.disown === true;
  });
}

/** True if the Service may have a part in the stack. A Service of any namespace may have joined a shared one. */
export function mayBelongTo(stack: string, service: ServiceKey): boolean {
  return stack === service || stack.startsWith('shared:');
}

/** Returns the Service when it belongs to another stack or provider now and may still have a part in this stack. */
export function movedService(key: ServiceKey, stack: string, { services, config }: Snapshot, settings: AwsSettings): Service | undefined {
  const service = services.get(key);
  if (service === undefined || service.metadata.deleting) return undefined;
  const claim = decideAwsClaim(service, config, settings);
  if (!claim.mine) return hasOurFinalizer(service) ? service : undefined;
  const member = memberOf(service, claim.kind);
  return member.values.disown !== true && stackOf(member).key !== stack ? service : undefined;
}

/** Returns the Services that another provider claims but does not serve yet. Our load balancers still serve them. */
export function servicesAwaitingProvider({ services, config }: Snapshot, settings: Pick<AwsSettings, 'classless'>): ServiceKey[] {
  return [...services].flatMap(([key, service]) => {
    const isOurs = hasOurFinalizer(service) && !service.metadata.deleting;
    return isOurs && !decideAwsClaim(service, config, settings).mine ? [key] : [];
  });
}
