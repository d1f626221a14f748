import { isOurs, tagKeys } from './tags.ts';
import type { Observed } from './observed.ts';

/** Returns only the stack's own resources, without those whose names merely collide. */
export function ownObserved(observed: Observed, cluster: string, stack: string): Observed {
  const mine = ({ tags }: { readonly tags: Readonly<Record<string, string>> }): boolean =>
    isOurs(tags, cluster) && tags[tagKeys.stack] === stack;
  return {
    ...observed,
    loadBalancers: observed.loadBalancers.filter(mine),
    targetGroups: observed.targetGroups.filter(mine),
    ...(observed.strayListeners === undefined ? {} : { strayListeners: observed.strayListeners.filter(mine) }),
    classic: observed.classic.filter(mine),
  };
}
