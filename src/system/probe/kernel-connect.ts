import { getSystemErrorMap } from 'node:util';
import { defined } from '../../lang/defined.ts';
import { systemClock, type Clock } from '../clock.ts';
import { AF_INET, AF_INET6, inetAddress, InetSocket, SOCK_CLOEXEC, SOCK_NONBLOCK, SOL_SOCKET } from '../ffi/inet-socket.ts';
import { systemError, type Libc } from '../ffi/libc.ts';
import { keepErrors, readErrorQueue, type IcmpError } from './error-queue.ts';
import { POLLOUT, untilReady } from './ready.ts';
import { resultOfError, type ProbeResult } from './result.ts';

const SOCK_STREAM = 1;
const SO_ERROR = 4;
const SO_LINGER = 13;
const EINPROGRESS = 115;

const protocolNumbers = { TCP: 6, SCTP: 132 } as const;

interface KernelTarget {
  readonly protocol: keyof typeof protocolNumbers;
  /** 4 or 16 octets in network byte order. */
  readonly address: Uint8Array;
  readonly port: number;
  /** TTL or hop limit of the packets. Absent: that of the system. */
  readonly ttl?: number;
}

export interface KernelContext {
  readonly libc: Libc;
  readonly clock?: Clock;
  readonly signal?: AbortSignal | undefined;
}

/** As ProbeResult, with the ICMP error behind it. Absent: none came. */
export type KernelProbe = ProbeResult & { readonly icmp?: IcmpError };

/**
 * Opens a connection by system calls and resets it. Unlike connectTcp it knows SCTP, limits the TTL, and tells an ICMP error from a reset. It
 * looks at the socket every 5 ms, so its times are rough. Resolves in at most `timeout` milliseconds; rejects only when the signal aborts.
 */
export async function connectByKernel(
  { protocol, address, port, ttl }: KernelTarget,
  timeout: number,
  { libc, clock = systemClock, signal }: KernelContext,
): Promise<KernelProbe> {
  const begin = clock.now();
  const elapsed = (): number => clock.now() - begin;
  const family = address.length === 4 ? 4 : 6;
  const number = protocolNumbers[protocol];
  const fd = libc.socket(family === 4 ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, number);
  if (fd < 0) return { result: 'notSent', milliseconds: elapsed(), error: systemError(libc, 'socket').code ?? 'UNKNOWN' };
  const socket = new InetSocket(libc, fd, family);
  try {
    keepErrors(socket);
    if (ttl !== undefined) socket.setTtl(ttl);
    if (protocol === 'TCP') socket.setSocketOption(SOL_SOCKET, SO_LINGER, resetOnClose, 'closing by a reset');
    const to = inetAddress(family, address, port);
    if (libc.connect(fd, to, to.length) < 0 && libc.errno() !== EINPROGRESS) {
      const { code } = systemError(libc, 'connect');
      return { ...resultOfError(code, elapsed()), ...defined({ icmp: readErrorQueue(libc, fd) }) };
    }
    const isReady = await untilReady({ libc, clock, signal }, fd, POLLOUT, timeout);
    const error = isReady ? pendingError(libc, fd) : undefined;
    const icmp = readErrorQueue(libc, fd);
    if (!isReady) return { result: 'silent', milliseconds: elapsed(), ...defined({ icmp }) };
    if (error === undefined && icmp === undefined) return { result: 'answered', milliseconds: elapsed() };
    return { ...resultOfError(error ?? 'EHOSTUNREACH', elapsed()), ...defined({ icmp }) };
  } finally {
    socket.close();
  }
}

/** struct linger: on, after 0 seconds. */
const resetOnClose = Uint8Array.of(1, 0, 0, 0, 0, 0, 0, 0);

function pendingError(libc: Libc, fd: number): string | undefined {
  const value = Buffer.alloc(4);
  if (libc.getsockopt(fd, SOL_SOCKET, SO_ERROR, value, Uint32Array.of(4)) < 0) return systemError(libc, 'getsockopt').code;
  const errno = value.readInt32LE();
  return errno === 0 ? undefined : (getSystemErrorMap().get(-errno)?.[0] ?? 'UNKNOWN');
}
