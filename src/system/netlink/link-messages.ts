import { readAttributes, readHostNumber, readText } from './attributes.ts';
import type { Request } from './connection.ts';

/** The numbers of linux/rtnetlink.h and linux/if_link.h that lists and events of links need. */
export const linkMessages = { changed: 16, removed: 17, get: 18 } as const;
const linkAttributes = { address: 1, name: 3, master: 10, information: 18, filter: 29, farNamespace: 37, event: 44 } as const;
const informationAttributes = { kind: 1 } as const;
/** IFLA_EVENT_BONDING_FAILOVER and IFLA_EVENT_NOTIFY_PEERS. */
const movingEvents: ReadonlySet<number | undefined> = new Set([3, 4]);
/** RTEXT_FILTER_SKIP_STATS: keeps the answers short. */
const withoutStatistics = 8;
/** Flags of linux/if.h. */
const flags = { up: 0x1, loopback: 0x8, noArp: 0x80, lowerUp: 0x1_0000 } as const;
/** Octets of struct ifinfomsg. */
const linkHeader = 16;

export interface KernelLink {
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

/** What an event tells of a link. */
export interface LinkEvent extends KernelLink {
  /** The event says that the interface is reached by another way than before: a bond has failed over, a virtual machine has moved. */
  readonly moved: boolean;
}

export const listLinks: Request = {
  type: linkMessages.get,
  write(writer) {
    writer.raw(new Uint8Array(linkHeader));
    writer.hostNumberAttribute(linkAttributes.filter, withoutStatistics);
  },
};

/** Reads one link of a list. Undefined: the message has no name. */
export function readLink(payload: Uint8Array): KernelLink | undefined {
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

/** Reads an event. Undefined: the message has no name. */
export function readLinkEvent(payload: Uint8Array): LinkEvent | undefined {
  const link = readLink(payload);
  const event = readHostNumber(readAttributes(payload.subarray(linkHeader)).get(linkAttributes.event));
  return link === undefined ? undefined : { ...link, moved: movingEvents.has(event) };
}

function linkAddressText(octets: Uint8Array | undefined): string | undefined {
  if (octets?.length !== 6) return undefined;
  return [...octets].map((octet) => octet.toString(16).padStart(2, '0')).join(':');
}

function kindOf(information: Uint8Array | undefined): string | undefined {
  const kind = information === undefined ? undefined : readAttributes(information).get(informationAttributes.kind);
  return kind === undefined ? undefined : readText(kind);
}
