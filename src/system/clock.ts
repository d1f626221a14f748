/** Time as a capability: every part of Herald that waits or measures takes a Clock, so that tests run on a virtual one. */
export interface Clock {
  /** Milliseconds on a monotonic scale; only differences mean something. */
  now(): number;
  /** Wall-clock time, for timestamps that people read. */
  date(): Date;
  /** Runs `callback` once after `milliseconds`; the result cancels it, any number of times. */
  after(milliseconds: number, callback: () => void): Cancel;
}

export type Cancel = () => void;

export const systemClock: Clock = {
  now: () => performance.now(),
  date: () => new Date(),
  after(milliseconds, callback) {
    if (milliseconds <= 0) {
      // A timer of Node's waits a millisecond at least; this is the next turn of the event loop, after what has arrived.
      const immediate = setImmediate(callback);
      return () => clearImmediate(immediate);
    }
    const timer = setTimeout(callback, milliseconds);
    return () => clearTimeout(timer);
  },
};

/** Resolves after `milliseconds`; rejects with the signal's reason when that aborts first. */
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
