import { addressBytes, type Address, type Family } from '../../../net/address.ts';
import {
  AF_INET,
  AF_INET6,
  inetAddress,
  InetSocket,
  IPPROTO_IP,
  IPPROTO_IPV6,
  SOCK_CLOEXEC,
  SOCK_NONBLOCK,
} from '../../../system/ffi/inet-socket.ts';
import { systemError, type Libc } from '../../../system/ffi/libc.ts';
import type { SocketOptions } from '../transport.ts';

// Constants of Linux, equal on x86-64 and arm64.
const SOCK_STREAM = 1;
export const IPPROTO_TCP = 6;
const IP_MINTTL = 21;
const IPV6_MINHOPCOUNT = 73;
const TCP_USER_TIMEOUT = 18;

/** A TCP socket with the options that BGP needs. Every method throws an error with the system's code. */
export class RawSocket extends InetSocket {
  static tcp(libc: Libc, family: Family): RawSocket {
    const fd = libc.socket(family === 4 ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) throw systemError(libc, 'socket');
    return new RawSocket(libc, fd, family);
  }

  /** Sets the options of a BGP connection, dialed or accepted. */
  setOptions({ ttl, minimumTtl, userTimeout }: SocketOptions): void {
    const [level, minimumName] = this.family === 4 ? [IPPROTO_IP, IP_MINTTL] : [IPPROTO_IPV6, IPV6_MINHOPCOUNT];
    this.setTtl(ttl);
    if (minimumTtl !== undefined) this.setSocketOption(level, minimumName, minimumTtl, 'setting the smallest TTL to accept');
    if (userTimeout !== undefined) this.setSocketOption(IPPROTO_TCP, TCP_USER_TIMEOUT, userTimeout, 'setting the user timeout');
  }

  bind(address: Address | undefined, port: number, what: string): void {
    this.bindTo(address === undefined ? undefined : addressBytes(address), port, what);
  }
}

/** Encodes a socket address for the kernel. Without an address it means any address. */
export function socketAddress(family: Family, address: Address | undefined, port: number): Uint8Array {
  return inetAddress(family, address === undefined ? undefined : addressBytes(address), port);
}
