import { systemError, type Libc } from './libc.ts';

// Numbers of Linux, equal on x86-64 and arm64.
export const AF_INET = 2;
export const AF_INET6 = 10;
export const SOCK_NONBLOCK = 0o4000;
export const SOCK_CLOEXEC = 0o2000000;
export const SOL_SOCKET = 1;
const SO_REUSEADDR = 2;
const SO_BINDTODEVICE = 25;
export const IPPROTO_IP = 0;
export const IPPROTO_IPV6 = 41;
const IP_TOS = 1;
const IP_TTL = 2;
const IPV6_UNICAST_HOPS = 16;
const IPV6_V6ONLY = 26;
const IPV6_TCLASS = 67;

/** Internetwork control: routers forward it first (RFC 4271 appendix E). */
const internetworkControl = 0xc0;

/** An IPv4 or IPv6 socket, identified by its file descriptor. Every call throws an error with the system's code on failure. */
export class InetSocket {
  readonly fd: number;
  readonly family: 4 | 6;
  readonly #libc: Libc;

  constructor(libc: Libc, fd: number, family: 4 | 6) {
    this.#libc = libc;
    this.fd = fd;
    this.family = family;
  }

  setSocketOption(level: number, name: number, value: Uint8Array | number, what: string): void {
    const bytes = typeof value === 'number' ? int32(value) : value;
    if (this.#libc.setsockopt(this.fd, level, name, bytes, bytes.length) < 0) throw systemError(this.#libc, what);
  }

  /** Sets the TTL (IPv4) or hop limit (IPv6) of outgoing packets. */
  setTtl(ttl: number): void {
    const [level, name] = this.family === 4 ? [IPPROTO_IP, IP_TTL] : [IPPROTO_IPV6, IPV6_UNICAST_HOPS];
    this.setSocketOption(level, name, ttl, 'setting the TTL');
  }

  setTrafficClass(): void {
    const [level, name] = this.family === 4 ? [IPPROTO_IP, IP_TOS] : [IPPROTO_IPV6, IPV6_TCLASS];
    this.setSocketOption(level, name, internetworkControl, 'setting the traffic class');
  }

  setReuseAddress(reuse = true): void {
    this.setSocketOption(SOL_SOCKET, SO_REUSEADDR, reuse ? 1 : 0, 'reusing the address');
  }

  /** Makes the socket accept IPv6 only, so that another socket can use the port for IPv4. */
  setIpv6Only(): void {
    this.setSocketOption(IPPROTO_IPV6, IPV6_V6ONLY, 1, 'listening for IPv6 alone');
  }

  /** Restricts the socket to one interface: it sends and receives only there, and link-local addresses refer to that link. */
  bindToInterface(name: string): void {
    try {
      this.setSocketOption(SOL_SOCKET, SO_BINDTODEVICE, Buffer.from(`${name}\0`), `binding to the network interface ${name}`);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENODEV') throw error;
      throw Object.assign(new Error(`there is no network interface ${name}`), { code: 'ENODEV' });
    }
  }

  /** Returns false when the interface is gone, even if a new interface has the same name. */
  isBoundTo(name: string): boolean {
    const bound = Buffer.alloc(16);
    const length = Uint32Array.of(bound.length);
    if (this.#libc.getsockopt(this.fd, SOL_SOCKET, SO_BINDTODEVICE, bound, length) < 0) return false;
    return bound.toString('utf8', 0, length[0]).split('\0')[0] === name;
  }

  /** Binds to `address` (network byte order) and `port`. Without an address it binds to all addresses of the family. */
  bindTo(address: Uint8Array | undefined, port: number, what: string): void {
    const bytes = inetAddress(this.family, address, port);
    if (this.#libc.bind(this.fd, bytes, bytes.length) < 0) throw systemError(this.#libc, what);
  }

  /** Returns the port that the socket is bound to. */
  port(): number {
    const bytes = Buffer.alloc(28);
    if (this.#libc.getsockname(this.fd, bytes, Uint32Array.of(bytes.length)) < 0) throw systemError(this.#libc, 'getsockname');
    return bytes.readUInt16BE(2);
  }

  close(): void {
    this.#libc.close(this.fd);
  }
}

/**
 * Encodes struct sockaddr_in (16 octets) or sockaddr_in6 (28). Without an address it encodes the unspecified address. The scope id stays 0:
 * a socket that is bound to an interface needs none.
 */
export function inetAddress(family: 4 | 6, address: Uint8Array | undefined, port: number): Uint8Array {
  const bytes = Buffer.alloc(family === 4 ? 16 : 28);
  bytes.writeUInt16LE(family === 4 ? AF_INET : AF_INET6);
  bytes.writeUInt16BE(port, 2);
  if (address !== undefined) bytes.set(address, family === 4 ? 4 : 8);
  return bytes;
}

export function int32(value: number): Uint8Array {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32LE(value);
  return bytes;
}
