import { defined } from '../../../../src/lang/defined.ts';
import { reason, type Reason } from '../../../../src/model/reasons.ts';
import type { SubnetMapping } from '../../cloud/elbv2.ts';
import { isTransient, type AwsError } from '../../cloud/error.ts';
import { mappingOf, mappingText } from '../../model/addresses.ts';
import type { DesiredNlb } from '../../model/desired.ts';
import { limits } from '../../model/limits.ts';
import type { ObservedLoadBalancer } from '../../model/observed.ts';
import { leftZone } from '../../plan/nlb/left-zone.ts';
import { currentNlb } from '../../plan/nlb/nlb.ts';
import type { PlanInput } from '../../plan/steps/input.ts';
import type { Execution } from './execute.ts';

interface Refusal {
  readonly mapping: SubnetMapping;
  readonly error: AwsError;
  /** In a row. */
  readonly times: number;
  /** Milliseconds since the epoch. */
  readonly first: number;
  readonly last: number;
}

/**
 * Remembers the zones, each a subnet with its addresses, that AWS has refused. Such a zone is desired as it was before, or without its
 * addresses, until it is tried again. A controller without this memory learns it from the next refusal.
 */
export class RefusedZones {
  /** By subnet and addresses. */
  readonly #refusals = new Map<string, Refusal>();
  /** New zones of a refused call that had several: they are tried one by one. */
  readonly #suspects = new Set<string>();

  /** Returns the desired state with other zones in place of refused ones. `now`: milliseconds since the epoch. */
  withoutRefused({ desired, ...input }: PlanInput, now: number): PlanInput['desired'] {
    if (desired?.kind !== 'nlb' || this.#refusals.size + this.#suspects.size === 0) return desired;
    const current = currentNlb({ ...input, desired });
    if (current === undefined) return desired;
    this.#retain(desired);
    if (this.#refusals.size + this.#suspects.size === 0) return desired;
    const usable = desired.subnets.flatMap((one) => this.#usable(one, current, input.zones, now) ?? []);
    const subnets = this.#oneSuspect(usable, current, input.zones);
    // Every other zone stays as long as one is missing or not as it shall be: without it, the settings of the last one could not change.
    const zones = new Set(desired.subnets.map(({ SubnetId }) => input.zones.get(SubnetId)));
    const others = current.loadBalancer.AvailabilityZones.filter(({ ZoneName }) => !zones.has(ZoneName)).map(mappingOf);
    return { ...desired, subnets: [...subnets, ...others] };
  }

  /** Returns the mapping, or the one to use in its place. Undefined: AWS refuses the zone in every form. */
  #usable(
    wanted: SubnetMapping,
    current: ObservedLoadBalancer,
    zones: ReadonlyMap<string, string>,
    now: number,
  ): SubnetMapping | undefined {
    const zone = zones.get(wanted.SubnetId);
    const present = current.loadBalancer.AvailabilityZones.find(({ ZoneName }) => ZoneName === zone);
    const refusal = this.#refusalOf(wanted, present !== undefined);
    if (refusal === undefined) return wanted;
    const left = leftZone(current, zones);
    const former = left !== undefined && zones.get(left.SubnetId) === zone ? [left, { SubnetId: left.SubnetId }] : [];
    const accepted = former.find((one) => !this.#isRefused(one));
    if (isDue(refusal, present !== undefined || accepted !== undefined, now)) return wanted;
    if (present !== undefined) return mappingOf(present);
    const plain = { SubnetId: wanted.SubnetId };
    return accepted ?? (this.#isRefused(plain) ? undefined : plain);
  }

  #isRefused(mapping: SubnetMapping): boolean {
    return this.#refusals.has(mappingText(mapping));
  }

  /** A missing zone may begin without its address, which another zone has. */
  #refusalOf(wanted: SubnetMapping, isPresent: boolean): Refusal | undefined {
    return this.#refusals.get(mappingText(wanted)) ?? (isPresent ? undefined : this.#refusals.get(textWithoutElasticIp(wanted)));
  }

  #oneSuspect(subnets: SubnetMapping[], { loadBalancer }: ObservedLoadBalancer, zones: ReadonlyMap<string, string>): SubnetMapping[] {
    const present = new Set(loadBalancer.AvailabilityZones.map(({ ZoneName }) => ZoneName));
    const isSuspect = (one: SubnetMapping): boolean => this.#suspects.has(mappingText(one)) && !present.has(zones.get(one.SubnetId) ?? '');
    const first = subnets.find(isSuspect);
    return subnets.filter((one) => one === first || !isSuspect(one));
  }

  /** Records the refusals of an execution. Returns the ids of the refused actions, which `reasons` reports. */
  record({ outcomes }: Execution, { observed, zones }: PlanInput, now: number): ReadonlySet<string> {
    const reported = new Set<string>();
    for (const outcome of outcomes) {
      const { action } = outcome;
      if (action.operation !== 'elbv2:SetSubnets' || outcome.result === 'skipped') continue;
      const one = observed.loadBalancers.find(({ loadBalancer }) => loadBalancer.LoadBalancerArn === action.input.LoadBalancerArn);
      const present = new Set(one?.loadBalancer.AvailabilityZones.map(({ ZoneName }) => ZoneName));
      const added = action.input.SubnetMappings.filter(({ SubnetId }) => !present.has(zones.get(SubnetId) ?? ''));
      if (outcome.result === 'done') for (const mapping of added) this.#forgetZone(mapping);
      if (outcome.result !== 'failed' || !mayConcernZone(outcome.error)) continue;
      const [only, ...others] = added;
      if (only !== undefined && others.length === 0) {
        this.#add(only, outcome.error, now);
        reported.add(action.id);
      } else for (const mapping of added) this.#suspects.add(mappingText(mapping));
    }
    return reported;
  }

  #add(mapping: SubnetMapping, error: AwsError, now: number): void {
    const before = this.#refusals.get(mappingText(mapping));
    this.#suspects.delete(mappingText(mapping));
    this.#refusals.set(mappingText(mapping), { mapping, error, times: (before?.times ?? 0) + 1, first: before?.first ?? now, last: now });
  }

  /** AWS has accepted the zone. */
  #forgetZone(mapping: SubnetMapping): void {
    this.#suspects.delete(mappingText(mapping));
    this.#refusals.delete(mappingText(mapping));
    this.#refusals.delete(textWithoutElasticIp(mapping));
  }

  /** Forgets what is not desired any more, except former and simpler forms of a zone that is refused. */
  #retain({ subnets }: DesiredNlb): void {
    const wanted = new Set(subnets.flatMap((one) => [mappingText(one), textWithoutElasticIp(one)]));
    for (const key of this.#suspects) if (!wanted.has(key)) this.#suspects.delete(key);
    if (![...this.#refusals.keys()].some((key) => wanted.has(key))) this.#refusals.clear();
  }

  /** Why zones are not as the Service asks. */
  reasons({ desired }: Pick<PlanInput, 'desired'>): Reason[] {
    const subnets = desired?.kind === 'nlb' ? desired.subnets : [];
    return subnets.flatMap((mapping) => {
      const refusal = this.#refusalOf(mapping, false);
      if (refusal === undefined) return [];
      const { operation, awsCode, message } = refusal.error;
      const { SubnetId: subnet, AllocationId, PrivateIPv4Address, IPv6Address } = refusal.mapping;
      const addresses = [AllocationId, PrivateIPv4Address, IPv6Address].filter((one) => one !== undefined).join(' and ');
      return [reason('AwsZoneRefused', { subnet, addresses, operation, awsCode, message })];
    });
  }

  /** The Service asks for something else: every zone is tried again. */
  forget(): void {
    this.#refusals.clear();
    this.#suspects.clear();
  }
}

function textWithoutElasticIp({ SubnetId, PrivateIPv4Address, IPv6Address }: SubnetMapping): string {
  return mappingText({ SubnetId, ...defined({ PrivateIPv4Address, IPv6Address }) });
}

/** An address that is in use may become free soon. A zone that serves is left seldom, because its clients have to look for another. */
function isDue({ error, first, last, times }: Refusal, serves: boolean, now: number): boolean {
  if (isTransient(error.code) && now - first < limits.zoneInUseSeconds * 1000) return true;
  const { permanentRetrySeconds, permanentRetryMaximumSeconds, zoneRetrySeconds, zoneRetryMaximumSeconds } = limits;
  const [shortest, longest] = serves ? [zoneRetrySeconds, zoneRetryMaximumSeconds] : [permanentRetrySeconds, permanentRetryMaximumSeconds];
  return now - last >= Math.min(shortest * 2 ** (times - 1), longest) * 1000;
}

/** False for failures that say nothing about a zone. */
function mayConcernZone({ code }: AwsError): boolean {
  return code === 'inUse' || !isTransient(code);
}
