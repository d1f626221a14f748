import { debugPaths, type CheckLine, type LiveProblem } from '../../../live/contract.ts';
import type { ServiceKey } from '../../../model/objects/metadata.ts';
import type { HttpAnswer } from '../../../system/http/http-listener.ts';
import type { AnswerLocal } from '../../../system/http/local-socket.ts';
import { ServiceCheck, type ServiceCheckComponents } from './service-check.ts';

/**
 * Answers `/debug/check` of the Unix socket (src/live/contract.ts), one check at a time. It starts traffic, so no port may ever serve it: who
 * may open the socket is the agent's own user.
 */
export function checkEndpoint(components: ServiceCheckComponents): AnswerLocal {
  let isBusy = false;
  return ({ query, signal }) => {
    const key = query.get('service') ?? '';
    const service = components.snapshot().services.get(key as ServiceKey);
    if (service === undefined)
      return problem(key === '' ? 400 : 404, {
        error: key === '' ? 'which Service? there is no parameter service' : `the agent of ${components.node} knows no Service ${key}`,
        fix: `ask for ${debugPaths.check}?service=NAMESPACE/NAME`,
      });
    if (isBusy) return problem(429, { error: 'the agent runs another check', fix: 'try again when it has ended' });
    isBusy = !signal.aborted;
    // The signal aborts when the response closes, also after its end.
    signal.addEventListener('abort', () => (isBusy = false), { once: true });
    const headers = { 'Content-Type': 'application/x-ndjson', 'X-Content-Type-Options': 'nosniff', 'Cache-Control': 'no-store' };
    return { status: 200, headers, chunks: encoded(new ServiceCheck(components, signal).run(service)) };
  };
}

async function* encoded(lines: AsyncIterable<CheckLine>): AsyncGenerator<Uint8Array> {
  for await (const line of lines) yield Buffer.from(`${JSON.stringify(line)}\n`);
}

function problem(status: number, content: LiveProblem): HttpAnswer {
  return { status, headers: { 'Content-Type': 'application/json' }, body: `${JSON.stringify(content)}\n` };
}
