import { formatAddress, type Address } from './address.ts';

/** A next hop of a route, on a link of this host. An IPv4 route may have one of IPv6 (RFC 8950). */
export interface RouteHop {
  readonly address: Address;
  /** Name of the interface. */
  readonly interface: string;
}

/** "10.1.0.1 dev eth1" */
export function formatHop({ address, interface: name }: RouteHop): string {
  return `${formatAddress(address)} dev ${name}`;
}
