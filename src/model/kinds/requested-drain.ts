import type { Node } from '../objects/cluster.ts';
import type { HeraldConfig } from './types.ts';

/** Returns the requested drain of a node, undefined for none. `kubectl cordon` (unschedulable) does not request a drain. */
export function requestedDrain({ nodeDrain: { taint } }: HeraldConfig, { drain, taints }: Node): Node['drain'] {
  return drain ?? (taint !== undefined && taints?.includes(taint) === true ? 'keepLast' : undefined);
}
