import { type Family, type Address } from '../../../net/address.ts';
import type { SocketOptions } from '../transport.ts';
import { systemError, type Libc } from '../../../system/libc.ts';
import { socketAddress } from './socket-address.ts';

// Numbers of Linux, equal on x86-64 and arm64.
export const AF_INET = 2;
export const AF_INET6 = 10;
const SOCK_STREAM = 1;
export const SOCK_NONBLOCK = 0o4000;
export const SOCK_CLOEXEC = 0o2000000;
const SOL_SOCKET = 1;
const SO_REUSEADDR = 2;
const SO_BINDTODEVICE = 25;
const IPPROTO_IP = 0;
export const IPPROTO_TCP = 6;
export const IPPROTO_IPV6 = 41;
const IP_TOS = 1;
const IP_TTL = 2;
const IP_MINTTL = 21;
export const IPV6_UNICAST_HOPS = 16;
const IPV6_V6ONLY = 26;
const IPV6_TCLASS = 67;
const IPV6_MINHOPCOUNT = 73;
const TCP_USER_TIMEOUT = 18;

/** Internetwork control: routers forward it first (RFC 4271 appendix E). */
export const internetworkControl = 0xc0;

/** A socket of ours, by its descriptor; every call throws an error with the system's code. */
export class RawSocket {
  readonly fd: number;
  readonly family: Family;
  readonly #libc: Libc;

  constructor(libc: Libc, fd: number, family: Family) {
    this.#libc = libc;
    this.fd = fd;
    this.family = family;
  }

  static tcp(libc: Libc, family: Family): RawSocket {
    const fd = libc.socket(family === 4 ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) throw systemError(libc, 'socket');
    return new RawSocket(libc, fd, family);
  }

  set(level: number, name: number, value: Uint8Array | number, what: string): void {
    const bytes = typeof value === 'number' ? int32(value) : value;
    if (this.#libc.setsockopt(this.fd, level, name, bytes, bytes.length) < 0) throw systemError(this.#libc, what);
  }

  /** What both ends of BGP want of a connection. */
  setOptions({ ttl, minimumTtl, userTimeout }: SocketOptions): void {
    const [level, ttlName, minimumName] =
      this.family === 4 ? [IPPROTO_IP, IP_TTL, IP_MINTTL] : [IPPROTO_IPV6, IPV6_UNICAST_HOPS, IPV6_MINHOPCOUNT];
    this.set(level, ttlName, ttl, 'setting the TTL');
    if (minimumTtl !== undefined) this.set(level, minimumName, minimumTtl, 'setting the smallest TTL to accept');
    if (userTimeout !== undefined) this.set(IPPROTO_TCP, TCP_USER_TIMEOUT, userTimeout, 'setting the user timeout');
  }

  setTrafficClass(): void {
    const [level, name] = this.family === 4 ? [IPPROTO_IP, IP_TOS] : [IPPROTO_IPV6, IPV6_TCLASS];
    this.set(level, name, internetworkControl, 'setting the traffic class');
  }

  setReuseAddress(): void {
    this.set(SOL_SOCKET, SO_REUSEADDR, 1, 'reusing the address');
  }

  /** The socket takes IPv6 only, so that another one may have the port for IPv4. */
  setIpv6Only(): void {
    this.set(IPPROTO_IPV6, IPV6_V6ONLY, 1, 'listening for IPv6 alone');
  }

  /** What it sends leaves by this interface, and only what came in by it arrives; link-local addresses mean those on it. */
  bindToInterface(name: string): void {
    try {
      this.set(SOL_SOCKET, SO_BINDTODEVICE, Buffer.from(`${name}\0`), `binding to the network interface ${name}`);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENODEV') throw error;
      throw Object.assign(new Error(`there is no network interface ${name}`), { code: 'ENODEV' });
    }
  }

  bind(address: Address | undefined, port: number, what: string): void {
    const bytes = socketAddress(this.family, address, port);
    if (this.#libc.bind(this.fd, bytes, bytes.length) < 0) throw systemError(this.#libc, what);
  }

  /** The port that the socket is bound to. */
  port(): number {
    const bytes = Buffer.alloc(28);
    if (this.#libc.getsockname(this.fd, bytes, Uint32Array.of(bytes.length)) < 0) throw systemError(this.#libc, 'getsockname');
    return bytes.readUInt16BE(2);
  }

  close(): void {
    this.#libc.close(this.fd);
  }
}

export function int32(value: number): Uint8Array {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32LE(value);
  return bytes;
}
