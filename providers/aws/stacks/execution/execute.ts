import assert from 'node:assert';
import { reason } from '../../../../src/model/reasons.ts';
import type { Cloud } from '../../cloud/cloud.ts';
import { AwsError, isTransient, unlessFailed, type AwsErrorCode } from '../../cloud/error.ts';
import type { Input, Output, WriteOperation } from '../../cloud/operations.ts';
import { limits } from '../../model/limits.ts';
import { tagKeys, tagMap } from '../../model/tags.ts';
import { placeholderName, type Action } from '../../plan/steps/action.ts';
import { divideCall, divisionOf, entriesOf, isDivisible, type RefusedPart } from './divided-call.ts';

export type Outcome =
  | { readonly action: Action; readonly result: 'done' }
  /** AWS still uses the resource. The next reconcile tries again. */
  | { readonly action: Action; readonly result: 'inUse'; readonly error: AwsError }
  /** An action that this one needs was not done. */
  | { readonly action: Action; readonly result: 'skipped' }
  /** AWS has refused some entries of the call, and accepted the others. */
  | { readonly action: Action; readonly result: 'partial'; readonly error: AwsError; readonly refused: readonly RefusedPart[] }
  /** `refused`: AWS has refused each of these entries. */
  | { readonly action: Action; readonly result: 'failed'; readonly error: AwsError; readonly refused?: readonly RefusedPart[] };

export interface Execution {
  readonly outcomes: readonly Outcome[];
  /** ARNs and ids of created resources, by the name of their placeholder. */
  readonly created: ReadonlyMap<string, string>;
}

/** The calls that register targets. Refused targets are remembered, and reported as long as they are missing. */
export const registrations: ReadonlySet<WriteOperation> = new Set(['elbv2:RegisterTargets', 'elb:RegisterInstancesWithLoadBalancer']);

/** After these errors other actions would fail as well: the rest of the plan is skipped. */
const fatalForPlan: ReadonlySet<AwsErrorCode> = new Set(['throttled', 'unreachable', 'credentials', 'otherCluster']);

/**
 * Executes the actions of a plan in order. A failed action skips only the actions that need it. Rejects only for bugs, and with
 * StoppedError when Herald is stopping. An interruption does no harm: the next plan starts from what exists.
 */
export async function execute(
  cloud: Cloud,
  actions: readonly Action[],
  onOutcome: (outcome: Outcome) => void = () => undefined,
): Promise<Execution> {
  const outcomes = new Map<string, Outcome>();
  const created = new Map<string, string>();
  let stopped = false;
  for (const action of actions) {
    const ready: boolean = !stopped && isReady(action, outcomes);
    const outcome: Outcome = ready ? await attempt(cloud, action, created) : { action, result: 'skipped' };
    assert(!outcomes.has(action.id), `two actions have the id ${action.id}`);
    outcomes.set(action.id, outcome);
    stopped ||= outcome.result === 'failed' && fatalForPlan.has(outcome.error.code);
    onOutcome(outcome);
  }
  return { outcomes: [...outcomes.values()], created };
}

async function attempt(cloud: Cloud, action: Action, created: Map<string, string>): Promise<Outcome> {
  try {
    const input = withCreated(action.input, created) as Input<WriteOperation>;
    const output = await cloud.call<WriteOperation>(action.operation, input);
    const id = createdId(action.operation, output);
    if (action.creates !== undefined && id !== undefined) created.set(action.creates, id);
    return { action, result: 'done' };
  } catch (error) {
    if (!(error instanceof AwsError)) throw error;
    // Deleting a resource that is gone succeeds.
    if (error.code === 'notFound' && isRemoval(action) && entriesOf(action.operation, action.input).length < 2)
      return { action, result: 'done' };
    if (isDivisible(action.operation, action.input, error)) return attemptParts(cloud, action, created, error);
    if (error.code === 'inUse' && action.mayBeInUse === true) return { action, result: 'inUse', error };
    const existing = await existingGroup(cloud, action, error);
    // The name is taken, and AWS does not list the group yet. The next reconcile finds it.
    if (existing === 'not listed') return { action, result: 'inUse', error };
    if (existing === undefined || action.creates === undefined) {
      await undo(cloud, action);
      return { action, result: 'failed', error: await withBlockers(cloud, action, error) };
    }
    created.set(action.creates, existing);
    return { action, result: 'done' };
  }
}

/** True when the actions that it needs are done, or AWS has refused the ones in whose place it is tried. */
function isReady({ needs, instead }: Action, outcomes: ReadonlyMap<string, Outcome>): boolean {
  const isMet = (need: string): boolean => {
    const outcome = outcomes.get(need);
    if (outcome?.result === 'partial') return divisionOf(outcome.action.operation)?.isEnough === true;
    return outcome?.result === 'done';
  };
  const isRefused = (id: string): boolean => {
    const outcome = outcomes.get(id);
    return outcome?.result === 'failed' && instead?.codes.includes(outcome.error.code) === true;
  };
  return needs.every(isMet) && (instead === undefined || instead.of.every(isRefused));
}

const isRemoval = ({ operation }: Action): boolean => /:(?:Delete|Deregister|Remove)/.test(operation);

/** Finds out which entries of a refused call AWS refuses. The others are done then. */
async function attemptParts(cloud: Cloud, action: Action, created: ReadonlyMap<string, string>, error: AwsError): Promise<Outcome> {
  const input = withCreated(action.input, created) as Input<WriteOperation>;
  const all = entriesOf(action.operation, input).length;
  try {
    const found = await divideCall(cloud, action.operation, input, error);
    // What shall go and is gone, and what shall be there and is there, is as desired.
    const isSettled = ({ error: { code } }: RefusedPart): boolean => (isRemoval(action) ? code === 'notFound' : code === 'duplicate');
    const refused = found.filter((part) => !isSettled(part) || part.entries.length > 1);
    const [first] = refused;
    if (first === undefined) return { action, result: 'done' };
    const count = refused.reduce((sum, { entries }) => sum + entries.length, 0);
    return { action, result: count < all ? 'partial' : 'failed', error: first.error, refused };
  } catch (thrown) {
    if (!(thrown instanceof AwsError)) throw thrown;
    return { action, result: 'failed', error: thrown };
  }
}

/** Undoes an action that failed halfway. If this fails as well, the next reconcile creates what is missing. */
async function undo(cloud: Cloud, { otherwise = [] }: Action): Promise<void> {
  await unlessFailed(async () => {
    for (const { operation, input } of otherwise) await cloud.call<WriteOperation>(operation, input);
  });
}

/**
 * Returns the id of the security group that exists under the name of a creation that AWS refuses. Another controller may have created it,
 * or an earlier call whose answer was lost. It counts only if its tags are ours; the next reconcile corrects the other tags. Undefined:
 * there is none, or it belongs to another owner.
 */
async function existingGroup(cloud: Cloud, { operation, input }: Action, error: AwsError): Promise<string | undefined> {
  if (operation !== 'ec2:CreateSecurityGroup' || error.code !== 'duplicate') return undefined;
  const Filters = [
    { Name: 'vpc-id', Values: [input.VpcId] },
    { Name: 'group-name', Values: [input.GroupName] },
  ];
  // A failure leaves the answer to the creation as the one to report.
  const [found] = (await unlessFailed(() => cloud.call('ec2:DescribeSecurityGroups', { Filters })))?.SecurityGroups ?? [];
  if (found === undefined) return 'not listed';
  const [actual, wanted] = [tagMap(found.Tags), tagMap(input.TagSpecifications.flatMap(({ Tags }) => Tags))];
  const isOurs = [tagKeys.cluster, tagKeys.stack, tagKeys.resource].every((key) => actual[key] === wanted[key]);
  return isOurs ? found.GroupId : undefined;
}

/** States of endpoints that keep AWS from deleting their service. */
const connectedStates: ReadonlySet<string> = new Set(['available', 'pending', 'pendingAcceptance']);

/**
 * Returns the refusal of a deletion with what is in its way, where AWS does not say that: the endpoints of clients that are connected to an
 * endpoint service. Other errors are returned as they are.
 */
async function withBlockers(cloud: Cloud, { id, operation, input }: Action, error: AwsError): Promise<AwsError> {
  if (operation !== 'ec2:DeleteVpcEndpointServiceConfigurations' || error.code !== 'inUse') return error;
  const [ServiceId] = input.ServiceIds;
  // A failure leaves the refusal as the error to report.
  const listed = await unlessFailed(() => cloud.call('ec2:DescribeVpcEndpointConnections', { ServiceId }));
  const endpoints = listed?.VpcEndpointConnections.filter(({ VpcEndpointState }) => connectedStates.has(VpcEndpointState)) ?? [];
  const { code, awsCode, requestId, message, cause } = error;
  const name = id.replace(/^endpoint service (.*): delete$/, '$1');
  const shown = endpoints.slice(0, limits.shownEndpoints).map(({ VpcEndpointId, VpcEndpointOwner }) => ({
    id: VpcEndpointId,
    owner: VpcEndpointOwner,
  }));
  const blocked = reason('AwsEndpointServiceInUse', {
    service: ServiceId,
    name,
    endpoints: shown.map((one) => `${one.id}${one.owner === '' ? '' : ` of account ${one.owner}`}`).join(', '),
    ids: shown.map((one) => one.id).join(' '),
    others: endpoints.length - shown.length,
  });
  return new AwsError({ code, operation, awsCode, requestId, message, cause, reason: blocked });
}

/** Replaces placeholders in the input by the ids of created resources. */
function withCreated(value: unknown, created: ReadonlyMap<string, string>): unknown {
  if (typeof value === 'string') {
    const name = placeholderName(value);
    if (name === undefined) return value;
    const id = created.get(name);
    assert(id !== undefined, `${name} is used before it is created`);
    return id;
  }
  if (Array.isArray(value)) return value.map((item) => withCreated(item, created));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, withCreated(item, created)]));
}

/** Undefined for operations that create nothing with an id. */
function createdId(operation: WriteOperation, output: Output<WriteOperation>): string | undefined {
  if (operation === 'elbv2:CreateLoadBalancer') return (output as Output<typeof operation>).LoadBalancers[0]?.LoadBalancerArn;
  if (operation === 'elbv2:CreateTargetGroup') return (output as Output<typeof operation>).TargetGroups[0]?.TargetGroupArn;
  if (operation === 'elbv2:CreateListener') return (output as Output<typeof operation>).Listeners[0]?.ListenerArn;
  if (operation === 'ec2:CreateSecurityGroup') return (output as Output<typeof operation>).GroupId;
  if (operation === 'ec2:CreateVpcEndpointServiceConfiguration') return (output as Output<typeof operation>).ServiceConfiguration.ServiceId;
  return undefined;
}

/**
 * Returns the failure to report, except refused targets and those of `reported` actions: the first that is not transient, otherwise the first.
 */
export function worstFailure({ outcomes }: Execution, reported: ReadonlySet<string> = new Set()): AwsError | undefined {
  const errors = outcomes.flatMap((outcome) => {
    const isOfTargets = registrations.has(outcome.action.operation) && 'refused' in outcome && outcome.refused !== undefined;
    const isReportedApart = isOfTargets || reported.has(outcome.action.id);
    return (outcome.result === 'failed' || outcome.result === 'partial') && !isReportedApart ? [outcome.error] : [];
  });
  return errors.find(({ code }) => !isTransient(code)) ?? errors[0];
}
