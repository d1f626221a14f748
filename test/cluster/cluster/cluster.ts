import assert from 'node:assert';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { programPath } from '../../conformance/programs.ts';
import type { ApiRequest, ApiResponse } from '../../conformance/request.ts';
import { run, type CommandOptions, type CommandResult } from '../../lab/command.ts';
import { Lab, type Client, type Router } from '../../lab/lab.ts';
import { inNamespace } from '../../lab/namespace.ts';
import { until } from '../../lab/until.ts';
import { cacheDirectory, defaultMinor } from '../programs.ts';
import { imageArchives, imageNames } from '../images/index.ts';
import { ControlPlane } from './control-plane.ts';
import { planOf, valuesOf, type ClusterDescription, type ClusterPlan } from './description.ts';
import { dnsObjects } from './dns/objects.ts';
import { copyImages, unpackedImages, type ImageFile } from './images.ts';
import { claimDirectory, removeData, sweepClusters } from './leftovers.ts';
import { ClusterNode } from './node.ts';
import { Pki } from './pki.ts';
import { clusterTopology } from './topology.ts';

export interface ClusterOptions {
  /** Further images that the nodes have, such as Herald's (heraldImage of test/cluster/images). */
  readonly images?: readonly ImageFile[];
  /** The signals that remove the cluster and end this process. SIGHUP, SIGINT and SIGTERM by default. */
  readonly signals?: readonly NodeJS.Signals[];
  /** Gets a line for each step, such as "41 s: kube-apiserver is ready". Printed by default. */
  readonly progress?: (line: string) => void;
}

/**
 * Creates a cluster of real nodes in network namespaces of this machine. Resolves when its nodes are Ready and DNS answers. First ends clusters that
 * a killed process left. All ends with remove(), and when this process gets SIGINT, SIGTERM or SIGHUP.
 *
 *     const cluster = await createCluster({ families: 'dual', kubeProxy: 'none' });
 *     await cluster.kubectl(['apply', '-k', 'manifests/crds']);
 *     await cluster.client.tcp({ address: '10.200.0.1', port: 80 });
 *     await cluster.remove();
 */
export async function createCluster(description: ClusterDescription, options: ClusterOptions = {}): Promise<Cluster> {
  const began = performance.now();
  const print = options.progress ?? ((line): void => void process.stdout.write(`cluster: ${line}\n`));
  const progress = (line: string): void => print(`${Math.round((performance.now() - began) / 1000)} s: ${line}`);
  const swept = await sweepClusters();
  if (swept.length > 0) progress(`removed ${swept.join(', ')}, which a killed process left`);
  const plan = planOf(description);
  const archives = await imageArchives(description.minor);
  const lab = await Lab.start(clusterTopology(plan));
  const directory = claimDirectory(lab.id);
  const pki = await Pki.create(join(directory, 'pki'), plan);
  const cluster = new Cluster(description, lab, directory, pki, options.signals);
  try {
    await cluster.start([...archives, ...(options.images ?? [])], progress);
    return cluster;
  } catch (error) {
    await cluster.remove();
    throw error;
  }
}

/** A running cluster. The client, the ToR with FRR and the nodes are machines of `lab`. */
export class Cluster {
  readonly plan: ClusterPlan;
  readonly lab: Lab;
  readonly nodes: readonly ClusterNode[];
  /** Holds all data. It is removed with the cluster. */
  readonly directory: string;
  /** The path of cluster-admin's kubeconfig. Its server is reachable from the client, the ToR and the nodes only. */
  readonly kubeconfig: string;
  readonly #controlPlane: ControlPlane;
  readonly #signals: readonly NodeJS.Signals[];
  #removed: Promise<void> | undefined;

  constructor(description: ClusterDescription, lab: Lab, directory: string, pki: Pki, signals = defaultSignals) {
    this.#signals = signals;
    const { minor = defaultMinor, kubeProxy } = description;
    const cluster = planOf(description);
    const { Pause: pauseImage } = imageNames(minor);
    assert(pauseImage);
    this.plan = cluster;
    this.lab = lab;
    this.directory = directory;
    this.kubeconfig = pki.kubeconfig('admin');
    this.nodes = cluster.nodes.map((plan) => new ClusterNode(plan, { lab, cluster, pki, directory, minor, kubeProxy, pauseImage }));
    this.#controlPlane = new ControlPlane(lab.machine('tor'), cluster, pki, directory, minor);
    for (const signal of signals) process.once(signal, this.#onSignal);
  }

  /** The client outside the cluster. */
  get client(): Client {
    return this.lab.client;
  }

  /** The router. The control plane runs in its network namespace. */
  get tor(): Router {
    return this.lab.router('tor');
  }

  node(name: string): ClusterNode {
    const node = this.nodes.find((one) => one.name === name);
    if (node === undefined) throw new Error(`there is no node ${name}`);
    return node;
  }

  /** Called once, by createCluster. */
  async start(archives: readonly ImageFile[], progress: (line: string) => void): Promise<void> {
    const { lab, plan } = this;
    progress(`${plan.families.join(' and ')} network ${lab.id} with the ToR is up`);
    const [first] = this.nodes;
    assert(first);
    const images = await unpackedImages(first, archives, progress);
    await this.#controlPlane.start();
    progress('the control plane is up');
    await Promise.all(
      this.nodes.map(async (node) => {
        await copyImages(images, node.containerdRoot);
        await node.boot();
        await node.startContainerd();
        node.startKubelet();
      }),
    );
    progress('containerd and the kubelets run');
    await Promise.all(this.nodes.map((node) => this.#assignPodCidrs(node)));
    for (const object of dnsObjects(plan)) await this.apply(object);
    await Promise.all(this.nodes.map((node) => this.untilReady(node.name)));
    progress(`${this.nodes.length} nodes are Ready`);
  }

  /** Runs kubectl as cluster-admin. A status other than 0 rejects with CommandError unless `check` is false. */
  kubectl(args: readonly string[], options?: CommandOptions): Promise<CommandResult> {
    return this.#asAdmin([programPath('kubectl'), ...args], options);
  }

  helm(args: readonly string[], options?: CommandOptions): Promise<CommandResult> {
    return this.#asAdmin([programPath('helm'), ...args], options);
  }

  /** Runs any program at the ToR with cluster-admin's kubeconfig in KUBECONFIG. */
  #asAdmin(argv: readonly string[], { env = {}, ...options }: CommandOptions = {}): Promise<CommandResult> {
    const own = { KUBECONFIG: this.kubeconfig, HOME: this.directory };
    return run(inNamespace(this.tor.namespace, argv), { timeoutMs: 300_000, ...options, env: { ...own, ...env } });
  }

  /** Applies an object as `kubectl apply --server-side --force-conflicts` does. */
  async apply(object: object): Promise<void> {
    const args = ['apply', '--server-side', '--force-conflicts', '-f', '-'];
    await this.kubectl(args, { input: JSON.stringify(object) });
  }

  /** Sends a request as cluster-admin. Resolves with the parsed body; rejects unless the status is 2xx. */
  async request(request: ApiRequest): Promise<unknown> {
    const { status, body } = await this.attempt(request);
    if (status >= 300) throw new Error(`${request.method ?? 'GET'} ${request.path}: ${status} ${JSON.stringify(body)}`);
    return body;
  }

  /** Sends a request as cluster-admin and resolves with any status. */
  attempt(request: ApiRequest): Promise<ApiResponse> {
    return this.#controlPlane.attempt(request);
  }

  /** Waits until a Node has the condition Ready with this status. A node without heartbeats has `Unknown` after 50 s. */
  async untilReady(name: string, wanted: 'True' | 'Unknown' = 'True', timeoutMs = 300_000): Promise<void> {
    await until(
      `${name} has Ready=${wanted}`,
      async (note) => {
        const { status } = (await this.request({ path: `/api/v1/nodes/${name}` })) as NodeObject;
        return note(status.conditions ?? []).some((condition) => condition.type === 'Ready' && condition.status === wanted);
      },
      timeoutMs,
    );
  }

  /** Ends every process and removes namespaces, cgroups and data. Idempotent. */
  remove(): Promise<void> {
    this.#removed ??= this.#remove();
    return this.#removed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.remove();
  }

  async #remove(): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.end()));
    await this.#keepLogs();
    await this.lab.stop();
    removeData(this.lab.id);
    for (const signal of this.#signals) process.removeListener(signal, this.#onSignal);
  }

  /** Keeps the logs of the programs and of the containers, in place of those of the cluster before. */
  async #keepLogs(): Promise<void> {
    rmSync(keptLogs, { recursive: true, force: true });
    mkdirSync(keptLogs, { recursive: true });
    const pods = this.nodes.map(({ name, podLogs }) => ({ name: `${name}-pods`, folder: podLogs }));
    for (const { name, folder } of [{ name: 'programs', folder: join(this.lab.directory, 'logs') }, ...pods])
      await run(['cp', '-r', folder, join(keptLogs, name)], { check: false });
  }

  readonly #onSignal = (_name: string, number: number): void => {
    void this.remove().finally(() => process.exit(128 + number));
  };

  async #assignPodCidrs({ name, plan }: ClusterNode): Promise<void> {
    const podCIDRs = valuesOf(plan.podCidr);
    await until(
      `${name} is registered`,
      async (note) => {
        const body = { spec: { podCIDR: podCIDRs[0], podCIDRs } };
        const path = `/api/v1/nodes/${name}`;
        const contentType = 'application/merge-patch+json';
        return note(await this.attempt({ method: 'PATCH', path, body, contentType })).status < 300;
      },
      300_000,
    );
  }
}

/** The logs of the cluster that was removed last. */
const keptLogs = join(cacheDirectory, 'logs');

interface NodeObject {
  readonly status: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}

const defaultSignals: readonly NodeJS.Signals[] = ['SIGHUP', 'SIGINT', 'SIGTERM'];
