import { addressBytes, addressFromBytes, type Address } from '../../net/address.ts';
import type { Protocol } from '../../net/frontend.ts';
import type { ObservedConnection } from '../../net/observed-connection.ts';
import { attributeHeaderBytes } from '../../system/netlink/attributes.ts';
import { MalformedNetlink } from '../../system/netlink/error.ts';

// Attributes of linux/netfilter/nfnetlink_conntrack.h. All numbers in values are in network byte order.
const top = { original: 1, reply: 2, status: 3, protocolState: 4, timeout: 7, originalCounters: 9, replyCounters: 10, id: 12 } as const;
const tuple = { addresses: 1, protocol: 2 } as const;
const addresses = { source4: 1, destination4: 2, source6: 3, destination6: 4 } as const;
const ports = { number: 1, source: 2, destination: 3 } as const;
/** Of CTA_PROTOINFO: TCP and SCTP, whose first attribute is the state. */
const stateOf = { tcp: 1, sctp: 3 } as const;
const stateNumber = 1;
/** CTA_PROTOINFO_TCP_FLAGS_REPLY: flags and their mask. Events lack it. */
const replyFlags = 5;
/** IP_CT_TCP_FLAG_DATA_UNACKNOWLEDGED. */
const unacknowledgedFlag = 0x10;
const counters = { packets: 1, octets: 2 } as const;
const names = new Map<number, Protocol>([
  [6, 'TCP'],
  [17, 'UDP'],
  [132, 'SCTP'],
]);
const typeMask = 0x3fff;
/** IPS_SEEN_REPLY, IPS_ASSURED, IPS_DST_NAT. */
export const statusBits = { replied: 0x2, assured: 0x4, translated: 0x20 } as const;

/** States of TCP (enum tcp_conntrack), by number. */
export const tcpStates = {
  synSent: 1,
  synReceived: 2,
  established: 3,
  finWait: 4,
  closeWait: 5,
  lastAck: 6,
  timeWait: 7,
  close: 8,
} as const;

/** SCTP_CONNTRACK_ESTABLISHED. */
export const sctpEstablished = 4;

/** Packets of one direction and their octets, from the IP header on. Both are 0 if the kernel does not count (nf_conntrack_acct). */
export interface FlowCounters {
  packets: number;
  octets: number;
}

/** What connections with one destination and endpoint have in common. */
export type Pair = Pick<ObservedConnection, 'destination' | 'protocol' | 'port' | 'endpoint' | 'endpointPort'>;

/** Returns the text that `FlowReader.key` is for entries of a pair. */
export function pairKey({ destination, protocol, port, endpoint, endpointPort }: Pair): string {
  const octets = [destination, endpoint].map((address) => Buffer.from(addressBytes(address)).toString('latin1'));
  return `${protocol}${port}:${endpointPort}:${octets.join('')}`;
}

/**
 * Reads entries of connection tracking by the thousand: `read` sets the fields, and allocates nothing. For single entries see flow-messages.ts.
 * Throws MalformedNetlink when an attribute does not fit.
 */
export class FlowReader {
  status = 0;
  /** Seconds until the kernel deletes the entry if no further packet comes. Undefined: the kernel does not say. */
  secondsLeft: number | undefined = undefined;
  id = 0;
  /** Undefined: neither TCP, UDP nor SCTP. */
  protocol: Protocol | undefined = undefined;
  /** The state of TCP or SCTP. 0: none. */
  state = 0;
  /** The endpoint has sent TCP data that the client has not acknowledged. */
  isReplyUnacknowledged = false;
  readonly original: FlowCounters = { packets: 0, octets: 0 };
  readonly reply: FlowCounters = { packets: 0, octets: 0 };
  port = 0;
  endpointPort = 0;
  #bytes: Uint8Array = new Uint8Array();
  #destination = 0;
  #destinationBytes = 0;
  #source = 0;
  #sourceBytes = 0;
  #client = 0;
  #clientBytes = 0;

  /** Reads the attributes from `start` to `end`: those of the entry, after its nfgenmsg. */
  read(bytes: Uint8Array, start: number, end: number): void {
    this.#bytes = bytes;
    this.status = this.id = this.state = this.port = this.endpointPort = 0;
    this.#destinationBytes = this.#sourceBytes = this.#clientBytes = 0;
    this.original.packets = this.original.octets = this.reply.packets = this.reply.octets = 0;
    this.isReplyUnacknowledged = false;
    this.secondsLeft = undefined;
    this.protocol = undefined;
    for (let at = start; at + attributeHeaderBytes <= end; at += this.#step(at, end)) {
      const value = at + attributeHeaderBytes;
      const valueEnd = at + this.#length(at, end);
      const type = this.#type(at);
      if (type === top.original) this.#readTuple(value, valueEnd, false);
      else if (type === top.reply) this.#readTuple(value, valueEnd, true);
      else if (type === top.status) this.status = this.#number(value, valueEnd);
      else if (type === top.timeout) this.secondsLeft = this.#number(value, valueEnd);
      else if (type === top.id) this.id = this.#number(value, valueEnd);
      else if (type === top.protocolState) this.#readState(value, valueEnd);
      else if (type === top.originalCounters) this.#readCounters(value, valueEnd, this.original);
      else if (type === top.replyCounters) this.#readCounters(value, valueEnd, this.reply);
    }
  }

  get isIPv6(): boolean {
    return this.#destinationBytes === 16;
  }

  get isComplete(): boolean {
    return this.protocol !== undefined && this.#destinationBytes > 0 && this.#sourceBytes > 0 && this.#clientBytes > 0;
  }

  /** Returns a text that is equal for entries of one protocol with the same destination and endpoint. */
  get key(): string {
    const bytes = Buffer.from(this.#bytes.buffer, this.#bytes.byteOffset, this.#bytes.length);
    const to = bytes.toString('latin1', this.#destination, this.#destination + this.#destinationBytes);
    const from = bytes.toString('latin1', this.#source, this.#source + this.#sourceBytes);
    return `${this.protocol}${this.port}:${this.endpointPort}:${to}${from}`;
  }

  /** The address to which the client sent. */
  get destination(): Address {
    return addressFromBytes(this.#bytes.subarray(this.#destination, this.#destination + this.#destinationBytes));
  }

  /** The address that answers, or should. */
  get endpoint(): Address {
    return addressFromBytes(this.#bytes.subarray(this.#source, this.#source + this.#sourceBytes));
  }

  /** The address from which the client sent. */
  get client(): Address {
    return addressFromBytes(this.#bytes.subarray(this.#client, this.#client + this.#clientBytes));
  }

  #readTuple(start: number, end: number, isReply: boolean): void {
    for (let at = start; at + attributeHeaderBytes <= end; at += this.#step(at, end)) {
      const valueEnd = at + this.#length(at, end);
      const type = this.#type(at);
      if (type === tuple.addresses) this.#readAddresses(at + attributeHeaderBytes, valueEnd, isReply);
      else if (type === tuple.protocol) this.#readPorts(at + attributeHeaderBytes, valueEnd, isReply);
    }
  }

  #readAddresses(start: number, end: number, isReply: boolean): void {
    for (let at = start; at + attributeHeaderBytes <= end; at += this.#step(at, end)) {
      const octets = this.#length(at, end) - attributeHeaderBytes;
      if (octets !== 4 && octets !== 16) throw new MalformedNetlink(`an address of ${octets} octets`);
      const type = this.#type(at);
      const isSource = type === addresses.source4 || type === addresses.source6;
      if (isReply && isSource) {
        this.#source = at + attributeHeaderBytes;
        this.#sourceBytes = octets;
      } else if (!isReply && isSource) {
        this.#client = at + attributeHeaderBytes;
        this.#clientBytes = octets;
      } else if (!isReply) {
        this.#destination = at + attributeHeaderBytes;
        this.#destinationBytes = octets;
      }
    }
  }

  #readPorts(start: number, end: number, isReply: boolean): void {
    for (let at = start; at + attributeHeaderBytes <= end; at += this.#step(at, end)) {
      const value = at + attributeHeaderBytes;
      const valueEnd = at + this.#length(at, end);
      const type = this.#type(at);
      if (type === ports.number) this.protocol = names.get(this.#octet(value, valueEnd));
      else if (type === ports.source && isReply) this.endpointPort = this.#port(value, valueEnd);
      else if (type === ports.destination && !isReply) this.port = this.#port(value, valueEnd);
    }
  }

  #readState(start: number, end: number): void {
    for (let at = start; at + attributeHeaderBytes <= end; at += this.#step(at, end)) {
      const type = this.#type(at);
      if (type !== stateOf.tcp && type !== stateOf.sctp) continue;
      const inner = at + attributeHeaderBytes;
      const innerEnd = at + this.#length(at, end);
      for (let place = inner; place + attributeHeaderBytes <= innerEnd; place += this.#step(place, innerEnd)) {
        const value = place + attributeHeaderBytes;
        const valueEnd = place + this.#length(place, innerEnd);
        const attribute = this.#type(place);
        if (attribute === stateNumber) this.state = this.#octet(value, valueEnd);
        else if (attribute === replyFlags && type === stateOf.tcp)
          this.isReplyUnacknowledged = (this.#octet(value, valueEnd) & unacknowledgedFlag) !== 0;
      }
    }
  }

  #readCounters(start: number, end: number, into: FlowCounters): void {
    for (let at = start; at + attributeHeaderBytes <= end; at += this.#step(at, end)) {
      const value = at + attributeHeaderBytes;
      const valueEnd = at + this.#length(at, end);
      const type = this.#type(at);
      if (type === counters.packets) into.packets = this.#longNumber(value, valueEnd);
      else if (type === counters.octets) into.octets = this.#longNumber(value, valueEnd);
    }
  }

  #type(at: number): number {
    return ((this.#bytes[at + 2] ?? 0) | ((this.#bytes[at + 3] ?? 0) << 8)) & typeMask;
  }

  #length(at: number, end: number): number {
    const length = (this.#bytes[at] ?? 0) | ((this.#bytes[at + 1] ?? 0) << 8);
    if (length < attributeHeaderBytes || at + length > end)
      throw new MalformedNetlink(`an attribute at ${at} has the length ${length} and must end at ${end}`);
    return length;
  }

  /** Returns the octets to the next attribute. */
  #step(at: number, end: number): number {
    return (this.#length(at, end) + 3) & ~3;
  }

  #octet(at: number, end: number): number {
    if (at >= end) throw new MalformedNetlink('an attribute without a value');
    return this.#bytes[at] ?? 0;
  }

  #port(at: number, end: number): number {
    if (at + 2 !== end) throw new MalformedNetlink('a port does not have two octets');
    return ((this.#bytes[at] ?? 0) << 8) | (this.#bytes[at + 1] ?? 0);
  }

  #longNumber(at: number, end: number): number {
    if (at + 8 !== end) throw new MalformedNetlink('a counter does not have eight octets');
    return this.#number(at, at + 4) * 2 ** 32 + this.#number(at + 4, end);
  }

  #number(at: number, end: number): number {
    if (at + 4 !== end) throw new MalformedNetlink('a number does not have four octets');
    const bytes = this.#bytes;
    return (((bytes[at] ?? 0) << 24) | ((bytes[at + 1] ?? 0) << 16) | ((bytes[at + 2] ?? 0) << 8) | (bytes[at + 3] ?? 0)) >>> 0;
  }
}
