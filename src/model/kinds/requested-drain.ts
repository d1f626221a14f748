import type { Node } from '../objects/cluster.ts';
import type { HeraldConfig } from './types.ts';

/** How a node is to be drained; undefined: it is not. That it is unschedulable asks for nothing. */
export function drainWish({ nodeDrain: { taint } }: HeraldConfig, { drain, taints }: Node): Node['drain'] {
  return drain ?? (taint !== undefined && taints?.includes(taint) === true ? 'keepLast' : undefined);
}
