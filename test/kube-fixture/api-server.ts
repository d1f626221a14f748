import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { inNetworkNamespace } from './network-namespace.ts';
import { Collection } from './collection.ts';
import { objectKey, type ApiObject } from './object.ts';
import { selectorOf } from './selector.ts';

/** The kinds that clients may list and watch, with their paths. */
const served = {
  Service: ['/api/v1/services', 'v1'],
  EndpointSlice: ['/apis/discovery.k8s.io/v1/endpointslices', 'discovery.k8s.io/v1'],
  Node: ['/api/v1/nodes', 'v1'],
  Namespace: ['/api/v1/namespaces', 'v1'],
  ServiceCIDR: ['/apis/networking.k8s.io/v1/servicecidrs', 'networking.k8s.io/v1'],
} as const satisfies Record<string, readonly [path: string, apiVersion: string]>;
export type ServedKind = keyof typeof served;

/**
 * The part of an API server that a service proxy needs, in this process: lists and watches (WatchList too) of Services, EndpointSlices,
 * Nodes, Namespaces and ServiceCIDRs over plain HTTP. It stores complete objects unchanged, ten thousand in a moment; a real API server would default,
 * validate and store each of them. Events that clients post are dropped.
 */
export class FixtureApiServer {
  /** The address in the namespace: "http://127.0.0.1:34567". */
  readonly url: string;
  readonly #server: Server;
  readonly #collections: ReadonlyMap<string, Collection> = new Map(
    Object.entries(served).map(([kind, [, apiVersion]]) => [kind, new Collection(apiVersion, kind)]),
  );
  #version = 1;

  private constructor(server: Server) {
    this.#server = server;
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    server.on('request', (request, response) => void this.#answer(request, response));
  }

  /** Listens in a network namespace that `ip netns add` created. */
  static async start(namespace: string): Promise<FixtureApiServer> {
    const server = createServer();
    server.requestTimeout = 0;
    // Without a host name there is no lookup, so the socket is created at once, while the thread is in the namespace.
    inNetworkNamespace(namespace, () => server.listen(0));
    await once(server, 'listening');
    return new FixtureApiServer(server);
  }

  /** Adds or replaces objects. Watchers get them in this order. */
  put(...objects: readonly ApiObject[]): void {
    for (const object of objects) this.#collection(object.kind).put(object, ++this.#version);
  }

  delete(kind: ServedKind, key: string): void {
    this.#collection(kind).delete(key, ++this.#version);
  }

  /** Replaces all objects of a kind: others are deleted first. */
  replaceAll(kind: ServedKind, objects: readonly ApiObject[]): void {
    const wanted = new Set(objects.map(objectKey));
    for (const key of this.#collection(kind).keys()) if (!wanted.has(key)) this.delete(kind, key);
    this.put(...objects);
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await once(this.#server.close(), 'close');
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://fixture');
    try {
      if (request.method === 'POST') reply(response, 201, await json(request));
      else this.#read(url, response);
    } catch (error) {
      status(response, 400, 'BadRequest', String(error));
    }
  }

  #read({ pathname, searchParams }: URL, response: ServerResponse): void {
    const found = Object.entries(served).find(([, [path]]) => pathname === path || pathname.startsWith(`${path}/`));
    if (found === undefined) return status(response, 404, 'NotFound', `${pathname} is not served here`);
    const [kind, [path]] = found;
    const collection = this.#collection(kind);
    if (pathname !== path) {
      const object = collection.get(pathname.slice(path.length + 1));
      return object === undefined ? status(response, 404, 'NotFound', pathname) : reply(response, 200, object);
    }
    const parameter = (name: string): string => searchParams.get(name) ?? '';
    const selects = selectorOf(parameter('labelSelector'), parameter('fieldSelector'));
    if (!['1', 'true'].includes(parameter('watch'))) return reply(response, 200, collection.list(selects, this.#version));
    response.writeHead(200, { 'content-type': 'application/json' });
    response.flushHeaders();
    if (parameter('sendInitialEvents') === 'true') return collection.watchList(response, selects, this.#version);
    const version = Number(parameter('resourceVersion') || this.#version);
    if (collection.watch(response, selects, version)) return;
    response.end(`${JSON.stringify({ type: 'ERROR', object: statusObject(410, 'Expired', 'too old resource version') })}\n`);
  }

  #collection(kind: string): Collection {
    const collection = this.#collections.get(kind);
    if (collection === undefined) throw new RangeError(`${kind} is not served here`);
    return collection;
  }
}

function reply(response: ServerResponse, code: number, object: unknown): void {
  response.writeHead(code, { 'content-type': 'application/json' }).end(JSON.stringify(object));
}

function status(response: ServerResponse, code: number, reason: string, message: string): void {
  reply(response, code, statusObject(code, reason, message));
}

function statusObject(code: number, reason: string, message: string): object {
  return { apiVersion: 'v1', kind: 'Status', metadata: {}, status: 'Failure', code, reason, message };
}
