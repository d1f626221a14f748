import assert from 'node:assert';
import type * as Koffi from 'koffi';
import { createRequire } from 'node:module';
import { endianness } from 'node:os';
import { getSystemErrorMap } from 'node:util';

/** Functions of libc that Node does not offer. After a negative result `errno` returns the reason. */
export interface Libc {
  readonly socket: (domain: number, type: number, protocol: number) => number;
  readonly setsockopt: (fd: number, level: number, name: number, value: Uint8Array, length: number) => number;
  /** Writes the option's value and its length into the buffers passed. */
  readonly getsockopt: (fd: number, level: number, name: number, value: Uint8Array, length: Uint32Array) => number;
  readonly bind: (fd: number, address: Uint8Array, length: number) => number;
  readonly connect: (fd: number, address: Uint8Array, length: number) => number;
  /** Writes the address and its length into the buffers passed. */
  readonly getsockname: (fd: number, address: Uint8Array, length: Uint32Array) => number;
  readonly send: (fd: number, data: Uint8Array, length: number, flags: number) => number;
  /** Like `send`, but runs in a thread of Node's pool. `errno` does not report its failure. */
  readonly sendInThread: (fd: number, data: Uint8Array, length: number, flags: number) => Promise<number>;
  readonly recv: (fd: number, data: Uint8Array, length: number, flags: number) => number;
  /** Like `recv`, but runs in a thread of Node's pool. `errno` does not report its failure. The buffer must not be used until it ends. */
  readonly recvInThread: (fd: number, data: Uint8Array, length: number, flags: number) => Promise<number>;
  readonly close: (fd: number) => number;
  /** For commands of fcntl(2) that take a number. */
  readonly fcntl: (fd: number, command: number, value: number) => number;
  /** Returns 0 when there is no such interface. */
  readonly interfaceIndex: (name: string) => number;
  readonly sendto: (fd: number, data: Uint8Array, length: number, flags: number, to: Uint8Array, toLength: number) => number;
  /** Takes a struct msghdr and modifies it. */
  readonly recvmsg: (fd: number, header: Uint8Array, flags: number) => number;
  /** Takes an array of struct mmsghdr and modifies it. Returns how many of them have a message. */
  readonly recvmmsg: (fd: number, headers: Uint8Array, count: number, flags: number, timeout: null) => number;
  /** Takes an array of struct pollfd and writes the results into it. Blocks the thread for at most `milliseconds`. */
  readonly poll: (descriptors: Uint8Array, count: number, milliseconds: number) => number;
  readonly eventfd: (initial: number, flags: number) => number;
  readonly read: (fd: number, data: Uint8Array, length: number) => number;
  readonly write: (fd: number, data: Uint8Array, length: number) => number;
  /** Moves the calling thread into the namespace that the descriptor refers to. */
  readonly setns: (fd: number, kind: number) => number;
  /**
   * Sets the scheduling policy of the calling thread (sched(7)); the parameters are a struct sched_param. Returns 0 or the error number.
   */
  readonly setThreadScheduling: (policy: number, parameters: Uint8Array) => number;
  readonly errno: () => number;
  /**
   * Returns the memory address of a buffer. It is valid while the buffer is referenced: unlike small views, an ArrayBuffer is never moved.
   */
  readonly addressOf: (bytes: ArrayBuffer) => bigint;
}

let loaded: Libc | undefined;

/** Returns undefined on systems other than Linux and on machines for which the native module has no binary. */
export function loadLibc(): Libc | undefined {
  if (process.platform !== 'linux') return undefined;
  assert(endianness() === 'LE', 'structures for the kernel are written for little-endian machines');
  if (loaded !== undefined) return loaded;
  let koffi: typeof Koffi;
  try {
    koffi = createRequire(import.meta.url)('koffi') as typeof Koffi;
  } catch {
    return undefined;
  }
  // Looks symbols up in the running process. That needs no path and works with glibc and musl.
  const self = koffi.load(null);
  const send = self.func('long send(int, const uint8_t *, size_t, int)');
  const receive = self.func('long recv(int, uint8_t *, size_t, int)');
  const control = self.func('int fcntl(int, int, ...)');
  const thisThread = self.func('uintptr_t pthread_self()');
  const setSchedule = self.func('int pthread_setschedparam(uintptr_t, int, const uint8_t *)');
  loaded = {
    socket: self.func('int socket(int, int, int)'),
    setsockopt: self.func('int setsockopt(int, int, int, const uint8_t *, uint32_t)'),
    getsockopt: self.func('int getsockopt(int, int, int, uint8_t *, uint32_t *)'),
    bind: self.func('int bind(int, const uint8_t *, uint32_t)'),
    connect: self.func('int connect(int, const uint8_t *, uint32_t)'),
    getsockname: self.func('int getsockname(int, uint8_t *, uint32_t *)'),
    send,
    sendInThread: inThread(send),
    recv: receive,
    recvInThread: inThread(receive),
    close: self.func('int close(int)'),
    fcntl: (fd, command, value) => control(fd, command, 'int', value) as number,
    interfaceIndex: self.func('unsigned int if_nametoindex(const char *)'),
    sendto: self.func('long sendto(int, const uint8_t *, size_t, int, const uint8_t *, uint32_t)'),
    recvmsg: self.func('long recvmsg(int, uint8_t *, int)'),
    recvmmsg: self.func('int recvmmsg(int, uint8_t *, unsigned int, int, void *)'),
    poll: self.func('int poll(uint8_t *, unsigned long, int)'),
    eventfd: self.func('int eventfd(unsigned int, int)'),
    read: self.func('long read(int, uint8_t *, size_t)'),
    write: self.func('long write(int, const uint8_t *, size_t)'),
    setns: self.func('int setns(int, int)'),
    // Uses pthreads because musl (Alpine) refuses sched_setscheduler. In musl pthread_t is a pointer of the same size.
    setThreadScheduling: (policy, parameters) => setSchedule(thisThread(), policy, parameters),
    errno: () => koffi.errno(),
    addressOf: (bytes) => koffi.address(bytes),
  };
  return loaded;
}

/** Makes a function that runs in a thread of Node's pool. */
function inThread(call: {
  readonly async: (...parameters: readonly unknown[]) => unknown;
}): (...parameters: readonly unknown[]) => Promise<number> {
  return (...parameters) =>
    new Promise((resolve, reject) => {
      call.async(...parameters, (error: Error | null, result: number) => {
        if (error === null) resolve(result);
        else reject(error);
      });
    });
}

/** Returns the latest failure as an error with the system's code, such as "binding the source address failed: address not available". */
export function systemError(libc: Libc, what: string): NodeJS.ErrnoException {
  // Must be read first: any other call may overwrite errno.
  const errno = libc.errno();
  const [code, description] = getSystemErrorMap().get(-errno) ?? ['UNKNOWN', 'unknown error'];
  return Object.assign(new Error(`${what} failed: ${description}`), { code });
}
