import { addressFromBytes, bitsOf, type Address } from '../../net/address.ts';
import { maskedPrefix, type Prefix } from '../../net/prefix.ts';
import { readAttributes, readHostNumber } from '../../system/netlink/attributes.ts';
import type { Request } from '../../system/netlink/connection.ts';

/** The numbers of linux/rtnetlink.h and linux/if_addr.h that a list of addresses needs. */
const getAddress = 22;
const addressAttributes = { address: 1, local: 2 } as const;
/** Octets of struct ifaddrmsg. */
const addressHeader = 8;

export interface ListedAddress {
  readonly index: number;
  readonly address: Address;
  /** Absent: the address is that of a single host. */
  readonly network?: Prefix;
}

export const listAddresses: Request = {
  type: getAddress,
  write(writer) {
    writer.raw(new Uint8Array(addressHeader));
  },
};

/** Reads one address of a list. On a link between two hosts IFA_ADDRESS is the other host's, so IFA_LOCAL counts first. */
export function readListedAddress(payload: Uint8Array): ListedAddress | undefined {
  const index = readHostNumber(payload.subarray(4, 8));
  const attributes = readAttributes(payload.subarray(addressHeader));
  const bytes = attributes.get(addressAttributes.local) ?? attributes.get(addressAttributes.address);
  const length = payload[1];
  if (index === undefined || length === undefined || (bytes?.length !== 4 && bytes?.length !== 16)) return undefined;
  const address = addressFromBytes(bytes);
  return length >= bitsOf(address.family) ? { index, address } : { index, address, network: maskedPrefix(address, length) };
}
