import type { HealthCheck } from '../decisions/forwarding/health-check.ts';
import type { ServiceKey } from '../model/metadata.ts';
import { reason, type Reason } from '../model/reasons.ts';
import type { Family } from '../net/address.ts';
import { healthCheckAnswer } from './health-answers.ts';
import { LastingListener, type ListenerComponents } from './lasting-listener.ts';
import { limits } from './limits.ts';

export interface HealthCheckServersOptions {
  /** Whether the data plane keeps up: else every health check fails. */
  readonly healthy: () => boolean;
  /** Called when `problems` may have changed. */
  readonly news: () => void;
}

interface Server {
  readonly service: ServiceKey;
  readonly port: number;
  readonly family: Family;
  localEndpoints: number;
  /** Absent: there are as many listeners as there may be. */
  listener?: LastingListener;
}

const families: readonly Family[] = [4, 6];
const everywhere: Readonly<Record<Family, string>> = { 4: '0.0.0.0', 6: '::' };

/**
 * The health-check node ports of a node, on all its addresses. What stays is not touched: its connections and its socket live
 * through every change of other Services and of its own endpoints.
 */
export class HealthCheckServers {
  readonly #components: ListenerComponents;
  readonly #options: HealthCheckServersOptions;
  /** By Service and family. */
  readonly #servers = new Map<string, Server>();
  /** Those in `#servers` that are not served for want of room, oldest first. */
  readonly #waiting = new Set<Server>();
  #closing: Promise<unknown> = Promise.resolve();

  constructor(components: ListenerComponents, options: HealthCheckServersOptions) {
    this.#components = components;
    this.#options = options;
  }

  /** Undefined: the Service has none any more. Ports that go are free before others are opened, so that Services may exchange theirs. */
  change(wanted: ReadonlyMap<ServiceKey, HealthCheck | undefined>): void {
    const opening: Server[] = [];
    for (const [service, check] of wanted) {
      for (const family of families) {
        const server = this.#keep(service, family, check);
        if (server !== undefined) opening.push(server);
      }
    }
    for (const server of opening) this.#waiting.add(server);
    this.#openWaiting();
  }

  /** The Services whose port is not served in one of their families, and why. */
  problems(): { readonly service: ServiceKey; readonly reason: Reason }[] {
    return [...this.#servers.values()].flatMap(({ service, port, family, listener }) => {
      const why = listener === undefined ? `there are ${limits.healthCheckListeners} already` : listener.problem;
      if (why === undefined) return [];
      const other = [...this.#servers.values()].find(
        (server) => server.port === port && server.family === family && server.service !== service,
      );
      const holder = other === undefined ? why : `${why} by Service ${other.service}`;
      return [{ service, reason: reason('HealthCheckNotServed', { port, family: `IPv${family}`, why: holder }) }];
    });
  }

  async close(): Promise<void> {
    for (const key of this.#servers.keys()) this.#remove(key);
    await this.#closing;
  }

  /** Takes over what a Service wants in one family; the server that is to be opened for it, if any. */
  #keep(service: ServiceKey, family: Family, check: HealthCheck | undefined): Server | undefined {
    const key = `${service} ${family}`;
    const count = check?.localEndpoints.get(family);
    const server = this.#servers.get(key);
    if (server !== undefined && (count === undefined || check?.port !== server.port)) this.#remove(key);
    else if (server !== undefined && count !== undefined) server.localEndpoints = count;
    if (check === undefined || count === undefined || this.#servers.has(key)) return undefined;
    const fresh: Server = { service, port: check.port, family, localEndpoints: count };
    this.#servers.set(key, fresh);
    return fresh;
  }

  #remove(key: string): void {
    const server = this.#servers.get(key);
    if (server === undefined) return;
    this.#servers.delete(key);
    this.#waiting.delete(server);
    if (server.listener !== undefined) this.#closing = Promise.all([this.#closing, server.listener.close()]);
  }

  #openWaiting(): void {
    for (const server of this.#waiting) {
      if (this.#servers.size - this.#waiting.size >= limits.healthCheckListeners) return;
      this.#waiting.delete(server);
      server.listener = new LastingListener(this.#components, {
        place: { address: everywhere[server.family], port: server.port },
        answer: () => healthCheckAnswer(server.service, server.localEndpoints, this.#options.healthy()),
        news: this.#options.news,
        after: this.#closing,
      });
    }
  }
}
