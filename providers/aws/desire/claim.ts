import type { HeraldConfig } from '../../../src/model/kinds/types.ts';
import { reason, type Reason } from '../../../src/model/reasons.ts';
import type { Service } from '../../../src/model/objects/service.ts';
import { annotationTable } from '../annotations/table.ts';
import { awsClasses, awsConfig } from '../tables/config/config.ts';
import type { BalancerKind } from '../annotations/entry.ts';
import { foreignFinalizerOf, hasOurFinalizer } from '../model/service-metadata.ts';
import type { AwsSettings } from '../model/settings.ts';

export const classes = {
  nlb: awsClasses[0],
  classic: awsClasses[1],
  /** The class of the AWS Load Balancer Controller. The field is immutable, so Herald accepts this class to take over such Services. */
  nlbAlias: awsClasses[2],
} as const;

/** Types that select an NLB. The in-tree provider leaves the last two to the AWS Load Balancer Controller. */
const nlbTypes = new Set(['nlb', 'nlb-ip', 'external']);

export type AwsClaim = { readonly mine: true; readonly kind: BalancerKind } | { readonly mine: false; readonly reason: Reason };

/**
 * Decides whether the AWS provider serves a Service, and with which kind of load balancer. It never claims what HeraldConfig assigns to
 * address pools, so exactly one provider serves each Service.
 */
export function decideAwsClaim(service: Service, config: HeraldConfig, { classless }: Pick<AwsSettings, 'classless'>): AwsClaim {
  const { type, loadBalancerClass } = service;
  if (type === 'ExternalName') return { mine: false, reason: reason('ExternalName', undefined) };
  if (type !== 'LoadBalancer') return { mine: false, reason: reason('NotLoadBalancer', { type }) };
  if (service.headless) return { mine: false, reason: reason('Headless', undefined) };
  const other = { mine: false, reason: reason('OtherLoadBalancerClass', { class: loadBalancerClass ?? '', ours: classes.nlb }) } as const;
  if (loadBalancerClass !== undefined) {
    if (loadBalancerClass === config.loadBalancerClass) return other;
    const known = awsClasses.find((name) => name === loadBalancerClass);
    if (known === undefined) return other;
    // Herald keeps a Service that it serves when HeraldConfig no longer names the class, so that the edit deletes no load balancer. It
    // leaves the Service if another controller serves it as well.
    const stays = hasOurFinalizer(service) && foreignFinalizerOf(service) === undefined;
    if (!awsConfig.of(config).classes.includes(known) && !stays)
      return { mine: false, reason: reason('AwsClassNotServed', { class: known }) };
    return { mine: true, kind: known === classes.classic ? 'classic' : 'nlb' };
  }
  if (config.defaultClass) return other;
  // A Service with our finalizer stays ours when the flag changes. Otherwise its load balancer would never be deleted.
  const held = hasOurFinalizer(service);
  if (classless === 'off' && !held) return other;
  const legacyType = legacyTypeOf(service);
  if (classless === 'legacy' && legacyType === undefined && !held) return other;
  return { mine: true, kind: legacyType !== undefined && nlbTypes.has(legacyType) ? 'nlb' : 'classic' };
}

/** True if upstream's in-tree provider would have made the load balancer internet-facing by default. */
export function upstreamIsPublic(service: Service): boolean {
  const legacyType = legacyTypeOf(service);
  return service.loadBalancerClass === undefined && legacyType !== 'external' && legacyType !== 'nlb-ip';
}

/** An empty annotation counts as absent. */
function legacyTypeOf({ metadata }: Service): string | undefined {
  const text = metadata.annotations[annotationTable.type.key]?.trim();
  return text === '' ? undefined : text;
}
