import { once } from 'node:events';
import { request as httpsRequest } from 'node:https';
import type { IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { defined } from '../../src/lang/defined.ts';
import type { Credentials } from './cluster.ts';

export interface ApiRequest {
  /** GET by default. */
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** "/api/v1/namespaces?limit=1" */
  readonly path: string;
  readonly body?: unknown;
  /** application/json by default; "application/apply-patch+yaml" for server-side apply. */
  readonly contentType?: string;
  /** As what the answer is asked for; JSON by default. */
  readonly accept?: string;
  /** The body is the text to send: JSON of numbers that JavaScript does not have. */
  readonly raw?: boolean;
}

export interface ApiResponse {
  readonly status: number;
  /** What JSON.parse makes of it, else the text. */
  readonly body: unknown;
}

/** One request on a connection of its own. Rejects where there is no answer. */
export async function send({ server, certificateAuthority, token, socket }: Credentials, request: ApiRequest): Promise<ApiResponse> {
  const { method = 'GET', path, body, contentType = 'application/json', accept, raw = false } = request;
  const outgoing = httpsRequest(new URL(path, server), {
    method,
    ca: certificateAuthority,
    agent: false,
    ...(socket === undefined ? {} : { socketPath: socket, servername: 'kubernetes.default.svc' }),
    headers: {
      authorization: `Bearer ${token}`,
      ...(body === undefined ? {} : { 'content-type': contentType }),
      ...defined({ accept }),
    },
  });
  outgoing.end(body === undefined ? undefined : raw ? body : JSON.stringify(body));
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
  return { status: response.statusCode ?? 0, body: parsed(await text(response)) };
}

function parsed(answer: string): unknown {
  try {
    return JSON.parse(answer);
  } catch {
    return answer;
  }
}
