import { serviceKey, type ServiceKey } from '../../../src/model/objects/metadata.ts';
import {
  parseAddress,
  reason,
  type Claim,
  type Preview,
  type Previewable,
  type Provider,
  type ProviderComponents,
  type Reconciliation,
  type Released,
  type Service,
  type ServiceMetadata,
  type Snapshot,
} from '../../../src/controller/provider-module.ts';
import { cloudConfig, cloudReason, type cloudMetrics, definition } from './in-memory-definition.ts';
import type { ProviderSubject } from '../../../src/controller/provider-testing/index.ts';

interface LoadBalancer {
  readonly address: string;
  readonly ports: readonly number[];
}

/** A cloud in memory: load balancers by name. It can be told to fail. */
export class InMemoryCloud {
  readonly loadBalancers = new Map<string, LoadBalancer>();
  isDown = false;
  readonly #third: number;
  #created = 0;

  /** `third`: the third octet of its addresses. */
  constructor(third = 113) {
    this.#third = third;
  }

  async ensure(name: string, ports: readonly number[]): Promise<LoadBalancer> {
    this.#answer();
    const address = this.loadBalancers.get(name)?.address ?? `203.0.${this.#third}.${++this.#created}`;
    const loadBalancer = { address, ports };
    this.loadBalancers.set(name, loadBalancer);
    return loadBalancer;
  }

  async find(name: string): Promise<LoadBalancer | undefined> {
    this.#answer();
    return this.loadBalancers.get(name);
  }

  async delete(name: string): Promise<void> {
    this.#answer();
    this.loadBalancers.delete(name);
  }

  #answer(): void {
    if (this.isDown) throw Object.assign(new Error('the cloud does not answer'), { code: 'unreachable' });
  }
}

const loadBalancerClass = 'example.com/in-memory-cloud';
const finalizer = 'example.com/in-memory-cloud';

/**
 * Gives each Service of one class a load balancer of the in-memory cloud. It has the four members that every provider has, one optional part, and a
 * definition with all that a provider can bring. It remembers nothing: load balancers are found by name, and the controller retries what the cloud
 * refuses.
 */
export class InMemoryCloudProvider implements Provider, Previewable {
  readonly name = 'in-memory-cloud';
  readonly remote = true;
  readonly #cloud: InMemoryCloud;
  readonly #metadata: ServiceMetadata | undefined;
  readonly #meter: ProviderComponents<typeof cloudMetrics>['meter'];

  constructor(cloud: InMemoryCloud, { serviceMetadata, meter }: ProviderComponents<typeof cloudMetrics>) {
    this.#cloud = cloud;
    this.#meter = meter;
    this.#metadata = serviceMetadata?.(finalizer);
  }

  claim({ type, headless, loadBalancerClass: theirs = '' }: Service): Claim {
    if (type !== 'LoadBalancer') return { mine: false, reason: reason('NotLoadBalancer', { type }) };
    if (headless) return { mine: false, reason: reason('Headless', undefined) };
    if (theirs === loadBalancerClass) return { mine: true };
    return { mine: false, reason: reason('OtherLoadBalancerClass', { class: theirs, ours: loadBalancerClass }) };
  }

  async reconcile(service: Service, snapshot: Snapshot): Promise<Reconciliation> {
    const key = serviceKey(service.metadata);
    if (service.metadata.deleting) {
      await this.release(key);
      return { ingress: [] };
    }
    const { mostLoadBalancers: most } = cloudConfig.of(snapshot.config);
    if (!this.#cloud.loadBalancers.has(key) && this.#cloud.loadBalancers.size >= most)
      return { ingress: service.ingress, reason: cloudReason('InMemoryCloudFull', { most }) };
    await this.#metadata?.addFinalizer(key);
    this.#meter?.add('in_memory_cloud_calls_total', { operation: 'ensure' });
    const { address } = await this.#cloud.ensure(key, portsOf(service));
    const parsed = parseAddress(address);
    if (parsed.ok) return { ingress: [{ address: parsed.value, ipMode: 'Proxy' }] };
    const problem = `the cloud gave "${address}", which is no address`;
    return { ingress: service.ingress, reason: reason('ProviderFailed', { provider: this.name, problem }) };
  }

  async release(key: ServiceKey): Promise<Released> {
    this.#meter?.add('in_memory_cloud_calls_total', { operation: 'delete' });
    await this.#cloud.delete(key);
    await this.#metadata?.removeFinalizer(key);
    return {};
  }

  async preview(key: ServiceKey, snapshot: Snapshot): Promise<Preview> {
    const service = snapshot.services.get(key);
    const found = await this.#cloud.find(key);
    const wanted = service !== undefined && !service.metadata.deleting && this.claim(service).mine ? portsOf(service) : undefined;
    const call = (operation: string, because: string, ports: readonly number[] = []) => [
      { id: key, operation, reason: because, input: { ports } },
    ];
    const isWanted = found?.ports.join() === wanted?.join();
    const actions = isWanted ? [] : wanted === undefined ? call('delete', 'nothing asks for it') : call('ensure', 'it differs', wanted);
    return { observed: linesOf(found?.ports), desired: linesOf(wanted), actions, waits: [], reasons: [] };
  }
}

function portsOf({ ports }: Service): number[] {
  return ports.map(({ port }) => port);
}

function linesOf(ports: readonly number[] | undefined): string[] {
  return ports === undefined ? [] : [`ports ${ports.join(', ')}`];
}

/** The in-memory cloud for the checks of the provider contract. `make` replaces the provider. */
export function cloudSubject(
  make: (cloud: InMemoryCloud, components: ProviderComponents) => Provider = (cloud, components) =>
    new InMemoryCloudProvider(cloud, components),
): ProviderSubject {
  return {
    definition,
    parts: ['Previewable'],
    service: {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { namespace: 'default', name: 'web' },
      spec: { type: 'LoadBalancer', loadBalancerClass, clusterIPs: ['10.96.0.1'], ports: [{ name: 'http', port: 80, nodePort: 30080 }] },
    },
    world() {
      const cloud = new InMemoryCloud();
      return {
        createProvider: (components) => make(cloud, components),
        resources: () => [...cloud.loadBalancers.keys()],
        fail: () => {
          cloud.isDown = true;
          return () => void (cloud.isDown = false);
        },
      };
    },
  };
}
