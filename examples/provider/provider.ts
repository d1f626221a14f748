import {
  formatAddress,
  parseAddress,
  reason,
  serviceKey,
  type Change,
  type ChangeListener,
  type Claim,
  type PeriodicWork,
  type Provider,
  type ProviderComponents,
  type Reason,
  type Reconciliation,
  type Recovery,
  type Released,
  type ResourceHolder,
  type Service,
  type ServiceKey,
  type ServiceMetadata,
  type Snapshot,
} from 'herald/provider';
import { ApiError, HttpApi, type Balancer, type BalancerApi } from './api.ts';

/**
 * Creates the example provider, which gives each Service of one class a load balancer of an API. Load it with
 *
 *     BALANCER_API=http://192.0.2.1:8080 herald controller --provider examples/provider/provider.ts
 */
export function createProvider(components: ProviderComponents): Provider {
  const url = components.variables['BALANCER_API'];
  if (url === undefined || !URL.canParse(url)) throw new ApiError('refused', 'BALANCER_API is not set to the URL of the API');
  return new BalancerProvider(new HttpApi(url, components.stopped), components);
}

const loadBalancerClass = 'example.com/balancer';
const finalizer = 'example.com/balancer';

export class BalancerProvider implements Provider, Recovery, ResourceHolder, ChangeListener, PeriodicWork {
  readonly name = 'example';
  /** The provider calls an API outside the cluster, so Services of other providers do not wait for it. */
  readonly remote = true;
  readonly #api: BalancerApi;
  readonly #components: ProviderComponents;
  readonly #metadata: ServiceMetadata | undefined;
  /** Services that may have a balancer. */
  readonly #held = new Set<ServiceKey>();
  /** When Services that failed are retried: milliseconds since the epoch. */
  readonly #retries = new Map<ServiceKey, { readonly failures: number; readonly at: number }>();
  #hosts = '';

  constructor(api: BalancerApi, components: ProviderComponents) {
    this.#api = api;
    this.#components = components;
    this.#metadata = components.serviceMetadata?.(finalizer);
  }

  claim(service: Service): Claim {
    const no = (because: Reason): Claim => ({ mine: false, reason: because });
    if (service.type !== 'LoadBalancer') return no(reason('NotLoadBalancer', { type: service.type }));
    if (service.headless) return no(reason('Headless', undefined));
    const { loadBalancerClass: theirs = '' } = service;
    return theirs === loadBalancerClass ? { mine: true } : no(reason('OtherLoadBalancerClass', { class: theirs, ours: loadBalancerClass }));
  }

  /** Ignores the records: a balancer is found by the name of its Service. */
  adopt(snapshot: Snapshot): void {
    this.#hosts = hostsOf(snapshot).join();
  }

  holds(key: ServiceKey, service: Service | undefined): boolean {
    return this.#held.has(key) || service?.metadata.finalizers?.includes(finalizer) === true;
  }

  async reconcile(service: Service, snapshot: Snapshot): Promise<Reconciliation> {
    const key = serviceKey(service.metadata);
    if (service.metadata.deleting) {
      const remaining = await this.#deleteBalancer(key);
      return remaining === undefined ? { ingress: [] } : { ingress: service.ingress, reason: remaining };
    }
    try {
      const ports = service.ports.flatMap(({ port, protocol, nodePort }) =>
        protocol === 'TCP' && nodePort !== undefined ? [{ port, nodePort }] : [],
      );
      if (ports.length < service.ports.length)
        return {
          ingress: service.ingress,
          reason: this.#because('ProviderRefused', 'it balances TCP to NodePorts only, and not every port of the Service has both'),
        };
      // The finalizer comes first, so that no balancer is left behind when the Service is deleted.
      await this.#metadata?.addFinalizer(key);
      this.#held.add(key);
      const balancer = await this.#ensureBalancer(key, { ports, hosts: hostsOf(snapshot) });
      this.#retries.delete(key);
      const address = parseAddress(balancer.address);
      return address.ok
        ? { ingress: [{ address: address.value, ipMode: 'Proxy' }] }
        : {
            ingress: service.ingress,
            reason: this.#because('ProviderFailed', `the API gave "${balancer.address}", which is not an address`),
          };
    } catch (error) {
      return { ingress: service.ingress, reason: this.#failed(key, error) };
    }
  }

  async release(key: ServiceKey, { services }: Snapshot): Promise<Released> {
    // Most Services never had a balancer. Without finalizers this is unknown for a Service that is gone.
    const mayHaveOne = this.holds(key, services.get(key)) || this.#metadata === undefined;
    const remaining = mayHaveOne ? await this.#deleteBalancer(key) : undefined;
    return remaining === undefined ? {} : { remaining };
  }

  /** Requeues the Services whose retry is due. */
  runDue(now: number): readonly ServiceKey[] {
    return [...this.#retries].filter(([, { at }]) => at <= now).map(([key]) => key);
  }

  /** Requeues every Service when the nodes change: each balancer lists them. The controller requeues changed Services itself. */
  affected(changes: readonly Change[], snapshot: Snapshot): Iterable<ServiceKey> {
    if (!changes.some(({ kind }) => kind === 'Node')) return [];
    const hosts = hostsOf(snapshot).join();
    if (hosts === this.#hosts) return [];
    this.#hosts = hosts;
    return [...this.#held];
  }

  /** Writes to the API only when something differs: a read is cheap, and a write may cost connections. */
  async #ensureBalancer(key: ServiceKey, wanted: Pick<Balancer, 'ports' | 'hosts'>): Promise<Balancer> {
    const name = nameOf(key);
    const found = await this.#api.get(name);
    if (found !== undefined && JSON.stringify([found.ports, found.hosts]) === JSON.stringify([wanted.ports, wanted.hosts])) return found;
    this.#mayWrite();
    return this.#api.put(name, wanted);
  }

  /** Resolves to undefined when the balancer is gone, else to why it is not. */
  async #deleteBalancer(key: ServiceKey): Promise<Reason | undefined> {
    try {
      this.#mayWrite();
      await this.#api.delete(nameOf(key));
      // The finalizer goes last, so that no balancer is left behind.
      await this.#metadata?.removeFinalizer(key);
    } catch (error) {
      return this.#failed(key, error);
    }
    this.#held.delete(key);
    this.#retries.delete(key);
    return undefined;
  }

  /** Schedules a retry after an operating error. Any other error is a bug and is rethrown. */
  #failed(key: ServiceKey, error: unknown): Reason {
    if (!(error instanceof ApiError)) throw error;
    const failures = (this.#retries.get(key)?.failures ?? 0) + 1;
    const at = this.#components.clock.date().getTime() + Math.min(2 ** failures, 300) * 1000;
    this.#retries.set(key, { failures, at });
    return this.#because('ProviderFailed', error.message);
  }

  /** Throws when another controller leads: only the leader writes. */
  #mayWrite(): void {
    if (!this.#components.mayWrite()) throw new ApiError('refused', 'this controller no longer leads');
  }

  #because(code: 'ProviderRefused' | 'ProviderFailed', problem: string): Reason {
    return reason(code, { provider: this.name, problem });
  }
}

/** The name of a Service's balancer; always the same for the same Service. */
function nameOf(key: ServiceKey): string {
  return key.replace('/', '.');
}

function hostsOf({ nodes }: Snapshot): string[] {
  return [...nodes.values()].flatMap(({ internalIPs }) => internalIPs.slice(0, 1).map(formatAddress)).toSorted();
}
