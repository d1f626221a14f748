import type { ServicesScope } from '../../model/kinds/types.ts';
import type { Frontend } from '../../net/frontend.ts';

/** True when Herald forwards the frontend; false when it leaves it to another program. */
export function isInScope(services: ServicesScope, { scope }: Pick<Frontend, 'scope'>): boolean {
  return services === 'all' || (services === 'external' && scope === 'external');
}

/** True when new connections to the frontend reach a backend under its own policy. Pods and the node itself may use all backends. */
export function hasBackends({ policy, backends, localBackends }: Frontend): boolean {
  return (policy === 'Local' ? localBackends : backends).length > 0;
}
