import { addressBytes, type Address, type Family } from '../../../net/address.ts';
import { inetAddress } from '../../../system/ffi/inet-socket.ts';

/** As the kernel takes it; no address: any. */
export function socketAddress(family: Family, address: Address | undefined, port: number): Uint8Array {
  return inetAddress(family, address === undefined ? undefined : addressBytes(address), port);
}
