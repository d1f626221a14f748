import { addressBytes, bitsOf, type Address } from '../../net/address.ts';
import { readAttributes, readHostNumber, readText } from '../../system/netlink/attributes.ts';
import type { Request } from '../../system/netlink/connection.ts';

/** The numbers of linux/rtnetlink.h and linux/if_link.h that questions about paths need. */
const messages = { getLink: 18, getRoute: 26 } as const;
const routeAttributes = { destination: 1, outgoing: 4 } as const;
const linkAttributes = { name: 3, mtu: 4, link: 5, filter: 29, farNamespace: 37, targetNamespace: 46 } as const;
const familyNumbers = { 4: 2, 6: 10 } as const;
/** RTEXT_FILTER_SKIP_STATS: keeps the answers short. */
const withoutStatistics = 8;
/** Octets of struct rtmsg and of struct ifinfomsg. */
const routeHeader = 12;
const linkHeader = 16;
/** Offset of rtm_type, and its value RTN_UNICAST. */
const typeOffset = 7;
const unicast = 1;

/** An interface, in this network namespace or in another one that this one knows by a number. */
interface LinkPlace {
  readonly index: number;
  readonly namespace?: number;
}

export interface Link {
  readonly index: number;
  readonly name: string;
  readonly mtu: number;
  /** The other end of a virtual cable to another network namespace. Absent: the interface is none. */
  readonly far?: LinkPlace;
}

/** Asks for the route of packets to the address. */
export function routeQuestion(address: Address): Request {
  return {
    type: messages.getRoute,
    write(writer) {
      writer.raw(Uint8Array.of(familyNumbers[address.family], bitsOf(address.family), ...zeros(routeHeader - 2)));
      writer.bytesAttribute(routeAttributes.destination, addressBytes(address));
    },
  };
}

/** Returns the index of the interface of a route. Undefined: packets do not leave by one. */
export function outgoingInterface(route: Uint8Array): number | undefined {
  if (route[typeOffset] !== unicast) return undefined;
  return readHostNumber(readAttributes(route.subarray(routeHeader)).get(routeAttributes.outgoing));
}

/** Asks for an interface, by its place or its name. */
export function linkQuestion(of: LinkPlace | string): Request {
  return {
    type: messages.getLink,
    write(writer) {
      const header = new Uint8Array(linkHeader);
      if (typeof of !== 'string') new DataView(header.buffer).setInt32(4, of.index, true);
      writer.raw(header);
      if (typeof of === 'string') writer.textAttribute(linkAttributes.name, of);
      else if (of.namespace !== undefined) writer.hostNumberAttribute(linkAttributes.targetNamespace, of.namespace);
      writer.hostNumberAttribute(linkAttributes.filter, withoutStatistics);
    },
  };
}

export function readLink(payload: Uint8Array): Link | undefined {
  const index = readHostNumber(payload.subarray(4, 8));
  const attributes = readAttributes(payload.subarray(linkHeader));
  const [name, mtu] = [attributes.get(linkAttributes.name), readHostNumber(attributes.get(linkAttributes.mtu))];
  if (index === undefined || name === undefined || mtu === undefined) return undefined;
  const farIndex = readHostNumber(attributes.get(linkAttributes.link));
  const namespace = readHostNumber(attributes.get(linkAttributes.farNamespace));
  const far = farIndex === undefined || namespace === undefined ? {} : { far: { index: farIndex, namespace } };
  return { index, name: readText(name), mtu, ...far };
}

const zeros = (octets: number): number[] => Array.from({ length: octets }, () => 0);
