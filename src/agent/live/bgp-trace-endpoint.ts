import { encodeTraceLine, type Speaker, type TraceStream } from '../../bgp/index.ts';
import type { LiveProblem } from '../../live/contract.ts';
import type { HttpAnswer } from '../../system/http/http-listener.ts';
import type { AnswerLocal } from '../../system/http/local-socket.ts';

/** Streams the messages between the speaker and one of its peers for as long as the client reads (src/live/contract.ts). */
export function traceEndpoint(speaker: Pick<Speaker, 'peer' | 'peers'>): AnswerLocal {
  return ({ query, signal }) => {
    const name = query.get('peer') ?? '';
    const peer = speaker.peer(name);
    if (peer === undefined) return unknownPeer(name, speaker);
    const headers = { 'Content-Type': 'application/x-ndjson', 'X-Content-Type-Options': 'nosniff', 'Cache-Control': 'no-store' };
    return { status: 200, headers, chunks: linesOf(peer.trace(), signal) };
  };
}

/** A client that disconnects ends the trace at once, even while no message passes. */
async function* linesOf(trace: TraceStream, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  const end = (): void => void trace.return();
  signal.addEventListener('abort', end, { once: true });
  if (signal.aborted) end();
  try {
    for await (const event of trace) yield Buffer.from(`${encodeTraceLine(event)}\n`);
  } finally {
    signal.removeEventListener('abort', end);
    end();
  }
}

function unknownPeer(name: string, { peers }: Pick<Speaker, 'peers'>): HttpAnswer {
  const names = peers.map((peer) => peer.name).toSorted();
  const problem: LiveProblem = {
    error: name === '' ? 'which BGPPeer? there is no parameter peer' : `this node has no session with a BGPPeer ${name}`,
    fix: names.length === 0 ? 'it has none at all: herald explain node says why' : `it has sessions with ${names.join(', ')}`,
  };
  return { status: name === '' ? 400 : 404, headers: { 'Content-Type': 'application/json' }, body: `${JSON.stringify(problem)}\n` };
}
