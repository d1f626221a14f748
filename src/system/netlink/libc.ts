import assert from 'node:assert';
import type * as Koffi from 'koffi';
import { createRequire } from 'node:module';
import { endianness } from 'node:os';

/** The calls of libc that netlink needs. Negative results leave their reason in `errno`. */
export interface NetlinkLibc {
  readonly socket: (domain: number, type: number, protocol: number) => number;
  readonly setsockopt: (fd: number, level: number, name: number, value: Uint8Array, length: number) => number;
  readonly bind: (fd: number, address: Uint8Array, length: number) => number;
  /** Writes the address, and its length, into what it is given. */
  readonly getsockname: (fd: number, address: Uint8Array, length: Uint32Array) => number;
  readonly send: (fd: number, data: Uint8Array, length: number, flags: number) => number;
  /** The same in a thread of Node's pool: `errno` says nothing about it. */
  readonly sendInThread: (fd: number, data: Uint8Array, length: number, flags: number) => Promise<number>;
  readonly recv: (fd: number, data: Uint8Array, length: number, flags: number) => number;
  readonly close: (fd: number) => number;
  /** Moves this thread into the namespace behind the descriptor. */
  readonly setns: (fd: number, kind: number) => number;
  readonly errno: () => number;
}

let loaded: NetlinkLibc | undefined;

/** Undefined on another system than Linux, and where the native module has no binary for this machine. */
export function loadNetlinkLibc(): NetlinkLibc | undefined {
  if (process.platform !== 'linux') return undefined;
  assert(endianness() === 'LE', 'netlink structures are written for little-endian machines');
  if (loaded !== undefined) return loaded;
  let koffi: typeof Koffi;
  try {
    koffi = createRequire(import.meta.url)('koffi') as typeof Koffi;
  } catch {
    return undefined;
  }
  // The symbols of the running process: no path, and glibc and musl alike.
  const self = koffi.load(null);
  const send = self.func('long send(int, const uint8_t *, size_t, int)');
  loaded = {
    socket: self.func('int socket(int, int, int)'),
    setsockopt: self.func('int setsockopt(int, int, int, const uint8_t *, uint32_t)'),
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
    setns: self.func('int setns(int, int)'),
    errno: () => koffi.errno(),
  };
  return loaded;
}
