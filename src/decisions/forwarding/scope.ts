import type { ServicesScope } from '../../model/kinds/types.ts';
import { sameAddress, type Address } from '../../net/address.ts';
import { frontendKey, type Frontend, type ServiceForwarding } from '../../net/frontend.ts';

/** True when Herald forwards the frontend; false when it leaves it to another program. */
export function isInScope(services: ServicesScope, { scope }: Pick<Frontend, 'scope'>): boolean {
  return services === 'all' || (services === 'external' && scope === 'external');
}

/** True when new connections to the frontend reach a backend under its own policy. Pods and the node itself may use all backends. */
export function hasBackends({ policy, backends, localBackends }: Frontend): boolean {
  return (policy === 'Local' ? localBackends : backends).length > 0;
}

/** Returns the keys (`frontendKey`) of the frontends that the kernel must have before a route to the address is announced. */
export function frontendsOfAddress(forwarding: ServiceForwarding, address: Address): string[] {
  return forwarding.frontends
    .filter(({ match }) => match.kind === 'address' && sameAddress(match.address, address))
    .map(({ match }) => frontendKey(match));
}
