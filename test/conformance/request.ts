import { once } from 'node:events';
import { Agent, request as httpsRequest } from 'node:https';
import type { IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { defined } from '../../src/lang/defined.ts';
import type { Credentials } from './cluster.ts';

export interface ApiRequest {
  /** Default: GET. */
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** "/api/v1/namespaces?limit=1" */
  readonly path: string;
  readonly body?: unknown;
  /** Default: application/json. Server-side apply uses "application/apply-patch+yaml". */
  readonly contentType?: string;
  /** The Accept header. Default: JSON. */
  readonly accept?: string;
  /** `body` is text that is sent unchanged, for JSON with numbers that JavaScript cannot represent. */
  readonly raw?: boolean;
}

export interface ApiResponse {
  readonly status: number;
  /** The parsed JSON, or the text when it is not JSON. */
  readonly body: unknown;
}

/** Connections stay open for the next request, because each handshake costs both sides milliseconds of a processor. */
const agent = new Agent({ keepAlive: true });

/** Sends one request. Rejects when there is no answer. */
export async function send(credentials: Credentials, request: ApiRequest): Promise<ApiResponse> {
  const { server, certificateAuthority, token, socket } = credentials;
  const { method = 'GET', path, body, contentType = 'application/json', accept, raw = false } = request;
  const content = body === undefined ? undefined : typeof body === 'string' && raw ? body : JSON.stringify(body);
  const outgoing = httpsRequest(new URL(path, server), {
    method,
    ca: certificateAuthority,
    agent,
    ...(socket === undefined ? {} : { socketPath: socket, servername: 'kubernetes.default.svc' }),
    headers: {
      authorization: `Bearer ${token}`,
      // Node.js does not frame the body of a DELETE by itself.
      ...(content === undefined ? {} : { 'content-type': contentType, 'content-length': Buffer.byteLength(content) }),
      ...defined({ accept }),
    },
  });
  outgoing.end(content);
  try {
    const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
    return { status: response.statusCode ?? 0, body: parsed(await text(response)) };
  } catch (error) {
    // The server ended since the last request on this connection.
    if (outgoing.reusedSocket && (error as { code?: string }).code === 'ECONNRESET') return send(credentials, request);
    throw error;
  }
}

function parsed(answer: string): unknown {
  try {
    return JSON.parse(answer);
  } catch {
    return answer;
  }
}
