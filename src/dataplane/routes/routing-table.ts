import { addressBytes, addressFromBytes, type Family } from '../../net/address.ts';
import { maskedPrefix, type Prefix } from '../../net/prefix.ts';
import { readAttributes, readHostNumber, readText } from '../../system/netlink/attributes.ts';
import type { Cancel, Clock } from '../../system/clock.ts';
import { NetlinkConnection, type Request } from '../../system/netlink/connection.ts';
import { NetlinkError } from '../../system/netlink/error.ts';
import { followChanges } from '../../system/netlink/follow-changes.ts';
import { messageFlags } from '../../system/netlink/message.ts';
import type { MessageWriter } from '../../system/netlink/message-writer.ts';
import type { NetlinkOptions, NetlinkSocket } from '../../system/netlink/socket.ts';
import { routeWatchRestart } from '../limits.ts';
import { families } from './unreachable-routes.ts';

/** The numbers of linux/rtnetlink.h and linux/fib_rules.h that Herald uses. */
const messages = { newRoute: 24, deleteRoute: 25, getRoute: 26, newRule: 32, deleteRule: 33, getRule: 34 } as const;
const routeAttributes = { destination: 1, table: 15 } as const;
const ruleAttributes = { incoming: 3, preference: 6, suppressedLength: 14, table: 15, protocol: 21 } as const;
export const routeTypes = { any: 0, unicast: 1, unreachable: 7, throw: 9 } as const;
const toTable = 1;
const invertFlag = 2;
const loopback = 'lo';
export const familyNumbers = { 4: 2, 6: 10 } as const;

/** struct rtmsg and struct fib_rule_hdr. Both have the table at the same offset, after the message header of 16 octets. */
const headerBytes = 12;
const tableOffset = 20;

/** RTNLGRP_...: routes and rules of both families. */
const eventGroups = [7, 8, 11, 19] as const;

/** Errors of the kernel that mean that the desired state already exists: EEXIST when adding a rule, ESRCH and ENOENT when removing. */
const alreadyDone = new Set(['EEXIST', 'ESRCH', 'ENOENT']);

/** A rule that consults a routing table. */
interface Rule {
  readonly preference: number;
  readonly table: number;
  /** The rule is for all packets but those of the node itself. */
  readonly forwardedOnly?: true;
  /** True: default routes of the table are left out. False: none are. Absent: that does not matter. */
  readonly leavesOutDefault?: boolean;
}

interface TableForm<Route> {
  readonly table: number;
  /** Marks our routes and rules (rtm_protocol). */
  readonly protocol: number;
  /** In the order in which they are added. */
  readonly rules: readonly Rule[];
  /** The type of the routes that are listed and removed. */
  readonly type: number;
  /** Undefined: the route is not one of ours. */
  readonly read: (prefix: Prefix, type: number | undefined, attributes: ReadonlyMap<number, Uint8Array>) => Route | undefined;
}

/**
 * One of our routing tables, with the rules that consult it. The methods reject with NetlinkError or MalformedNetlink. The socket filters
 * lists by the fields of the request (`strict`).
 */
export class RoutingTable<Route> {
  readonly connection: NetlinkConnection;
  readonly #form: TableForm<Route>;
  readonly #socket: NetlinkSocket;
  readonly #clock: Clock;

  constructor(form: TableForm<Route>, socket: NetlinkSocket, clock: Clock) {
    this.connection = new NetlinkConnection(socket, clock);
    this.#form = form;
    this.#socket = socket;
    this.#clock = clock;
  }

  /** Returns our routes of both families, and the families that lack one of our rules. */
  async list(): Promise<{ readonly routes: Route[]; readonly unruled: ReadonlySet<Family> }> {
    const routes: Route[] = [];
    const unruled = new Set<Family>();
    for (const family of families) {
      routes.push(...(await this.#routesOf(family)));
      const found = await this.connection.list(listRules(family), (payload) => this.#readRule(payload));
      if (new Set(found).size < this.#form.rules.length) unruled.add(family);
    }
    return { routes, unruled };
  }

  /** Adds the rules of these families. A route that is added later must not take effect before all of them, so they are added in order. */
  async addRules(of: readonly Family[]): Promise<void> {
    for (const rule of this.#form.rules) await this.#changeRules('add', rule, of);
  }

  /** Removes the rules of those of the families that have no route left. */
  async removeUnusedRules(of: readonly Family[]): Promise<void> {
    const unused: Family[] = [];
    for (const family of of) if ((await this.#routesOf(family)).length === 0) unused.push(family);
    for (const rule of this.#form.rules.toReversed()) await this.#changeRules('remove', rule, unused);
  }

  /** Builds a request that adds the route of a prefix, or replaces the existing one. `write` writes its next hops. */
  setRequest(prefix: Prefix, type: number, write?: (writer: MessageWriter) => void): Request {
    return {
      type: messages.newRoute,
      flags: messageFlags.create | messageFlags.replace,
      write: (writer) => {
        this.#writeRoute(writer, prefix, type);
        write?.(writer);
      },
    };
  }

  /** Removing a missing route fails with ESRCH. */
  removeRequest(prefix: Prefix): Request {
    return { type: messages.deleteRoute, write: (writer) => this.#writeRoute(writer, prefix, this.#form.type) };
  }

  /** Calls back when another program may have changed our routes or rules. `where`: the options of the socket. */
  watch(where: NetlinkOptions, changed: () => void): Cancel {
    const only = { offset: tableOffset, value: this.#form.table };
    return followChanges({ ...where, groups: eventGroups, only }, this.#clock, {
      isChange: (message) => message.port !== this.#socket.port,
      changed,
      restartMilliseconds: routeWatchRestart,
    });
  }

  async #routesOf(family: Family): Promise<Route[]> {
    const write = (writer: MessageWriter): void => {
      writer.raw(this.#routeHeader(family, 0, this.#form.type));
      writer.hostNumberAttribute(routeAttributes.table, this.#form.table);
    };
    try {
      return await this.connection.list({ type: messages.getRoute, write }, (payload) => this.#readRoute(payload));
    } catch (error) {
      // The table does not exist before it has its first route.
      if (error instanceof NetlinkError && error.code === 'ENOENT') return [];
      throw error;
    }
  }

  #readRoute(payload: Uint8Array): Route | undefined {
    const [familyNumber, length = 0, , , table, protocol, , type] = payload;
    if (table !== this.#form.table || protocol !== this.#form.protocol) return undefined;
    const family: Family = familyNumber === familyNumbers[4] ? 4 : 6;
    const attributes = readAttributes(payload.subarray(headerBytes));
    const octets = attributes.get(routeAttributes.destination);
    // 0.0.0.0/0 and ::/0 are listed without an address.
    const prefix = maskedPrefix(octets === undefined ? { family, value: 0n } : addressFromBytes(octets), length);
    return this.#form.read(prefix, type, attributes);
  }

  #writeRoute(writer: MessageWriter, { address, length }: Prefix, type: number): void {
    writer.raw(this.#routeHeader(address.family, length, type));
    writer.bytesAttribute(routeAttributes.destination, addressBytes(address));
    writer.hostNumberAttribute(routeAttributes.table, this.#form.table);
  }

  /** A list request has length 0. The kernel filters by the other fields. */
  #routeHeader(family: Family, length: number, type: number): Uint8Array {
    return Uint8Array.of(familyNumbers[family], length, 0, 0, this.#form.table, this.#form.protocol, 0, type, 0, 0, 0, 0);
  }

  async #changeRules(verb: 'add' | 'remove', rule: Rule, of: readonly Family[]): Promise<void> {
    const problems = await this.connection.change(of.map((family) => this.#ruleRequest(verb, family, rule)));
    for (const problem of problems) if (problem !== undefined && !isAlreadyDone(problem)) throw problem;
  }

  #ruleRequest(verb: 'add' | 'remove', family: Family, { preference, table, forwardedOnly, leavesOutDefault }: Rule): Request {
    return {
      type: verb === 'add' ? messages.newRule : messages.deleteRule,
      flags: verb === 'add' ? messageFlags.create | messageFlags.exclusive : 0,
      write: (writer) => {
        const flags = forwardedOnly ? invertFlag : 0;
        writer.raw(Uint8Array.of(familyNumbers[family], 0, 0, 0, table, 0, 0, toTable, flags, 0, 0, 0));
        if (forwardedOnly) writer.textAttribute(ruleAttributes.incoming, loopback);
        writer.hostNumberAttribute(ruleAttributes.preference, preference);
        writer.hostNumberAttribute(ruleAttributes.table, table);
        if (leavesOutDefault) writer.hostNumberAttribute(ruleAttributes.suppressedLength, 0);
        writer.bytesAttribute(ruleAttributes.protocol, Uint8Array.of(this.#form.protocol));
      },
    };
  }

  /** Returns which of our rules this is, if it is as we would create it. */
  #readRule(payload: Uint8Array): Rule | undefined {
    const [, destinationLength, sourceLength, typeOfService, table, , , action, flags = 0] = payload;
    const attributes = readAttributes(payload.subarray(headerBytes));
    const preference = readHostNumber(attributes.get(ruleAttributes.preference));
    const rule = this.#form.rules.find((each) => each.preference === preference);
    if (rule === undefined || table !== rule.table || action !== toTable) return undefined;
    if ([destinationLength, sourceLength, typeOfService].some((each) => each !== 0)) return undefined;
    const incoming = attributes.get(ruleAttributes.incoming) ?? new Uint8Array();
    if (rule.forwardedOnly && ((flags & invertFlag) === 0 || readText(incoming) !== loopback)) return undefined;
    // The kernel lists 0xffffffff where nothing is suppressed.
    const suppressed = readHostNumber(attributes.get(ruleAttributes.suppressedLength)) ?? 0xffff_ffff;
    const { leavesOutDefault } = rule;
    if (leavesOutDefault !== undefined && suppressed !== (leavesOutDefault ? 0 : 0xffff_ffff)) return undefined;
    return attributes.get(ruleAttributes.protocol)?.[0] === this.#form.protocol ? rule : undefined;
  }
}

export const isAlreadyDone = ({ code }: NetlinkError): boolean => alreadyDone.has(code);

function listRules(family: Family): Request {
  return { type: messages.getRule, write: (writer) => writer.raw(Uint8Array.of(familyNumbers[family], ...new Uint8Array(11))) };
}
