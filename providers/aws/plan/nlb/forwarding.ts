import type { Forwarding } from '../../cloud/forwarding.ts';
import type { DesiredListener } from '../../model/desired.ts';
import type { UsableTargetGroup } from './target-groups.ts';

/** Returns what a listener is to do. Undefined: the target group of its Service is not usable. */
export function desiredForwarding(
  { targetGroup, weighted }: DesiredListener,
  usable: ReadonlyMap<string, UsableTargetGroup>,
): Forwarding | undefined {
  const own = usable.get(targetGroup)?.arn;
  if (own === undefined) return undefined;
  if (weighted === undefined) return { groups: new Map([[own, 1]]), isSticky: false };
  // A group without an entry is one that Herald did not make.
  const others = weighted.others.map(({ group, weight }) => [usable.get(group)?.arn ?? group, weight] as const);
  return { groups: new Map([[own, weighted.own], ...others]), isSticky: weighted.isSticky };
}
