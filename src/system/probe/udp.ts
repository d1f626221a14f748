import { createSocket } from 'node:dgram';
import { systemClock } from '../clock.ts';
import { resultOfError, type ProbeResult } from './result.ts';
import type { ProbeContext } from './tcp.ts';

/**
 * Sends one empty UDP datagram. `answered` means that a datagram came back, `refused` that ICMP said "port unreachable". `silent` says
 * little: UDP need not answer, and few programs answer an empty datagram. Resolves in at most `timeout` milliseconds; never rejects, except
 * when the signal aborts.
 */
export function sendUdp(
  address: string,
  port: number,
  timeout: number,
  { clock = systemClock, signal }: ProbeContext = {},
): Promise<ProbeResult> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const begin = clock.now();
    const elapsed = (): number => clock.now() - begin;
    const socket = createSocket(address.includes(':') ? 'udp6' : 'udp4');
    let isOpen = true;
    const end = (settle: () => void): void => {
      cancel();
      signal?.removeEventListener('abort', abort);
      if (isOpen) socket.close();
      isOpen = false;
      settle();
    };
    const abort = (): void => end(() => reject(signal?.reason as Error));
    const cancel = clock.after(timeout, () => end(() => resolve({ result: 'silent', milliseconds: elapsed() })));
    const failed = ({ code }: NodeJS.ErrnoException): void => end(() => resolve(resultOfError(code, elapsed())));
    signal?.addEventListener('abort', abort, { once: true });
    socket.on('error', failed);
    socket.once('message', () => end(() => resolve({ result: 'answered', milliseconds: elapsed() })));
    // Only a connected socket receives ICMP errors, and only the peer's datagrams.
    socket.connect(port, address, (error?: NodeJS.ErrnoException) => {
      if (error !== undefined) failed(error);
      else if (isOpen) socket.send(Buffer.alloc(0), (unsent) => (unsent === null ? undefined : failed(unsent)));
    });
  });
}
