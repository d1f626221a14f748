import { serviceKey, type ServiceKey } from '../../../src/model/objects/metadata.ts';
import type { Service } from '../../../src/model/objects/service.ts';
import type { Snapshot } from '../../../src/model/store/snapshot.ts';
import { annotationTable } from '../annotations/table.ts';
import { decideAwsClaim } from '../desire/claim.ts';
import { memberOf, stackOf } from '../desire/stack.ts';
import { finalizer } from '../model/service-metadata.ts';
import type { AwsSettings } from '../model/settings.ts';
import { parseStackKey } from './stack-registry.ts';

/** Stacks that some Service is about: `any`, also one that is being deleted or disowned; or only those that are served. */
export function stacksInUse({ services, config }: Snapshot, settings: AwsSettings, which: 'any' | 'served' = 'any'): ReadonlySet<string> {
  const used = new Set<string>();
  for (const service of services.values()) {
    const claim = decideAwsClaim(service, config, settings);
    // Another provider's by now, and not let go of yet.
    if (!claim.mine && which === 'any' && service.metadata.finalizers?.includes(finalizer) === true)
      used.add(serviceKey(service.metadata)).add(stackOf(memberOf(service, 'nlb')).key);
    if (!claim.mine) continue;
    const member = memberOf(service, claim.kind);
    const isServed = !service.metadata.deleting && member.values.disown !== true;
    if (which === 'any' || isServed) used.add(stackOf(member).key);
  }
  return used;
}

/** Whether there is a load balancer that we have let go of: what it needs is not known any more. */
export function hasDisowned({ services, config }: Snapshot, settings: AwsSettings): boolean {
  return services.values().some((service) => {
    const claim =
      service.metadata.annotations[annotationTable.disown.key] === undefined ? undefined : decideAwsClaim(service, config, settings);
    return claim?.mine === true && memberOf(service, claim.kind).values.disown === true;
  });
}

export function mayBelongTo(stack: string, service: ServiceKey): boolean {
  return stack === service || (stack.startsWith('shared:') && parseStackKey(stack).namespace === service.split('/')[0]);
}

/** The Service, if it belongs to another stack by now, or is to be another provider's: it may still have a part in this one. */
export function movedService(key: ServiceKey, stack: string, { services, config }: Snapshot, settings: AwsSettings): Service | undefined {
  const service = services.get(key);
  if (service === undefined || service.metadata.deleting) return undefined;
  const claim = decideAwsClaim(service, config, settings);
  if (!claim.mine) return service.metadata.finalizers?.includes(finalizer) === true ? service : undefined;
  const member = memberOf(service, claim.kind);
  return member.values.disown !== true && stackOf(member).key !== stack ? service : undefined;
}

/** Services that another provider is to serve, and has not begun to: what they have of ours serves them. */
export function servicesAwaitingProvider({ services, config }: Snapshot, settings: Pick<AwsSettings, 'classless'>): ServiceKey[] {
  return [...services].flatMap(([key, service]) => {
    const isOurs = service.metadata.finalizers?.includes(finalizer) === true && !service.metadata.deleting;
    return isOurs && !decideAwsClaim(service, config, settings).mine ? [key] : [];
  });
}
