import { text } from 'node:stream/consumers';
import { decodeTraceLine, type Streamed, type TraceEvent } from '../../../bgp/index.ts';
import { LineFramer } from '../../../kube/format/json/line-framer.ts';
import { debugPaths, livePaths, type LiveIndex, type LiveProblem } from '../../../live/contract.ts';
import { requestLocal, LocalSocketError, type LocalAnswer } from '../../../system/http/local-socket.ts';
import { UsageError } from '../../context/command-context.ts';
import { limits } from '../../limits.ts';

interface TraceRequest {
  readonly socket: string;
  readonly peer: string;
  /** The node whose agent is expected. Absent: any node. */
  readonly node?: string;
}

export interface OpenTrace {
  /** The node whose sessions are traced. */
  readonly node: string;
  /** Ends when the signal aborts, the peer is removed, or the agent ends. */
  readonly events: AsyncIterable<Streamed<TraceEvent>>;
}

/** Requests a trace from the agent of this host. Rejects with UsageError when the agent cannot be reached or refuses. */
export async function openTrace({ socket, peer, node }: TraceRequest, signal: AbortSignal): Promise<OpenTrace> {
  try {
    const { process } = JSON.parse(await text((await requestLocal(socket, livePaths.index, signal)).chunks)) as LiveIndex;
    if (process.command === 'controller') throw new UsageError(`${socket} belongs to a controller, but only agents have sessions`);
    const here = process.node ?? '';
    if (node !== undefined && node !== here)
      throw new UsageError(
        `the agent at ${socket} runs on node ${here}: run this on ${node}, because an agent sends traces only to its own host`,
      );
    const answer = await requestLocal(socket, `${debugPaths.bgpTrace}?peer=${encodeURIComponent(peer)}`, signal);
    if (answer.status !== 200) throw new UsageError(await refusalOf(answer));
    return { node: here, events: eventsOf(answer) };
  } catch (error) {
    if (error instanceof LocalSocketError) throw new UsageError(error.message);
    throw error;
  }
}

async function refusalOf(answer: LocalAnswer): Promise<string> {
  const body = await text(answer.chunks);
  if (answer.contentType !== 'application/json') return `the agent answers ${answer.status}: its version may have no traces`;
  const { error, fix } = JSON.parse(body) as LiveProblem;
  return `${error} (${fix})`;
}

async function* eventsOf({ chunks }: LocalAnswer): AsyncGenerator<Streamed<TraceEvent>> {
  const framer = new LineFramer(limits.traceLineBytes);
  for await (const chunk of chunks) {
    for (const line of framer.push(Buffer.from(chunk))) {
      const event = decodeTraceLine(line);
      if (event !== undefined) yield event;
    }
  }
}
