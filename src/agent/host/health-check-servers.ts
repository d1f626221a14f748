import type { HealthCheck, HealthCheckAddresses } from '../../decisions/forwarding/health-check.ts';
import type { ServiceKey } from '../../model/objects/metadata.ts';
import { reason, type Reason } from '../../model/reasons.ts';
import type { Family } from '../../net/address.ts';
import type { RetryingListener } from '../../system/http/retrying-listener.ts';
import { healthCheckResponse } from './health-responses.ts';
import { retryingHttpListener, type ListenerComponents } from './retrying-http-listener.ts';
import { limits } from '../limits.ts';

interface HealthCheckServersOptions {
  /** Returns whether the data plane keeps up. If not, every health check fails. */
  readonly healthy: () => boolean;
  /** Called when the result of `problems` may have changed. */
  readonly onStatusChanged: () => void;
}

interface Server {
  readonly service: ServiceKey;
  readonly port: number;
  readonly family: Family;
  localEndpoints: number;
  /** By address. */
  readonly listeners: Map<string, RetryingListener>;
  /** Addresses without a listener because the limit of listeners is reached. */
  missing: readonly string[];
}

const families: readonly Family[] = [4, 6];

/** Serves the health-check node ports. A port that stays keeps its socket and connections whatever else changes. */
export class HealthCheckServers {
  readonly #components: ListenerComponents;
  readonly #options: HealthCheckServersOptions;
  /** By Service and family. */
  readonly #servers = new Map<string, Server>();
  /** Servers that lack listeners at some addresses because the limit is reached, oldest first. */
  readonly #waiting = new Set<Server>();
  #addresses: HealthCheckAddresses = new Map();
  #listeners = 0;
  #closing: Promise<unknown> = Promise.resolve();

  constructor(components: ListenerComponents, options: HealthCheckServersOptions) {
    this.#components = components;
    this.#options = options;
  }

  /** Sets the addresses that all servers listen on. */
  listenOn(addresses: HealthCheckAddresses): void {
    this.#addresses = addresses;
    for (const server of this.#servers.values()) {
      const wanted = addresses.get(server.family) ?? [];
      for (const address of server.listeners.keys()) if (!wanted.includes(address)) this.#close(server, address);
      this.#waiting.add(server);
    }
    this.#openWaiting();
  }

  /** Sets the health checks of Services; undefined removes one. Closes ports before it opens others: Services may swap them. */
  applyChecks(wanted: ReadonlyMap<ServiceKey, HealthCheck | undefined>): void {
    const opening: Server[] = [];
    for (const [service, check] of wanted) {
      for (const family of families) {
        const server = this.#updateServer(service, family, check);
        if (server !== undefined) opening.push(server);
      }
    }
    for (const server of opening) this.#waiting.add(server);
    this.#openWaiting();
  }

  ports(): [number, string][] {
    return [...this.#servers.values()].map(({ port, service }) => [port, `health check of ${service}`]);
  }

  /** Returns the Services whose port is not served in one of their families, and why. */
  problems(): { readonly service: ServiceKey; readonly reason: Reason }[] {
    return [...this.#servers.values()].flatMap(({ service, port, family, listeners, missing }) => {
      const [problem] = [...listeners.values()].flatMap((listener) => listener.problem ?? []);
      const why = problem ?? (missing.length > 0 ? `there are ${limits.healthCheckListeners} already` : undefined);
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

  /** Updates the server of a Service for one family. Returns a new server that must be opened, if any. */
  #updateServer(service: ServiceKey, family: Family, check: HealthCheck | undefined): Server | undefined {
    const key = `${service} ${family}`;
    const count = check?.localEndpoints.get(family);
    const server = this.#servers.get(key);
    if (server !== undefined && (count === undefined || check?.port !== server.port)) this.#remove(key);
    else if (server !== undefined && count !== undefined) server.localEndpoints = count;
    if (check === undefined || count === undefined || this.#servers.has(key)) return undefined;
    const fresh: Server = { service, port: check.port, family, localEndpoints: count, listeners: new Map(), missing: [] };
    this.#servers.set(key, fresh);
    return fresh;
  }

  #remove(key: string): void {
    const server = this.#servers.get(key);
    if (server === undefined) return;
    this.#servers.delete(key);
    this.#waiting.delete(server);
    for (const address of server.listeners.keys()) this.#close(server, address);
  }

  #close(server: Server, address: string): void {
    const listener = server.listeners.get(address);
    if (listener === undefined) return;
    server.listeners.delete(address);
    this.#listeners--;
    this.#closing = Promise.all([this.#closing, listener.close()]);
  }

  #openWaiting(): void {
    for (const server of this.#waiting) {
      const wanted = (this.#addresses.get(server.family) ?? []).filter((address) => !server.listeners.has(address));
      const room = limits.healthCheckListeners - this.#listeners;
      for (const address of wanted.slice(0, room)) this.#open(server, address);
      server.missing = wanted.slice(room);
      if (server.missing.length === 0) this.#waiting.delete(server);
    }
  }

  #open(server: Server, address: string): void {
    this.#listeners++;
    const listener = retryingHttpListener(this.#components, {
      place: { address, port: server.port },
      answer: () => healthCheckResponse(server.service, server.localEndpoints, this.#options.healthy()),
      onStatusChanged: this.#options.onStatusChanged,
      after: this.#closing,
    });
    server.listeners.set(address, listener);
  }
}
