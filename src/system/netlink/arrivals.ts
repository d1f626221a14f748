import process from 'node:process';
import { isMainThread } from 'node:worker_threads';
import { loadLibc } from '../ffi/libc.ts';

// Constants of Linux, the same on x86-64 and arm64.
const F_SETFL = 4;
const F_SETOWN = 8;
const F_SETSIG = 10;
const O_NONBLOCK = 0o4000;
const O_ASYNC = 0o20000;
const SIGURG = 23;

/** Called when a socket of this process may have a datagram. */
const listeners = new Set<() => void>();

function onSignal(): void {
  for (const listener of listeners) listener();
}

export interface Arrivals {
  /** Has `arrived` called once, for the next datagram. One that waits already is not reported. Returns false if the kernel refuses. */
  awaitNext(): boolean;
  stop(): void;
}

/**
 * Has the kernel send a signal when a datagram arrives at a non-blocking socket, so that the process need not wake to look for one. One
 * signal serves all sockets: `arrived` may be called for a datagram of another one. Returns undefined if the kernel refuses, and in worker
 * threads, where Node.js reports no signals.
 *
 * The signal is SIGURG, which does nothing to a process that does not listen for it; SIGIO would end the process.
 */
export function followArrivals(fd: number, arrived: () => void): Arrivals | undefined {
  const libc = isMainThread ? loadLibc() : undefined;
  if (libc === undefined || libc.fcntl(fd, F_SETSIG, SIGURG) < 0 || libc.fcntl(fd, F_SETOWN, process.pid) < 0) return undefined;
  let awaited = false;
  const listener = (): void => {
    if (!awaited) return;
    // While another program changes many things, a signal for each datagram would cost more than the datagrams.
    awaited = false;
    libc.fcntl(fd, F_SETFL, O_NONBLOCK);
    arrived();
  };
  if (listeners.size === 0) process.on('SIGURG', onSignal);
  listeners.add(listener);
  return {
    awaitNext() {
      awaited ||= libc.fcntl(fd, F_SETFL, O_NONBLOCK | O_ASYNC) === 0;
      return awaited;
    },
    stop() {
      listeners.delete(listener);
      if (listeners.size === 0) process.off('SIGURG', onSignal);
    },
  };
}
