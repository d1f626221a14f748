import { debugPaths, type CheckLine, type LiveProblem } from '../../../live/contract.ts';
import type { ServiceKey } from '../../../model/objects/metadata.ts';
import { sleep, type Clock } from '../../../system/clock.ts';
import { LocalSocketError, requestLocal, type LocalAnswer } from '../../../system/http/local-socket.ts';
import { limits } from '../../limits.ts';
import { LiveError } from '../../live/live-client.ts';
import { readCheckLines } from './check-lines.ts';

/** Pause before an agent that runs another check is asked again. */
const busyMilliseconds = 1000;

/** Asks the agent at a socket of this host to check a Service. Returns what it answered, also if it ended early. Rejects with LiveError. */
export async function checkBySocket(
  socket: string,
  service: ServiceKey,
  { clock, stopped }: { readonly clock: Clock; readonly stopped: AbortSignal },
): Promise<readonly CheckLine[]> {
  const late = AbortSignal.timeout(limits.checkAnswerMilliseconds);
  const signal = AbortSignal.any([stopped, late]);
  const lines: CheckLine[] = [];
  try {
    for (;;) {
      const answer = await requestLocal(socket, `${debugPaths.check}?service=${encodeURIComponent(service)}`, signal);
      if (answer.status === 429) {
        await sleep(clock, busyMilliseconds, signal);
        continue;
      }
      if (answer.status !== 200) throw await refusalOf(answer);
      for await (const line of readCheckLines(answer.chunks)) if (line.type !== 'begin') lines.push(line);
      return lines;
    }
  } catch (error) {
    if (stopped.aborted || error instanceof LiveError) throw error;
    // The lines until then are results. Without the last one the check counts as cut.
    if (lines.length > 0) return lines;
    if (late.aborted) throw new LiveError('it runs another check, or does not answer', 'try again', { cause: error });
    if (!(error instanceof LocalSocketError)) throw error;
    throw new LiveError(error.message, 'run this on the host of the process, as its user, and use --socket if it has another path', {
      cause: error,
    });
  }
}

async function refusalOf({ contentType, chunks }: LocalAnswer): Promise<LiveError> {
  const parts: Uint8Array[] = [];
  for await (const chunk of chunks) parts.push(chunk);
  const text = Buffer.concat(parts).toString('utf8');
  if (contentType !== 'application/json') return new LiveError('its version has no checks', 'update it');
  const { error, fix } = JSON.parse(text) as LiveProblem;
  return new LiveError(error, fix);
}
