import { addressBytes, addressFromBytes, bitsOf, type Address, type Family } from '../../../net/address.ts';
import type { LinkHop, RouteChange } from '../../../net/endpoint-way.ts';
import { maskedPrefix, type Prefix } from '../../../net/prefix.ts';
import { readAttributes, readHostNumber } from '../../../system/netlink/attributes.ts';
import type { Request } from '../../../system/netlink/connection.ts';
import { linkAddressText } from '../../../system/netlink/link-messages.ts';
import type { Message } from '../../../system/netlink/message.ts';

/** The numbers of linux/rtnetlink.h, linux/neighbour.h and linux/fib_rules.h that questions about ways need. */
const messages = { newLink: 16, newRoute: 24, deleteRoute: 25, getRoute: 26, getNeighbor: 30, getRule: 34 } as const;
const routeAttributes = { destination: 1, source: 2, incoming: 3, outgoing: 4, gateway: 5, multipath: 9, table: 15, via: 18 } as const;
const ruleAttributes = { incoming: 3, preference: 6, mark: 10, table: 15, outgoing: 17, l3mdev: 19, users: 20 } as const;
const firstPortAttribute = 22;
const lastPortAttribute = 24;
const neighborAttributes = { destination: 1, linkAddress: 2, cacheInfo: 3 } as const;
const familyNumbers = { 4: 2, 6: 10 } as const;
/** Octets of struct rtmsg, struct fib_rule_hdr and struct ndmsg. */
const headerBytes = 12;
/** RTM_F_FIB_MATCH: the answer is the route itself, with its prefix and the state of its interface. RTM_F_CLONED: made for one address. */
const fibMatch = 0x2000;
/** RTM_F_LOOKUP_TABLE: otherwise the answer for IPv4 names the main table, whichever table has the route. IPv6 does so by itself, and refuses the flag. */
const lookupTable = 0x1000;
const cloned = 0x200;
const linkDown = 16;

/** The types of routes (RTN_...). */
const routeTypes = { unicast: 1, local: 2, blackhole: 6, unreachable: 7, prohibit: 8, throw: 9 } as const;

/** The types of routes that drop packets, each with the error by which the kernel answers a question about an address. */
export const droppingTypes = [
  { name: 'unreachable', type: routeTypes.unreachable, errno: 113 },
  { name: 'blackhole', type: routeTypes.blackhole, errno: 22 },
  { name: 'prohibit', type: routeTypes.prohibit, errno: 13 },
] as const;
/** ENETUNREACH: no route matches. */
export const noRouteErrno = 101;

/** RTNLGRP_...: links, and routes and rules of both families. */
export const wayGroups = [1, 7, 8, 11, 19];

/** Asks for the route of packets that this host sends to the address. `isWhole`: for the route in the table, not for that of one packet. */
export function wayQuestion(address: Address, isWhole: boolean): Request {
  return {
    type: messages.getRoute,
    write(writer) {
      const header = new Uint8Array(headerBytes);
      header.set([familyNumbers[address.family], bitsOf(address.family)]);
      if (isWhole) new DataView(header.buffer).setUint32(8, fibMatch, true);
      writer.raw(header);
      writer.bytesAttribute(routeAttributes.destination, addressBytes(address));
    },
  };
}

/**
 * Asks for the route in the table of packets from the source that come in by an interface, or that this host sends if there is none.
 * Rules for the source and the interface count.
 */
export function answerQuestion(address: Address, source: Address, incoming: number | undefined): Request {
  return {
    type: messages.getRoute,
    write(writer) {
      const header = new Uint8Array(headerBytes);
      header.set([familyNumbers[address.family], bitsOf(address.family), bitsOf(source.family)]);
      new DataView(header.buffer).setUint32(8, address.family === 4 ? fibMatch | lookupTable : fibMatch, true);
      writer.raw(header);
      writer.bytesAttribute(routeAttributes.destination, addressBytes(address));
      writer.bytesAttribute(routeAttributes.source, addressBytes(source));
      if (incoming !== undefined) writer.hostNumberAttribute(routeAttributes.incoming, incoming);
    },
  };
}

/** A route that answers a question. */
export interface FoundRoute {
  readonly prefix: Prefix;
  readonly table: number;
  readonly isLocal: boolean;
  readonly hop?: LinkHop;
  /** It has several hops. */
  readonly isSpread?: true;
  /** Index of the interface without a carrier by which it leaves. */
  readonly downIndex?: number;
}

export function readFoundRoute(payload: Uint8Array, address: Address): FoundRoute {
  const attributes = readAttributes(payload.subarray(headerBytes));
  const prefix = routePrefix(payload, attributes) ?? maskedPrefix(address, 0);
  const index = readHostNumber(attributes.get(routeAttributes.outgoing));
  const table = readHostNumber(attributes.get(routeAttributes.table)) ?? payload[4] ?? 0;
  const type = payload[7];
  if (type !== routeTypes.unicast || index === undefined)
    return { prefix, table, isLocal: type === routeTypes.local, ...(attributes.has(routeAttributes.multipath) ? { isSpread: true } : {}) };
  const via = attributes.get(routeAttributes.gateway) ?? attributes.get(routeAttributes.via)?.subarray(2);
  const gateway = via?.length === 4 || via?.length === 16 ? addressFromBytes(via) : undefined;
  const hop = { index, address: gateway ?? address, isGateway: gateway !== undefined };
  const isDown = ((readHostNumber(payload.subarray(8, 12)) ?? 0) & linkDown) !== 0;
  return { prefix, table, isLocal: false, hop, ...(isDown ? { downIndex: index } : {}) };
}

/** Lists the routes of a family in a table or of a type. Needs strict checking. */
export function listRoutes(family: Family, { table, type = 0 }: { readonly table?: number; readonly type?: number }): Request {
  return {
    type: messages.getRoute,
    write(writer) {
      const header = new Uint8Array(headerBytes);
      header.set([familyNumbers[family]]);
      header[7] = type;
      writer.raw(header);
      if (table !== undefined) writer.hostNumberAttribute(routeAttributes.table, table);
    },
  };
}

export interface ListedRoute {
  readonly prefix: Prefix;
  readonly table: number;
  /** The number of a type (RTN_...). */
  readonly type: number;
  readonly protocol: number;
  /** It leads somewhere. */
  readonly isUsable: boolean;
}

export function readListedRoute(payload: Uint8Array): ListedRoute | undefined {
  const attributes = readAttributes(payload.subarray(headerBytes));
  const prefix = routePrefix(payload, attributes);
  const table = readHostNumber(attributes.get(routeAttributes.table)) ?? payload[4] ?? 0;
  const type = payload[7] ?? 0;
  if (prefix === undefined) return undefined;
  return { prefix, table, type, protocol: payload[5] ?? 0, isUsable: type < routeTypes.blackhole };
}

export function listRules(family: Family): Request {
  return {
    type: messages.getRule,
    write: (writer) => writer.raw(Uint8Array.of(familyNumbers[family], ...new Uint8Array(headerBytes - 1))),
  };
}

export interface ListedRule {
  readonly preference: number;
  readonly table: number;
  /** It matches packets by more than their destination, so a question about an address may not meet it. */
  readonly isConditional: boolean;
  /** It leads to the table of each interface in a VRF. */
  readonly isOfVrfs: boolean;
}

/** Undefined: a rule for packets from a single address. It decides about no client in general. */
export function readListedRule(payload: Uint8Array): ListedRule | undefined {
  const attributes = readAttributes(payload.subarray(headerBytes));
  const [familyNumber, , sourceLength = 0, typeOfService = 0] = payload;
  if (sourceLength === (familyNumber === familyNumbers[4] ? 32 : 128)) return undefined;
  const { incoming, mark, outgoing, l3mdev, users } = ruleAttributes;
  const conditions = [...attributes.keys()].filter(
    (each) =>
      each === incoming ||
      each === mark ||
      each === outgoing ||
      each === users ||
      (each >= firstPortAttribute && each <= lastPortAttribute),
  );
  return {
    preference: readHostNumber(attributes.get(ruleAttributes.preference)) ?? 0,
    table: readHostNumber(attributes.get(ruleAttributes.table)) ?? payload[4] ?? 0,
    isConditional: conditions.length > 0 || sourceLength > 0 || typeOfService > 0,
    isOfVrfs: (attributes.get(l3mdev)?.[0] ?? 0) > 0,
  };
}

export const listNeighbors: Request = { type: messages.getNeighbor, write: (writer) => writer.raw(new Uint8Array(headerBytes)) };

/** The states of neighbours (NUD_...) with an answer, and those without. */
const answeredStates = 0x02 | 0x04 | 0x08 | 0x10 | 0x40 | 0x80;
/** Those that the kernel does not check: NUD_NOARP and NUD_PERMANENT. */
const fixedStates = 0x40 | 0x80;
const failedState = 0x20;
const incompleteState = 0x01;
const ticksPerSecond = 100;

export interface ListedNeighbor {
  readonly index: number;
  readonly address: Address;
  readonly state: 'known' | 'failed' | 'asking';
  readonly age: number;
  /** The link-layer address of an entry that the kernel does not check. Absent: it does, or the address has not six octets. */
  readonly fixed?: string;
}

export function readNeighbor(payload: Uint8Array): ListedNeighbor | undefined {
  const attributes = readAttributes(payload.subarray(headerBytes));
  const index = readHostNumber(payload.subarray(4, 8));
  const bytes = attributes.get(neighborAttributes.destination);
  const bits = (payload[8] ?? 0) | ((payload[9] ?? 0) << 8);
  const state = bits & answeredStates ? 'known' : bits & failedState ? 'failed' : bits & incompleteState ? ('asking' as const) : undefined;
  if (index === undefined || state === undefined || (bytes?.length !== 4 && bytes?.length !== 16)) return undefined;
  // struct nda_cacheinfo: confirmed, used and updated, each as the ticks since then.
  const ticks = readHostNumber(attributes.get(neighborAttributes.cacheInfo)?.subarray(8, 12)) ?? 0;
  const linkAddress = attributes.get(neighborAttributes.linkAddress);
  const fixed = (bits & fixedStates) !== 0 && linkAddress?.length === 6 ? { fixed: linkAddressText(linkAddress) } : {};
  return { index, address: addressFromBytes(bytes), state, age: (ticks * 1000) / ticksPerSecond, ...fixed };
}

/** Reads an event of `wayGroups`. 'none': it changes no route. */
export function readRouteChange({ type, payload }: Message): RouteChange | 'none' {
  if (type === messages.newLink || type === messages.newLink + 1) {
    const index = readHostNumber(payload.subarray(4, 8));
    return index === undefined ? 'none' : { index };
  }
  if (type !== messages.newRoute && type !== messages.deleteRoute) return undefined;
  if (((readHostNumber(payload.subarray(8, 12)) ?? 0) & cloned) !== 0) return 'none';
  const prefix = routePrefix(payload, readAttributes(payload.subarray(headerBytes)));
  return prefix === undefined ? 'none' : { prefix };
}

/** Undefined: the route is of another family, such as MPLS. */
function routePrefix(payload: Uint8Array, attributes: ReadonlyMap<number, Uint8Array>): Prefix | undefined {
  const [familyNumber, length = 0] = payload;
  const family: Family | undefined = familyNumber === familyNumbers[4] ? 4 : familyNumber === familyNumbers[6] ? 6 : undefined;
  if (family === undefined || length > bitsOf(family)) return undefined;
  const octets = attributes.get(routeAttributes.destination);
  if (octets !== undefined && octets.length !== bitsOf(family) / 8) return undefined;
  // 0.0.0.0/0 and ::/0 are listed without an address.
  return maskedPrefix(octets === undefined ? { family, value: 0n } : addressFromBytes(octets), length);
}
