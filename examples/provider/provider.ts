import {
  formatAddress,
  parseAddress,
  reason,
  serviceKey,
  type Change,
  type Claim,
  type Provider,
  type ProviderComponents,
  type Reason,
  type Reconciliation,
  type Released,
  type Service,
  type ServiceKey,
  type ServiceMetadata,
  type Snapshot,
} from 'herald/provider';
import { ApiError, HttpApi, type Balancer, type BalancerApi } from './api.ts';

/**
 * An example of a provider: it gives Services of one class a load balancer of an API. To be loaded with
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

export class BalancerProvider implements Provider {
  readonly name = 'example';
  /** It asks somebody outside, so that Services of other providers do not wait for it. */
  readonly remote = true;
  readonly #api: BalancerApi;
  readonly #components: ProviderComponents;
  readonly #metadata: ServiceMetadata | undefined;
  /** Services for which something may be there, and when those that failed are tried again. */
  readonly #held = new Set<ServiceKey>();
  readonly #retries = new Map<ServiceKey, { readonly failures: number; readonly at: number }>();
  #hosts = '';
  /** A live view. */
  #snapshot: Snapshot | undefined;

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

  /** What there is can be found by the name of the Service, so that nothing need be remembered. */
  adopt(snapshot: Snapshot): void {
    this.#snapshot = snapshot;
    this.#hosts = hostsOf(snapshot).join();
  }

  // The addresses are the API's to give: it never gives one twice, and there is nothing to take over from a record.
  adoptOne(): readonly ServiceKey[] {
    return [];
  }
  withhold(): void {}
  written(): readonly ServiceKey[] {
    return [];
  }
  leave(): void {}

  holds(key: ServiceKey, service: Service | undefined): boolean {
    return this.#held.has(key) || service?.metadata.finalizers?.includes(finalizer) === true;
  }

  async reconcile(service: Service, snapshot: Snapshot): Promise<Reconciliation> {
    const key = serviceKey(service.metadata);
    if (service.metadata.deleting) {
      const left = await this.#vacate(key);
      return left === undefined ? { ingress: [] } : { ingress: service.ingress, reason: left };
    }
    try {
      const ports = service.ports.flatMap(({ port, protocol, nodePort }) =>
        protocol === 'TCP' && nodePort !== undefined ? [{ port, nodePort }] : [],
      );
      if (ports.length < service.ports.length)
        return {
          ingress: service.ingress,
          reason: this.#says('ProviderRefused', 'it balances TCP to NodePorts, and a port of the Service is not that'),
        };
      // First the finalizer: what is made is never forgotten.
      await this.#metadata?.addFinalizer(key);
      this.#held.add(key);
      const balancer = await this.#make(key, { ports, hosts: hostsOf(snapshot) });
      this.#retries.delete(key);
      const address = parseAddress(balancer.address);
      return address.ok
        ? { ingress: [{ address: address.value, ipMode: 'Proxy' }] }
        : { ingress: service.ingress, reason: this.#says('ProviderFailed', `the API gave "${balancer.address}", which is no address`) };
    } catch (error) {
      return { ingress: service.ingress, reason: this.#failed(key, error) };
    }
  }

  async release(key: ServiceKey): Promise<Released> {
    // Most Services have never been ours; where there are no finalizers, whoever is gone may have been.
    const isOurs = this.holds(key, this.#snapshot?.services.get(key)) || this.#metadata === undefined;
    const left = isOurs ? await this.#vacate(key) : undefined;
    return { addresses: [], retry: [], ...(left === undefined ? {} : { left }) };
  }

  /** Those whose time has come. */
  expire(now: number): readonly ServiceKey[] {
    return [...this.#retries].filter(([, { at }]) => at <= now).map(([key]) => key);
  }

  /** A node that comes or goes is for every balancer; a Service that changes is looked at without being named here. */
  affected(changes: readonly Change[], snapshot: Snapshot): Iterable<ServiceKey> {
    if (!changes.some(({ kind }) => kind === 'Node')) return [];
    const hosts = hostsOf(snapshot).join();
    if (hosts === this.#hosts) return [];
    this.#hosts = hosts;
    return [...this.#held];
  }

  /** Asked for only what differs: to look costs little, and a write may cost a connection. */
  async #make(key: ServiceKey, wanted: Pick<Balancer, 'ports' | 'hosts'>): Promise<Balancer> {
    const name = nameOf(key);
    const found = await this.#api.get(name);
    if (found !== undefined && JSON.stringify([found.ports, found.hosts]) === JSON.stringify([wanted.ports, wanted.hosts])) return found;
    this.#mayWrite();
    return this.#api.put(name, wanted);
  }

  /** Undefined: nothing is there any more. */
  async #vacate(key: ServiceKey): Promise<Reason | undefined> {
    try {
      this.#mayWrite();
      await this.#api.delete(nameOf(key));
      // Last the finalizer, for the same cause.
      await this.#metadata?.removeFinalizer(key);
    } catch (error) {
      return this.#failed(key, error);
    }
    this.#held.delete(key);
    this.#retries.delete(key);
    return undefined;
  }

  /** What is not an error of operation is a mistake of ours, and goes on its way. */
  #failed(key: ServiceKey, error: unknown): Reason {
    if (!(error instanceof ApiError)) throw error;
    const failures = (this.#retries.get(key)?.failures ?? 0) + 1;
    const at = this.#components.clock.date().getTime() + Math.min(2 ** failures, 300) * 1000;
    this.#retries.set(key, { failures, at });
    return this.#says('ProviderFailed', error.message);
  }

  /** Another controller may lead by now: it is the one that writes. */
  #mayWrite(): void {
    if (!this.#components.mayWrite()) throw new ApiError('refused', 'this controller does not lead any more');
  }

  #says(code: 'ProviderRefused' | 'ProviderFailed', problem: string): Reason {
    return reason(code, { provider: this.name, problem });
  }
}

/** The same for the same Service, always. */
function nameOf(key: ServiceKey): string {
  return key.replace('/', '.');
}

function hostsOf({ nodes }: Snapshot): string[] {
  return [...nodes.values()].flatMap(({ internalIPs }) => internalIPs.slice(0, 1).map(formatAddress)).toSorted();
}
