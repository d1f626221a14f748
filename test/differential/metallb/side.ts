import { setTimeout as sleep } from 'node:timers/promises';
import { join } from 'node:path';
import { KubernetesCluster } from '../../conformance/cluster.ts';
import { foreground } from '../../conformance/foreground.ts';
import { apply } from '../../conformance/manifests.ts';
import type { LabProcess } from '../../lab/lab-process.ts';
import { until } from '../../lab/until.ts';
import { metallbDefinitions } from './metallb-module.ts';
import { manifestOf, namespaces, type Pool, type WantedService } from './objects.ts';

/** MetalLB's namespace. */
export const home = 'metallb-system';

/** A Service of its own pool. When it has the address that it was last asked to have, the controller has seen all earlier changes. */
const probe = { namespace: 'probe', name: 'probe', addresses: ['198.51.100.10', '198.51.100.11'] } as const;
const probePool = { name: 'probe', spec: { addresses: ['198.51.100.10/31'], autoAssign: false, avoidBuggyIPs: false } };

interface ServiceStatus {
  readonly metadata: { readonly namespace: string; readonly name: string };
  readonly status?: { readonly loadBalancer?: { readonly ingress?: readonly { readonly ip: string }[] } };
}

/** An API server with one controller that assigns addresses. */
export class Side {
  readonly name: string;
  readonly cluster: KubernetesCluster;
  #controller: LabProcess | undefined;
  #probes = 0;

  private constructor(name: string, cluster: KubernetesCluster) {
    this.name = name;
    this.cluster = cluster;
  }

  /** Starts an API server with MetalLB's CRDs and the namespaces, and then the controller with the arguments that `prepare` returns. */
  static async start(name: string, prepare: (cluster: KubernetesCluster) => Promise<readonly string[]>): Promise<Side> {
    const cluster = await KubernetesCluster.start();
    const side = new Side(name, cluster);
    try {
      for (const one of await metallbDefinitions()) await apply(cluster, one);
      for (const [namespace, labels] of Object.entries({ ...namespaces, [home]: {}, [probe.namespace]: {} }))
        await apply(cluster, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace, labels } });
      const argv = await prepare(cluster);
      await until('the pools are served', async () => {
        await side.#putPool(probePool);
        return true;
      });
      side.#controller = foreground(argv, join(cluster.directory, `${name}.log`));
      await side.settle(60_000);
      return side;
    } catch (error) {
      const log = side.#controller?.lines().slice(-20).join('\n') ?? '';
      await side.stop();
      throw new Error(`${name} did not start: ${log}`, { cause: error });
    }
  }

  get running(): boolean {
    return this.#controller?.running === true;
  }

  /** Replaces all pools. No Service may exist except the probe. */
  async replacePools(pools: readonly Pool[]): Promise<void> {
    const path = `/apis/metallb.io/v1beta1/namespaces/${home}/ipaddresspools`;
    const { items } = (await this.cluster.request({ path })) as { items: readonly { readonly metadata: { readonly name: string } }[] };
    for (const { metadata } of items)
      if (metadata.name !== probePool.name) await this.cluster.request({ method: 'DELETE', path: `${path}/${metadata.name}` });
    for (const pool of pools) await this.#putPool(pool);
    // The controllers watch pools and Services on different connections.
    await sleep(500);
    await this.settle();
  }

  /** Applies a Service. Returns false when the API server refuses it. */
  async put(service: WantedService): Promise<boolean> {
    const path = `/api/v1/namespaces/${service.namespace}/services/${service.name}?fieldManager=test&force=true`;
    const { status, body } = await this.cluster.attempt({
      method: 'PATCH',
      path,
      body: manifestOf(service),
      contentType: 'application/apply-patch+yaml',
    });
    if (status < 300) return true;
    if (status === 422) return false;
    throw new Error(`${path}: ${status} ${JSON.stringify(body)}`);
  }

  async remove(key: string): Promise<void> {
    const [namespace = '', name = ''] = key.split('/');
    const path = `/api/v1/namespaces/${namespace}/services/${name}`;
    const { status, body } = await this.cluster.attempt({ method: 'DELETE', path });
    if (status >= 300 && status !== 404) throw new Error(`DELETE ${path}: ${status} ${JSON.stringify(body)}`);
  }

  /** Returns the addresses in the status of every Service, sorted. */
  async addresses(): Promise<ReadonlyMap<string, readonly string[]>> {
    const { items } = (await this.cluster.request({ path: '/api/v1/services' })) as { items: readonly ServiceStatus[] };
    return new Map(
      items
        .filter(({ metadata }) => Object.hasOwn(namespaces, metadata.namespace))
        .map(({ metadata, status }) => [
          `${metadata.namespace}/${metadata.name}`,
          (status?.loadBalancer?.ingress ?? []).map(({ ip }) => ip).toSorted(),
        ]),
    );
  }

  /** Resolves when the controller has processed all changes up to now. */
  async settle(timeout = 30_000): Promise<void> {
    const wanted = probe.addresses[this.#probes++ % 2] ?? '';
    const { namespace, name } = probe;
    const spec = { type: 'LoadBalancer', allocateLoadBalancerNodePorts: false, ports: [{ port: 1 }] };
    const annotations = { 'metallb.io/loadBalancerIPs': wanted };
    await apply(this.cluster, { apiVersion: 'v1', kind: 'Service', metadata: { namespace, name, annotations }, spec });
    await until(
      `${this.name} gives the probe ${wanted}`,
      async (note) => {
        if (!this.running) throw new Error(`${this.name} has ended: ${this.#controller?.lines().slice(-20).join('\n') ?? ''}`);
        const found = (await this.cluster.request({ path: `/api/v1/namespaces/${namespace}/services/${name}` })) as ServiceStatus;
        return note(found.status?.loadBalancer?.ingress?.map(({ ip }) => ip).join()) === wanted;
      },
      timeout,
    );
  }

  /** Returns the last lines that the controller has logged about a Service. */
  logAbout(key: string): readonly string[] {
    return (this.#controller?.lines() ?? []).filter((line) => line.includes(key)).slice(-4);
  }

  async stop(): Promise<void> {
    this.#controller?.kill('SIGKILL');
    await this.#controller?.exited;
    await this.cluster.stop();
  }

  async #putPool({ name, spec }: Pool): Promise<void> {
    await apply(this.cluster, { apiVersion: 'metallb.io/v1beta1', kind: 'IPAddressPool', metadata: { namespace: home, name }, spec });
  }
}
