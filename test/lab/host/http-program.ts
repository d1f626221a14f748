import { get } from 'node:http';
import process from 'node:process';
import { text } from 'node:stream/consumers';
import type { HttpReply } from './two-nodes.ts';

/** Sends HTTP requests from the namespace in which it runs, each over a connection of its own. */
function request(url: string, milliseconds: number): Promise<HttpReply | undefined> {
  return new Promise((resolve) => {
    const sent = get(url, { agent: false, signal: AbortSignal.timeout(milliseconds) }, (answer) => {
      const reply = async (): Promise<HttpReply> => ({
        status: answer.statusCode ?? 0,
        headers: answer.headers as Record<string, string>,
        body: await text(answer),
      });
      reply().then(resolve, () => resolve(undefined));
    });
    sent.on('error', () => resolve(undefined));
  });
}

process.on('message', ({ id, args: [url, milliseconds] }: { id: number; args: [string, number] }) => {
  void request(url, milliseconds).then((value) => process.send?.({ id, value }));
});
process.on('disconnect', () => process.exit());
