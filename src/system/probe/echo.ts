import { randomBytes } from 'node:crypto';
import { defined } from '../../lang/defined.ts';
import { systemClock } from '../clock.ts';
import { AF_INET, AF_INET6, inetAddress, InetSocket, IPPROTO_IP, IPPROTO_IPV6, SOCK_CLOEXEC, SOCK_NONBLOCK } from '../ffi/inet-socket.ts';
import { systemError, type Libc } from '../ffi/libc.ts';
import { keepErrors, readErrorQueue, type IcmpError } from './error-queue.ts';
import type { KernelContext } from './kernel-connect.ts';
import { POLLIN, untilReady } from './ready.ts';

const SOCK_DGRAM = 2;
const SOCK_RAW = 3;
const IP_MTU_DISCOVER = 10;
const IPV6_MTU_DISCOVER = 23;
const IPV6_DONTFRAG = 62;
/** Sets DF and ignores the size that the kernel remembers for the path. */
const PMTUDISC_PROBE = 3;
const MSG_DONTWAIT = 0x40;

const families = {
  4: { domain: AF_INET, protocol: 1, request: 8, reply: 0, headers: 28, tooBig: [3, 4] },
  6: { domain: AF_INET6, protocol: 58, request: 128, reply: 129, headers: 48, tooBig: [2, 0] },
} as const;

/** The fate of packets of one size. `size` is the length of the IP packet. */
export type PacketResult =
  | { readonly result: 'answered'; readonly size: number; readonly milliseconds: number }
  /** A router, or this host if `from` is absent, does not pass packets of the size. 0: it did not say what it passes. */
  | { readonly result: 'tooBig'; readonly size: number; readonly mtu: number; readonly from?: Uint8Array }
  /** Packets of the size get no answer, but small ones do. */
  | { readonly result: 'lost'; readonly size: number }
  /** No ICMP echo is answered, or an ICMP error came: nothing is known of the size. */
  | { readonly result: 'unknown'; readonly size: number; readonly error?: string };

interface EchoBounds {
  /** How often a packet is sent before it counts as lost, and milliseconds for each answer. */
  readonly attempts: number;
  readonly timeout: number;
}

/** Octets of an echo that every path passes: the least MTU of IPv4 hosts is 576, that of IPv6 1280. */
const small = 128;

/**
 * Sends ICMP echo requests of `size` octets that no router may fragment, beside small ones. It measures the way there: answers may be
 * fragmented. Needs CAP_NET_RAW, or a ping_group_range with the group of this process. Rejects only when the signal aborts.
 */
export async function measureSize(address: Uint8Array, size: number, bounds: EchoBounds, context: KernelContext): Promise<PacketResult> {
  const [large, control] = await Promise.all([
    echoes(address, size, bounds, context),
    size <= small ? undefined : echoes(address, small, bounds, context),
  ]);
  if (large.result !== 'silent') return large;
  return control?.result === 'answered' ? { result: 'lost', size } : { result: 'unknown', size };
}

type Echo = Exclude<PacketResult, { result: 'lost' }> | { readonly result: 'silent' };

async function echoes(address: Uint8Array, size: number, { attempts, timeout }: EchoBounds, context: KernelContext): Promise<Echo> {
  const { libc, clock = systemClock } = context;
  const opened = openEcho(libc, address);
  if ('error' in opened) return { result: 'unknown', size, error: opened.error };
  try {
    for (let attempt = 1; attempt <= attempts; attempt++) {
      const begin = clock.now();
      const answer = await echoOnce(opened, size, timeout, context);
      if (answer === 'answered') return { result: 'answered', size, milliseconds: clock.now() - begin };
      if (answer !== 'silent') return answer;
    }
    return { result: 'silent' };
  } finally {
    opened.socket.close();
  }
}

interface OpenEcho {
  readonly socket: InetSocket;
  /** The kernel puts the IP header before what a raw IPv4 socket receives. */
  readonly hasHeader: boolean;
}

/** Opens a ping socket (icmp(7)), or a raw one where the group may have none. It receives only from the address. */
function openEcho(libc: Libc, address: Uint8Array): OpenEcho | { readonly error: string } {
  const family = address.length === 4 ? 4 : 6;
  const { domain, protocol } = families[family];
  const flags = SOCK_NONBLOCK | SOCK_CLOEXEC;
  const ping = libc.socket(domain, SOCK_DGRAM | flags, protocol);
  const fd = ping >= 0 ? ping : libc.socket(domain, SOCK_RAW | flags, protocol);
  if (fd < 0) return { error: systemError(libc, 'socket').code ?? 'UNKNOWN' };
  const socket = new InetSocket(libc, fd, family);
  try {
    keepErrors(socket);
    if (family === 4) socket.setSocketOption(IPPROTO_IP, IP_MTU_DISCOVER, PMTUDISC_PROBE, 'setting DF');
    else {
      socket.setSocketOption(IPPROTO_IPV6, IPV6_MTU_DISCOVER, PMTUDISC_PROBE, 'probing the size');
      socket.setSocketOption(IPPROTO_IPV6, IPV6_DONTFRAG, 1, 'sending no fragments');
    }
    const to = inetAddress(family, address, 0);
    if (libc.connect(fd, to, to.length) < 0) throw systemError(libc, 'connect');
    return { socket, hasHeader: family === 4 && ping < 0 };
  } catch (error) {
    socket.close();
    return { error: (error as NodeJS.ErrnoException).code ?? 'UNKNOWN' };
  }
}

async function echoOnce(
  { socket: { fd, family }, hasHeader }: OpenEcho,
  size: number,
  timeout: number,
  { libc, clock = systemClock, signal }: KernelContext,
): Promise<'answered' | 'silent' | Echo> {
  const token = randomBytes(8);
  const message = echoRequest(family, size, token);
  if (libc.send(fd, message, message.length, MSG_DONTWAIT) < 0) {
    const { code } = systemError(libc, 'send');
    return code === 'EMSGSIZE' ? { result: 'tooBig', size, mtu: 0 } : { result: 'unknown', size, ...defined({ error: code }) };
  }
  const buffer = Buffer.alloc(size + 64);
  const end = clock.now() + timeout;
  for (let left = timeout; left > 0; left = end - clock.now()) {
    if (!(await untilReady({ libc, clock, signal }, fd, POLLIN, left))) return 'silent';
    const icmp = readErrorQueue(libc, fd);
    if (icmp !== undefined) return afterError(icmp, family, size);
    const length = libc.recv(fd, buffer, buffer.length, MSG_DONTWAIT);
    if (length < 0) {
      const { code } = systemError(libc, 'recv');
      // An ICMP error may also be reported here; the queue has it then.
      if (code !== 'EAGAIN' && code !== 'EMSGSIZE') return { result: 'unknown', size, ...defined({ error: code }) };
      continue;
    }
    const begin = hasHeader ? ((buffer[0] ?? 0) & 15) * 4 : 0;
    const isOurs = buffer[begin] === families[family].reply && buffer.subarray(begin + 8, begin + 16).equals(token);
    if (isOurs && begin <= length) return 'answered';
  }
  return 'silent';
}

function afterError({ type, code, mtu, from }: IcmpError, family: 4 | 6, size: number): Echo {
  const [tooBigType, tooBigCode] = families[family].tooBig;
  if (type === tooBigType && code === tooBigCode) return { result: 'tooBig', size, mtu, from };
  return { result: 'unknown', size, error: `ICMP type ${type}, code ${code}` };
}

/** Encodes an echo request (RFC 792, RFC 4443 4.1) that makes an IP packet of `size` octets. The kernel computes the checksum of ICMPv6. */
function echoRequest(family: 4 | 6, size: number, token: Buffer): Buffer {
  const { request, headers } = families[family];
  const message = Buffer.alloc(size - headers + 8);
  message.writeUInt8(request);
  token.copy(message, 8);
  if (family === 4) message.writeUInt16BE(internetChecksum(message), 2);
  return message;
}

/** RFC 1071. */
function internetChecksum(message: Buffer): number {
  let sum = 0;
  for (let at = 0; at < message.length; at += 2) sum += message.readUInt8(at) * 256 + (message[at + 1] ?? 0);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16);
  return ~sum & 0xffff;
}
