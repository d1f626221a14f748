import type { Condition } from '../../model/objects/condition.ts';
import { reason, type Reason } from '../../model/reasons.ts';
import type { Service } from '../../model/objects/service.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import type { ServiceKey } from '../../model/objects/metadata.ts';

/** What a provider that acts outside of Kubernetes finds there for one Service, and would do. */
export interface PreviewedService {
  readonly observed: readonly string[];
  readonly desired: readonly string[];
  readonly actions: readonly { readonly id: string; readonly operation: string; readonly reason: string }[];
  readonly waits: readonly string[];
  readonly reasons: readonly Reason[];
  /** Why it cannot be told. */
  readonly failed?: Reason;
}

export interface ServicePreview extends PreviewedService {
  readonly service: ServiceKey;
  readonly provider: string;
}

/** Who gives the Service its address, why it is he, and what he has said of it. Plain data. */
export interface ProviderExplanation {
  /** Absent: nobody does. */
  readonly provider?: string;
  /** Why it is he, in words. */
  readonly because?: string;
  /** Why the others are not, by name. */
  readonly others: readonly { readonly provider: string; readonly reason: Reason }[];
  /** Those who claim it as well, and do not get it: they come later. */
  readonly rivals?: readonly string[];
  /** Another one, that has not let go yet of what it had made for the Service. */
  readonly holder?: string;
  /** Of a provider that acts outside of Kubernetes. */
  readonly preview?: PreviewedService & { readonly provider: string };
  /** Why there is no preview, with what to do, as a sentence. */
  readonly noPreview?: string;
}

/** What is on record about a Service. */
export interface ServiceRecordExplanation {
  readonly conditions: readonly (Condition & { readonly secondsAgo?: number })[];
  readonly events: readonly { readonly reason: string; readonly note: string; readonly count: number; readonly secondsAgo?: number }[];
}

export interface Claimant {
  readonly name: string;
  claim(service: Service, snapshot: Snapshot): { readonly mine: true } | { readonly mine: false; readonly reason: Reason };
}

export function explainClaims(
  claimants: readonly Claimant[],
  service: Service,
  snapshot: Snapshot,
  classless: string,
): ProviderExplanation {
  const claims = claimants.map((one) => ({ name: one.name, claim: one.claim(service, snapshot) }));
  const [owner, ...rivals] = claims.filter(({ claim }) => claim.mine).map(({ name }) => name);
  const others = claims.flatMap(({ name, claim }) => (claim.mine ? [] : [{ provider: name, reason: claim.reason }]));
  if (owner === undefined) return { others };
  return { provider: owner, because: whyClaimed(service, owner, classless), others, ...(rivals.length === 0 ? {} : { rivals }) };
}

/** Whether a provider is Herald's, and not of a module. */
export function isBuiltIn(provider: string): boolean {
  return provider === 'bare-metal' || provider === 'aws';
}

/** What a provider has outside of Kubernetes, in words. */
export function externalResourceText(provider: string): string {
  return provider === 'aws' ? 'what is in AWS' : `what provider ${provider} has made`;
}

function whyClaimed({ loadBalancerClass, metadata }: Service, provider: string, classless: string): string {
  if (loadBalancerClass !== undefined) return `spec.loadBalancerClass is ${loadBalancerClass}`;
  if (!isBuiltIn(provider)) return 'its module says so';
  if (provider !== 'aws') return 'it has no loadBalancerClass, and defaultClass of HeraldConfig gives such Services to the pools';
  const held = (metadata.finalizers ?? []).find((name) => name.startsWith('herald.dev/'));
  if (held !== undefined) return `it has no loadBalancerClass, and the finalizer ${held} says who serves it`;
  return `it has no loadBalancerClass, and --aws-classless is ${classless}`;
}

/** Used where nobody claims a Service: the one reason that matters to whoever expects Herald to serve it. */
export function unclaimed({ provider, others }: ProviderExplanation): Reason | undefined {
  if (provider !== undefined) return undefined;
  return (
    others.find(({ reason: { code } }) => code !== 'OtherLoadBalancerClass')?.reason ??
    others[0]?.reason ??
    reason('NotLoadBalancer', { type: '' })
  );
}
