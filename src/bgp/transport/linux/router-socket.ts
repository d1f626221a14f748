import { networkInterfaces } from 'node:os';
import { addressBytes, addressFromBytes, address, parseAddress, type Address } from '../../../net/address.ts';
import { routerMessageLength } from '../../limits.ts';
import { AF_INET6, int32, IPPROTO_IPV6, SOCK_CLOEXEC, SOCK_NONBLOCK } from '../../../system/ffi/inet-socket.ts';
import { systemError, type Libc } from '../../../system/ffi/libc.ts';
import { routerAdvertisement, routerSolicitation } from './router-advertisement.ts';
import type { InterfaceFacts, ReceivedPacket, RouterSocket } from './router-discovery.ts';
import { socketAddress, RawSocket } from './socket.ts';

const SOCK_RAW = 3;
const IPPROTO_ICMPV6 = 58;
const ICMP6_FILTER = 1;
const IPV6_MULTICAST_HOPS = 18;
const IPV6_MULTICAST_LOOP = 19;
const IPV6_JOIN_GROUP = 20;
const IPV6_RECVHOPLIMIT = 51;
const IPV6_HOPLIMIT = 52;
const EAGAIN = 11;
const MSG_TRUNC = 0x20;
const MSG_DONTWAIT = 0x40;

/** Opens a raw ICMPv6 socket for router messages. Needs CAP_NET_RAW. */
export function openRouterSocket(libc: Libc, networkInterface: string): RouterSocket {
  const fd = libc.socket(AF_INET6, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_ICMPV6);
  if (fd < 0) throw systemError(libc, 'socket');
  const socket = new RawSocket(libc, fd, 6);
  try {
    socket.bindToInterface(networkInterface);
    socket.setSocketOption(IPPROTO_ICMPV6, ICMP6_FILTER, routerMessagesOnly(), 'filtering ICMPv6');
    socket.setSocketOption(IPPROTO_IPV6, IPV6_RECVHOPLIMIT, 1, 'asking for the hop limit');
    socket.setTtl(255);
    socket.setSocketOption(IPPROTO_IPV6, IPV6_MULTICAST_HOPS, 255, 'setting the hop limit of multicast');
    socket.setSocketOption(IPPROTO_IPV6, IPV6_MULTICAST_LOOP, 0, 'turning off the echo of multicast');
    socket.setSocketOption(IPPROTO_IPV6, IPV6_JOIN_GROUP, multicastRequest(libc, networkInterface), 'joining the routers on the link');
    return new IcmpSocket(libc, socket);
  } catch (error) {
    socket.close();
    throw error;
  }
}

export function factsOf(networkInterface: string): InterfaceFacts {
  const own = networkInterfaces()[networkInterface] ?? [];
  const octets = (own[0]?.mac ?? '').split(':').map((octet) => Number.parseInt(octet, 16));
  const known = octets.length === 6 && octets.some((octet) => octet !== 0);
  return {
    hardwareAddress: known ? Uint8Array.from(octets) : undefined,
    addresses: own.flatMap(({ address: text }) => {
      const parsed = parseAddress(text);
      return parsed.ok ? [parsed.value] : [];
    }),
  };
}

/** Encodes struct icmp6_filter: one bit for each type that the kernel drops. */
function routerMessagesOnly(): Uint8Array {
  const filter = Buffer.alloc(32, 0xff);
  for (const type of [routerSolicitation, routerAdvertisement]) {
    const at = (type >> 5) * 4;
    filter.writeUInt32LE((filter.readUInt32LE(at) & ~(1 << (type & 31))) >>> 0, at);
  }
  return filter;
}

/** Encodes struct ipv6_mreq: the all-routers group and the index of the interface. */
function multicastRequest(libc: Libc, networkInterface: string): Uint8Array {
  return Buffer.concat([addressBytes(address('ff02::2')), int32(libc.interfaceIndex(networkInterface))]);
}

// Layout of the memory for recvmsg: the header, which points to the other parts, then those parts.
const headerAt = 0;
const vectorAt = 56;
const sourceAt = 72;
const controlAt = 104;
const dataAt = 168;

class IcmpSocket implements RouterSocket {
  readonly #libc: Libc;
  readonly #socket: RawSocket;
  readonly #memory: Buffer;

  constructor(libc: Libc, socket: RawSocket) {
    this.#libc = libc;
    this.#socket = socket;
    const buffer = new ArrayBuffer(dataAt + routerMessageLength);
    const base = libc.addressOf(buffer);
    const memory = Buffer.from(buffer);
    this.#memory = memory;
    // struct iovec: base and length.
    memory.writeBigUInt64LE(base + BigInt(dataAt), vectorAt);
    memory.writeBigUInt64LE(BigInt(routerMessageLength), vectorAt + 8);
    // struct msghdr: name and its length, vector and its length, control and its length, flags.
    memory.writeBigUInt64LE(base + BigInt(sourceAt), headerAt);
    memory.writeBigUInt64LE(base + BigInt(vectorAt), headerAt + 16);
    memory.writeBigUInt64LE(1n, headerAt + 24);
    memory.writeBigUInt64LE(base + BigInt(controlAt), headerAt + 32);
  }

  send(message: Uint8Array, to: Address): void {
    const bytes = socketAddress(6, to, 0);
    if (this.#libc.sendto(this.#socket.fd, message, message.length, MSG_DONTWAIT, bytes, bytes.length) < 0) {
      throw systemError(this.#libc, 'sending a router advertisement');
    }
  }

  receive(): ReceivedPacket | undefined {
    const memory = this.#memory;
    memory.writeUInt32LE(controlAt - sourceAt, headerAt + 8);
    memory.writeBigUInt64LE(BigInt(dataAt - controlAt), headerAt + 40);
    const length = this.#libc.recvmsg(this.#socket.fd, memory, MSG_DONTWAIT);
    if (length < 0) {
      if (this.#libc.errno() === EAGAIN) return undefined;
      throw systemError(this.#libc, 'receiving router advertisements');
    }
    const isCut = (memory.readUInt32LE(headerAt + 48) & MSG_TRUNC) !== 0;
    const controlLength = Number(memory.readBigUInt64LE(headerAt + 40));
    return {
      message: Uint8Array.from(memory.subarray(dataAt, isCut ? dataAt : dataAt + length)),
      source: addressFromBytes(memory.subarray(sourceAt + 8, sourceAt + 24)),
      hopLimit: hopLimitOf(memory.subarray(controlAt, controlAt + controlLength)),
    };
  }

  close(): void {
    this.#socket.close();
  }
}

/** Reads the hop limit from struct cmsghdr: length (8 octets), level, type, then the hop limit as an int. Returns 0 if it is missing. */
function hopLimitOf(control: Buffer): number {
  const isHopLimit = control.length >= 20 && control.readInt32LE(8) === IPPROTO_IPV6 && control.readInt32LE(12) === IPV6_HOPLIMIT;
  return isHopLimit ? control.readInt32LE(16) : 0;
}
