import type { Dataplane } from '../../dataplane/dataplane.ts';
import type { ServiceKey } from '../../model/objects/metadata.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { formatAddress } from '../../net/address.ts';
import { frontendFamily, type Backend, type Frontend } from '../../net/frontend.ts';
import type { Plans } from '../reconcile/plans.ts';

/** A port of a Service in one address family, and the frontends of one scope that lead to it. */
export interface CheckedPort {
  readonly service: ServiceKey;
  readonly family: 'IPv4' | 'IPv6';
  /** "80/TCP". */
  readonly port: string;
}

interface CheckedFrontendsSources {
  readonly dataplane: Pick<Dataplane, 'frontend'>;
  readonly plans: Pick<Plans, 'byService'>;
  readonly snapshot: () => Snapshot;
}

/** Finds the frontends that Herald forwards on this node, and their endpoints. Keeps nothing that the plans do not keep. */
export class CheckedFrontends {
  readonly #sources: CheckedFrontendsSources;
  /** Many connections ask for the endpoints of one frontend, which never changes: each plan makes a new one. */
  readonly #endpoints = new WeakMap<Frontend, ReadonlySet<string>>();

  constructor(sources: CheckedFrontendsSources) {
    this.#sources = sources;
  }

  /** Finds a frontend by `frontendKey`. */
  find(key: string): { readonly service: ServiceKey; readonly frontend: Frontend } | undefined {
    const found = this.#sources.dataplane.frontend(key);
    return found === undefined ? undefined : { service: found.service as ServiceKey, frontend: found.frontend };
  }

  /** Returns the endpoints of a frontend, as by `endpointText`. */
  endpointsOf(frontend: Frontend): ReadonlySet<string> {
    let known = this.#endpoints.get(frontend);
    if (known === undefined) {
      known = new Set([...frontend.backends, ...frontend.localBackends].map(endpointText));
      this.#endpoints.set(frontend, known);
    }
    return known;
  }

  /** Returns the port of the Service that a frontend leads to. Undefined: the Service has changed meanwhile. */
  portOf(service: ServiceKey, { match }: Frontend): CheckedPort | undefined {
    const family = `IPv${frontendFamily(match)}` as const;
    const { protocol } = match;
    if (match.kind === 'address') return { service, family, port: `${match.port}/${protocol}` };
    const ports = this.#sources.snapshot().services.get(service)?.ports ?? [];
    const found = ports.find((port) => port.nodePort === match.port && port.protocol === protocol);
    return found === undefined ? undefined : { service, family, port: `${found.port}/${protocol}` };
  }

  /** Returns the frontends of a port in one scope. */
  frontendsOf(port: CheckedPort, scope: Frontend['scope']): Frontend[] {
    const { forwarding } = this.#sources.plans.byService.get(port.service) ?? { forwarding: { frontends: [] } };
    return forwarding.frontends.filter(
      (frontend) => frontend.scope === scope && portKey(this.portOf(port.service, frontend) ?? port) === portKey(port),
    );
  }

  /** Yields the frontends that lead to an endpoint, named as by `endpointText`. */
  *leadingTo(endpoint: string): Iterable<{ readonly service: ServiceKey; readonly frontend: Frontend }> {
    for (const found of this.all()) if (this.endpointsOf(found.frontend).has(endpoint)) yield found;
  }

  isAt(backend: Pick<Backend, 'address' | 'port'>, endpoint: string): boolean {
    return endpointText(backend) === endpoint;
  }

  /** Yields every frontend of this node. */
  *all(): Iterable<{ readonly service: ServiceKey; readonly frontend: Frontend }> {
    for (const [service, { forwarding }] of this.#sources.plans.byService)
      for (const frontend of forwarding.frontends) yield { service, frontend };
  }
}

/** Returns the endpoints to which this node sends new connections of clients outside the cluster, or of pods for an internal frontend. */
export function chosenEndpoints({ policy, backends, localBackends }: Frontend): readonly Backend[] {
  return policy === 'Local' ? localBackends : backends;
}

/** True when clients outside the cluster get endpoints of this node only. Answers of others would not come back by it. */
export const isLimitedToNode = ({ policy, scope }: Frontend): boolean => policy === 'Local' && scope === 'external';

export function portKey({ service, family, port }: CheckedPort): string {
  return `${service} ${family} ${port}`;
}

/** Returns "10.244.1.10:8080", or "[fd10::1]:8080". */
export function endpointText({ address, port }: Pick<Backend, 'address' | 'port'>): string {
  return address.family === 4 ? `${formatAddress(address)}:${port}` : `[${formatAddress(address)}]:${port}`;
}
