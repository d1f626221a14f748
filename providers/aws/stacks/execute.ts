import assert from 'node:assert';
import type { Cloud } from '../cloud/cloud.ts';
import { AwsError, isTransient, type AwsErrorCode } from '../cloud/error.ts';
import type { Input, Output, WriteOperation } from '../cloud/operations.ts';
import { placeholderName, type Action } from '../plan/steps/action.ts';

export type Outcome =
  | { readonly action: Action; readonly result: 'done' }
  /** AWS still uses it: tried again in the next pass. */
  | { readonly action: Action; readonly result: 'inUse'; readonly error: AwsError }
  /** Something that it needs was not done. */
  | { readonly action: Action; readonly result: 'skipped' }
  | { readonly action: Action; readonly result: 'failed'; readonly error: AwsError };

export interface Execution {
  readonly outcomes: readonly Outcome[];
  /** What was created, by the name of its placeholder: ARN or id. */
  readonly created: ReadonlyMap<string, string>;
}

/** After these nothing else would fare better: the rest of the plan waits. */
const hopeless: ReadonlySet<AwsErrorCode> = new Set(['throttled', 'unreachable', 'credentials']);

/**
 * Carries out a plan, action by action. One that fails takes with it only those that need it; rejects for programmer errors alone.
 * To be interrupted anywhere is harmless: the next plan starts from what is there.
 */
export async function execute(
  cloud: Cloud,
  actions: readonly Action[],
  ended: (outcome: Outcome) => void = () => undefined,
): Promise<Execution> {
  const outcomes = new Map<string, Outcome>();
  const created = new Map<string, string>();
  let stopped = false;
  for (const action of actions) {
    const ready: boolean = !stopped && action.needs.every((need) => outcomes.get(need)?.result === 'done');
    const outcome: Outcome = ready ? await attempt(cloud, action, created) : { action, result: 'skipped' };
    assert(!outcomes.has(action.id), `two actions are called ${action.id}`);
    outcomes.set(action.id, outcome);
    stopped ||= outcome.result === 'failed' && hopeless.has(outcome.error.code);
    ended(outcome);
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
    // What is gone need not be removed.
    if (error.code === 'notFound' && /:(?:Delete|Deregister|Remove)/.test(action.operation)) return { action, result: 'done' };
    if (error.code === 'inUse' && action.mayBeInUse === true) return { action, result: 'inUse', error };
    const twin = await madeMeanwhile(cloud, action, error).catch(() => undefined);
    if (twin === undefined || action.creates === undefined) {
      await putBack(cloud, action);
      return { action, result: 'failed', error };
    }
    created.set(action.creates, twin);
    return { action, result: 'done' };
  }
}

/** What cannot be put back either is missed, and made, by the next pass. */
async function putBack(cloud: Cloud, { otherwise = [] }: Action): Promise<void> {
  for (const { operation, input } of otherwise) {
    try {
      await cloud.call<WriteOperation>(operation, input);
    } catch (error) {
      if (!(error instanceof AwsError)) throw error;
      return;
    }
  }
}

/** The security group of the cluster is wanted by all that begin at once: who comes second takes the one that is there, if it is the same. */
async function madeMeanwhile(cloud: Cloud, { operation, input }: Action, error: AwsError): Promise<string | undefined> {
  if (operation !== 'ec2:CreateSecurityGroup' || error.code !== 'duplicate') return undefined;
  const Filters = [
    { Name: 'vpc-id', Values: [input.VpcId] },
    { Name: 'group-name', Values: [input.GroupName] },
  ];
  const { SecurityGroups } = await cloud.call('ec2:DescribeSecurityGroups', { Filters });
  const wanted = input.TagSpecifications.flatMap(({ Tags }) => Tags);
  const has = ({ Tags }: (typeof SecurityGroups)[number]): boolean =>
    wanted.every(({ Key, Value }) => Tags.some((tag) => tag.Key === Key && tag.Value === Value));
  return SecurityGroups.find(has)?.GroupId;
}

/** The input with the ids of what was created in the place of placeholders. */
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

/** Others create nothing that has an id. */
function createdId(operation: WriteOperation, output: Output<WriteOperation>): string | undefined {
  if (operation === 'elbv2:CreateLoadBalancer') return (output as Output<typeof operation>).LoadBalancers[0]?.LoadBalancerArn;
  if (operation === 'elbv2:CreateTargetGroup') return (output as Output<typeof operation>).TargetGroups[0]?.TargetGroupArn;
  if (operation === 'elbv2:CreateListener') return (output as Output<typeof operation>).Listeners[0]?.ListenerArn;
  if (operation === 'ec2:CreateSecurityGroup') return (output as Output<typeof operation>).GroupId;
  return undefined;
}

/** The first failure that somebody should hear of: one that does not pass by itself, else any. */
export function worstFailure({ outcomes }: Execution): AwsError | undefined {
  const errors = outcomes.flatMap((outcome) => (outcome.result === 'failed' ? [outcome.error] : []));
  return errors.find(({ code }) => !isTransient(code)) ?? errors[0];
}
