import { execFileSync } from 'node:child_process';
import { FixtureApiServer } from '../../kube-fixture/api-server.ts';
import { startKubeProxy, type KubeProxy } from '../../kube-fixture/kube-proxy.ts';
import { namespaceOf } from '../../lab/dataplane/one-node.ts';
import { answered } from './client.ts';
import { sharePriority } from './priority.ts';
import { Generation, untilQuiet } from './generation.ts';
import { clusterAddress, externalAddress, nodeObject, serviceObject, sliceObject } from './services.ts';

/** The real kube-proxy in nftables mode, on the node of the lab. */
export class KubeProxyNode {
  readonly #api: FixtureApiServer;
  readonly #proxy: KubeProxy;

  private constructor(api: FixtureApiServer, proxy: KubeProxy) {
    this.#api = api;
    this.#proxy = proxy;
  }

  static async start(): Promise<KubeProxyNode> {
    const namespace = namespaceOf('node');
    const api = await FixtureApiServer.start(namespace);
    api.put(nodeObject);
    const config = { detectLocalMode: 'ClusterCIDR', clusterCIDR: '10.244.1.0/24' };
    const proxy = startKubeProxy({ namespace, apiServer: api.url, nodeName: 'node1', config });
    sharePriority(proxy.process.pid);
    return new KubeProxyNode(api, proxy);
  }

  /** Resolves when the Services answer. */
  async load(services: number): Promise<void> {
    // Service 0 is added last: when it answers, all Services are programmed.
    const indexes = Array.from({ length: services }, (_, index) => services - 1 - index);
    this.#api.put(...indexes.map(serviceObject), ...indexes.map((index) => sliceObject(index)));
    if (!this.#proxy.process.running) throw new Error(`kube-proxy has ended\n${this.#proxy.process.lines().slice(-20).join('\n')}`);
    // kube-proxy answers each address of a Service from its own commit on, and refuses connections as long as it has not seen the endpoints.
    for (const address of [clusterAddress(0), externalAddress]) await answered(address, 80, 'pod1');
    await this.#untilQuiet();
  }

  /** A sync may follow that was already due, such as the one that deletes chains a second later. */
  async #untilQuiet(): Promise<void> {
    const generation = new Generation(`/run/netns/${namespaceOf('node')}`);
    try {
      await untilQuiet(generation);
    } finally {
      generation.close();
    }
  }

  /** Ends kube-proxy and leaves its rules. */
  async kill(): Promise<void> {
    await this.#proxy.stop('SIGKILL');
    await this.#api.stop();
  }

  async stop(): Promise<void> {
    await this.kill();
    for (const family of ['ip', 'ip6'])
      execFileSync('ip', ['netns', 'exec', namespaceOf('node'), 'nft', 'delete', 'table', family, 'kube-proxy']);
  }
}
