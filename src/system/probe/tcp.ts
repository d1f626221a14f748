import { connect } from 'node:net';
import { systemClock, type Clock } from '../clock.ts';
import { resultOfError, type ProbeResult } from './result.ts';

export interface ProbeContext {
  readonly clock?: Clock;
  /** Ends the attempt. The promise then rejects with the signal's reason. */
  readonly signal?: AbortSignal;
}

/**
 * Opens a TCP connection and resets it at once, so that nothing of it remains on this host (as the probes of kubelet do). `address` is
 * IPv4 or IPv6 as text. Resolves in at most `timeout` milliseconds; never rejects, except when the signal aborts.
 */
export function connectTcp(
  address: string,
  port: number,
  timeout: number,
  { clock = systemClock, signal }: ProbeContext = {},
): Promise<ProbeResult> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const begin = clock.now();
    const elapsed = (): number => clock.now() - begin;
    const socket = connect({ host: address, port, autoSelectFamily: false });
    const end = (settle: () => void): void => {
      cancel();
      signal?.removeEventListener('abort', abort);
      // A socket that still connects would wait for its connection to reset it.
      if (socket.connecting) socket.destroy();
      else socket.resetAndDestroy();
      settle();
    };
    const abort = (): void => end(() => reject(signal?.reason as Error));
    const cancel = clock.after(timeout, () => end(() => resolve({ result: 'silent', milliseconds: elapsed() })));
    signal?.addEventListener('abort', abort, { once: true });
    socket.once('connect', () => end(() => resolve({ result: 'answered', milliseconds: elapsed() })));
    // Later errors, such as that of a reset that arrives together with ours, change nothing.
    socket.on('error', ({ code }: NodeJS.ErrnoException) => end(() => resolve(resultOfError(code, elapsed()))));
  });
}
