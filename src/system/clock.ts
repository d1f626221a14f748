import process from 'node:process';

/** The source of time. Every part of Herald that waits or measures takes a Clock, so that tests can use a virtual one. */
export interface Clock {
  /** Milliseconds on a monotonic scale. Only differences between two values mean something. */
  now(): number;
  /** Wall-clock time, for timestamps that people read. */
  date(): Date;
  /** Runs `callback` once after `milliseconds`. The returned function cancels it and may be called any number of times. */
  after(milliseconds: number, callback: () => void): Cancel;
}

export type Cancel = () => void;

export const systemClock: Clock = {
  now: () => performance.now(),
  date: () => new Date(),
  after(milliseconds, callback) {
    if (milliseconds <= 0) {
      // A Node timer waits at least one millisecond. `setImmediate` runs in the next turn of the event loop, after pending I/O.
      const immediate = setImmediate(callback);
      return () => clearImmediate(immediate);
    }
    // Node drops the fraction: the timer would fire too early, and its owner would wake twice.
    const timer = setTimeout(callback, Math.ceil(milliseconds));
    return () => clearTimeout(timer);
  },
};

/** Microseconds of the host's monotonic clock. All threads of a process have this scale; `performance.now` counts from the start of each. */
export function sharedMicroseconds(): bigint {
  return process.hrtime.bigint() / 1000n;
}

/** Returns the wall-clock time of a moment on the scale of `now`. */
export function dateAt(clock: Clock, at: number): Date {
  return new Date(clock.date().getTime() - (clock.now() - at));
}

/** Returns the processor time that this process has used, in all threads. */
export function processorMilliseconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/**
 * Returns the time until the next multiple of `period` on the clock's scale, at least half a period from now. Work that repeats at the same
 * period then runs in the same turn of the event loop, so that the process wakes once for all of it.
 */
export function untilBeat(clock: Pick<Clock, 'now'>, period: number): number {
  const now = clock.now();
  return (Math.round(now / period) + 1) * period - now;
}

/** Resolves after `milliseconds`. Rejects with the signal's reason when the signal aborts first. */
export function sleep(clock: Clock, milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const cancel = clock.after(milliseconds, () => {
      signal?.removeEventListener('abort', abort);
      resolve();
    });
    const abort = (): void => {
      cancel();
      reject(signal?.reason as Error);
    };
    signal?.addEventListener('abort', abort, { once: true });
  });
}
