import { sameAddress, type Address } from '../../net/address.ts';
import { frontendKey, type ServiceForwarding } from '../../net/frontend.ts';

/** Returns the keys (`frontendKey`) of the frontends that the kernel must have before a route to the address is announced. */
export function frontendsOfAddress(forwarding: ServiceForwarding, address: Address): string[] {
  return forwarding.frontends
    .filter(({ match }) => match.kind === 'address' && sameAddress(match.address, address))
    .map(({ match }) => frontendKey(match));
}
