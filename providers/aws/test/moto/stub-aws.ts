import { createServer, type IncomingMessage, type Server } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';

export interface StubRequest {
  /** The parameters of the query protocol, including Action. */
  readonly parameters: URLSearchParams;
  readonly headers: IncomingMessage['headers'];
  readonly path: string;
}

export interface StubAnswer {
  readonly status?: number;
  readonly body: string;
  readonly contentType?: string;
}

/** An HTTP server on loopback that answers as the test defines, and records its requests. */
export class StubAws implements AsyncDisposable {
  readonly requests: StubRequest[] = [];
  readonly #server: Server;

  private constructor(answer: (request: StubRequest) => StubAnswer | 'hang up') {
    this.#server = createServer((incoming, outgoing) => {
      const chunks: Buffer[] = [];
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
      incoming.on('end', () => {
        const parameters = new URLSearchParams(Buffer.concat(chunks).toString('utf8'));
        const request = { parameters, headers: incoming.headers, path: incoming.url ?? '' };
        this.requests.push(request);
        const answered = answer(request);
        if (answered === 'hang up') {
          incoming.socket.destroy();
          return;
        }
        outgoing.writeHead(answered.status ?? 200, {
          'content-type': answered.contentType ?? 'text/xml',
          'x-amzn-requestid': `r-${this.requests.length}`,
        });
        outgoing.end(answered.body);
      });
    });
  }

  static async start(answer: (request: StubRequest) => StubAnswer | 'hang up'): Promise<StubAws> {
    const stub = new StubAws(answer);
    stub.#server.listen(0, '127.0.0.1');
    await once(stub.#server, 'listening');
    return stub;
  }

  get endpoint(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }
}

/** An answer in the query protocol. */
export function result(action: string, content: string): StubAnswer {
  const body = `<${action}Response><${action}Result>${content}</${action}Result><ResponseMetadata><RequestId>unread</RequestId></ResponseMetadata></${action}Response>`;
  return { body };
}

export function refusal(code: string, status = 400): StubAnswer {
  const body = `<ErrorResponse><Error><Type>Sender</Type><Code>${code}</Code><Message>as the test says</Message></Error><RequestId>unread</RequestId></ErrorResponse>`;
  return { status, body };
}
