import { addressBytes, addressFromBytes, type Address, type Family } from '../../net/address.ts';
import { maskedPrefix, type Prefix } from '../../net/prefix.ts';
import { readAttributes, readHostNumber } from '../../system/netlink/attributes.ts';
import type { Request } from '../../system/netlink/connection.ts';
import { messageFlags } from '../../system/netlink/message.ts';
import { MessageWriter } from '../../system/netlink/message-writer.ts';
import { receivedProtocol, receivedRulePreferences, receivedTable } from './received-table.ts';

/** The numbers of linux/rtnetlink.h and linux/fib_rules.h that Herald uses. */
const messages = { newRoute: 24, deleteRoute: 25, getRoute: 26, newRule: 32, deleteRule: 33, getRule: 34 } as const;
const routeAttributes = { destination: 1, outgoing: 4, gateway: 5, multipath: 9, table: 15, via: 18 } as const;
const ruleAttributes = { preference: 6, suppressedLength: 14, table: 15, protocol: 21 } as const;
const routeTypes = { any: 0, unicast: 1, throw: 9 } as const;
const toTable = 1;
const mainTable = 254;
const familyNumbers = { 4: 2, 6: 10 } as const;

/** struct rtmsg and struct fib_rule_hdr have 12 octets, struct rtnexthop 8. */
const headerBytes = 12;
const hopBytes = 8;
/** Both headers have the table at this offset, after the message header of 16 octets. */
export const tableOffset = 20;

/** RTNLGRP_...: routes and rules of both families. */
export const eventGroups = [7, 8, 11, 19] as const;

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

/** Requests our routes of a family. The kernel filters them if strict checking is on. */
export function listRoutes(family: Family): Request {
  return {
    type: messages.getRoute,
    write(writer) {
      writer.raw(routeHeader(family, 0, routeTypes.any));
      writer.hostNumberAttribute(routeAttributes.table, receivedTable);
    },
  };
}

export function listRules(family: Family): Request {
  return { type: messages.getRule, write: (writer) => writer.raw(Uint8Array.of(familyNumbers[family], ...zeros(11))) };
}

/** Replaces the route of the prefix, with all its next hops at once. */
export function setRequest({ prefix: { address, length }, hops }: IndexedRoute): Request {
  const { family } = address;
  return {
    type: messages.newRoute,
    flags: messageFlags.create | messageFlags.replace,
    write(writer) {
      writer.raw(routeHeader(family, length, hops.length === 0 ? routeTypes.throw : routeTypes.unicast));
      writer.bytesAttribute(routeAttributes.destination, addressBytes(address));
      writer.hostNumberAttribute(routeAttributes.table, receivedTable);
      const [first, ...others] = hops;
      if (first !== undefined && others.length === 0) {
        writer.hostNumberAttribute(routeAttributes.outgoing, first.index);
        writeGateway(writer, family, first.address);
      } else if (first !== undefined) writer.bytesAttribute(routeAttributes.multipath, multipathOf(family, hops));
    },
  };
}

/** Removing a missing route fails with ESRCH. */
export function removeRequest({ address, length }: Prefix): Request {
  return {
    type: messages.deleteRoute,
    write(writer) {
      writer.raw(routeHeader(address.family, length, routeTypes.any));
      writer.bytesAttribute(routeAttributes.destination, addressBytes(address));
      writer.hostNumberAttribute(routeAttributes.table, receivedTable);
    },
  };
}

/** `main`: all routes of the main table but its default routes. `received`: the received routes. */
export type RuleName = keyof typeof receivedRulePreferences;
export const ruleNames: readonly RuleName[] = ['main', 'received'];

const tableOf = (name: RuleName): number => (name === 'main' ? mainTable : receivedTable);

/** Adding an existing rule fails with EEXIST, removing a missing one with ENOENT. */
export function ruleRequest(verb: 'add' | 'remove', family: Family, name: RuleName): Request {
  return {
    type: verb === 'add' ? messages.newRule : messages.deleteRule,
    flags: verb === 'add' ? messageFlags.create | messageFlags.exclusive : 0,
    write(writer) {
      writer.raw(Uint8Array.of(familyNumbers[family], 0, 0, 0, tableOf(name), 0, 0, toTable, ...zeros(4)));
      writer.hostNumberAttribute(ruleAttributes.preference, receivedRulePreferences[name]);
      writer.hostNumberAttribute(ruleAttributes.table, tableOf(name));
      if (name === 'main') writer.hostNumberAttribute(ruleAttributes.suppressedLength, 0);
      writer.bytesAttribute(ruleAttributes.protocol, Uint8Array.of(receivedProtocol));
    },
  };
}

/** Undefined: the route is not one of ours. */
export function readRoute(payload: Uint8Array): IndexedRoute | undefined {
  const [familyNumber, length = 0, , , table, protocol, , type] = payload;
  if (table !== receivedTable || protocol !== receivedProtocol || (type !== routeTypes.unicast && type !== routeTypes.throw)) {
    return undefined;
  }
  const family: Family = familyNumber === familyNumbers[4] ? 4 : 6;
  const attributes = readAttributes(payload.subarray(headerBytes));
  const octets = attributes.get(routeAttributes.destination);
  // 0.0.0.0/0 and ::/0 are listed without an address.
  const prefix = maskedPrefix(octets === undefined ? { family, value: 0n } : addressFromBytes(octets), length);
  if (type === routeTypes.throw) return { prefix, hops: [] };
  const multipath = attributes.get(routeAttributes.multipath);
  if (multipath !== undefined) return { prefix, hops: readMultipath(multipath) };
  return { prefix, hops: readHop(readHostNumber(attributes.get(routeAttributes.outgoing)), attributes) };
}

/** Returns which of our rules this is, if it is as we would create it. */
export function readRule(payload: Uint8Array): RuleName | undefined {
  const [, destinationLength, sourceLength, typeOfService, table, , , action] = payload;
  const attributes = readAttributes(payload.subarray(headerBytes));
  const preference = readHostNumber(attributes.get(ruleAttributes.preference));
  const name = ruleNames.find((each) => receivedRulePreferences[each] === preference);
  if (name === undefined || table !== tableOf(name) || action !== toTable) return undefined;
  if ([destinationLength, sourceLength, typeOfService].some((each) => each !== 0)) return undefined;
  // The kernel lists 0xffffffff where nothing is suppressed.
  const suppressed = readHostNumber(attributes.get(ruleAttributes.suppressedLength)) ?? 0xffff_ffff;
  if (suppressed !== (name === 'main' ? 0 : 0xffff_ffff)) return undefined;
  return attributes.get(ruleAttributes.protocol)?.[0] === receivedProtocol ? name : undefined;
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

const zeros = (octets: number): number[] => Array.from({ length: octets }, () => 0);

/** A list request has length 0. The kernel filters by the other fields. */
function routeHeader(family: Family, length: number, type: number): Uint8Array {
  return Uint8Array.of(familyNumbers[family], length, 0, 0, receivedTable, receivedProtocol, 0, type, ...zeros(4));
}
