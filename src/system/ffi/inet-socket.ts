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

/** A socket of the internet protocols, by its descriptor; every call throws an error with the system's code. */
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

  /** Of what it sends. */
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

  /** The socket takes IPv6 only, so that another one may have the port for IPv4. */
  setIpv6Only(): void {
    this.setSocketOption(IPPROTO_IPV6, IPV6_V6ONLY, 1, 'listening for IPv6 alone');
  }

  /** What it sends leaves by this interface, and only what came in by it arrives; link-local addresses mean those on it. */
  bindToInterface(name: string): void {
    try {
      this.setSocketOption(SOL_SOCKET, SO_BINDTODEVICE, Buffer.from(`${name}\0`), `binding to the network interface ${name}`);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENODEV') throw error;
      throw Object.assign(new Error(`there is no network interface ${name}`), { code: 'ENODEV' });
    }
  }

  /** False where the interface is gone: one that has its name now is another one. */
  isBoundTo(name: string): boolean {
    const bound = Buffer.alloc(16);
    const length = Uint32Array.of(bound.length);
    if (this.#libc.getsockopt(this.fd, SOL_SOCKET, SO_BINDTODEVICE, bound, length) < 0) return false;
    return bound.toString('utf8', 0, length[0]).split('\0')[0] === name;
  }

  /** `address` in network byte order; undefined: any. */
  bindTo(address: Uint8Array | undefined, port: number, what: string): void {
    const bytes = inetAddress(this.family, address, port);
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

/**
 * struct sockaddr_in (16 octets) or sockaddr_in6 (28). No address: any. The scope is left out: a socket that is bound to an
 * interface needs none.
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
