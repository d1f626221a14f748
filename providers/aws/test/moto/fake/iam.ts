import type { Operation } from '../../../cloud/operations.ts';
import type { IamConditions, IamPolicy } from '../../../tables/command/iam-policy.ts';
import { refuse, tagKey, type World } from './world.ts';

type Tags = ReadonlyMap<string, string>;

/** One right that a call needs, with the values of the condition keys by which AWS decides about it. */
interface Need {
  readonly action: string;
  readonly values: ReadonlyMap<string, string>;
}

/** Refuses a call that the policy does not allow, as IAM does: each need must be allowed by one statement. Everything else is denied. */
export function authorize(policy: IamPolicy, world: World, operation: Operation, input: object): void {
  for (const { action, values } of needsOf(world, operation, input)) {
    const isAllowed = (conditionsOf(policy).get(action) ?? []).some((conditions) => conditionsHold(conditions, values));
    if (!isAllowed) refuse(operation, 'denied', 'AccessDenied', `${action} ${JSON.stringify([...values])}`);
  }
}

const known = new WeakMap<IamPolicy, ReadonlyMap<string, readonly IamConditions[]>>();

/** Returns the conditions of the statements that allow each action. They are collected once for each policy. */
function conditionsOf(policy: IamPolicy): ReadonlyMap<string, readonly IamConditions[]> {
  const found = known.get(policy) ?? collectConditions(policy);
  known.set(policy, found);
  return found;
}

function collectConditions({ Statement }: IamPolicy): Map<string, IamConditions[]> {
  const byAction = new Map<string, IamConditions[]>();
  for (const { Action, Condition = {} } of Statement)
    for (const action of [Action].flat()) byAction.set(action, [...(byAction.get(action) ?? []), Condition]);
  return byAction;
}

/** The fields of inputs that name resources or tags. */
interface Fields {
  readonly LoadBalancerArn?: string;
  readonly TargetGroupArn?: string;
  readonly ListenerArn?: string;
  readonly ResourceArns?: readonly string[];
  readonly LoadBalancerName?: string;
  readonly LoadBalancerNames?: readonly string[];
  readonly GroupId?: string;
  readonly Resources?: readonly string[];
  readonly ServiceId?: string;
  readonly ServiceIds?: readonly string[];
  readonly Tags?: readonly { readonly Key: string; readonly Value?: string }[];
  readonly TagSpecifications?: readonly { readonly Tags: readonly { readonly Key: string; readonly Value: string }[] }[];
}

/** Operations that create a resource which has its own tags. AWS checks the right to tag it as well. */
const creations = new Set([
  'CreateLoadBalancer',
  'CreateTargetGroup',
  'CreateListener',
  'CreateSecurityGroup',
  'CreateVpcEndpointServiceConfiguration',
]);

function needsOf(world: World, operation: Operation, input: Fields): Need[] {
  const [api, name = ''] = operation.split(':', 2);
  const service = api === 'elbv2' || api === 'elb' ? 'elasticloadbalancing' : (api ?? '');
  const given = [...(input.Tags ?? []), ...(input.TagSpecifications ?? []).flatMap(({ Tags }) => Tags)];
  const requested = given.map(({ Key, Value = '' }): [string, string] => [`aws:RequestTag/${Key}`, Value]);
  const action = `${service}:${name}`;
  if (creations.has(name)) {
    // The listener is created on a load balancer, whose tags count for it.
    const parent = name === 'CreateListener' ? tagged(world.tags.get(input.LoadBalancerArn ?? '')) : [];
    const tagging = { action: `${service}:${service === 'ec2' ? 'CreateTags' : 'AddTags'}` };
    const because: [string, string] = [`${service}:CreateAction`, name];
    return [
      { action, values: new Map([...parent, ...requested]) },
      ...(requested.length === 0 ? [] : [{ ...tagging, values: new Map([because, ...requested]) }]),
    ];
  }
  const named = resourcesOf(input);
  if (named.length === 0 || /^(?:Describe|List)/.test(name)) return [{ action, values: new Map(requested) }];
  return named.map((id) => ({ action, values: new Map([...tagged(world.tags.get(id)), ...requested]) }));
}

function resourcesOf(input: Fields): string[] {
  const { LoadBalancerName, LoadBalancerNames = LoadBalancerName === undefined ? [] : [LoadBalancerName] } = input;
  const { ListenerArn, TargetGroupArn, LoadBalancerArn, GroupId, ServiceId, ServiceIds = [], ResourceArns = [], Resources = [] } = input;
  const single = ListenerArn ?? TargetGroupArn ?? LoadBalancerArn ?? GroupId ?? ServiceId;
  return [...(single === undefined ? [] : [single]), ...ResourceArns, ...Resources, ...ServiceIds, ...LoadBalancerNames.map(tagKey)];
}

function tagged(tags: Tags = new Map()): [string, string][] {
  return [...tags].map(([key, value]) => [`aws:ResourceTag/${key}`, value]);
}

function conditionsHold(conditions: IamConditions, values: ReadonlyMap<string, string>): boolean {
  return Object.entries(conditions).every(([operator, keys]) =>
    Object.entries(keys).every(([key, wanted]) => {
      const value = values.get(key);
      if (operator === 'Null') return (value === undefined) === (wanted === 'true');
      if (operator === 'StringEquals') return value !== undefined && [wanted].flat().includes(value);
      throw new TypeError(`the fake does not know the operator ${operator}`);
    }),
  );
}
