import { reason, type Reason } from '../../../../src/model/reasons.ts';
import type { TargetDescription } from '../../cloud/elbv2.ts';
import type { AwsError } from '../../cloud/error.ts';
import type { Desired, DesiredTarget } from '../../model/desired.ts';
import { limits } from '../../model/limits.ts';
import type { Observed } from '../../model/observed.ts';
import { resources, tagKeys } from '../../model/tags.ts';
import { placeholderName, type Action } from '../../plan/steps/action.ts';
import type { KeptTargets } from '../../plan/kept-targets.ts';
import { registrations, type Execution } from './execute.ts';

interface Refusal {
  readonly id: string;
  readonly error: AwsError;
  /** In a row. */
  readonly times: number;
  /** The time of the next attempt, in milliseconds since the epoch. */
  readonly nextAt: number;
}

/**
 * Remembers the targets that AWS has refused, so that nothing waits for them: they are left out of the desired state until they are tried
 * again. A controller without this memory learns it from the next refusal.
 */
export class RefusedTargets {
  /** By the ARN of the target group with the target and its port, or the name of the Classic ELB with the instance. */
  readonly #refusals = new Map<string, Refusal>();

  /** Returns the desired state without targets that AWS has refused and does not have. `now`: milliseconds since the epoch. */
  withoutRefused<D extends Desired | undefined>(desired: D, observed: Observed, now: number): D {
    if (desired === undefined || this.#refusals.size === 0) return desired;
    if (desired.kind === 'classic') {
      const isLeftOut = this.#isLeftOut(classicNames(observed), instancesOf(observed), now);
      return { ...desired, ...instancesWithout(desired.instances, isLeftOut) };
    }
    const targetGroups = desired.targetGroups.map((group) => {
      const own = observed.targetGroups.filter(({ tags }) => tags[tagKeys.resource] === resources.targetGroup(group.key));
      const isLeftOut = this.#isLeftOut(own.map(arnOf), own.flatMap(registeredIn), now);
      return { ...group, ...targetsWithout(group.targets, isLeftOut) };
    });
    return { ...desired, targetGroups };
  }

  /** Returns the targets to keep current without those that AWS has refused and does not have. */
  withoutRefusedOf({ groups, classic }: KeptTargets, observed: Observed, now: number): KeptTargets {
    if (this.#refusals.size === 0) return { groups, ...(classic === undefined ? {} : { classic }) };
    const left = groups.map((group) => {
      const own = observed.targetGroups.filter((one) => arnOf(one) === group.arn);
      const isLeftOut = this.#isLeftOut([group.arn], own.flatMap(registeredIn), now);
      return { ...group, ...targetsWithout(group.targets, isLeftOut) };
    });
    if (classic === undefined) return { groups: left };
    const isLeftOut = this.#isLeftOut(classic.names, instancesOf(observed), now);
    return { groups: left, classic: { ...classic, ...instancesWithout(classic.instances, isLeftOut) } };
  }

  #isLeftOut(places: readonly string[], present: readonly string[], now: number): (target: string) => boolean {
    const registered = new Set(present);
    return (target) =>
      !registered.has(target) && places.some((place) => (this.#refusals.get(`${place} ${target}`)?.nextAt ?? -Infinity) > now);
  }

  /**
   * Records the refusals of an execution, and forgets those of targets that AWS has accepted. `observed`: the state before it. While targets
   * drain, a quota is tried each time, because room comes by itself.
   */
  record({ outcomes, created }: Execution, observed: Observed, now: number): void {
    const isDraining =
      observed.targetGroups.some(({ health }) => health.some(({ TargetHealth }) => TargetHealth.State === 'draining')) ||
      outcomes.some(({ action, result }) => /:Deregister/.test(action.operation) && (result === 'done' || result === 'partial'));
    for (const outcome of outcomes) {
      const { action } = outcome;
      if (!registrations.has(action.operation) || outcome.result === 'skipped') continue;
      const place = placeOf(action, created);
      const refused = 'refused' in outcome ? (outcome.refused ?? []) : [];
      const errors = new Map(refused.flatMap(({ entries, error }) => entries.map((entry) => [keyOf(entry), { entry, error }] as const)));
      if (outcome.result !== 'done' && errors.size === 0) continue;
      for (const key of entriesOf(action).map(keyOf)) {
        const failure = errors.get(key);
        if (failure === undefined) this.#refusals.delete(`${place} ${key}`);
        else
          this.#add(`${place} ${key}`, idOf(failure.entry), failure.error, isDraining && failure.error.code === 'quota' ? undefined : now);
      }
    }
  }

  /** `now`: undefined when it is tried each time. */
  #add(key: string, id: string, error: AwsError, now = -Infinity): void {
    const times = (this.#refusals.get(key)?.times ?? 0) + 1;
    const { permanentRetrySeconds: first, permanentRetryMaximumSeconds: longest } = limits;
    // Half of the wait of the Service, which is partly random: a target is due when its Service is.
    const seconds = Math.min(first * 2 ** (times - 1), longest) / 2;
    this.#refusals.set(key, { id, error, times, nextAt: now + seconds * 1000 });
  }

  /** Forgets the refusals of targets that are not desired any more. */
  retain(desired: Desired | undefined, kept: KeptTargets): void {
    const groups = [...(desired?.kind === 'nlb' ? desired.targetGroups : []), ...kept.groups];
    const instances = [...(desired?.kind === 'classic' ? desired.instances : []), ...(kept.classic?.instances ?? [])];
    const wanted = new Set([...groups.flatMap(({ targets }) => targets.map(({ id }) => id)), ...instances]);
    for (const [key, { id }] of this.#refusals) if (!wanted.has(id)) this.#refusals.delete(key);
  }

  /** Why targets are missing: one reason for each answer of AWS. */
  get reasons(): Reason[] {
    const byAnswer = Map.groupBy(this.#refusals.values(), ({ error: { operation, awsCode } }) => `${operation} ${awsCode}`);
    return [...byAnswer.values()].flatMap((refusals) => {
      const [first] = refusals;
      if (first === undefined) return [];
      const { operation, awsCode, message, code: kind } = first.error;
      const ids = [...new Set(refusals.map(({ id }) => id))].toSorted();
      const targets = ids.slice(0, limits.shownTargets).join(', ');
      return [
        reason('AwsTargetsRefused', { targets, others: Math.max(0, ids.length - limits.shownTargets), operation, awsCode, message, kind }),
      ];
    });
  }

  /** The Service asks for something else: every target is tried again. */
  forget(): void {
    this.#refusals.clear();
  }
}

type WithoutRefused<Name extends 'targets' | 'instances', One> = { readonly [N in Name]: readonly One[] } & { readonly refused: number };

function targetsWithout(
  targets: readonly DesiredTarget[],
  isLeftOut: (target: string) => boolean,
): WithoutRefused<'targets', DesiredTarget> {
  const left = targets.filter(({ id, port }) => !isLeftOut(`${id} ${port}`));
  return { targets: left, refused: targets.length - left.length };
}

function instancesWithout(instances: readonly string[], isLeftOut: (target: string) => boolean): WithoutRefused<'instances', string> {
  const left = instances.filter((id) => !isLeftOut(id));
  return { instances: left, refused: instances.length - left.length };
}

const arnOf = ({ targetGroup }: Observed['targetGroups'][number]): string => targetGroup.TargetGroupArn;

const registeredIn = ({ health }: Observed['targetGroups'][number]): string[] => health.map(({ Target }) => `${Target.Id} ${Target.Port}`);

const classicNames = ({ classic }: Observed): string[] => classic.map(({ loadBalancer }) => loadBalancer.LoadBalancerName);

const instancesOf = ({ classic }: Observed): string[] =>
  classic.flatMap(({ loadBalancer }) => loadBalancer.Instances.map(({ InstanceId }) => InstanceId));

function placeOf({ input }: Action, created: Execution['created']): string {
  const { TargetGroupArn, LoadBalancerName = '' } = input as { readonly TargetGroupArn?: string; readonly LoadBalancerName?: string };
  const place = TargetGroupArn ?? LoadBalancerName;
  return created.get(placeholderName(place) ?? '') ?? place;
}

function entriesOf({ input }: Action): readonly unknown[] {
  const { Targets, Instances = [] } = input as { readonly Targets?: readonly unknown[]; readonly Instances?: readonly unknown[] };
  return Targets ?? Instances;
}

type Entry = Pick<TargetDescription, 'Id' | 'Port'> | { readonly InstanceId: string };

function keyOf(entry: unknown): string {
  const given = entry as Entry;
  return 'Id' in given ? `${given.Id} ${given.Port}` : given.InstanceId;
}

function idOf(entry: unknown): string {
  const given = entry as Entry;
  return 'Id' in given ? given.Id : given.InstanceId;
}
