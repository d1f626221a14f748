import { decideHealthCheck, healthCheckAddresses, isNodeEligible } from '../../decisions/forwarding/health-check.ts';
import type { ServicesScope } from '../../model/kinds/types.ts';
import type { ServiceKey } from '../../model/objects/metadata.ts';
import { reason, type Reason } from '../../model/reasons.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import type { SocketAddress } from '../../system/http/http-listener.ts';
import type { RetryingListener } from '../../system/http/retrying-listener.ts';
import { nodeHealthResponse, proxyStatusResponse } from './health-responses.ts';
import { HealthCheckServers } from './health-check-servers.ts';
import { retryingHttpListener, type ListenerComponents } from './retrying-http-listener.ts';
import { DataplaneHealth } from './dataplane-health.ts';

interface NodeHealthOptions {
  readonly node: string;
  /** Addresses and ports that serve /healthz and /livez. Empty: none. */
  readonly healthz: readonly SocketAddress[];
  /** The address and port that answers as kube-proxy's metrics port. Absent: none. */
  readonly proxyStatus?: SocketAddress;
  readonly snapshot: () => Snapshot;
  /** The addresses of this node, as text. */
  readonly addresses: () => readonly string[];
  /** Called when the results of `problems` or `serviceProblems` may have changed. */
  readonly onStatusChanged: () => void;
}

/** Serves health checks over HTTP: of the node, and for each Service with policy Local whether this node has an endpoint. */
export class NodeHealth {
  readonly #components: ListenerComponents;
  readonly #options: NodeHealthOptions;
  readonly dataplane: DataplaneHealth;
  readonly #checks: HealthCheckServers;
  #healthz: readonly { readonly place: SocketAddress; readonly listener: RetryingListener }[] = [];
  #proxyStatus: RetryingListener | undefined;
  #closing: Promise<unknown> = Promise.resolve();

  constructor(components: ListenerComponents, options: NodeHealthOptions) {
    this.#components = components;
    this.#options = options;
    this.dataplane = new DataplaneHealth(components.clock);
    this.#checks = new HealthCheckServers(components, { healthy: () => this.dataplane.healthy, onStatusChanged: options.onStatusChanged });
  }

  /** Serves kube-proxy's ports only if Herald forwards all Services. Otherwise others ask kube-proxy. */
  applyScope(services: ServicesScope): void {
    const { node, healthz, proxyStatus, snapshot, onStatusChanged } = this.#options;
    if (services !== 'all') {
      this.#closing = Promise.all([this.#closing, this.#closeNodePorts()]);
      this.#healthz = [];
      this.#proxyStatus = undefined;
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
    if (proxyStatus === undefined) return;
    this.#proxyStatus = retryingHttpListener(this.#components, { place: proxyStatus, answer: proxyStatusResponse, onStatusChanged, after });
  }

  /** Called when the settings or the addresses of the node may have changed. */
  onNodeChanged(): void {
    const { snapshot, addresses } = this.#options;
    this.#checks.listenOn(healthCheckAddresses(snapshot().config.nodePortAddresses, addresses));
  }

  /** Called when the kernel has all queued changes, including these Services in their current form. Updates the health checks. */
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

  /** Returns the health-check node ports, each with its use. */
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

  async #closeNodePorts(): Promise<void> {
    await Promise.all([...this.#healthz.map(({ listener }) => listener.close()), this.#proxyStatus?.close()]);
  }

  async close(): Promise<void> {
    await Promise.all([this.#checks.close(), this.#closing, this.#closeNodePorts()]);
  }
}
