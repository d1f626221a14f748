import { defined } from '../../lang/defined.ts';
import { addressBytes, addressFromBytes, type Address, type Family } from '../../net/address.ts';
import type { Protocol } from '../../net/frontend.ts';
import { listAttributes } from '../../system/netlink/attributes.ts';
import type { Request } from '../../system/netlink/connection.ts';
import { MalformedNetlink } from '../../system/netlink/error.ts';
import type { MessageWriter } from '../../system/netlink/message-writer.ts';
import type { Flow, StaleFlows } from './conntrack-cleaner.ts';
import { statusBits } from './flow-reader.ts';

/** The numbers of linux/netfilter/nfnetlink_conntrack.h that Herald uses. */
const subsystem = 1;
const messages = { get: (subsystem << 8) | 1, delete: (subsystem << 8) | 2 } as const;
const flowAttributes = {
  original: 1,
  reply: 2,
  status: 3,
  protocolState: 4,
  timeout: 7,
  id: 12,
  zone: 18,
  filter: 25,
  statusMask: 26,
} as const;
const tupleAttributes = { addresses: 1, protocol: 2 } as const;
const addressAttributes = { 4: { source: 1, destination: 2 }, 6: { source: 3, destination: 4 } } as const;
const protocolAttributes = { number: 1, sourcePort: 2, destinationPort: 3 } as const;
const filterAttributes = { original: 1, reply: 2 } as const;
/** Flags for the fields of a tuple that a filter compares (net/netfilter/nf_internals.h). */
const compare = { source: 1, destination: 2, protocol: 8, sourcePort: 16, destinationPort: 32 } as const;
const stateAttributes = { tcp: 1, tcpState: 1 } as const;
/** TCP_CONNTRACK_ESTABLISHED. */
const establishedState = 3;
/** IPS_SEEN_REPLY. */
const repliedBit = 2;
const familyNumbers = { 4: 2, 6: 10 } as const;
const protocolNumbers: Readonly<Record<Protocol, number>> = { TCP: 6, UDP: 17, SCTP: 132 };
const protocolNames = new Map(Object.entries(protocolNumbers).map(([name, number]) => [number, name as Protocol]));
/** struct nfgenmsg. */
const headerBytes = 4;

/** A flow as the kernel lists it, with the fields that identify it for a deletion. */
export interface TrackedFlow extends Flow {
  /** The attributes of its original direction, its id and its zone, as received. */
  readonly original: Uint8Array;
  readonly id: Uint8Array | undefined;
  readonly zone: Uint8Array | undefined;
  /** True: a TCP connection that both ends have opened and neither has closed. */
  readonly established: boolean;
  /** Seconds until the kernel deletes the flow if no further packet comes. */
  readonly secondsLeft: number | undefined;
}

/** The flows of a list: all of a protocol, those of them without a reply, or those of one description. */
export type Selection = Pick<StaleFlows, 'protocol' | 'unreplied'> & Partial<StaleFlows> & { readonly family: Family };

/**
 * Builds a request for a list, filtered by the kernel as far as it can (CTA_FILTER, Linux 5.8). The reply may contain more flows than
 * requested. The kernel does not compare ports of SCTP, and compares addresses of IPv6 the wrong way round: it leaves out the equal ones
 * (tested on Linux 6.18). So the filter contains no IPv6 addresses.
 */
export function listRequest(selection: Selection): Request {
  const { family, protocol, unreplied, destination, port, replySource, replyPort } = selection;
  return {
    type: messages.get,
    write(writer) {
      writeHeader(writer, family);
      const original = writeTuple(writer, flowAttributes.original, {
        family,
        protocol,
        ...(destination === undefined || family === 6 ? {} : { destination: addressBytes(destination) }),
        ...defined({ destinationPort: port }),
      });
      const reply = writeTuple(writer, flowAttributes.reply, {
        family,
        protocol,
        ...(replySource === undefined || family === 6 ? {} : { source: addressBytes(replySource) }),
        ...defined({ sourcePort: replyPort }),
      });
      writeFilter(writer, original, reply);
      if (unreplied !== true) return;
      writer.numberAttribute(flowAttributes.status, 0);
      writer.numberAttribute(flowAttributes.statusMask, repliedBit);
    },
  };
}

/**
 * Builds a request for a list of translated flows with replies from this port. The kernel does not compare ports of SCTP, and before Linux 5.8 it
 * lists all flows of the family.
 */
export function translatedRequest(family: Family, protocol: Protocol, replyPort: number): Request {
  return {
    type: messages.get,
    write(writer) {
      writeHeader(writer, family);
      const original = writeTuple(writer, flowAttributes.original, { family, protocol });
      const reply = writeTuple(writer, flowAttributes.reply, { family, protocol, sourcePort: replyPort });
      writeFilter(writer, original, reply);
      writer.numberAttribute(flowAttributes.status, statusBits.translated);
      writer.numberAttribute(flowAttributes.statusMask, statusBits.translated);
    },
  };
}

/** Builds a request that deletes exactly this flow. A later flow with the same addresses and ports has another id. */
export function deleteRequest({ destination, original, id, zone }: TrackedFlow): Request {
  return {
    type: messages.delete,
    write(writer) {
      writeHeader(writer, destination.family);
      const nested = writer.beginNested(flowAttributes.original);
      writer.raw(original);
      writer.endNested(nested);
      if (id !== undefined) writer.bytesAttribute(flowAttributes.id, id);
      if (zone !== undefined) writer.bytesAttribute(flowAttributes.zone, zone);
    },
  };
}

/** Reads a flow from a list. Undefined: its protocol has no ports. Throws MalformedNetlink. */
export function readFlow(payload: Uint8Array): TrackedFlow | undefined {
  let original: Uint8Array | undefined;
  let reply: Uint8Array | undefined;
  let id: Uint8Array | undefined;
  let zone: Uint8Array | undefined;
  let status = 0;
  let established = false;
  let secondsLeft: number | undefined;
  for (const { type, value } of listAttributes(payload.subarray(headerBytes))) {
    if (type === flowAttributes.original) original = value;
    else if (type === flowAttributes.reply) reply = value;
    else if (type === flowAttributes.id) id = value;
    else if (type === flowAttributes.zone) zone = value;
    else if (type === flowAttributes.status) status = value[3] ?? 0;
    else if (type === flowAttributes.protocolState) established = isEstablished(value);
    else if (type === flowAttributes.timeout) secondsLeft = readNumber(value);
  }
  if (original === undefined || reply === undefined) return undefined;
  const [there, back] = [readTuple(original), readTuple(reply)];
  if (there === undefined || back === undefined) return undefined;
  return {
    protocol: there.protocol,
    destination: readAddress(there.destination),
    port: there.destinationPort,
    replySource: readAddress(back.source),
    replyPort: back.sourcePort,
    replied: (status & repliedBit) !== 0,
    original,
    id,
    zone,
    established,
    secondsLeft,
  };
}

function isEstablished(attributes: Uint8Array): boolean {
  const tcp = [...listAttributes(attributes)].find(({ type }) => type === stateAttributes.tcp);
  if (tcp === undefined) return false;
  return [...listAttributes(tcp.value)].some(({ type, value }) => type === stateAttributes.tcpState && value[0] === establishedState);
}

function readAddress(value: Uint8Array): Address {
  if (value.length !== 4 && value.length !== 16) throw new MalformedNetlink(`an address of ${value.length} octets`);
  return addressFromBytes(value);
}

/** Reads a number of four octets in network byte order. */
const readNumber = (value: Uint8Array): number => value.reduce((sum, octet) => sum * 256 + octet, 0);

interface Tuple {
  readonly protocol: Protocol;
  readonly source: Uint8Array;
  readonly destination: Uint8Array;
  readonly sourcePort: number;
  readonly destinationPort: number;
}

type PartialTuple = Partial<Tuple> & Pick<Tuple, 'protocol'> & { readonly family: Family };

/** Writes a tuple and returns the flags of the written fields. */
function writeTuple(writer: MessageWriter, type: number, tuple: PartialTuple): number {
  const { family, protocol, source, destination, sourcePort, destinationPort } = tuple;
  let flags: number = compare.protocol;
  const write = (attribute: number, value: Uint8Array | undefined, flag: number): void => {
    if (value === undefined) return;
    writer.bytesAttribute(attribute, value);
    flags |= flag;
  };
  const nested = writer.beginNested(type);
  if (source !== undefined || destination !== undefined) {
    const addresses = writer.beginNested(tupleAttributes.addresses);
    write(addressAttributes[family].source, source, compare.source);
    write(addressAttributes[family].destination, destination, compare.destination);
    writer.endNested(addresses);
  }
  const ports = writer.beginNested(tupleAttributes.protocol);
  writer.bytesAttribute(protocolAttributes.number, Uint8Array.of(protocolNumbers[protocol]));
  write(protocolAttributes.sourcePort, portBytes(sourcePort), compare.sourcePort);
  write(protocolAttributes.destinationPort, portBytes(destinationPort), compare.destinationPort);
  writer.endNested(ports);
  writer.endNested(nested);
  return flags;
}

/** Says which fields of the tuples the kernel compares. */
function writeFilter(writer: MessageWriter, original: number, reply: number): void {
  const filter = writer.beginNested(flowAttributes.filter);
  writer.hostNumberAttribute(filterAttributes.original, original);
  writer.hostNumberAttribute(filterAttributes.reply, reply);
  writer.endNested(filter);
}

function readTuple(attributes: Uint8Array): Tuple | undefined {
  let source: Uint8Array | undefined;
  let destination: Uint8Array | undefined;
  let protocol: Protocol | undefined;
  let sourcePort: number | undefined;
  let destinationPort: number | undefined;
  for (const part of listAttributes(attributes)) {
    if (part.type === tupleAttributes.addresses) {
      for (const { type, value } of listAttributes(part.value)) {
        if (type === addressAttributes[4].source || type === addressAttributes[6].source) source = value;
        else destination = value;
      }
    } else if (part.type === tupleAttributes.protocol) {
      for (const { type, value } of listAttributes(part.value)) {
        if (type === protocolAttributes.number) protocol = protocolNames.get(value[0] ?? 0);
        else if (type === protocolAttributes.sourcePort) sourcePort = readPort(value);
        else if (type === protocolAttributes.destinationPort) destinationPort = readPort(value);
      }
    }
  }
  if (source === undefined || destination === undefined || protocol === undefined) return undefined;
  if (sourcePort === undefined || destinationPort === undefined) return undefined;
  return { protocol, source, destination, sourcePort, destinationPort };
}

function writeHeader(writer: MessageWriter, family: Family): void {
  writer.raw(Uint8Array.of(familyNumbers[family], 0, 0, 0));
}

function portBytes(port: number | undefined): Uint8Array | undefined {
  return port === undefined ? undefined : Uint8Array.of(port >> 8, port & 0xff);
}

const readPort = (value: Uint8Array): number => ((value[0] ?? 0) << 8) | (value[1] ?? 0);
