import { addressBytes, type Address, type Family } from '../../../net/address.ts';

/**
 * struct sockaddr_in (16 octets) or sockaddr_in6 (28). No address: any. The scope is left out: a socket that is bound to an
 * interface needs none.
 */
export function socketAddress(family: Family, address: Address | undefined, port: number): Uint8Array {
  const bytes = Buffer.alloc(family === 4 ? 16 : 28);
  bytes.writeUInt16LE(family === 4 ? 2 : 10);
  bytes.writeUInt16BE(port, 2);
  if (address !== undefined) bytes.set(addressBytes(address), family === 4 ? 4 : 8);
  return bytes;
}
