import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { Agent, request } from 'node:https';
import { text } from 'node:stream/consumers';
import type { Credentials } from '../../conformance/cluster.ts';
import { pathOf } from '../../conformance/manifests.ts';
import type { ApiObject } from '../../kube-fixture/object.ts';

/** Requests at the same time. */
const atOnce = 8;

const merge = 'application/merge-patch+json';

type Method = 'PATCH' | 'DELETE';

/** Writes objects to an API server over connections that it keeps. */
export class ApiWriter {
  readonly #credentials: Credentials;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: atOnce });

  constructor(credentials: Credentials) {
    this.#credentials = credentials;
  }

  /** Creates or replaces objects, and the status of those that have one. */
  apply(objects: readonly ApiObject[]): Promise<void> {
    return inParallel(objects, async (object) => {
      const { status, ...rest } = object;
      await this.#send('PATCH', pathOf(rest), rest);
      const { apiVersion, kind, metadata } = object;
      // Not applied: two addresses of one type would be duplicates.
      if (status !== undefined) await this.#send('PATCH', `${pathOf(object)}/status`, { apiVersion, kind, metadata, status }, merge);
    });
  }

  delete(objects: readonly ApiObject[]): Promise<void> {
    return inParallel(objects, (object) => this.#send('DELETE', pathOf(object)));
  }

  close(): void {
    this.#agent.destroy();
  }

  async #send(method: Method, path: string, body?: object, contentType = 'application/apply-patch+yaml'): Promise<void> {
    const { server, certificateAuthority: ca, token, socket } = this.#credentials;
    const headers = { authorization: `Bearer ${token}`, ...(body === undefined ? {} : { 'content-type': contentType }) };
    const reached = socket === undefined ? {} : { socketPath: socket, servername: 'kubernetes.default.svc' };
    const query = method === 'PATCH' && contentType !== merge ? '?fieldManager=bench&force=true' : '';
    const outgoing = request(new URL(`${path}${query}`, server), { method, ca, agent: this.#agent, headers, ...reached });
    outgoing.end(body === undefined ? undefined : JSON.stringify(body));
    const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
    const answer = await text(response);
    if ((response.statusCode ?? 0) >= 300) throw new Error(`${method} ${path}: ${response.statusCode} ${answer}`);
  }
}

async function inParallel(objects: readonly ApiObject[], work: (object: ApiObject) => Promise<void>): Promise<void> {
  const waiting = objects.toReversed();
  const worker = async (): Promise<void> => {
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) await work(next);
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}
