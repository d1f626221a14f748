import { formatAddress, isLinkLocal, type Address } from '../../net/address.ts';

interface Peer {
  readonly address: Address;
  readonly interface?: string;
}

/** Returns why Node cannot connect to this address, or undefined if it can. */
export function linkLocalProblem({ address, interface: networkInterface }: Peer): string | undefined {
  if (!isLinkLocal(address)) return undefined;
  if (networkInterface === undefined) return 'a link-local address needs the network interface it is on';
  // With any other character Node resolves the address as a host name, and libuv picks the first interface for an address without zone.
  if (/^[0-9a-zA-Z.:-]+$/.test(networkInterface)) return undefined;
  return `the name of the network interface ${networkInterface} has a character that Node does not take in a link-local address: rename it`;
}

/** Returns the address for Node's `connect`. A link-local address gets its zone (RFC 4007 11). */
export function connectHost({ address, interface: networkInterface }: Peer): string {
  return formatAddress(address) + (isLinkLocal(address) && networkInterface !== undefined ? `%${networkInterface}` : '');
}
