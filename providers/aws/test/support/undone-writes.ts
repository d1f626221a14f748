import type { Call } from '../moto/fake/cloud.ts';

/** The input fields that matter here. */
interface Fields {
  readonly Name?: string;
  readonly TargetGroupArn?: string;
  readonly ListenerArn?: string;
  readonly LoadBalancerArn?: string;
  readonly LoadBalancerName?: string;
  readonly GroupId?: string;
  readonly Targets?: readonly { readonly Id: string; readonly Port: number }[];
  readonly IpPermissions?: readonly unknown[];
  readonly Attributes?: readonly { readonly Key: string; readonly Value: string }[];
  readonly LoadBalancerAttributes?: unknown;
  readonly SecurityGroups?: unknown;
}

/** A call that changed something. */
export type Write = Call;

/**
 * Returns writes that undo earlier ones: a resource created and deleted again, a target registered and deregistered, a value set and set
 * differently. Resources from before may be deleted.
 */
export function undoneWrites(writes: readonly Write[]): string[] {
  const found: string[] = [];
  const targets = new Set<string>();
  const values = new Map<string, string>();
  const rules = new Set<string>();
  const groups = new Map<string, readonly (readonly string[])[]>();
  for (const { operation, input: raw } of writes) {
    const input = raw as Fields;
    const [, name = ''] = operation.split(':');
    const about = input.TargetGroupArn ?? input.ListenerArn ?? input.LoadBalancerArn ?? input.LoadBalancerName ?? input.GroupId ?? '';
    const set = (key: string, value: unknown): void => {
      const text = JSON.stringify(value);
      const before = values.get(`${about} ${key}`);
      if (before !== undefined && before !== text) found.push(`${operation} ${about}: ${key} was ${before}, then ${text}`);
      values.set(`${about} ${key}`, text);
    };
    // New groups coexist with old ones for a while. An added group may not be removed again, and a removed one may not come back.
    const setGroups = (ids: readonly string[]): void => {
      const before = groups.get(about) ?? [];
      const added = before.at(-1)?.filter((id) => before.length > 1 && before.at(-2)?.includes(id) === false) ?? [];
      if (added.some((id) => !ids.includes(id))) found.push(`${operation} ${about} takes away what came before it`);
      if (ids.some((id) => before.length > 1 && before.at(-1)?.includes(id) === false)) found.push(`${operation} ${about} brings back`);
      groups.set(about, [...before, ids]);
    };
    switch (name) {
      case 'RegisterTargets':
        for (const { Id, Port } of input.Targets ?? []) targets.add(`${about} ${Id} ${Port}`);
        break;
      case 'DeregisterTargets':
        for (const { Id, Port } of input.Targets ?? []) {
          if (targets.has(`${about} ${Id} ${Port}`)) found.push(`${operation} ${about} ${Id} ${Port} after its registration`);
        }
        break;
      case 'AuthorizeSecurityGroupIngress':
        for (const rule of input.IpPermissions ?? []) rules.add(`${about} ${JSON.stringify(rule)}`);
        break;
      case 'RevokeSecurityGroupIngress':
        for (const rule of input.IpPermissions ?? []) {
          if (rules.has(`${about} ${JSON.stringify(rule)}`)) found.push(`${operation} ${JSON.stringify(rule)} after it was authorized`);
        }
        break;
      case 'ModifyTargetGroupAttributes':
      case 'ModifyListenerAttributes':
        for (const { Key, Value } of input.Attributes ?? []) set(Key, Value);
        break;
      case 'ModifyListener':
      case 'ModifyTargetGroup':
      case 'ConfigureHealthCheck':
      case 'SetIpAddressType':
      case 'ModifyCapacityReservation':
        for (const [key, value] of Object.entries(input)) set(key, value);
        break;
      case 'ModifyLoadBalancerAttributes':
        if (Array.isArray(input.Attributes)) for (const { Key, Value } of input.Attributes ?? []) set(Key, Value);
        else set('attributes', input.LoadBalancerAttributes);
        break;
      case 'SetSecurityGroups':
      case 'ApplySecurityGroupsToLoadBalancer':
        setGroups(input.SecurityGroups as readonly string[]);
        break;
      default:
        break;
    }
  }
  return [...found, ...madeForNothing(writes)];
}

/** Returns resources that were created and deleted again. Fakes number their ids, so a later resource has a higher one. */
function madeForNothing(writes: readonly Write[]): string[] {
  const made = new Set<string>();
  const found: string[] = [];
  for (const { operation, input: raw } of writes) {
    const input = raw as Fields;
    if (operation === 'elbv2:CreateLoadBalancer' || operation === 'elbv2:CreateTargetGroup') made.add(input.Name ?? '');
    if (operation === 'elb:CreateLoadBalancer') made.add(input.LoadBalancerName ?? '');
    if (!/:Delete(?:LoadBalancer|TargetGroup)$/.test(operation)) continue;
    const about = input.LoadBalancerArn ?? input.TargetGroupArn ?? input.LoadBalancerName ?? '';
    const name = about.includes('/') ? (about.split('/').at(-2) ?? '') : about;
    if (made.has(name)) found.push(`${operation} ${name} after its creation`);
  }
  return found;
}
