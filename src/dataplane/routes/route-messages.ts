import { addressBytes, addressFromBytes, type Family } from '../../net/address.ts';
import { maskedPrefix, type Prefix } from '../../net/prefix.ts';
import { readAttributes, readHostNumber, readText } from '../../system/netlink/attributes.ts';
import type { Request } from '../../system/netlink/connection.ts';
import { messageFlags } from '../../system/netlink/message.ts';
import type { MessageWriter } from '../../system/netlink/message-writer.ts';
import { routeProtocol, routingTable, rulePreference } from './unreachable-routes.ts';

/** The numbers of linux/rtnetlink.h and linux/fib_rules.h that Herald uses. */
const messages = { newRoute: 24, deleteRoute: 25, getRoute: 26, newRule: 32, deleteRule: 33, getRule: 34 } as const;
const routeAttributes = { destination: 1, table: 15 } as const;
const ruleAttributes = { incoming: 3, preference: 6, table: 15, protocol: 21 } as const;
const unreachable = 7;
const toTable = 1;
const invertFlag = 2;
const familyNumbers = { 4: 2, 6: 10 } as const;

/** struct rtmsg and struct fib_rule_hdr. Both have the table at the same offset, after the message header of 16 octets. */
const headerBytes = 12;
export const tableOffset = 20;

/** RTNLGRP_...: routes and rules of both families. */
export const eventGroups = [7, 8, 11, 19] as const;

/** Requests our routes of a family. The kernel filters them if strict checking is on. */
export function listRoutes(family: Family): Request {
  return {
    type: messages.getRoute,
    write(writer) {
      writer.raw(routeHeader(family, 0));
      writer.hostNumberAttribute(routeAttributes.table, routingTable);
    },
  };
}

export function listRules(family: Family): Request {
  return { type: messages.getRule, write: (writer) => writer.raw(Uint8Array.of(familyNumbers[family], ...zeros(11))) };
}

/** Adding an existing route succeeds. Removing a missing route fails with ESRCH. */
export function routeRequest(verb: 'add' | 'remove', { address, length }: Prefix): Request {
  return {
    type: verb === 'add' ? messages.newRoute : messages.deleteRoute,
    flags: verb === 'add' ? messageFlags.create | messageFlags.replace : 0,
    write(writer) {
      writer.raw(routeHeader(address.family, length));
      writer.bytesAttribute(routeAttributes.destination, addressBytes(address));
      writer.hostNumberAttribute(routeAttributes.table, routingTable);
    },
  };
}

/** The rule applies to forwarded packets only: packets of the node itself are routed before they are translated, and must find a route. */
export function ruleRequest(verb: 'add' | 'remove', family: Family): Request {
  return {
    type: verb === 'add' ? messages.newRule : messages.deleteRule,
    flags: verb === 'add' ? messageFlags.create | messageFlags.exclusive : 0,
    write(writer) {
      writer.raw(Uint8Array.of(familyNumbers[family], 0, 0, 0, routingTable, 0, 0, toTable, invertFlag, ...zeros(3)));
      writeLoopback(writer);
      writer.hostNumberAttribute(ruleAttributes.preference, rulePreference);
      writer.hostNumberAttribute(ruleAttributes.table, routingTable);
      writer.bytesAttribute(ruleAttributes.protocol, Uint8Array.of(routeProtocol));
    },
  };
}

/** Undefined: the route is not one of ours. */
export function readRoute(payload: Uint8Array): Prefix | undefined {
  const [familyNumber, length = 0, , , table, protocol, , type] = payload;
  if (table !== routingTable || protocol !== routeProtocol || type !== unreachable) return undefined;
  const family: Family = familyNumber === familyNumbers[4] ? 4 : 6;
  const octets = readAttributes(payload.subarray(headerBytes)).get(routeAttributes.destination);
  // 0.0.0.0/0 and ::/0 are listed without an address.
  return maskedPrefix(octets === undefined ? { family, value: 0n } : addressFromBytes(octets), length);
}

/** Returns true if this is our rule exactly as we would create it, otherwise undefined. */
export function readRule(payload: Uint8Array): true | undefined {
  const [, destinationLength, sourceLength, typeOfService, table, , , action] = payload;
  const attributes = readAttributes(payload.subarray(headerBytes));
  const flags = payload[8] ?? 0;
  const incoming = attributes.get(ruleAttributes.incoming);
  const isOurs =
    table === routingTable &&
    action === toTable &&
    (flags & invertFlag) !== 0 &&
    [destinationLength, sourceLength, typeOfService].every((each) => each === 0) &&
    incoming !== undefined &&
    readText(incoming) === loopback &&
    readHostNumber(attributes.get(ruleAttributes.preference)) === rulePreference &&
    attributes.get(ruleAttributes.protocol)?.[0] === routeProtocol;
  return isOurs ? true : undefined;
}

const loopback = 'lo';
const writeLoopback = (writer: MessageWriter): void => writer.textAttribute(ruleAttributes.incoming, loopback);
const zeros = (octets: number): number[] => Array.from({ length: octets }, () => 0);

/** A list request has length 0. The kernel filters by the other fields. */
function routeHeader(family: Family, length: number): Uint8Array {
  return Uint8Array.of(familyNumbers[family], length, 0, 0, routingTable, routeProtocol, 0, unreachable, ...zeros(4));
}
