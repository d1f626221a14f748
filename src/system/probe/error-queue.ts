import { IPPROTO_IP, IPPROTO_IPV6, type InetSocket } from '../ffi/inet-socket.ts';
import type { Libc } from '../ffi/libc.ts';

const IP_RECVERR = 11;
const IPV6_RECVERR = 25;
const MSG_DONTWAIT = 0x40;
const MSG_ERRQUEUE = 0x2000;
/** SO_EE_ORIGIN_ICMP and SO_EE_ORIGIN_ICMP6 of linux/errqueue.h. Other origins are this host. */
const icmpOrigins: ReadonlySet<number> = new Set([2, 3]);

/** An ICMP error that a packet of a socket caused. */
export interface IcmpError {
  /** The address of the router or host that sent it, in network byte order. */
  readonly from: Uint8Array;
  /** Type and code of ICMP, or of ICMPv6 for an IPv6 socket. */
  readonly type: number;
  readonly code: number;
  /** The largest packet that the next hop takes. 0 unless the error says "packet too big". */
  readonly mtu: number;
}

// Layout of the memory for recvmsg: the header, which points to the other parts, then those parts.
const vectorAt = 56;
const nameAt = 72;
const controlAt = 104;
const dataAt = 360;
const memoryBytes = 616;

/** Makes the kernel keep the ICMP errors of a socket for `readErrorQueue`. */
export function keepErrors(socket: InetSocket): void {
  const [level, name] = socket.family === 4 ? [IPPROTO_IP, IP_RECVERR] : [IPPROTO_IPV6, IPV6_RECVERR];
  socket.setSocketOption(level, name, 1, 'asking for ICMP errors');
}

/** Returns the oldest ICMP error of the socket and removes it. Undefined: there is none. */
export function readErrorQueue(libc: Libc, fd: number): IcmpError | undefined {
  const buffer = new ArrayBuffer(memoryBytes);
  const base = libc.addressOf(buffer);
  const memory = Buffer.from(buffer);
  memory.writeBigUInt64LE(base + BigInt(dataAt), vectorAt);
  memory.writeBigUInt64LE(BigInt(memoryBytes - dataAt), vectorAt + 8);
  // struct msghdr: name and its length, vector and its length, control and its length, flags.
  memory.writeBigUInt64LE(base + BigInt(nameAt), 0);
  memory.writeUInt32LE(controlAt - nameAt, 8);
  memory.writeBigUInt64LE(base + BigInt(vectorAt), 16);
  memory.writeBigUInt64LE(1n, 24);
  memory.writeBigUInt64LE(base + BigInt(controlAt), 32);
  memory.writeBigUInt64LE(BigInt(dataAt - controlAt), 40);
  if (libc.recvmsg(fd, memory, MSG_ERRQUEUE | MSG_DONTWAIT) < 0) return undefined;
  const length = Number(memory.readBigUInt64LE(40));
  return icmpErrorIn(memory.subarray(controlAt, controlAt + length));
}

/**
 * Reads the control messages: struct cmsghdr (length, level, type), struct sock_extended_err (16 octets: errno, origin, type, code, padding,
 * info, data), and the sockaddr of the sender of the error.
 */
function icmpErrorIn(control: Buffer): IcmpError | undefined {
  for (let at = 0; at + 16 <= control.length;) {
    const length = Number(control.readBigUInt64LE(at));
    if (length < 16) return undefined;
    const [level, type] = [control.readInt32LE(at + 8), control.readInt32LE(at + 12)];
    const isError = (level === IPPROTO_IP && type === IP_RECVERR) || (level === IPPROTO_IPV6 && type === IPV6_RECVERR);
    const error = control.subarray(at + 16, at + length);
    if (isError && error.length >= 24 && icmpOrigins.has(error.readUInt8(4))) {
      const from = level === IPPROTO_IP ? error.subarray(20, 24) : error.subarray(24, 40);
      if (from.length !== (level === IPPROTO_IP ? 4 : 16)) return undefined;
      return { from: Uint8Array.from(from), type: error.readUInt8(5), code: error.readUInt8(6), mtu: error.readUInt32LE(8) };
    }
    at += (length + 7) & ~7;
  }
  return undefined;
}
