import { livePaths, type LiveIndex, type LiveProblem } from '../../live/contract.ts';
import { requestLocal, LocalSocketError } from '../../system/http/local-socket.ts';
import { limits } from '../limits.ts';
import { LiveError, type LiveClient } from './live-client.ts';

/** Connects to the process at a socket of this host. Rejects with LiveError. */
export async function connectToSocket(socket: string, stopped: AbortSignal): Promise<LiveClient> {
  const ask = (path: string, query: Readonly<Record<string, string>>): Promise<unknown> => {
    const text = new URLSearchParams(query).toString();
    return askSocket(socket, text === '' ? path : `${path}?${text}`, stopped);
  };
  const { process } = (await ask(livePaths.index, {})) as Partial<LiveIndex>;
  if (process === undefined) throw foreignProgram(socket);
  const { command, node } = process;
  const who = command === 'controller' ? 'the controller' : `the agent of ${node ?? 'this host'}`;
  return { who, process, socket, ask };
}

async function askSocket(socket: string, target: string, stopped: AbortSignal): Promise<unknown> {
  const late = AbortSignal.timeout(limits.liveMilliseconds);
  try {
    const { status, chunks } = await requestLocal(socket, target, AbortSignal.any([stopped, late]));
    const text = await readBody(chunks);
    if (status === 200) return JSON.parse(text) as unknown;
    throw refusalOf(socket, status, text);
  } catch (error) {
    if (stopped.aborted) throw stopped.reason;
    const options = { cause: error };
    if (late.aborted)
      throw new LiveError(`${socket} did not answer within ${limits.liveMilliseconds / 1000} s`, 'check the log of the process', options);
    if (error instanceof LocalSocketError) {
      const fix = 'run this on the host of the process, as its user, and use --socket if it has another path';
      throw new LiveError(error.message, fix, options);
    }
    if (error instanceof SyntaxError) throw foreignProgram(socket, options);
    throw error;
  }
}

/** The reason that the process gives, if it gives one (LiveProblem). */
function refusalOf(socket: string, status: number, text: string): LiveError {
  const found = text.startsWith('{') ? (JSON.parse(text) as Partial<LiveProblem>) : {};
  if (typeof found.error === 'string') return new LiveError(found.error.slice(0, 300), found.fix ?? '');
  return new LiveError(`${socket} answered ${status}: ${text.trim().slice(0, 300)}`, 'the process may have another version');
}

function foreignProgram(socket: string, options?: ErrorOptions): LiveError {
  return new LiveError(`the program that answers at ${socket} is not a process of Herald`, 'name the right socket: --socket', options);
}

async function readBody(chunks: AsyncIterable<Uint8Array>): Promise<string> {
  const read: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of chunks) {
    read.push(chunk);
    length += chunk.length;
    if (length > limits.liveBytes) throw new LiveError(`an answer is longer than ${limits.liveBytes} octets`, 'ask for less');
  }
  return Buffer.concat(read).toString('utf8');
}
