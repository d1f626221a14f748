import { addressBytes, addressFromBytes, type Address, type Family } from '../../net/address.ts';
import type { Prefix } from '../../net/prefix.ts';
import { readAttributes, readHostNumber } from '../../system/netlink/attributes.ts';
import type { Request } from '../../system/netlink/connection.ts';
import { MessageWriter } from '../../system/netlink/message-writer.ts';
import { familyNumbers, routeTypes, type RoutingTable } from '../routes/routing-table.ts';
import { receivedProtocol, receivedRulePreferences, receivedTable } from './received-table.ts';

/** The numbers of linux/rtnetlink.h that next hops need. */
const routeAttributes = { outgoing: 4, gateway: 5, multipath: 9, via: 18 } as const;
const mainTable = 254;

/** struct rtnexthop. */
const hopBytes = 8;

/** A next hop by the number of its interface. */
export interface IndexedHop {
  readonly address: Address;
  readonly index: number;
}

export interface IndexedRoute {
  readonly prefix: Prefix;
  /** Empty: a `throw` route. */
  readonly hops: readonly IndexedHop[];
}

/** The rules in this order: a received default route must not precede the routes of the main table for a moment. */
export const receivedForm = {
  table: receivedTable,
  protocol: receivedProtocol,
  rules: [
    { preference: receivedRulePreferences.main, table: mainTable, leavesOutDefault: true },
    { preference: receivedRulePreferences.received, table: receivedTable, leavesOutDefault: false },
  ],
  type: routeTypes.any,
  read: readRoute,
} as const;

/** Replaces the route of the prefix, with all its next hops at once. */
export function setRequest(table: RoutingTable<IndexedRoute>, { prefix, hops }: IndexedRoute): Request {
  const { family } = prefix.address;
  return table.setRequest(prefix, hops.length === 0 ? routeTypes.throw : routeTypes.unicast, (writer) => {
    const [first, ...others] = hops;
    if (first !== undefined && others.length === 0) {
      writer.hostNumberAttribute(routeAttributes.outgoing, first.index);
      writeGateway(writer, family, first.address);
    } else if (first !== undefined) writer.bytesAttribute(routeAttributes.multipath, multipathOf(family, hops));
  });
}

function readRoute(prefix: Prefix, type: number | undefined, attributes: ReadonlyMap<number, Uint8Array>): IndexedRoute | undefined {
  if (type === routeTypes.throw) return { prefix, hops: [] };
  if (type !== routeTypes.unicast) return undefined;
  const multipath = attributes.get(routeAttributes.multipath);
  if (multipath !== undefined) return { prefix, hops: readMultipath(multipath) };
  return { prefix, hops: readHop(readHostNumber(attributes.get(routeAttributes.outgoing)), attributes) };
}

/** A gateway of the other family is an attribute of its own (RFC 8950). */
function writeGateway(writer: MessageWriter, family: Family, gateway: Address): void {
  if (gateway.family === family) writer.bytesAttribute(routeAttributes.gateway, addressBytes(gateway));
  else writer.bytesAttribute(routeAttributes.via, Uint8Array.of(familyNumbers[gateway.family], 0, ...addressBytes(gateway)));
}

/** A list of struct rtnexthop, each followed by its gateway: length, flags, weight less one, number of the interface. */
function multipathOf(family: Family, hops: readonly IndexedHop[]): Uint8Array {
  const parts = hops.map(({ address, index }) => {
    const attributes = new MessageWriter();
    writeGateway(attributes, family, address);
    const part = new Uint8Array(hopBytes + attributes.length);
    const view = new DataView(part.buffer);
    view.setUint16(0, part.length, true);
    view.setInt32(4, index, true);
    part.set(attributes.bytes(), hopBytes);
    return part;
  });
  return Buffer.concat(parts);
}

function readMultipath(octets: Uint8Array): IndexedHop[] {
  const hops: IndexedHop[] = [];
  const view = new DataView(octets.buffer, octets.byteOffset, octets.byteLength);
  for (let offset = 0; offset + hopBytes <= octets.length;) {
    const length = view.getUint16(offset, true);
    if (length < hopBytes || offset + length > octets.length) break;
    hops.push(...readHop(view.getInt32(offset + 4, true), readAttributes(octets.subarray(offset + hopBytes, offset + length))));
    offset += (length + 3) & ~3;
  }
  return hops;
}

function readHop(index: number | undefined, attributes: ReadonlyMap<number, Uint8Array>): IndexedHop[] {
  const octets = attributes.get(routeAttributes.gateway) ?? attributes.get(routeAttributes.via)?.subarray(2);
  return index === undefined || octets === undefined ? [] : [{ index, address: addressFromBytes(octets) }];
}
