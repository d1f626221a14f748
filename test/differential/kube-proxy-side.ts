import { until } from '../lab/until.ts';
import { FixtureApiServer } from '../kube-fixture/api-server.ts';
import { startKubeProxy, type KubeProxy, type KubeProxyConfig } from '../kube-fixture/kube-proxy.ts';
import type { ApiObject } from '../kube-fixture/object.ts';
import type { Flow } from './flows.ts';
import { fixedObjects, nodeName, podPrefixes, type Environment, type Objects } from './objects.ts';
import { observe, type Fresh } from './observe.ts';
import { Stand } from './stand.ts';

/** A node with kube-proxy and an API server for its objects. */
export class KubeProxySide {
  readonly stand: Stand;
  readonly #api: FixtureApiServer;
  readonly #fresh: Fresh;
  #proxy: KubeProxy | undefined;
  #round = 0;

  private constructor(stand: Stand, api: FixtureApiServer, fresh: Fresh) {
    this.stand = stand;
    this.#api = api;
    this.#fresh = fresh;
  }

  static async start(fresh: Fresh): Promise<KubeProxySide> {
    const stand = await Stand.start('p');
    return new KubeProxySide(stand, await FixtureApiServer.start(stand.namespace), fresh);
  }

  /** Starts another kube-proxy in place of the previous one, whose rules it finds. */
  async enter(environment: Environment): Promise<void> {
    await this.#proxy?.stop();
    // kube-proxy 1.36 registers for node changes only after its watch has begun, and may miss the first one. So the zone is set later.
    this.#api.put(...fixedObjects({ ...environment, zone: '' }));
    const { nodePortAddresses, masqueradeAll } = environment;
    this.#proxy = startKubeProxy({
      namespace: this.stand.namespace,
      apiServer: this.#api.url,
      nodeName,
      config: {
        ...podDetection[environment.pods],
        nftables: { minSyncPeriod: '1ms', masqueradeAll },
        ...(nodePortAddresses.length > 0 ? { nodePortAddresses } : {}),
        logging: { vmodule: [{ filePattern: 'proxier', verbosity: 4 }] },
      },
    });
    if (environment.zone === '') return;
    await this.program({ services: [], slices: [] });
    this.#api.put(...fixedObjects(environment));
    await this.#proxy.process.waitForLine(/"Updated proxier node topology labels".*topology.kubernetes.io\/zone/, 30_000);
  }

  /** Resolves when the kernel has the rules for exactly these objects. */
  async program({ services, slices }: Objects): Promise<void> {
    // Watches report changes in order, so when the last one is in force, all are.
    const sentinel = sentinelObjects(++this.#round);
    this.#api.replaceAll('Service', [...services, sentinel.service]);
    this.#api.replaceAll('EndpointSlice', [...slices, ...sentinel.slices]);
    await until(
      `kube-proxy's rules, round ${this.#round}`,
      async (note) => {
        if (this.#proxy?.process.running !== true) throw new Error('kube-proxy has ended');
        const outcomes = await observe(this.stand, sentinel.flows, 1, this.#fresh);
        note(outcomes.map(({ fates }) => [...fates].join()));
        return outcomes.every(({ fates }, index) => [...fates].some((fate) => fate.startsWith(`${sentinel.endpoints[index]} as `)));
      },
      30_000,
    ).catch((error: unknown) => {
      throw new Error(`${String(error)}\n${this.log().join('\n')}`, { cause: error });
    });
  }

  log(): readonly string[] {
    return this.#proxy?.process.lines().slice(-30) ?? [];
  }

  async stop(): Promise<void> {
    await this.#proxy?.stop('SIGKILL');
    await this.#api.stop();
    this.stand.stop();
  }
}

const podDetection: Readonly<Record<Environment['pods'], KubeProxyConfig>> = {
  prefixes: { detectLocalMode: 'ClusterCIDR', clusterCIDR: podPrefixes.join(',') },
  interface: { detectLocalMode: 'BridgeInterface', detectLocal: { bridgeInterface: 'pods' } },
  'name of interface': { detectLocalMode: 'InterfaceNamePrefix', detectLocal: { interfaceNamePrefix: 'pod' } },
  unknown: {},
};

interface Sentinel {
  readonly service: ApiObject;
  readonly slices: readonly ApiObject[];
  readonly flows: readonly Flow[];
  readonly endpoints: readonly string[];
}

/** Returns a Service with another port and other endpoints in each round. */
function sentinelObjects(round: number): Sentinel {
  const addresses = { IPv4: '172.30.0.200', IPv6: 'fd02::200' };
  const endpoints = { IPv4: `10.194.0.${1 + (round % 250)}`, IPv6: `fd01:0:0:3::${1 + (round % 250)}` };
  const port = 10_000 + (round % 10_000);
  const families = ['IPv4', 'IPv6'] as const;
  const base = { protocol: 'TCP', port } as const;
  return {
    service: {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'sentinel', namespace: 'kube-system' },
      spec: {
        type: 'ClusterIP',
        clusterIP: addresses.IPv4,
        clusterIPs: families.map((family) => addresses[family]),
        ipFamilies: families,
        ports: [{ ...base, name: '', targetPort: 80 }],
        sessionAffinity: 'None',
        internalTrafficPolicy: 'Cluster',
      },
    },
    slices: families.map((family) => ({
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: { name: `sentinel-${family}`, namespace: 'kube-system', labels: { 'kubernetes.io/service-name': 'sentinel' } },
      addressType: family,
      ports: [{ name: '', protocol: 'TCP', port: 80 }],
      endpoints: [{ addresses: [endpoints[family]], conditions: { ready: true } }],
    })),
    flows: families.map((family) => ({
      ...base,
      sender: 'pod',
      entry: 'pods',
      source: family === 'IPv4' ? '10.160.0.200' : 'fd01:0:0:1::200',
      many: false,
      destination: addresses[family],
      kind: 'cluster IP',
      affinity: false,
    })),
    endpoints: [`${endpoints.IPv4}:80`, `[${endpoints.IPv6}]:80`],
  };
}
