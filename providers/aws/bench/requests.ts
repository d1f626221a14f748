import { createServer, request, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Requests per second that each action may use, and its burst. */
export interface Throttle {
  readonly perSecond: number;
  readonly burst: number;
}

/**
 * Stands between a controller and moto. Counts the requests by action, and refuses those that exceed the rate of their action, as AWS does. moto
 * itself refuses none.
 */
export class Requests implements AsyncDisposable {
  readonly #server: Server;
  readonly #target: URL;
  #throttle: Throttle | undefined;
  readonly #tokens = new Map<string, { count: number; at: number }>();
  #counts = new Map<string, number>();
  #refused = 0;

  private constructor(target: string) {
    this.#target = new URL(target);
    this.#server = createServer((incoming, outgoing) => void this.#answer(incoming, outgoing));
  }

  static async start(target: string): Promise<Requests> {
    const requests = new Requests(target);
    await new Promise<void>((resolve) => requests.#server.listen(0, '127.0.0.1', resolve));
    return requests;
  }

  get endpoint(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Forgets what was counted, and refuses requests beyond this rate from now on. */
  restart(throttle: Throttle | undefined): void {
    this.#throttle = throttle;
    this.#tokens.clear();
    this.take();
  }

  /** Returns the requests of an action, for example "elasticloadbalancing DescribeTags". */
  count(action: string): number {
    return this.#counts.get(action) ?? 0;
  }

  /** Returns the requests since the last call by action, and how many of them were refused. */
  take(): { readonly byAction: Readonly<Record<string, number>>; readonly refused: number } {
    const taken = { byAction: Object.fromEntries([...this.#counts].toSorted(([a], [b]) => (a < b ? -1 : 1))), refused: this.#refused };
    this.#counts = new Map();
    this.#refused = 0;
    return taken;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #answer(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const body = Buffer.concat(await incoming.toArray());
    const action = actionOf(incoming, body.toString());
    this.#counts.set(action, (this.#counts.get(action) ?? 0) + 1);
    if (!this.#mayPass(action)) {
      this.#refused++;
      outgoing.writeHead(400, { 'content-type': 'text/xml' }).end(refusal(action));
      return;
    }
    const { hostname, port } = this.#target;
    const { method, url: path, headers } = incoming;
    const forwarded = request({ hostname, port, method, path, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    forwarded.on('error', () => outgoing.destroy());
    forwarded.end(body);
  }

  #mayPass(action: string): boolean {
    if (this.#throttle === undefined) return true;
    const { perSecond, burst } = this.#throttle;
    const now = performance.now();
    const tokens = this.#tokens.get(action) ?? { count: burst, at: now };
    const count = Math.min(burst, tokens.count + ((now - tokens.at) / 1000) * perSecond);
    this.#tokens.set(action, { count: count < 1 ? count : count - 1, at: now });
    return count >= 1;
  }
}

/** For example "elasticloadbalancing DescribeTags". */
function actionOf({ headers }: IncomingMessage, body: string): string {
  const service = /Credential=[^/]*\/[^/]*\/[^/]*\/([^/]*)\//.exec(headers.authorization ?? '')?.[1] ?? 'unknown';
  const target = headers['x-amz-target'];
  const name = typeof target === 'string' ? target.replace(/^.*\./, '') : new URLSearchParams(body).get('Action');
  return `${service} ${name ?? 'unknown'}`;
}

function refusal(action: string): string {
  // EC2 has its own form of errors.
  if (action.startsWith('ec2 '))
    return '<Response><Errors><Error><Code>RequestLimitExceeded</Code><Message>Rate exceeded</Message></Error></Errors><RequestID>1</RequestID></Response>';
  return '<ErrorResponse><Error><Type>Sender</Type><Code>Throttling</Code><Message>Rate exceeded</Message></Error><RequestId>1</RequestId></ErrorResponse>';
}
