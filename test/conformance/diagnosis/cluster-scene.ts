import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { statusCommand } from '../../../src/cli/commands/tables/status-command.ts';
import { conditionCountsIn, type Problem } from '../../lab/diagnosis/faces.ts';
import { fabric } from '../../lab/diagnosis/fabric.ts';
import type { Manifest } from '../../lab/diagnosis/objects.ts';
import type { Reports } from '../../lab/diagnosis/same-code.ts';
import type { LabProcess } from '../../lab/lab-process.ts';
import { until } from '../../lab/until.ts';
import { inProcess } from '../../unit/cli/in-process.ts';
import { borrowCluster } from '../borrowed-cluster.ts';
import type { KubernetesCluster } from '../cluster.ts';
import { foreground } from '../foreground.ts';
import { freePorts } from '../free-port.ts';
import { apply, configurationKinds, definition, pathOf, shipped } from '../manifests.ts';

const program = join(import.meta.dirname, '../../../bin/herald');

/** A Manifest of the cases. */
interface Identified {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly status?: object;
}

interface ServiceObject {
  readonly status: {
    readonly loadBalancer?: { readonly ingress?: readonly { readonly ip: string }[] };
    readonly conditions?: readonly { readonly type: string; readonly status: string; readonly reason: string; readonly message: string }[];
  };
}

interface Event {
  readonly reason: string;
  readonly note: string;
  readonly regarding: { readonly kind: string; readonly name: string };
}

/**
 * kube-apiserver, kube-controller-manager and a real controller, with the Nodes and peers of the lab's diagnosis. The Nodes are objects
 * without machines, so no agent runs.
 */
export class ClusterScene {
  readonly cluster: KubernetesCluster;
  /** Of cluster-admin. */
  readonly kubeconfig: string;
  readonly #metricsPort: number;
  #controller: LabProcess | undefined;
  #started = 0;

  private constructor(cluster: KubernetesCluster, metricsPort: number) {
    this.cluster = cluster;
    this.kubeconfig = join(cluster.directory, 'kubeconfig');
    this.#metricsPort = metricsPort;
  }

  static async start(): Promise<ClusterScene> {
    // That controller would call Nodes without a kubelet dead, and make their Pods unready.
    const controllerManagerArguments = ['--controllers=*,-node-lifecycle-controller'];
    const cluster = await borrowCluster({ controllerManager: true, controllerManagerArguments });
    const [port = 0] = await freePorts(1);
    const scene = new ClusterScene(cluster, port);
    for (const file of ['namespace', 'controller-rbac', 'explain-rbac']) await apply(cluster, ...shipped(`base/${file}.yaml`));
    for (const kind of configurationKinds) await apply(cluster, definition(kind));
    await until('the kinds are served', async () => {
      await scene.apply(fabric());
      return true;
    });
    return scene;
  }

  async stop(): Promise<void> {
    await this.stopController('SIGKILL');
    await this.cluster.stop();
  }

  /** Starts the controller with the shipped rights. `options`: further arguments. */
  async startController(...options: readonly string[]): Promise<void> {
    const token = await this.cluster.serviceAccountToken('herald-system', 'herald-controller');
    const kubeconfig = await this.writeKubeconfig('controller', token);
    const ports = ['--metrics-address', `127.0.0.1:${this.#metricsPort}`, '--health-address', 'none', '--socket', 'none'];
    const log = join(this.cluster.directory, `controller-${++this.#started}.log`);
    this.#controller = foreground([program, 'controller', '--kubeconfig', kubeconfig, ...ports, ...options], log);
    await this.#controller.waitForLine(/controller started/);
  }

  async stopController(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    this.#controller?.kill(signal);
    await this.#controller?.exited;
    this.#controller = undefined;
  }

  async writeKubeconfig(name: string, token: string): Promise<string> {
    const path = join(this.cluster.directory, `${name}.kubeconfig`);
    await writeFile(path, this.cluster.kubeconfig(token), { mode: 0o600 });
    return path;
  }

  /** Applies objects with their statuses, in this order. */
  async apply(manifests: readonly Manifest[]): Promise<void> {
    for (const { status, ...manifest } of manifests as readonly (Manifest & Identified)[]) {
      await apply(this.cluster, manifest);
      if (status !== undefined) await this.patch(`${pathOf(manifest)}/status`, { status });
    }
  }

  /** Replaces objects by others: those that are missing among the new ones are deleted. */
  async replace(before: readonly Manifest[], after: readonly Manifest[]): Promise<void> {
    const paths = (of: readonly Manifest[]): string[] => (of as readonly (Manifest & Identified)[]).map(pathOf);
    const remaining = new Set(paths(after));
    for (const path of paths(before)) if (!remaining.has(path)) await this.cluster.request({ method: 'DELETE', path });
    await this.apply(after);
  }

  async patch(path: string, body: object): Promise<void> {
    await this.cluster.request({ method: 'PATCH', path, body, contentType: 'application/merge-patch+json' });
  }

  /** Returns the words for `herald explain service`, with the rights of cluster-admin or of another kubeconfig. */
  words(service: string, kubeconfig = this.kubeconfig): string[] {
    return [service, '--kubeconfig', kubeconfig];
  }

  async problems(kubeconfig = this.kubeconfig): Promise<Reports['rows']> {
    const { stdout, stderr, code } = await inProcess(statusCommand, ['--problems', '--kubeconfig', kubeconfig, '-o', 'json']);
    if (stdout === '') throw new Error(stderr);
    return { code, problems: (JSON.parse(stdout) as { problems: Problem[] }).problems };
  }

  async addresses(service: string): Promise<readonly string[]> {
    return ((await this.#service(service)).status.loadBalancer?.ingress ?? []).map(({ ip }) => ip);
  }

  async conditions(service: string): Promise<Reports['conditions']> {
    const { conditions = [] } = (await this.#service(service)).status;
    return Object.fromEntries(conditions.map(({ type, ...condition }) => [type.replace('herald.dev/', ''), condition] as const));
  }

  /** Returns the Events about a Service, as events.k8s.io/v1 stores them. */
  async events(service: string): Promise<readonly Event[]> {
    const [namespace = '', name = ''] = service.split('/');
    const { items } = (await this.cluster.request({ path: `/apis/events.k8s.io/v1/namespaces/${namespace}/events` })) as { items: Event[] };
    return items.filter(({ regarding }) => regarding.kind === 'Service' && regarding.name === name);
  }

  async count(): Promise<Reports['count']> {
    const answer = await fetch(`http://127.0.0.1:${this.#metricsPort}/metrics`);
    return conditionCountsIn(await answer.text());
  }

  async #service(service: string): Promise<ServiceObject> {
    const [namespace = '', name = ''] = service.split('/');
    return (await this.cluster.request({ path: `/api/v1/namespaces/${namespace}/services/${name}` })) as ServiceObject;
  }
}
