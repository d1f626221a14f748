/**
 * Answers the live API as many agents do, each at a port of its own: `node agents.ts ADDRESS FIRST_PORT COUNT`. Prints how many requests
 * were answered, every second.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import process from 'node:process';
import type { LiveSession } from '../../../src/live/contract.ts';
import { livePaths } from '../../../src/live/contract.ts';
import { LiveApi } from '../../../src/live/live-api.ts';
import { systemClock } from '../../../src/system/clock.ts';
import { sessionsOf } from './objects.ts';

const [address = '', firstPort = '', count = ''] = process.argv.slice(2);
let answered = 0;

for (let index = 0; index < Number(count); index++) {
  const live = new LiveApi(systemClock, { command: 'agent', version: '0.2.0', node: `node-${index}` });
  live.addList(livePaths.sessions, {
    parameters: ['peer', 'node'],
    items: () => ({ items: sessionsOf(index) satisfies readonly LiveSession[] }),
  });
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    answered++;
    const url = new URL(request.url ?? '/', 'http://agent');
    const { status, headers, body } = (await live.answer(url.pathname, url.searchParams)) ?? { status: 404, headers: {}, body: '' };
    response.writeHead(status, headers).end(body);
  };
  const server = createServer((request, response) => void answer(request, response));
  server.listen(Number(firstPort) + index, address);
}

setInterval(() => console.log(answered), 1000);
