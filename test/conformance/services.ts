import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { LabProcess } from '../lab/lab-process.ts';
import { until } from '../lab/until.ts';
import { borrowCluster } from './borrowed-cluster.ts';
import type { KubernetesCluster } from './cluster.ts';
import { foreground } from './foreground.ts';
import { apply, shipped } from './manifests.ts';
import type { ApiResponse } from './request.ts';

const program = join(import.meta.dirname, '../../bin/herald');

export interface ServiceObject {
  readonly metadata: Readonly<Record<string, unknown>> & { readonly name: string };
  readonly status: {
    readonly loadBalancer: { readonly ingress?: readonly { readonly ip: string; readonly ipMode?: string }[] };
    readonly conditions?: readonly { readonly type: string; readonly status: string; readonly reason: string }[];
  };
}

/**
 * A cluster with the shipped CRDs, a pool, and controllers with the shipped service account and Roles. Services are in the namespace
 * default.
 */
export class ServiceCluster {
  readonly cluster: KubernetesCluster;
  readonly path = '/api/v1/namespaces/default/services';
  readonly #kubeconfig: string;
  readonly #running = new Set<LabProcess>();
  #started = 0;

  private constructor(cluster: KubernetesCluster) {
    this.cluster = cluster;
    this.#kubeconfig = join(cluster.directory, 'controller.kubeconfig');
  }

  /** Takes over the cluster; by default one that other files have used. */
  static async start(pool: readonly string[], given?: KubernetesCluster): Promise<ServiceCluster> {
    const cluster = given ?? (await borrowCluster());
    const result = new ServiceCluster(cluster);
    for (const file of ['namespace', 'controller-rbac', 'agent-rbac']) await apply(cluster, ...shipped(`base/${file}.yaml`));
    for (const kind of ['ipaddresspools', 'nodestates']) await apply(cluster, ...shipped(`crds/${kind}.yaml`));
    await until('the pool is accepted', async () => {
      await apply(cluster, ipAddressPool('main', { addresses: pool }));
      return true;
    });
    const token = await cluster.serviceAccountToken('herald-system', 'herald-controller');
    await writeFile(result.#kubeconfig, cluster.kubeconfig(token), { mode: 0o600 });
    return result;
  }

  /** Starts a controller and resolves when it assigns addresses. `options`: additional arguments. */
  async startController(...options: readonly string[]): Promise<LabProcess> {
    const log = join(this.cluster.directory, `controller-${++this.#started}.log`);
    const controller = foreground([program, 'controller', '--leader-elect=false', '--kubeconfig', this.#kubeconfig, ...options], log);
    this.#running.add(controller);
    await controller.waitForLine(/controller started/);
    return controller;
  }

  async kill(controller: LabProcess): Promise<void> {
    controller.kill('SIGKILL');
    await controller.exited;
    this.#running.delete(controller);
  }

  async stop(): Promise<void> {
    for (const one of this.#running) await this.kill(one);
    await this.cluster.stop();
  }

  async get(name: string): Promise<ServiceObject> {
    return (await this.cluster.request({ path: `${this.path}/${name}` })) as ServiceObject;
  }

  async addressesOf(name: string): Promise<readonly string[]> {
    return ((await this.get(name)).status.loadBalancer.ingress ?? []).map(({ ip }) => ip);
  }

  async conditionOf(name: string, type = 'AddressAssigned'): Promise<string> {
    const { conditions = [] } = (await this.get(name)).status;
    const found = conditions.find((condition) => condition.type === `herald.dev/${type}`);
    return found === undefined ? 'absent' : `${found.status} ${found.reason}`;
  }

  untilAddresses(name: string, count: number): Promise<readonly string[]> {
    return until(`${name} has ${count} addresses`, async (note) => {
      const addresses = note(await this.addressesOf(name));
      return addresses.length === count && addresses;
    });
  }

  untilCondition(name: string, wanted: string): Promise<boolean> {
    return until(`${name} says ${wanted}`, async (note) => note(await this.conditionOf(name)) === wanted);
  }

  patch(name: string, body: object, subresource = ''): Promise<ApiResponse> {
    const path = `${this.path}/${name}${subresource}`;
    return this.cluster.attempt({ method: 'PATCH', path, body, contentType: 'application/merge-patch+json' });
  }

  /** Applies on the server side as another field manager. */
  applyAs(manager: string, path: string, body: object, force: boolean): Promise<ApiResponse> {
    const query = `?fieldManager=${manager}&force=${String(force)}`;
    return this.cluster.attempt({ method: 'PATCH', path: `${path}${query}`, body, contentType: 'application/apply-patch+yaml' });
  }
}

export function ipAddressPool(name: string, spec: object): object {
  return { apiVersion: 'herald.dev/v1alpha1', kind: 'IPAddressPool', metadata: { name }, spec };
}

/** Returns a Service of our class, without NodePorts, which are few. */
export function loadBalancer(name: string, spec: object = {}, metadata: object = {}): object {
  const ours = {
    type: 'LoadBalancer',
    loadBalancerClass: 'herald.dev/herald',
    allocateLoadBalancerNodePorts: false,
    ports: [{ port: 80 }],
  };
  return { apiVersion: 'v1', kind: 'Service', metadata: { name, namespace: 'default', ...metadata }, spec: { ...ours, ...spec } };
}
