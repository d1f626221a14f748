import { addressFromBytes, bitsOf, type Address } from '../../net/address.ts';
import { maskedPrefix, type Prefix } from '../../net/prefix.ts';
import { readAttributes, readHostNumber, readText } from '../../system/netlink/attributes.ts';
import type { Request } from '../../system/netlink/connection.ts';

/** The numbers of linux/rtnetlink.h, linux/if_link.h and linux/if_addr.h that lists of links and addresses need. */
const messages = { getLink: 18, getAddress: 22 } as const;
const linkAttributes = { address: 1, name: 3, master: 10, information: 18, filter: 29, farNamespace: 37 } as const;
const informationAttributes = { kind: 1 } as const;
const addressAttributes = { address: 1, local: 2 } as const;
/** RTEXT_FILTER_SKIP_STATS: keeps the answers short. */
const withoutStatistics = 8;
/** Flags of linux/if.h. */
const flags = { up: 0x1, loopback: 0x8, noArp: 0x80, lowerUp: 0x1_0000 } as const;
/** Octets of struct ifinfomsg and of struct ifaddrmsg. */
const linkHeader = 16;
const addressHeader = 8;

export interface ListedLink {
  readonly index: number;
  readonly name: string;
  readonly linkAddress?: string;
  readonly up: boolean;
  readonly carrier: boolean;
  readonly noArp: boolean;
  readonly loopback: boolean;
  /** The index of the interface that this one is a port of. */
  readonly master?: number;
  readonly kind?: string;
  readonly leadsElsewhere: boolean;
}

export const listLinks: Request = {
  type: messages.getLink,
  write(writer) {
    writer.raw(new Uint8Array(linkHeader));
    writer.hostNumberAttribute(linkAttributes.filter, withoutStatistics);
  },
};

/** Reads one link of a list. Undefined: the message has no name. */
export function readListedLink(payload: Uint8Array): ListedLink | undefined {
  const index = readHostNumber(payload.subarray(4, 8));
  const word = readHostNumber(payload.subarray(8, 12));
  const attributes = readAttributes(payload.subarray(linkHeader));
  const name = attributes.get(linkAttributes.name);
  if (index === undefined || word === undefined || name === undefined) return undefined;
  const has = (flag: number): boolean => (word & flag) !== 0;
  const master = readHostNumber(attributes.get(linkAttributes.master));
  const linkAddress = linkAddressText(attributes.get(linkAttributes.address));
  const kind = kindOf(attributes.get(linkAttributes.information));
  return {
    index,
    name: readText(name),
    ...(linkAddress === undefined ? {} : { linkAddress }),
    up: has(flags.up),
    carrier: has(flags.lowerUp),
    noArp: has(flags.noArp),
    loopback: has(flags.loopback),
    ...(master === undefined ? {} : { master }),
    ...(kind === undefined ? {} : { kind }),
    leadsElsewhere: attributes.has(linkAttributes.farNamespace),
  };
}

function linkAddressText(octets: Uint8Array | undefined): string | undefined {
  if (octets?.length !== 6) return undefined;
  return [...octets].map((octet) => octet.toString(16).padStart(2, '0')).join(':');
}

function kindOf(information: Uint8Array | undefined): string | undefined {
  const kind = information === undefined ? undefined : readAttributes(information).get(informationAttributes.kind);
  return kind === undefined ? undefined : readText(kind);
}

export interface ListedAddress {
  readonly index: number;
  readonly address: Address;
  /** Absent: the address is that of a single host. */
  readonly network?: Prefix;
}

export const listAddresses: Request = {
  type: messages.getAddress,
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
