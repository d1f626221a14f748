import assert from 'node:assert';
import type * as Koffi from 'koffi';
import { createRequire } from 'node:module';
import { Socket } from 'node:net';
import { endianness } from 'node:os';
import { getSystemErrorMap } from 'node:util';
import { addressBytes, formatAddress, type Address } from '../../net/address.ts';
import { maximumPassword } from '../limits.ts';
import { connectSocket, failedConnection, failureOf, nodeTransport } from './node.ts';
import type { DialOptions, Transport } from './transport.ts';

/** The calls of libc that make a socket before Node takes it over. */
interface Libc {
  readonly socket: (domain: number, type: number, protocol: number) => number;
  readonly setsockopt: (fd: number, level: number, name: number, value: Uint8Array, length: number) => number;
  readonly bind: (fd: number, address: Uint8Array, length: number) => number;
  readonly close: (fd: number) => number;
  readonly errno: () => number;
}

// Numbers of Linux, equal on x86-64 and arm64.
const AF_INET = 2;
const AF_INET6 = 10;
const SOCK_STREAM = 1;
const SOCK_NONBLOCK = 0o4000;
const SOCK_CLOEXEC = 0o2000000;
const IPPROTO_IP = 0;
const IPPROTO_TCP = 6;
const IPPROTO_IPV6 = 41;
const IP_TOS = 1;
const IP_TTL = 2;
const IPV6_UNICAST_HOPS = 16;
const IPV6_TCLASS = 67;
const TCP_MD5SIG = 14;
const TCP_USER_TIMEOUT = 18;
/** Internetwork control: routers forward it first (RFC 4271 appendix E). */
const internetworkControl = 0xc0;

/**
 * The transport for production: sockets with MD5 signature, TTL, traffic class and user timeout. Where the native module
 * cannot be loaded these are plain sockets, which refuse peers with a password.
 */
export function linuxTransport(): Transport {
  const libc = loadLibc();
  if (libc === undefined) return nodeTransport;
  return {
    ...nodeTransport,
    cannot: ({ password }) =>
      password !== undefined && Buffer.byteLength(password) > maximumPassword ? 'the password is longer than Linux takes' : undefined,
    dial(options, events) {
      let fd: number;
      try {
        fd = openSocket(libc, options);
      } catch (error) {
        return failedConnection(failureOf(error as NodeJS.ErrnoException), events);
      }
      // From here on the handle inside the Socket owns the descriptor. Without `manualStart` it would read before it is connected.
      const socket = new Socket({ fd, readable: true, writable: true, manualStart: true } as ConstructorParameters<typeof Socket>[0]);
      return connectSocket(socket, { host: formatAddress(options.address), port: options.port }, events);
    },
  };
}

function loadLibc(): Libc | undefined {
  if (process.platform !== 'linux') return undefined;
  assert(endianness() === 'LE', 'socket structures are written for little-endian machines');
  let koffi: typeof Koffi;
  try {
    koffi = createRequire(import.meta.url)('koffi') as typeof Koffi;
  } catch {
    return undefined; // No binary for this platform: `cannot` tells those whom it concerns.
  }
  const self = koffi.load(null);
  return {
    socket: self.func('int socket(int, int, int)'),
    setsockopt: self.func('int setsockopt(int, int, int, const uint8_t *, uint32_t)'),
    bind: self.func('int bind(int, const uint8_t *, uint32_t)'),
    close: self.func('int close(int)'),
    errno: () => koffi.errno(),
  };
}

/** A socket that is ready to connect. Throws an error with the system's code, and leaves no descriptor behind. */
function openSocket(libc: Libc, options: DialOptions): number {
  const ipv4 = options.address.family === 4;
  const fd = libc.socket(ipv4 ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) throw systemError(libc, 'socket');
  const set = (level: number, name: number, value: Uint8Array, what: string): void => {
    if (libc.setsockopt(fd, level, name, value, value.length) < 0) throw systemError(libc, what);
  };
  try {
    const level = ipv4 ? IPPROTO_IP : IPPROTO_IPV6;
    set(level, ipv4 ? IP_TTL : IPV6_UNICAST_HOPS, int32(options.ttl), 'setting the TTL');
    set(level, ipv4 ? IP_TOS : IPV6_TCLASS, int32(internetworkControl), 'setting the traffic class');
    if (options.userTimeout !== undefined) set(IPPROTO_TCP, TCP_USER_TIMEOUT, int32(options.userTimeout), 'setting the user timeout');
    if (options.password !== undefined) {
      set(IPPROTO_TCP, TCP_MD5SIG, md5Signature(options.address, options.password), 'setting the TCP MD5 password');
    }
    if (options.sourceAddress !== undefined) {
      const source = socketAddress(options.sourceAddress);
      if (libc.bind(fd, source, source.length) < 0) throw systemError(libc, 'binding the source address');
    }
    return fd;
  } catch (error) {
    libc.close(fd);
    throw error;
  }
}

function int32(value: number): Uint8Array {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32LE(value);
  return bytes;
}

/** struct sockaddr_in (16 octets) or sockaddr_in6 (28), port 0. */
function socketAddress(address: Address): Uint8Array {
  const ipv4 = address.family === 4;
  const bytes = Buffer.alloc(ipv4 ? 16 : 28);
  bytes.writeUInt16LE(ipv4 ? AF_INET : AF_INET6);
  bytes.set(addressBytes(address), ipv4 ? 4 : 8);
  return bytes;
}

/** struct tcp_md5sig: address (128 octets), flags, prefix length, key length (2), interface (4), key (80). */
function md5Signature(address: Address, password: string): Uint8Array {
  const key = Buffer.from(password, 'utf8');
  assert(key.length <= maximumPassword, 'the password was checked before');
  const bytes = Buffer.alloc(216);
  bytes.set(socketAddress(address));
  bytes.writeUInt16LE(key.length, 130);
  bytes.set(key, 136);
  return bytes;
}

function systemError(libc: Libc, what: string): NodeJS.ErrnoException {
  const [code, description] = getSystemErrorMap().get(-libc.errno()) ?? ['UNKNOWN', 'unknown error'];
  return Object.assign(new Error(`${what} failed: ${description}`), { code });
}
