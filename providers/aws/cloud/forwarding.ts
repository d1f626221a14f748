import type { ForwardAction, Listener } from './elbv2.ts';

/** The target groups to which a listener sends. */
export interface Forwarding {
  /** ARNs or placeholders, each with its weight. A single one has the weight 1. */
  readonly groups: ReadonlyMap<string, number>;
  readonly isSticky: boolean;
}

/** Returns what a listener does. Without groups, if it has no action or several. */
export function forwardingOf({ DefaultActions }: Pick<Listener, 'DefaultActions'>): Forwarding {
  const [action, second] = DefaultActions;
  if (action === undefined || second !== undefined) return { groups: new Map(), isSticky: false };
  if (action.TargetGroupArn !== undefined) return { groups: new Map([[action.TargetGroupArn, 1]]), isSticky: false };
  const { TargetGroups = [], TargetGroupStickinessConfig } = action.ForwardConfig ?? {};
  const groups = new Map(TargetGroups.map(({ TargetGroupArn, Weight }) => [TargetGroupArn, Weight]));
  return { groups, isSticky: TargetGroupStickinessConfig?.Enabled === true };
}

export function actionOf({ groups, isSticky }: Forwarding): ForwardAction {
  const all = [...groups].map(([TargetGroupArn, Weight]) => ({ TargetGroupArn, Weight }));
  const [first, second] = all;
  if (first !== undefined && second === undefined) return { Type: 'forward', TargetGroupArn: first.TargetGroupArn };
  const sticky = isSticky ? { TargetGroupStickinessConfig: { Enabled: true } } : {};
  return { Type: 'forward', ForwardConfig: { TargetGroups: all, ...sticky } };
}

export function sameForwarding(a: Forwarding, b: Forwarding): boolean {
  if (a.groups.size !== b.groups.size || a.isSticky !== b.isSticky) return false;
  return [...a.groups].every(([arn, weight]) => b.groups.get(arn) === weight);
}
