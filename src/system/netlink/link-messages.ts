import { readAttributes, readHostNumber, readText } from './attributes.ts';
import type { Request } from './connection.ts';

/** The numbers of linux/rtnetlink.h and linux/if_link.h that lists and events of links need. */
export const linkMessages = { changed: 16, removed: 17, get: 18 } as const;
const linkAttributes = { address: 1, name: 3, parent: 5, master: 10, information: 18, filter: 29, farNamespace: 37, event: 44 } as const;
const informationAttributes = { kind: 1, data: 2, portKind: 4, portData: 5 } as const;
/** IFLA_BOND_MODE, and IFLA_BR_NF_CALL_IPTABLES and IFLA_BR_NF_CALL_IP6TABLES. The numbers of each kind of interface are its own. */
const bondAttributes = { mode: 1 } as const;
const bridgeAttributes = { filters4: 36, filters6: 37 } as const;
/** IFLA_BRPORT_MODE: hairpin mode. */
const bridgePortAttributes = { mode: 4 } as const;
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
  /** The index of the interface that this one is built on: that of a VLAN or macvlan device. Of a veth it is the other end. */
  readonly parent?: number;
  readonly kind?: string;
  /** The number of linux/if_bonding.h. */
  readonly bondMode?: number;
  /** The address families for which this bridge passes its frames to the filters of IP, whatever the setting for all bridges says. */
  readonly bridgeFilters?: readonly (4 | 6)[];
  /** A port of a bridge that sends frames out of the port by which they came (hairpin mode). */
  readonly hairpin?: true;
  readonly leadsElsewhere: boolean;
}

/** A link as an event of the kernel describes it. */
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
  const octets = attributes.get(linkAttributes.address);
  const linkAddress = octets?.length === 6 ? linkAddressText(octets) : undefined;
  const parent = readHostNumber(attributes.get(linkAttributes.parent));
  return {
    index,
    name: readText(name),
    ...(linkAddress === undefined ? {} : { linkAddress }),
    up: has(flags.up),
    carrier: has(flags.lowerUp),
    noArp: has(flags.noArp),
    loopback: has(flags.loopback),
    ...(master === undefined ? {} : { master }),
    ...(parent === undefined ? {} : { parent }),
    ...readInformation(attributes.get(linkAttributes.information)),
    ...(isHairpin(attributes.get(linkAttributes.information)) ? { hairpin: true } : {}),
    leadsElsewhere: attributes.has(linkAttributes.farNamespace),
  };
}

/** Reads an event. Undefined: the message has no name. */
export function readLinkEvent(payload: Uint8Array): LinkEvent | undefined {
  const link = readLink(payload);
  const event = readHostNumber(readAttributes(payload.subarray(linkHeader)).get(linkAttributes.event));
  return link === undefined ? undefined : { ...link, moved: movingEvents.has(event) };
}

/** "02:00:00:00:00:01" */
export function linkAddressText(octets: Uint8Array): string {
  return [...octets].map((octet) => octet.toString(16).padStart(2, '0')).join(':');
}

function readInformation(information: Uint8Array | undefined): Pick<KernelLink, 'kind' | 'bondMode' | 'bridgeFilters'> {
  const attributes = readAttributes(information ?? new Uint8Array());
  const name = attributes.get(informationAttributes.kind);
  if (name === undefined) return {};
  const kind = readText(name);
  if (kind !== 'bond' && kind !== 'bridge') return { kind };
  const data = readAttributes(attributes.get(informationAttributes.data) ?? new Uint8Array());
  if (kind === 'bond') {
    const [bondMode] = data.get(bondAttributes.mode) ?? [];
    return bondMode === undefined ? { kind } : { kind, bondMode };
  }
  const { filters4, filters6 } = bridgeAttributes;
  const isOn = (type: number): boolean => data.get(type)?.[0] === 1;
  return { kind, bridgeFilters: [...(isOn(filters4) ? [4 as const] : []), ...(isOn(filters6) ? [6 as const] : [])] };
}

function isHairpin(information: Uint8Array | undefined): boolean {
  const attributes = readAttributes(information ?? new Uint8Array());
  const kind = attributes.get(informationAttributes.portKind);
  if (kind === undefined || readText(kind) !== 'bridge') return false;
  return readAttributes(attributes.get(informationAttributes.portData) ?? new Uint8Array()).get(bridgePortAttributes.mode)?.[0] === 1;
}
