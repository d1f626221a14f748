import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { LabProcess } from '../lab/lab-process.ts';
import { argumentsOf, podsIn, variablesOf, type Pod } from './pods.ts';
import { herald, type ClusterBed } from './cluster-bed.ts';

/** The port of /readyz of each process. */
const healthPorts: Readonly<Record<string, number>> = { agent: 10291, controller: 10293 };

/**
 * Stands in for the scheduler and the kubelets: binds pods to nodes, runs Herald's containers as processes in the network of their node, with
 * the arguments, the service account and the readiness probe of the pod, and reports other pods as running with the address of a pod of the lab.
 */
export class Kubelets {
  readonly #bed: ClusterBed;
  readonly #nodes: readonly string[];
  readonly #podAddress: (node: string) => string;
  readonly #processes = new Map<string, LabProcess>();
  readonly #started = new Map<string, string>();
  readonly #reported = new Map<string, boolean>();
  readonly #stopped = new AbortController();
  readonly #loop: Promise<void>;

  constructor(bed: ClusterBed, nodes: readonly string[], podAddress: (node: string) => string) {
    this.#bed = bed;
    this.#nodes = nodes;
    this.#podAddress = podAddress;
    this.#loop = this.#run();
  }

  /** Ends every process. The pods stay in the API server. */
  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#loop;
    for (const running of this.#processes.values()) await running.stop(60_000);
  }

  async #run(): Promise<void> {
    while (!this.#stopped.signal.aborted) {
      const pods = await podsIn(this.#bed.cluster);
      for (const pod of pods) {
        const nodeName = pod.spec.nodeName ?? (await this.#bind(pod, pods));
        await (pod.metadata.deletionTimestamp === undefined ? this.#keep(pod, nodeName) : this.#remove(pod));
      }
      await sleep(200);
    }
  }

  /** Binds a pod to the node that its DaemonSet wants, or to one that has the fewest pods of its kind. */
  async #bind({ metadata, spec }: Pod, pods: readonly Pod[]): Promise<string> {
    const wanted = /"metadata\.name","operator":"In","values":\["([^"]+)"\]/.exec(JSON.stringify(spec.affinity ?? {}))?.[1];
    const kin = pods.filter((other) => other.metadata.generateName === metadata.generateName);
    const count = (node: string): number => kin.filter((other) => other.spec.nodeName === node).length;
    const node = wanted ?? this.#nodes.toSorted((left, right) => count(left) - count(right))[0] ?? '';
    const target = { apiVersion: 'v1', kind: 'Node', name: node };
    const body = { apiVersion: 'v1', kind: 'Binding', metadata: { name: metadata.name }, target };
    await this.#bed.cluster.attempt({ method: 'POST', path: `${pathOf(metadata)}/binding`, body });
    // The next pods of this pass count it.
    Object.assign(spec, { nodeName: node });
    return node;
  }

  async #keep(pod: Pod, node: string): Promise<void> {
    const { uid } = pod.metadata;
    const program = pod.spec.containers[0]?.args?.[0] ?? '';
    const healthPort = healthPorts[program];
    if (healthPort !== undefined && !this.#processes.has(uid)) {
      this.#started.set(uid, new Date().toISOString());
      this.#processes.set(uid, await this.#start(pod, node));
    }
    const ready = healthPort === undefined || (await this.#isReady(node, healthPort));
    if (this.#reported.get(uid) === ready) return;
    const podIP = this.#podAddress(node);
    const conditions = [{ type: 'Ready', status: ready ? 'True' : 'False', lastTransitionTime: new Date().toISOString() }];
    const startedAt = this.#started.get(uid) ?? new Date().toISOString();
    const container = { name: pod.spec.containers[0]?.name ?? '', image: '', imageID: '', restartCount: 0, ready, started: true };
    // Herald takes an agent as alive while its container runs, and was started before its report was written.
    const containerStatuses = [{ ...container, state: { running: { startedAt } } }];
    const status = { phase: 'Running', containerStatuses, podIP, podIPs: [{ ip: podIP }], startTime: new Date().toISOString(), conditions };
    const contentType = 'application/merge-patch+json';
    const path = `${pathOf(pod.metadata)}/status`;
    const { status: answer } = await this.#bed.cluster.attempt({ method: 'PATCH', path, contentType, body: { status } });
    if (answer === 200) this.#reported.set(uid, ready);
  }

  async #remove({ metadata }: Pod): Promise<void> {
    await this.#processes.get(metadata.uid)?.stop(60_000);
    this.#processes.delete(metadata.uid);
    await this.#bed.cluster.attempt({ method: 'DELETE', path: `${pathOf(metadata)}?gracePeriodSeconds=0` });
  }

  /** Starts the container as a process. A file system of its own below /run has the files of the service account and its socket. */
  async #start(pod: Pod, node: string): Promise<LabProcess> {
    const { spec, metadata } = pod;
    const { lab, cluster } = this.#bed;
    const token = await cluster.serviceAccountToken(metadata.namespace, spec.serviceAccountName ?? 'default');
    const { server, certificateAuthority } = cluster.admin;
    const { hostname, port } = new URL(server);
    const variables = variablesOf(pod, node);
    // In its own container, /proc/sys of the node is mounted there.
    const args = argumentsOf(pod, variables).map((one) => one.replace('/host/proc/sys', '/proc/sys'));
    const mounts = [
      // A pod has its own host name, by which controllers tell each other apart.
      'hostname "$NAME"',
      'mount -t tmpfs tmpfs /run',
      'mkdir -p /run/herald /run/secrets/kubernetes.io/serviceaccount',
      'cd /run/secrets/kubernetes.io/serviceaccount',
      'printf %s "$TOKEN" > token; printf %s "$AUTHORITY" > ca.crt; printf %s "$NAMESPACE" > namespace',
      'exec "$@"',
    ].join('\n');
    return lab.machine(node).spawn(['unshare', '--mount', '--uts', 'sh', '-euc', mounts, 'sh', herald, ...args], {
      name: metadata.name,
      env: {
        ...variables,
        TOKEN: token,
        AUTHORITY: certificateAuthority,
        NAMESPACE: metadata.namespace,
        NAME: metadata.name,
        KUBERNETES_SERVICE_HOST: hostname,
        KUBERNETES_SERVICE_PORT: port,
        NODE_COMPILE_CACHE: join(this.#bed.programs, 'compiled'),
      },
    });
  }

  async #isReady(node: string, port: number): Promise<boolean> {
    const argv = ['curl', '-sf', '-o', '/dev/null', '-m', '1', `http://127.0.0.1:${port}/readyz`];
    return (await this.#bed.lab.machine(node).exec(argv, { check: false })).code === 0;
  }
}

function pathOf({ namespace, name }: Pod['metadata']): string {
  return `/api/v1/namespaces/${namespace}/pods/${name}`;
}
