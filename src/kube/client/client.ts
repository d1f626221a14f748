import type { Clock } from '../../system/clock.ts';
import type { Log } from '../../system/log.ts';
import { ClockSkew } from './clock-skew.ts';
import type { ClientObserver } from './client-observer.ts';
import type { Connection } from './connection.ts';
import { StallTimeout } from './stall-timeout.ts';
import { answerError, KubeError } from '../error.ts';
import { jsonType, jsonValue } from '../format/json/json-format.ts';
import { FormatChoice, protobufOrJson } from '../format/format-choice.ts';
import { readIdentity } from '../format/identity.ts';
import type { ListPage } from '../format/object-format.ts';
import type { ObjectTable } from '../format/protobuf/object-table.ts';
import { readRefusal } from '../format/refusal.ts';
import { limits } from '../limits.ts';
import { HttpTransport, type HttpRequest, type HttpResponse } from './transport.ts';

export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

export interface Write {
  readonly method: 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly query?: Query;
  readonly contentType?:
    | 'application/json'
    | 'application/merge-patch+json'
    | 'application/strategic-merge-patch+json'
    | 'application/apply-patch+yaml';
  readonly body?: unknown;
  /** Default: the object. `identity`: only its name and version, in a form that costs the API server and Herald least. */
  readonly answer?: 'object' | 'identity';
}

/** The body of a successful answer, and what it is written in. */
export interface Answer<Body> {
  /** Content-Type. */
  readonly contentType: string | undefined;
  readonly body: Body;
}

/** Sends requests to the API server. An error status becomes a KubeError. Callers decide what to retry, and when. */
export class KubeClient {
  readonly #connection: Connection;
  readonly #transport: HttpTransport;
  readonly #clock: Clock;
  readonly #observer: ClientObserver | undefined;
  /** Compares the clocks with every answer that is not a watch. */
  readonly clockSkew: ClockSkew;

  constructor(
    connection: Connection,
    {
      clock,
      observer,
      log,
      userAgent = 'herald',
    }: { readonly clock: Clock; readonly observer?: ClientObserver; readonly log?: Log; readonly userAgent?: string },
  ) {
    this.#connection = connection;
    this.#transport = new HttpTransport(connection, userAgent);
    this.#clock = clock;
    this.#observer = observer;
    this.clockSkew = new ClockSkew(log);
  }

  /** Names the server in messages: "192.0.2.1:6443". */
  get server(): string {
    return this.#connection.server.host;
  }

  /** Sends a GET and returns the decoded JSON response. */
  async get(path: string, query: Query = {}, signal?: AbortSignal): Promise<unknown> {
    const { body } = await this.getAs(jsonType, path, query, signal);
    return jsonValue(body.toString('utf8'));
  }

  /** Sends a GET that accepts these media types, and returns the octets of the response. */
  getAs(accept: string, path: string, query: Query, signal?: AbortSignal): Promise<Answer<Buffer>> {
    return this.#exchange({ method: 'GET', path: withQuery(path, query), headers: { Accept: accept } }, signal);
  }

  /** Reads one page of a list, in protobuf where the API server has it. Throws KubeError, also while its objects are taken. */
  async page(path: string, table: ObjectTable, query: Query, signal?: AbortSignal): Promise<ListPage> {
    const format = new FormatChoice(table);
    const { contentType, body } = await this.getAs(format.accept, path, query, signal);
    return format.formatOf(contentType).list(body);
  }

  /** Sends a write and returns the decoded response: the object after the write, or the part of it that `answer` names. */
  async write(
    { method, path, query = {}, contentType = jsonType, body, answer = 'object' }: Write,
    signal?: AbortSignal,
  ): Promise<unknown> {
    const accept = answer === 'object' ? jsonType : protobufOrJson;
    const headers = { Accept: accept, 'Content-Type': contentType };
    const content = body === undefined ? {} : { body: jsonText(body) };
    const answered = await this.#exchange({ method, path: withQuery(path, query), headers, ...content }, signal);
    return answer === 'object' ? jsonValue(answered.body.toString('utf8')) : readIdentity(answered.contentType, answered.body);
  }

  /** Sends a watch that accepts these media types (default: JSON), and returns the octets of its response as they arrive, until the signal aborts. */
  async stream(path: string, query: Query, signal: AbortSignal, accept?: string): Promise<Answer<AsyncIterable<Buffer>>> {
    return this.#observed('WATCH', async () => {
      const response = await this.#transport.request({
        method: 'GET',
        path: withQuery(path, query),
        headers: { Accept: accept ?? jsonType },
        signal,
      });
      if (response.status !== 200) throw await this.#refusal(response);
      return { status: 200, value: { contentType: response.contentType, body: response.parts() } };
    });
  }

  close(): void {
    this.#transport.close();
  }

  async #exchange(request: Omit<HttpRequest, 'signal'>, outer: AbortSignal | undefined): Promise<Answer<Buffer>> {
    const deadline = new StallTimeout(this.#clock, this.#connection.requestMilliseconds ?? limits.answerMilliseconds, outer);
    try {
      return await this.#observed(request.method, async () => {
        const sent = this.#clock.date().getTime();
        const response = await this.#transport.request({ ...request, signal: deadline.signal });
        this.clockSkew.observe(response.date, sent, this.#clock.date().getTime());
        if (response.status < 200 || response.status > 299) throw await this.#refusal(response);
        const { status, contentType } = response;
        return { status, value: { contentType, body: await response.whole(limits.answerBytes) } };
      });
    } finally {
      deadline.end();
    }
  }

  async #observed<T>(verb: string, exchange: () => Promise<{ readonly status: number; readonly value: T }>): Promise<T> {
    const began = this.#clock.now();
    const tell = (code: Parameters<ClientObserver['request']>[1]): void => this.#observer?.request(verb, code, this.#clock.now() - began);
    try {
      const { status, value } = await exchange();
      tell(status);
      return value;
    } catch (error) {
      tell(error instanceof KubeError ? (error.status ?? error.code) : 'aborted');
      throw error;
    }
  }

  async #refusal(response: HttpResponse): Promise<KubeError> {
    if (response.status === 401) this.#connection.expired();
    const { message, details } = readRefusal(response.contentType, await response.whole(limits.answerBytes));
    return answerError(response.status, message, response.retryAfter, details);
  }
}

/** Only the rare body with a bigint is written by way of `exactly`, which takes several times as long. */
function jsonText(body: unknown): string {
  try {
    return JSON.stringify(body);
  } catch {
    return JSON.stringify(body, exactly);
  }
}

/** Writes a bigint with all its digits: an int64 may be too large for a JavaScript number. */
function exactly(_: string, value: unknown): unknown {
  return typeof value === 'bigint' ? rawJSON(String(value)) : value;
}

/** JSON.rawJSON of ECMAScript 2026. TypeScript has no types for it yet. */
const { rawJSON } = JSON as unknown as { readonly rawJSON: (text: string) => unknown };

function withQuery(path: string, query: Query): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) parameters.append(name, String(value));
  return parameters.size === 0 ? path : `${path}?${parameters.toString()}`;
}
