import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { FixtureApiServer } from '../../kube-fixture/api-server.ts';
import { startKubeProxy, type KubeProxy } from '../../kube-fixture/kube-proxy.ts';
import { namespaceOf } from '../../lab/dataplane/one-node.ts';
import { residentMemory } from '../bgp/process-figures.ts';
import { median } from '../bgp/statistics.ts';
import { askUntil, type Question } from './client.ts';
import { clusterAddress, nodeObject, serviceObject, sliceObject } from './services.ts';

/** The real kube-proxy, nftables mode, on the node of the lab. */
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

  /** Milliseconds until the Services answer; kube-proxy runs already. */
  async load(services: number): Promise<number> {
    // Service 0 comes last: whoever answers through it has all of them.
    const indexes = Array.from({ length: services }, (_, index) => services - 1 - index);
    const objects = [...indexes.map(serviceObject), ...indexes.map((index) => sliceObject(index))];
    // It is ready when it has the Service that is taken away again.
    this.#api.put(serviceObject(0), sliceObject(0));
    await this.#ask('pod1').answered;
    this.#api.delete('EndpointSlice', 'bench/s0-1');
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    const question = this.#ask('pod1');
    await question.asked;
    const start = performance.timeOrigin + performance.now();
    this.#api.put(...objects);
    return (await question.answered) - start;
  }

  /** Milliseconds from an endpoint that is another one now to its answer. */
  async change(): Promise<number> {
    const times: number[] = [];
    for (let version = 1; version <= 6; version++) {
      const question = this.#ask(version % 2 === 0 ? 'pod1' : 'pod2');
      await question.asked;
      const start = performance.timeOrigin + performance.now();
      this.#api.put(sliceObject(0, version));
      times.push((await question.answered) - start);
    }
    return median(times);
  }

  memory(): number {
    return residentMemory(this.#proxy.process.pid);
  }

  async stop(): Promise<void> {
    await this.#proxy.stop('SIGKILL');
    await this.#api.stop();
    for (const family of ['ip', 'ip6'])
      execFileSync('ip', ['netns', 'exec', namespaceOf('node'), 'nft', 'delete', 'table', family, 'kube-proxy']);
  }

  #ask(pod: string): Question {
    if (!this.#proxy.process.running) throw new Error(`kube-proxy has ended\n${this.#proxy.process.lines().slice(-20).join('\n')}`);
    return askUntil(clusterAddress(0), 80, pod);
  }
}

/** It leads a session of its own, which the kernel schedules as a group of its own: what ours was given is to count for it too. */
function sharePriority(pid: number): void {
  const nice = existsSync('/proc/self/autogroup') ? / nice (-?\d+)/.exec(readFileSync('/proc/self/autogroup', 'utf8'))?.[1] : undefined;
  if (nice !== undefined) writeFileSync(`/proc/${pid}/autogroup`, nice);
}
