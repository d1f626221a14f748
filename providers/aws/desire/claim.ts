import type { HeraldConfig } from '../../../src/model/configuration.ts';
import { reason, type Reason } from '../../../src/model/reasons.ts';
import type { Service } from '../../../src/model/service.ts';
import { annotationTable } from '../annotations/table.ts';
import type { BalancerKind } from '../annotations/entry.ts';
import { finalizer } from '../model/service-metadata.ts';
import type { AwsSettings } from '../model/settings.ts';

export const classes = {
  nlb: 'herald.dev/aws',
  classic: 'herald.dev/aws-classic',
  /** The class of the AWS Load Balancer Controller, so that its Services can be taken over: the field is immutable. */
  nlbAlias: 'service.k8s.aws/nlb',
} as const;

/** Types that mean an NLB; the in-tree provider leaves the latter two to the AWS Load Balancer Controller. */
const nlbTypes = new Set(['nlb', 'nlb-ip', 'external']);

export type AwsClaim = { readonly mine: true; readonly kind: BalancerKind } | { readonly mine: false; readonly reason: Reason };

/**
 * Whether a Service gets its load balancer from us, and of which kind. What HeraldConfig gives to the pools is never ours, so that
 * exactly one provider serves it.
 */
export function decideAwsClaim(service: Service, config: HeraldConfig, { classless }: Pick<AwsSettings, 'classless'>): AwsClaim {
  const { type, loadBalancerClass } = service;
  if (type === 'ExternalName') return { mine: false, reason: reason('ExternalName', undefined) };
  if (type !== 'LoadBalancer') return { mine: false, reason: reason('NotLoadBalancer', { type }) };
  if (service.headless) return { mine: false, reason: reason('Headless', undefined) };
  const other = { mine: false, reason: reason('OtherLoadBalancerClass', { class: loadBalancerClass ?? '', ours: classes.nlb }) } as const;
  if (loadBalancerClass !== undefined) {
    if (loadBalancerClass === config.loadBalancerClass) return other;
    if (loadBalancerClass === classes.classic) return { mine: true, kind: 'classic' };
    return loadBalancerClass === classes.nlb || loadBalancerClass === classes.nlbAlias ? { mine: true, kind: 'nlb' } : other;
  }
  if (config.defaultClass) return other;
  // What we hold stays ours when the flag changes: otherwise nobody would ever delete it.
  const held = service.metadata.finalizers?.includes(finalizer) === true;
  if (classless === 'off' && !held) return other;
  const legacyType = service.metadata.annotations[annotationTable.type.key];
  if (classless === 'legacy' && legacyType === undefined && !held) return other;
  return { mine: true, kind: legacyType !== undefined && nlbTypes.has(legacyType.trim()) ? 'nlb' : 'classic' };
}

/** Whether upstream would have made it reachable from the internet unless told otherwise: the in-tree provider did. */
export function upstreamIsPublic(service: Service): boolean {
  const legacyType = service.metadata.annotations[annotationTable.type.key]?.trim();
  return service.loadBalancerClass === undefined && legacyType !== 'external' && legacyType !== 'nlb-ip';
}
