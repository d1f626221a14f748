import type { ServicesScope } from '../../model/kinds/types.ts';
import type { Frontend } from '../../net/frontend.ts';

/** Whether Herald itself forwards a frontend, or leaves it to another program. */
export function isInScope(services: ServicesScope, { scope }: Pick<Frontend, 'scope'>): boolean {
  return services === 'all' || (services === 'external' && scope === 'external');
}

/** Whether new connections to the frontend reach a backend, as far as its own policy says; pods and the node itself have all of them. */
export function hasBackends({ policy, backends, localBackends }: Frontend): boolean {
  return (policy === 'Local' ? localBackends : backends).length > 0;
}
