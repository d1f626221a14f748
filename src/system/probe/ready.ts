import { sleep, type Clock } from '../clock.ts';
import type { Libc } from '../ffi/libc.ts';

export const POLLIN = 1;
export const POLLOUT = 4;
const POLLERR = 8;
const POLLHUP = 16;

/** Milliseconds between two looks at a socket that Node does not watch. */
const look = 5;

/** Waits until the socket is ready or has an error. Returns false when `timeout` milliseconds have passed. Rejects when the signal aborts. */
export async function untilReady(
  { libc, clock, signal }: { readonly libc: Libc; readonly clock: Clock; readonly signal?: AbortSignal | undefined },
  fd: number,
  events: number,
  timeout: number,
): Promise<boolean> {
  // struct pollfd
  const descriptor = Buffer.alloc(8);
  const end = clock.now() + timeout;
  for (;;) {
    descriptor.writeInt32LE(fd);
    descriptor.writeInt16LE(events, 4);
    descriptor.writeInt16LE(0, 6);
    if (libc.poll(descriptor, 1, 0) > 0 && (descriptor.readInt16LE(6) & (events | POLLERR | POLLHUP)) !== 0) return true;
    const left = end - clock.now();
    if (left <= 0) return false;
    await sleep(clock, Math.min(look, left), signal);
  }
}
