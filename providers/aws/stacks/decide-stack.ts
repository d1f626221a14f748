import { defined } from '../../../src/lang/defined.ts';
import { serviceKey, type ServiceKey } from '../../../src/model/objects/metadata.ts';
import type { Service } from '../../../src/model/objects/service.ts';
import type { Reason } from '../../../src/model/reasons.ts';
import type { ReadOnlyCloud } from '../cloud/cloud.ts';
import { withBackends } from '../desire/ports/weights.ts';
import { desireStack, memberOf, wantsPods, type Member, type StackOutcome } from '../desire/stack.ts';
import { zonesOfTargets } from '../desire/targets/target-zones.ts';
import type { Circumstances, StackIdentity, Surroundings } from '../model/circumstances.ts';
import type { Observed } from '../model/observed.ts';
import { ownObserved } from '../model/own-resources.ts';
import { resourceName } from '../model/resource-names.ts';
import type { AwsSettings } from '../model/settings.ts';
import { tagKeys } from '../model/tags.ts';
import { existingStack } from '../observe/existing-stack.ts';
import type { ObserveInput } from '../observe/input.ts';
import { isClassicName, type KnownResources } from '../observe/known-resources.ts';
import { observeStack } from '../observe/observe.ts';
import { whyManagedByOther } from '../plan/steps/foreign-resources.ts';
import type { PlanInput } from '../plan/steps/input.ts';
import { vanishedServices } from './orphans.ts';
import { lastTargetsUntil, mayStay } from './targets/last-targets.ts';

/** Everything that the decision about a stack depends on, besides what AWS shows. */
export interface DecisionInput {
  readonly stack: StackIdentity;
  /** The Services that the stack serves. Empty: nothing is desired. */
  readonly members: readonly Member[];
  readonly known: KnownResources;
  readonly circumstances: Surroundings;
  /** True when a Service is gone without a deletion that Herald saw. */
  readonly isVanished: (service: ServiceKey) => boolean;
  /** Returns the Service when it belongs elsewhere now and clients may still use its part of this stack. That part stays. */
  readonly movedAway?: (service: ServiceKey) => Service | undefined;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

export interface StackDecision {
  readonly planInput: PlanInput;
  readonly circumstances: Circumstances;
  readonly outcome?: StackOutcome;
  readonly unsettled?: string;
  /** Why nothing may change: another controller manages the load balancer as well. */
  readonly managed?: Reason | undefined;
  /** Services that have a part in the stack and belong elsewhere now. */
  readonly movedMembers: readonly Member[];
}

/** Observes and decides, and changes nothing: `herald plan` stops here. `recent`: an observation to use instead of a new one. */
export async function decideStack(
  cloud: ReadOnlyCloud,
  settings: AwsSettings,
  input: DecisionInput,
  { recent, attributes = 'all' }: { readonly recent?: Observed; readonly attributes?: 'all' | 'kept' } = {},
): Promise<StackDecision> {
  const { stack, members, circumstances: surroundings, isVanished, movedAway, now } = input;
  const { clusterName: cluster, vpcId, retireSeconds, lastTargetSeconds: seconds, orphanSeconds } = settings;
  const { observed, unsettled } =
    recent === undefined ? await observeStack(cloud, observationOf(input, settings, attributes)) : { observed: recent };
  const existing = existingStack(observed, cluster, stack.key, members[0]?.values.adopt);
  const own = ownObserved(observed, cluster, stack.key);
  const absent = vanishedServices(own.targetGroups, isVanished, now, orphanSeconds);
  const parts = new Set([stack.key, ...own.targetGroups.flatMap(({ tags }) => tags[tagKeys.service] ?? [])] as ServiceKey[]);
  const kind = own.classic.length > 0 ? 'classic' : 'nlb';
  const movedMembers = [...parts].flatMap((key) => movedAway?.(key) ?? []).map((service) => memberOf(service, kind));
  const untouched = [...absent, ...movedMembers.map(({ service }) => serviceKey(service.metadata))];
  const withPods = new Set(
    own.targetGroups.flatMap(({ targetGroup, tags }) => (targetGroup.TargetType === 'ip' ? [tags[tagKeys.service]] : [])),
  );
  const needsPods = (one: Member): boolean => wantsPods(one, settings) || withPods.has(serviceKey(one.service.metadata));
  const podServices = withBackends([...members, ...movedMembers].filter(needsPods).map(({ service }) => service));
  const checked = await surroundings.checkTargets(podServices);
  const lastTargets = { seconds, mayStay: await mayStay(own, podServices.flatMap(checked.slices), surroundings.remainingPods) };
  const found = { ...existing, lastTargetsUntil: lastTargetsUntil(own, { ...lastTargets, now }) };
  const circumstances = { ...surroundings, ...checked, existing: found };
  const managed = whyManagedByOther({ observed, cluster, stack: stack.key });
  const decide = (): StackOutcome =>
    managed === undefined ? desireStack(stack, members, circumstances, untouched) : { errors: new Map(), warnings: new Map() };
  const outcome = members.length === 0 ? undefined : decide();
  const zones = new Map(circumstances.facts.subnets.map(({ id, zone }) => [id, zone]));
  const published = members.flatMap(({ service }) => service.ingress.flatMap(({ hostname }) => hostname ?? []));
  const zoneOf = zonesOfTargets(circumstances.nodes, circumstances.facts.subnets);
  const place = { stack: stack.key, cluster, vpcId, zones, zoneOf };
  const planInput = { observed, desired: outcome?.desired, ...place, retireSeconds, lastTargets, published, now };
  return { planInput, circumstances, movedMembers, ...defined({ outcome, unsettled, managed }) };
}

/** Returns the resources to read: the known ones, and those that the first member names. */
function observationOf(
  { stack, members: [first], known, now }: DecisionInput,
  { clusterName: cluster, vpcId }: AwsSettings,
  attributes: 'all' | 'kept',
): ObserveInput {
  const { name, adopt, capacityUnits, endpointService } = first?.values ?? {};
  const isClassic = first?.kind === 'classic';
  const named = name === undefined ? [] : [name];
  const knowsClassic = known.ids.some(isClassicName);
  const knowsNlb = known.ids.some((id) => id.includes(':loadbalancer/'));
  const generated = (scheme: string): string => resourceName(stack.namespace, stack.name, cluster, stack.key, 'classic', scheme);
  return {
    stack: stack.key,
    cluster,
    vpcId,
    known,
    wanted: isClassic ? [] : [...(adopt === undefined ? [] : [adopt]), ...(knowsNlb ? [] : named)],
    wantedClassic: isClassic && !knowsClassic ? [generated('internal'), generated('internet-facing'), ...named] : [],
    attributes,
    readsCapacity: capacityUnits !== undefined,
    wantsEndpointService: endpointService === true,
    now,
  };
}
