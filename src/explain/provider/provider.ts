import type { Verdict } from '../../decisions/verdict/verdict.ts';
import type { Condition } from '../../model/objects/condition.ts';
import { conditionTypes } from '../../model/objects/condition-types.ts';
import { findProvider } from '../../model/provider-tables.ts';
import type { OutsideResource } from '../../model/objects/outside-resource.ts';
import { reason, type Reason } from '../../model/reasons.ts';
import type { Service } from '../../model/objects/service.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import type { ServiceKey } from '../../model/objects/metadata.ts';

/** The resources of one Service outside Kubernetes: what a provider observes there, and what it would do. */
export interface PreviewedService {
  readonly observed: readonly string[];
  /** The existing resources on the way of connections. Absent: the provider gives lines only. */
  readonly resources?: readonly OutsideResource[];
  readonly desired: readonly string[];
  readonly actions: readonly { readonly id: string; readonly operation: string; readonly reason: string }[];
  readonly waits: readonly string[];
  readonly reasons: readonly Reason[];
  /** The verdict of the provider, which has looked at what clients meet. Absent: it has not looked. */
  readonly seen?: Verdict;
  /** Why the preview failed. */
  readonly failed?: Reason;
}

export interface ServicePreview extends PreviewedService {
  readonly service: ServiceKey;
  readonly provider: string;
}

/** Which provider serves a Service, why, and what it has recorded. Plain data. */
export interface ProviderExplanation {
  /** Absent: no provider serves it. */
  readonly provider?: string;
  /** None of the providers known here serves the Service, but a controller records a condition of it, so one of its modules does. */
  readonly isUnnamed?: true;
  /** Why this provider serves it, in words. */
  readonly because?: string;
  /** Why other providers do not, by name. */
  readonly others: readonly { readonly provider: string; readonly reason: Reason }[];
  /** Other providers that claim the Service too, but come later in the order. */
  readonly rivals?: readonly string[];
  /** Another provider that has not released yet what it created for the Service. */
  readonly holder?: string;
  /** The preview of a provider with resources outside Kubernetes. */
  readonly preview?: PreviewedService & { readonly provider: string };
  /** Why there is no preview and what to do about it, as a sentence. */
  readonly noPreview?: string;
}

/** The recorded conditions and Events of a Service. */
export interface ServiceRecordExplanation {
  readonly conditions: readonly (Condition & { readonly secondsAgo?: number })[];
  readonly events: readonly { readonly reason: string; readonly note: string; readonly count: number; readonly secondsAgo?: number }[];
}

export interface Claimant {
  readonly name: string;
  claim(service: Service, snapshot: Snapshot): { readonly mine: true } | { readonly mine: false; readonly reason: Reason };
  /** Why it claims a Service without a class. */
  whyClassless?(service: Service): string;
}

export function explainClaims(claimants: readonly Claimant[], service: Service, snapshot: Snapshot): ProviderExplanation {
  const claims = claimants.map((one) => ({ name: one.name, claim: one.claim(service, snapshot) }));
  const [owner, ...rivals] = claims.filter(({ claim }) => claim.mine).map(({ name }) => name);
  const others = claims.flatMap(({ name, claim }) => (claim.mine ? [] : [{ provider: name, reason: claim.reason }]));
  if (owner === undefined) return { others };
  return { provider: owner, because: whyClaimed(service, owner, claimants), others, ...(rivals.length === 0 ? {} : { rivals }) };
}

/** Marks a Service that a module of the controller serves, which this command was not given. */
export function withUnnamed(
  explained: ProviderExplanation,
  { type }: Service,
  { conditions }: ServiceRecordExplanation,
): ProviderExplanation {
  const isKnown = explained.provider !== undefined || explained.holder !== undefined;
  const isRecorded = conditions.some((one) => one.type === conditionTypes.addressAssigned);
  return type === 'LoadBalancer' && !isKnown && isRecorded ? { ...explained, isUnnamed: true } : explained;
}

/** True for Herald's own providers, false for providers of modules. */
export function isBuiltIn(provider: string): boolean {
  return provider === 'bare-metal' || findProvider(provider)?.shipped === true;
}

/** Names the resources that a provider has outside Kubernetes. */
export function externalResourceText(provider: string): string {
  return findProvider(provider)?.wording?.resources ?? `resources of provider ${provider}`;
}

function whyClaimed(service: Service, provider: string, claimants: readonly Claimant[]): string {
  if (service.loadBalancerClass !== undefined) return `spec.loadBalancerClass is ${service.loadBalancerClass}`;
  if (!isBuiltIn(provider)) return 'its module claims it';
  const own = claimants.find(({ name }) => name === provider)?.whyClassless?.(service);
  return own ?? 'it has no loadBalancerClass, and defaultClass of HeraldConfig gives such Services to the pools';
}

/** For a Service that no provider claims, returns the reason that matters to a user who expects Herald to serve it. */
export function unclaimed({ provider, others }: ProviderExplanation): Reason | undefined {
  if (provider !== undefined) return undefined;
  return (
    others.find(({ reason: { code } }) => code !== 'OtherLoadBalancerClass')?.reason ??
    others[0]?.reason ??
    reason('NotLoadBalancer', { type: '' })
  );
}
