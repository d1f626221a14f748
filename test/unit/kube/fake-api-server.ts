import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { text as textOf } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { defined } from '../../../src/lang/defined.ts';
import { protobufType } from '../../../src/kube/format/protobuf/media-type.ts';
import type { ObjectTable } from '../../../src/kube/format/protobuf/object-table.ts';
import { encodedList, encodedObject, encodedStatus, frame } from './format/protobuf/encode.ts';

export interface FakeObject {
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly uid: string; readonly resourceVersion: string };
  readonly [field: string]: unknown;
}

/** Replaces one response. */
export type Fault = (response: ServerResponse, query: URLSearchParams, request: IncomingMessage) => void;

interface Watcher {
  readonly response: ServerResponse;
  readonly path: string;
  /** Set for a watch in protobuf. */
  readonly table: ObjectTable | undefined;
}

/**
 * The part of an API server that a reflector uses: lists in pages, watches and WatchList over plain HTTP on loopback, in JSON and, for kinds
 * with a table, in protobuf. Behaves correctly unless a test injected a fault.
 */
export class FakeApiServer {
  /** Every request in order: "list", "more" (a further page), "stream" (WatchList), "watch RESOURCEVERSION". */
  readonly requests: string[] = [];
  /** The path of each request. */
  readonly paths: string[] = [];
  /** The field selector of each, "" where it has none. */
  readonly queries: string[] = [];
  /** The label selector of each, "" where it has none. */
  readonly labelSelectors: string[] = [];
  readonly methods = new Set<string | undefined>();
  /** Every accepted merge patch. */
  readonly patches: { readonly path: string; readonly body: unknown }[] = [];
  readonly authorizations: (string | undefined)[] = [];
  readonly userAgents: (string | undefined)[] = [];
  /** The header Accept of each request. */
  readonly accepts: (string | undefined)[] = [];
  /** Paths that are answered in protobuf when the client accepts it. */
  readonly tables = new Map<string, ObjectTable>();
  /** Number of connections ever made. */
  connections = 0;
  streamsLists = true;
  pageItems = 2;
  compresses = false;
  /** Paths whose objects are answered 404. */
  readonly absent = new Set<string>();
  /** Paths that are answered 403. */
  readonly forbidden = new Set<string>();
  /** The user and the groups that each request asked to be taken for. */
  readonly impersonations: string[][] = [];
  /** Paths answered with this text: a log, a pod's response, an object. */
  readonly texts = new Map<string, string>();
  /** Paths answered by these faults. */
  readonly faults = new Map<string, Fault>();
  /** Every request is answered 503. */
  refuseAll = false;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #objects = new Map<string, Map<string, FakeObject>>();
  readonly #faults: Fault[] = [];
  readonly #watchers = new Set<Watcher>();
  #version = 100;
  #expiredBefore = 0;

  private constructor() {
    this.#server = createServer((request, response) => this.#answer(request, response));
    this.#server.on('connection', (socket: Socket) => {
      this.connections++;
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
    });
  }

  static async start(): Promise<FakeApiServer> {
    const fake = new FakeApiServer();
    fake.#server.listen(0, '127.0.0.1');
    await once(fake.#server, 'listening');
    return fake;
  }

  get url(): URL {
    return new URL(`http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`);
  }

  get watchers(): number {
    return this.#watchers.size;
  }

  get watched(): string[] {
    return [...this.#watchers].map(({ path }) => path);
  }

  get version(): string {
    return String(this.#version);
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }

  put(path: string, name: string, content: object = {}, namespace?: string): void {
    const objects = this.#of(path);
    const key = `${namespace ?? ''}/${name}`;
    const type = objects.has(key) ? 'MODIFIED' : 'ADDED';
    const { metadata = {}, ...rest } = content as { metadata?: object };
    const uid = `uid-${name}`;
    const object: FakeObject = {
      ...rest,
      metadata: { uid, ...metadata, name, ...defined({ namespace }), resourceVersion: this.#next() },
    };
    objects.set(key, object);
    this.#tellAll(path, type, object);
  }

  remove(path: string, name: string, namespace?: string): void {
    const objects = this.#of(path);
    const key = `${namespace ?? ''}/${name}`;
    const object = objects.get(key);
    if (object === undefined) return;
    objects.delete(key);
    this.#tellAll(path, 'DELETED', { ...object, metadata: { ...object.metadata, resourceVersion: this.#next() } });
  }

  /** Makes a change that no watch reports. */
  silently(work: () => void): void {
    const watchers = [...this.#watchers];
    this.#watchers.clear();
    work();
    for (const watcher of watchers) this.#watchers.add(watcher);
  }

  bookmark(path: string, annotations?: object): void {
    this.tell(path, 'BOOKMARK', { metadata: { resourceVersion: this.version, ...defined({ annotations }) } });
  }

  /** Sends any event or line to the watches of the path. */
  tell(path: string, type: string, object: object): void {
    for (const watcher of this.#watchers) if (watcher.path === path) watcher.response.write(eventOf(watcher, type, object));
  }

  say(path: string, bytes: string | Buffer): void {
    for (const watcher of this.#watchers) if (watcher.path === path) watcher.response.write(bytes);
  }

  /** Forbids watches to begin before the present version. */
  compact(): void {
    this.#expiredBefore = this.#version;
  }

  /** Ends every watch as after its timeout. */
  endWatches(): void {
    for (const { response } of this.#watchers) response.end();
    this.#watchers.clear();
  }

  resetConnections(): void {
    this.#watchers.clear();
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  /** Answers the next requests by these faults, one each. */
  next(...faults: readonly Fault[]): void {
    this.#faults.push(...faults);
  }

  /** Notifies the watches of all namespaces and of the object's namespace. */
  #tellAll(path: string, type: string, object: FakeObject): void {
    this.tell(path, type, object);
    const { namespace } = object.metadata;
    if (namespace !== undefined) this.tell(path.replace(/\/([^/]+)$/, `/namespaces/${namespace}/$1`), type, object);
  }

  #next(): string {
    return String(++this.#version);
  }

  #of(path: string): Map<string, FakeObject> {
    const objects = this.#objects.get(path) ?? new Map<string, FakeObject>();
    this.#objects.set(path, objects);
    return objects;
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://fake');
    const watch = searchParams.get('watch') === 'true';
    const initial = searchParams.get('sendInitialEvents') === 'true';
    const version = searchParams.get('resourceVersion') ?? '';
    this.requests.push(initial ? 'stream' : watch ? `watch ${version}` : searchParams.has('continue') ? 'more' : 'list');
    this.paths.push(pathname);
    this.queries.push(searchParams.get('fieldSelector') ?? '');
    this.labelSelectors.push(searchParams.get('labelSelector') ?? '');
    this.methods.add(request.method);
    this.authorizations.push(request.headers.authorization);
    this.userAgents.push(request.headers['user-agent']);
    this.accepts.push(request.headers.accept);
    this.impersonations.push(
      [request.headers['impersonate-user'], request.headers['impersonate-group']].flat().filter((one) => one !== undefined),
    );
    const fault = this.#faults.shift() ?? this.faults.get(pathname);
    if (fault !== undefined) return fault(response, searchParams, request);
    if (this.refuseAll) return refuse(response, 503, 'shutting down');
    if (this.absent.has(pathname)) return refuse(response, 404, 'the server could not find the requested resource');
    if (this.forbidden.has(pathname)) return refuse(response, 403, `${pathname} is forbidden`);
    const text = this.texts.get(pathname);
    if (text !== undefined) return void response.writeHead(200).end(text);
    if (initial && !this.streamsLists)
      return refuse(response, 422, 'sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled');
    if (request.method === 'PATCH') return void this.#patch(pathname, request, response);
    const table = request.headers.accept?.startsWith(protobufType) === true ? this.tables.get(pathname) : undefined;
    if (!watch) return this.#list(pathname, searchParams, response, table);
    const watcher = { response, path: pathname, table };
    const write = (type: string, object: object): void => void response.write(eventOf(watcher, type, object));
    response.on('close', () => this.#watchers.delete(watcher));
    response.writeHead(200, { 'Content-Type': table === undefined ? 'application/json' : `${protobufType};stream=watch` });
    response.flushHeaders();
    if (initial) {
      for (const object of this.#selected(pathname, searchParams)) write('ADDED', object);
      const metadata = { resourceVersion: this.version, annotations: { 'k8s.io/initial-events-end': 'true' } };
      write('BOOKMARK', { metadata });
    } else if (Number(version) < this.#expiredBefore) {
      write('ERROR', { kind: 'Status', code: 410, message: 'too old resource version' });
      return void response.end();
    } else {
      for (const object of this.#selected(pathname, searchParams)) {
        if (Number(object.metadata.resourceVersion) > Number(version)) write('MODIFIED', object);
      }
    }
    this.#watchers.add(watcher);
  }

  /** Applies a merge patch to a cluster-scoped object. */
  async #patch(path: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [, list = '', name = ''] = /^(.*)\/([^/]+)$/.exec(path) ?? [];
    const body = JSON.parse(await textOf(request)) as object;
    const object = this.#of(list).get(`/${name}`);
    if (object === undefined) return refuse(response, 404, `${path} not found`);
    this.patches.push({ path, body });
    this.put(list, name, mergePatch(object, body) as object);
    response.writeHead(200, { 'Content-Type': 'application/json' });
    response.end(JSON.stringify(this.#of(list).get(`/${name}`)));
  }

  #selected(path: string, query: URLSearchParams): FakeObject[] {
    const name = /^metadata\.name=(.*)$/.exec(query.get('fieldSelector') ?? '')?.[1];
    const namespace = /\/namespaces\/([^/]+)\//.exec(path)?.[1];
    const all = [...this.#of(path.replace(/\/namespaces\/[^/]+/, '')).values()];
    return all.filter(
      ({ metadata }) => (name === undefined || metadata.name === name) && (namespace === undefined || metadata.namespace === namespace),
    );
  }

  #list(path: string, query: URLSearchParams, response: ServerResponse, table: ObjectTable | undefined): void {
    const all = this.#selected(path, query);
    const start = Number(query.get('continue') ?? '0');
    const end = start + this.pageItems;
    const metadata = { resourceVersion: this.version, ...(end < all.length ? { continue: String(end) } : {}) };
    const items = all.slice(start, end);
    const text = table === undefined ? JSON.stringify({ kind: 'List', metadata, items }) : encodedList(table, { ...metadata, items });
    response.writeHead(200, {
      'Content-Type': table === undefined ? 'application/json' : protobufType,
      ...(this.compresses ? { 'Content-Encoding': 'gzip' } : {}),
    });
    response.end(this.compresses ? gzipSync(text) : text);
  }
}

function eventOf({ table }: Watcher, type: string, object: object): string | Buffer {
  if (table === undefined) return `${JSON.stringify({ type, object })}\n`;
  if (type !== 'ERROR') return frame(type, encodedObject(table, { ...object }));
  const { code, message } = object as { readonly code: number; readonly message: string };
  return frame(type, encodedStatus(code, message));
}

export function refuse(response: ServerResponse, status: number, message: string, headers: Record<string, string> = {}): void {
  response.writeHead(status, { 'Content-Type': 'application/json', ...headers });
  response.end(JSON.stringify({ kind: 'Status', apiVersion: 'v1', status: 'Failure', code: status, message }));
}

/** RFC 7386. */
function mergePatch(target: unknown, patch: unknown): unknown {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return patch;
  const merged: Record<string, unknown> = typeof target === 'object' && target !== null ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete merged[key];
    else merged[key] = mergePatch(merged[key], value);
  }
  return merged;
}
