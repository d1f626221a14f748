import type { ServiceKey } from '../../src/model/metadata.ts';
import { reason, type Reason } from '../../src/model/reasons.ts';
import type { Cloud } from './cloud.ts';
import type { AwsError } from './cloud/error.ts';
import type { Circumstances, StackIdentity } from './desire/circumstances.ts';
import { desireStack, type Member } from './desire/stack.ts';
import { execute, worstFailure, type Execution, type Outcome } from './execute.ts';
import { limits } from './limits.ts';
import { resourceName } from './names.ts';
import { existingStack } from './observe/existing.ts';
import { isClassicName, type Known } from './observe/known.ts';
import { observeStack } from './observe/observe.ts';
import type { StackTargets } from './node-rules-pass.ts';
import type { Desired } from './plan/desired.ts';
import type { PlanInput } from './plan/input.ts';
import { hostnameOf, planDisown, planStack, type StackPlan } from './plan/plan.ts';
import type { AwsSettings } from './settings.ts';

export interface PassInput {
  readonly stack: StackIdentity;
  /** Empty: nothing shall be left of it. */
  readonly members: readonly Member[];
  /** Everything that is ours of it is let go, whatever the members. */
  readonly disown: boolean;
  readonly known: Known;
  readonly circumstances: Omit<Circumstances, 'existing'>;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

export interface PassResult {
  /** By which clients reach it now; absent: not yet. */
  readonly hostname?: string;
  /** Absent: nothing may change, or nothing shall be left. */
  readonly desired?: Desired;
  readonly plan: StackPlan;
  readonly execution: Execution;
  /** Why a Service, or all of them (""), has not what it asks for. */
  readonly errors: ReadonlyMap<ServiceKey | '', readonly Reason[]>;
  readonly warnings: ReadonlyMap<ServiceKey, readonly Reason[]>;
  /** When to look again. */
  readonly requeueSeconds: number;
  /** AWS does not show yet all that was made: nothing was planned. */
  readonly unsettled: boolean;
  /** Nothing of it is left in AWS. */
  readonly gone: boolean;
  /** Where its targets must be reached; undefined: not known, what is open stays open. */
  readonly targets?: StackTargets;
}

/** One pass over one stack: observe, desire, plan, execute. Rejects with AwsError where AWS cannot be read. */
export async function passStack(
  cloud: Cloud,
  settings: AwsSettings,
  input: PassInput,
  ended: (outcome: Outcome) => void = () => undefined,
): Promise<PassResult> {
  const { members, known, now } = input;
  const { planInput, outcome, unsettled } = await decideStack(cloud, settings, input);
  const nothing: StackPlan = { actions: [], waits: [], problems: [] };
  const frozen = outcome !== undefined && outcome.desired === undefined;
  const plan = unsettled !== undefined || frozen ? nothing : input.disown ? planDisown(planInput) : planStack(planInput);
  const execution = await execute(cloud, plan.actions, ended);
  remember(known, execution, now);
  const failure = worstFailure(execution);
  const errors = new Map<ServiceKey | '', readonly Reason[]>(outcome?.errors);
  const all = [...plan.problems, ...(failure === undefined ? [] : [callFailed(failure)])];
  // That something takes its time is worth saying only where nothing is wrong.
  const wrong = all.filter(({ code }) => code !== 'AwsProvisioning');
  const general = wrong.length > 0 ? wrong : all;
  if (general.length > 0) errors.set('', general);
  const { desired } = planInput;
  const hostname = desired === undefined ? undefined : hostnameOf({ ...planInput, desired });
  const unfinished = execution.outcomes.some(({ result }) => result !== 'done');
  const isGone = members.length === 0 && unsettled === undefined && plan.actions.length === 0 && plan.problems.length === 0;
  const waits = [
    ...plan.waits.map(({ seconds }) => seconds),
    ...(plan.actions.length > 0 || unfinished || unsettled !== undefined ? [limits.pollSeconds] : []),
  ];
  return {
    ...(hostname === undefined ? {} : { hostname }),
    plan,
    execution,
    errors,
    warnings: outcome?.warnings ?? new Map(),
    requeueSeconds: Math.min(limits.driftSeconds, ...waits),
    unsettled: unsettled !== undefined,
    gone: isGone,
    ...(desired === undefined ? {} : { desired, targets: targetsOf(desired) }),
  };
}

/** Everything of a pass that changes nothing: `herald plan` and `explain` stop here. */
export async function decideStack(
  cloud: Parameters<typeof observeStack>[0],
  settings: AwsSettings,
  { stack, members, known, circumstances, now }: Omit<PassInput, 'disown'>,
): Promise<{ readonly planInput: PlanInput; readonly outcome?: ReturnType<typeof desireStack>; readonly unsettled?: string }> {
  const { clusterName: cluster, vpcId, retireSeconds } = settings;
  const [first] = members;
  const generated = (kind: 'nlb' | 'classic'): string[] =>
    (['internal', 'internet-facing'] as const).map((scheme) => resourceName(stack.namespace, stack.name, cluster, stack.key, kind, scheme));
  const { name, adopt } = first?.values ?? {};
  const isClassic = first?.kind === 'classic';
  const knowsClassic = known.ids.some(isClassicName);
  const knowsNlb = known.ids.some((id) => id.includes(':loadbalancer/'));
  const { observed, unsettled } = await observeStack(cloud, {
    stack: stack.key,
    cluster,
    vpcId,
    known,
    wanted: isClassic ? [] : [adopt, knowsNlb ? undefined : name].filter((text) => text !== undefined),
    wantedClassic: isClassic && !knowsClassic ? [...generated('classic'), ...(name === undefined ? [] : [name])] : [],
    now,
  });
  const existing = existingStack(observed, cluster, stack.key, adopt);
  const outcome = members.length === 0 ? undefined : desireStack(stack, members, { ...circumstances, existing });
  const zones = new Map(circumstances.facts.subnets.map(({ id, zone }) => [id, zone]));
  const planInput = { observed, desired: outcome?.desired, stack: stack.key, cluster, vpcId, zones, retireSeconds, now };
  return { planInput, ...(outcome === undefined ? {} : { outcome }), ...(unsettled === undefined ? {} : { unsettled }) };
}

/** Only where nodes know the load balancer by the group of the cluster. */
function targetsOf(desired: Desired): StackTargets {
  const { securityGroups, targetPorts: ports } = desired;
  if (securityGroups.kind === 'none' || !securityGroups.backend) return { ports: [], instances: [], addresses: [] };
  if (desired.kind === 'classic') return { ports, instances: desired.instances, addresses: [] };
  const idsOf = (type: 'instance' | 'ip'): string[] => [
    ...new Set(desired.targetGroups.filter(({ targetType }) => targetType === type).flatMap(({ targets }) => targets.map(({ id }) => id))),
  ];
  return { ports, instances: idsOf('instance'), addresses: idsOf('ip') };
}

/** What a plan has made or removed is known from now on; what was not answered clearly is looked for by its name. */
function remember(known: Known, { outcomes, created }: Execution, now: number): void {
  for (const id of created.values()) if (!id.includes(':listener/')) known.made(id, now);
  for (const outcome of outcomes) {
    const { operation, input } = outcome.action;
    if (operation === 'elb:CreateLoadBalancer' && outcome.result === 'done') known.made(input.LoadBalancerName, now);
    if (outcome.result === 'failed' && (operation === 'elbv2:CreateLoadBalancer' || operation === 'elbv2:CreateTargetGroup'))
      known.doubtful.add(input.Name);
    if (outcome.result !== 'done') continue;
    if (operation === 'elbv2:DeleteLoadBalancer') known.forget(input.LoadBalancerArn);
    if (operation === 'elbv2:DeleteTargetGroup') known.forget(input.TargetGroupArn);
    if (operation === 'elb:DeleteLoadBalancer') known.forget(input.LoadBalancerName);
    if (operation === 'ec2:DeleteSecurityGroup') known.forget(input.GroupId);
  }
}

export function callFailed({ operation, awsCode, message, requestId }: AwsError): Reason {
  return reason('AwsCallFailed', { operation, awsCode, message, requestId });
}
