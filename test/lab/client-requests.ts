import { createSocket } from 'node:dgram';
import { connect } from 'node:net';
import { defined } from '../../src/lang/defined.ts';
import type { Target } from './client-protocol.ts';
import type { Outcome } from './outcome.ts';

/** A pod's answer: its name, and the client's address and port as the pod saw them. */
export interface Answer {
  readonly pod: string;
  readonly client: string;
  readonly clientPort: number;
  /** The pod is about to end. Further requests must use another connection. */
  readonly closing?: true;
}

/** Makes one request, from a fresh source port unless the target names one. */
export function request(target: Target): Promise<Outcome> {
  return outcomeOf(target.protocol === 'tcp' ? requestTcp(target) : requestUdp(target));
}

/** Returns the outcome of a request that begins now. Never rejects. */
export async function outcomeOf(answer: Promise<string>): Promise<Outcome> {
  const start = performance.now();
  try {
    const { pod, client, clientPort, closing } = JSON.parse(await answer) as Answer;
    const milliseconds = performance.now() - start;
    const at = performance.timeOrigin + start;
    return { ok: true, at, milliseconds, pod, client, clientPort, ...defined({ closing }) };
  } catch (error) {
    return failure(error as Error, start);
  }
}

/** Calls back after the event loop has looked at the sockets once more. When this process was held up, the answer may be there already. */
export function afterSockets(call: () => void): void {
  setImmediate(() => setImmediate(call));
}

/** Returns the failed outcome of a request that began at this time of performance.now(). */
export function failure({ code, message }: NodeJS.ErrnoException, start: number): Outcome {
  return { ok: false, at: performance.timeOrigin + start, milliseconds: performance.now() - start, error: code ?? message };
}

function requestTcp(target: Target): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({
      host: target.address,
      port: target.port,
      noDelay: true,
      ...defined({ localPort: target.localPort }),
    });
    const timer = setTimeout(() => afterSockets(() => fail(new Error('TIMEOUT'))), target.timeoutMs);
    const fail = (error: Error): void => {
      clearTimeout(timer);
      socket.destroy();
      reject(error);
    };
    let text = '';
    socket.once('connect', () => socket.write('who\n'));
    socket.on('error', fail);
    socket.once('close', () => fail(new Error('CLOSED')));
    socket.on('data', (data: Buffer) => {
      text += data.toString();
      if (!text.endsWith('\n')) return;
      clearTimeout(timer);
      socket.end();
      resolve(text);
    });
  });
}

function requestUdp(target: Target): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = createSocket(target.address.includes(':') ? 'udp6' : 'udp4');
    let resend: NodeJS.Timeout | undefined;
    let isOver = false;
    const end = (settle: () => void): void => {
      if (isOver) return;
      isOver = true;
      clearTimeout(timer);
      clearInterval(resend);
      socket.removeAllListeners();
      socket.on('error', () => undefined);
      socket.close();
      settle();
    };
    const timer = setTimeout(() => afterSockets(() => end(() => reject(new Error('TIMEOUT')))), target.timeoutMs);
    socket.on('error', (error) => end(() => reject(error)));
    socket.once('message', (data) => end(() => resolve(data.toString())));
    // A connected socket reports ICMP errors such as ECONNREFUSED.
    socket.bind(target.localPort ?? 0, () => {
      socket.connect(target.port, target.address, (error?: Error) => {
        if (error) return end(() => reject(error));
        socket.send('who');
        if (target.resendMs !== undefined) resend = setInterval(() => socket.send('who'), target.resendMs);
      });
    });
  });
}
