import assert from 'node:assert';
import type * as Koffi from 'koffi';
import { createRequire } from 'node:module';
import { endianness } from 'node:os';
import { getSystemErrorMap } from 'node:util';

/** The calls of libc that Node has no words for. Negative results leave their reason in `errno`. */
export interface Libc {
  readonly socket: (domain: number, type: number, protocol: number) => number;
  readonly setsockopt: (fd: number, level: number, name: number, value: Uint8Array, length: number) => number;
  /** Writes the value, and its length, into what it is given. */
  readonly getsockopt: (fd: number, level: number, name: number, value: Uint8Array, length: Uint32Array) => number;
  readonly bind: (fd: number, address: Uint8Array, length: number) => number;
  /** Writes the address, and its length, into what it is given. */
  readonly getsockname: (fd: number, address: Uint8Array, length: Uint32Array) => number;
  readonly send: (fd: number, data: Uint8Array, length: number, flags: number) => number;
  /** The same in a thread of Node's pool: `errno` says nothing about it. */
  readonly sendInThread: (fd: number, data: Uint8Array, length: number, flags: number) => Promise<number>;
  readonly recv: (fd: number, data: Uint8Array, length: number, flags: number) => number;
  readonly close: (fd: number) => number;
  /** 0 where there is no such interface. */
  readonly interfaceIndex: (name: string) => number;
  readonly sendto: (fd: number, data: Uint8Array, length: number, flags: number, to: Uint8Array, toLength: number) => number;
  /** Takes a struct msghdr, which it changes. */
  readonly recvmsg: (fd: number, header: Uint8Array, flags: number) => number;
  /** Moves this thread into the namespace behind the descriptor. */
  readonly setns: (fd: number, kind: number) => number;
  /** How this thread is scheduled (sched(7)): policy and struct sched_param. Returns the error itself, 0 for success. */
  readonly setThreadScheduling: (policy: number, parameters: Uint8Array) => number;
  readonly errno: () => number;
  /** Where these bytes are in memory, for as long as somebody holds on to them. Unlike small views, a buffer is never moved. */
  readonly addressOf: (bytes: ArrayBuffer) => bigint;
}

let loaded: Libc | undefined;

/** Undefined on another system than Linux, and where the native module has no binary for this machine. */
export function loadLibc(): Libc | undefined {
  if (process.platform !== 'linux') return undefined;
  assert(endianness() === 'LE', 'structures for the kernel are written for little-endian machines');
  if (loaded !== undefined) return loaded;
  let koffi: typeof Koffi;
  try {
    koffi = createRequire(import.meta.url)('koffi') as typeof Koffi;
  } catch {
    return undefined; // Whoever needs it says what that means.
  }
  // The symbols of the running process: no path, and glibc and musl alike.
  const self = koffi.load(null);
  const send = self.func('long send(int, const uint8_t *, size_t, int)');
  const thisThread = self.func('uintptr_t pthread_self()');
  const setSchedule = self.func('int pthread_setschedparam(uintptr_t, int, const uint8_t *)');
  loaded = {
    socket: self.func('int socket(int, int, int)'),
    setsockopt: self.func('int setsockopt(int, int, int, const uint8_t *, uint32_t)'),
    getsockopt: self.func('int getsockopt(int, int, int, uint8_t *, uint32_t *)'),
    bind: self.func('int bind(int, const uint8_t *, uint32_t)'),
    getsockname: self.func('int getsockname(int, uint8_t *, uint32_t *)'),
    send,
    sendInThread: (fd, data, length, flags) =>
      new Promise((resolve, reject) => {
        send.async(fd, data, length, flags, (error: Error | null, result: number) => {
          if (error === null) resolve(result);
          else reject(error);
        });
      }),
    recv: self.func('long recv(int, uint8_t *, size_t, int)'),
    close: self.func('int close(int)'),
    interfaceIndex: self.func('unsigned int if_nametoindex(const char *)'),
    sendto: self.func('long sendto(int, const uint8_t *, size_t, int, const uint8_t *, uint32_t)'),
    recvmsg: self.func('long recvmsg(int, uint8_t *, int)'),
    setns: self.func('int setns(int, int)'),
    // By way of pthreads, because the C library of Alpine refuses sched_setscheduler; there the type is a pointer, of the same size.
    setThreadScheduling: (policy, parameters) => setSchedule(thisThread(), policy, parameters),
    errno: () => koffi.errno(),
    addressOf: (bytes) => koffi.address(bytes),
  };
  return loaded;
}

/** The latest failure as an error with the system's code; "binding the source address failed: address not available". */
export function systemError(libc: Libc, what: string): NodeJS.ErrnoException {
  // First of all: whatever runs in between may set another.
  const errno = libc.errno();
  const [code, description] = getSystemErrorMap().get(-errno) ?? ['UNKNOWN', 'unknown error'];
  return Object.assign(new Error(`${what} failed: ${description}`), { code });
}
