import { decideHealthCheck, healthCheckAddresses } from '../../decisions/forwarding/health-check.ts';
import { isNodeEligible } from '../../decisions/forwarding/node-eligible.ts';
import type { ServicesScope } from '../../model/kinds/types.ts';
import type { ServiceKey } from '../../model/objects/metadata.ts';
import { reason, type Reason } from '../../model/reasons.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import type { SocketAddress } from '../../system/http/http-listener.ts';
import type { RetryingListener } from '../../system/http/retrying-listener.ts';
import { nodeHealthResponse } from './health-responses.ts';
import { HealthCheckServers } from './health-check-servers.ts';
import { retryingHttpListener, type ListenerComponents } from './retrying-http-listener.ts';
import { DataplaneHealth } from './dataplane-health.ts';

interface NodeHealthOptions {
  readonly node: string;
  /** Where /healthz and /livez are served. Empty: nowhere. */
  readonly healthz: readonly SocketAddress[];
  readonly snapshot: () => Snapshot;
  /** The addresses of this node, as text. */
  readonly addresses: () => readonly string[];
  /** Called when what `problems` or `serviceProblems` say may have changed. */
  readonly onStatusChanged: () => void;
}

/** What a node tells load balancers, by HTTP: its own health, and for each Service with policy Local whether it has an endpoint here. */
export class NodeHealth {
  readonly #components: ListenerComponents;
  readonly #options: NodeHealthOptions;
  readonly dataplane: DataplaneHealth;
  readonly #checks: HealthCheckServers;
  #healthz: readonly { readonly place: SocketAddress; readonly listener: RetryingListener }[] = [];
  #closing: Promise<unknown> = Promise.resolve();

  constructor(components: ListenerComponents, options: NodeHealthOptions) {
    this.#components = components;
    this.#options = options;
    this.dataplane = new DataplaneHealth(components.clock);
    this.#checks = new HealthCheckServers(components, { healthy: () => this.dataplane.healthy, onStatusChanged: options.onStatusChanged });
  }

  /** Beside a kube-proxy, load balancers ask that one. */
  applyScope(services: ServicesScope): void {
    const { node, healthz, snapshot, onStatusChanged } = this.#options;
    if (services !== 'all') {
      this.#closing = Promise.all([this.#closing, ...this.#healthz.map(({ listener }) => listener.close())]);
      this.#healthz = [];
      return;
    }
    if (this.#healthz.length > 0) return;
    const answer = (path: string) =>
      nodeHealthResponse(path, { health: this.dataplane, now: this.#components.clock.date(), eligible: isNodeEligible(snapshot(), node) });
    const after = this.#closing;
    this.#healthz = healthz.map((place) => ({
      place,
      listener: retryingHttpListener(this.#components, { place, answer, onStatusChanged, after }),
    }));
  }

  /** The settings of the node, or its addresses, may have changed. */
  onNodeChanged(): void {
    const { snapshot, addresses } = this.#options;
    this.#checks.listenOn(healthCheckAddresses(snapshot().config.nodePortAddresses, addresses));
  }

  /** The kernel has taken what was queued, and these Services are in it as they are now: load balancers may hear of it. */
  onCommitted(services: Iterable<ServiceKey>): void {
    const { node, snapshot } = this.#options;
    this.dataplane.changesCommitted();
    const now = snapshot();
    const checks = [...services].map((key) => {
      const service = now.services.get(key);
      return [key, service === undefined ? undefined : decideHealthCheck(now, service, node)] as const;
    });
    this.#checks.applyChecks(new Map(checks));
  }

  /** The health-check node ports, with what they are for. */
  ports(): [number, string][] {
    return this.#checks.ports();
  }

  serviceProblems(): { readonly service: ServiceKey; readonly reason: Reason }[] {
    return this.#checks.problems();
  }

  problems(): Reason[] {
    return this.#healthz.flatMap(({ place: { address, port }, listener: { problem } }) =>
      problem === undefined
        ? []
        : [reason('HealthzNotServed', { address: address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`, why: problem })],
    );
  }

  async close(): Promise<void> {
    await Promise.all([this.#checks.close(), this.#closing, ...this.#healthz.map(({ listener }) => listener.close())]);
  }
}
