import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { LabProcess } from '../lab/lab-process.ts';
import { inNamespace } from '../lab/namespace.ts';
import { standardTopology } from '../lab/standard-topology.ts';
import { until } from '../lab/until.ts';
import { ClusterBed, herald } from './cluster-bed.ts';
import { root, type Bed } from './follow.ts';

const nodes = ['node1', 'node2', 'node3'] as const;
const ours = 'bgppeers,bgpadvertisements,ipaddresspools,bfdprofiles,communities,externalippolicies,heraldconfigs';

/** The manifests of the cluster as text. */
export const fabricObjects = ['10-cluster', '20-herald', '30-web', '40-ledger']
  .map((name) => readFileSync(join(root, `examples/fabric/${name}.yaml`), 'utf8'))
  .join('---\n')
  // Changes from examples/fabric: longer hold times, because no page is about dying nodes; defaultClass, because a directory source serves
  // Services without a class and a cluster does not; a short settle time, so that drains do not wait.
  .replaceAll('holdTime: 3s, keepaliveTime: 1s', 'holdTime: 30s, keepaliveTime: 10s')
  .replace('drainSeconds: 2', 'drainSeconds: 2, defaultClass: true, nodeDrain: { settleSeconds: 2 }');

interface Item {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly uid: string; readonly namespace?: string; readonly deletionTimestamp?: string };
  readonly spec?: { readonly nodeName?: string };
  readonly status?: {
    readonly sessions?: readonly { readonly state: string; readonly prefixesSent: number; readonly bfd?: object }[];
    readonly drain?: object;
    readonly loadBalancer?: { readonly ingress?: readonly object[] };
  };
}

/**
 * The environment of most pages: examples/fabric in a cluster, with a controller, agents on three nodes, and two switches (FRR) that have
 * BGP and BFD sessions with them. The reader is at the machine "client", which reaches the API server on the spine.
 */
export class FabricBed {
  readonly bed: ClusterBed;
  readonly #agents = new Map<string, LabProcess>();
  readonly #stopped = new AbortController();
  #replacing: Promise<void> = Promise.resolve();

  private constructor(bed: ClusterBed) {
    this.bed = bed;
  }

  static async start(): Promise<FabricBed> {
    const pods = nodes.map((node, index) => ({ name: `web-${index + 1}`, node }));
    const topology = standardTopology({ pods, bfd: 300 });
    const bed = await ClusterBed.start({ topology, server: { machine: 'spine', address: '10.9.0.1' } });
    const fabric = new FabricBed(bed);
    try {
      await bed.installDefinitions();
      await bed.kubectl(['apply', '--server-side', '-k', 'manifests/base']);
      await fabric.#restoreObjects();
      bed.lab.machine('spine').spawn([herald, 'controller', '--kubeconfig', bed.kubeconfig, '--socket', 'none'], { name: 'controller' });
      for (const node of nodes) await fabric.#startAgent(node);
      fabric.#replacing = fabric.#replaceAgents();
      return fabric;
    } catch (error) {
      await fabric.stop();
      throw error;
    }
  }

  /** The environment of a reader who is root on node1. */
  get onNode1(): Bed {
    const { lab, programs, variables } = this.bed;
    const inside = 'mkdir -p /run/herald && mount --bind "$1" /run/herald && shift && exec "$@"';
    const entrance = inNamespace(lab.machine('node1').namespace, ['sh', '-c', inside, 'sh', join(lab.directory, 'node1-run')]);
    return { entrance, programs, variables, checkout: false };
  }

  /** Undoes the changes of the page before, and resolves when every session is up. */
  async begin(): Promise<void> {
    await this.bed.kubectl(['annotate', 'nodes', '--all', 'herald.dev/drain-']);
    await this.bed.kubectl(['uncordon', ...nodes]);
    await this.#restoreObjects();
    await until('the fabric is up', async (note) => note(await this.#missing()).length === 0, 120_000);
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#replacing;
    await this.bed.stop();
  }

  async #restoreObjects(): Promise<void> {
    const wanted = new Set(namesIn(fabricObjects));
    const foreign = (await this.#list(ours)).filter(({ kind, metadata }) => !wanted.has(`${kind}/${metadata.name}`));
    for (const { kind, metadata } of foreign) await this.bed.kubectl(['delete', kind, metadata.name]);
    await this.bed.kubectl(['apply', '-f', '-'], { input: fabricObjects });
  }

  /** Returns the nodes and Services that are not ready yet. */
  async #missing(): Promise<readonly string[]> {
    const states = await this.#list('nodestates');
    const lacking = nodes.flatMap((node) => {
      const { sessions = [], drain } = states.find(({ metadata }) => metadata.name === node)?.status ?? {};
      const up = sessions.filter(({ state, prefixesSent, bfd }) => state === 'Established' && prefixesSent >= 3 && bfd === undefined);
      const isUp = drain === undefined && sessions.length === 4 && up.length === 4;
      return isUp ? [] : [`${node}: ${JSON.stringify({ drain, sessions: sessions.filter((session) => !up.includes(session)) })}`];
    });
    const services = (await this.#list('services')).filter(({ metadata }) => metadata.namespace === 'shop');
    const waiting = services.filter(({ status }) => status?.loadBalancer?.ingress?.length !== 2);
    return [...lacking, ...waiting.map(({ metadata }) => metadata.name)];
  }

  async #list(kind: string): Promise<readonly Item[]> {
    const { stdout } = await this.bed.kubectl(['get', kind, '-A', '-o', 'json']);
    return (JSON.parse(stdout) as { items: Item[] }).items;
  }

  async #startAgent(node: string): Promise<void> {
    const { lab, kubeconfig, cluster } = this.bed;
    // All machines of the lab share their files, so only node1's agent has a socket. `onNode1` mounts it where users expect it.
    const socket = node === 'node1' ? join(await lab.scratch('node1-run'), 'agent.sock') : 'none';
    const argv = [herald, 'agent', '--node', node, '--kubeconfig', kubeconfig, '--socket', socket];
    const agent = lab.node(node).spawn(argv, { name: 'agent' });
    this.#agents.set(node, agent);
    const labels = { 'app.kubernetes.io/name': 'herald', 'app.kubernetes.io/component': 'agent' };
    const { metadata } = (await cluster.request({ path: '/apis/apps/v1/namespaces/herald-system/daemonsets/herald-agent' })) as Item;
    const owner = { apiVersion: 'apps/v1', kind: 'DaemonSet', name: metadata.name, uid: metadata.uid, controller: true };
    const spec = { nodeName: node, containers: [{ name: 'agent', image: 'herald' }] };
    const body = { apiVersion: 'v1', kind: 'Pod', metadata: { generateName: 'herald-agent-', labels, ownerReferences: [owner] }, spec };
    await cluster.request({ method: 'POST', path: '/api/v1/namespaces/herald-system/pods', body });
  }

  /** Replaces deleted pods of agents, as the kubelets and the DaemonSet do. */
  async #replaceAgents(): Promise<void> {
    const path = '/api/v1/namespaces/herald-system/pods';
    while (!this.#stopped.signal.aborted) {
      const { body } = await this.bed.cluster.attempt({ path });
      const deleted = (body as { items?: Item[] }).items?.filter(({ metadata: { deletionTimestamp } }) => deletionTimestamp !== undefined);
      for (const { metadata, spec } of deleted ?? []) {
        const node = spec?.nodeName ?? '';
        await this.#agents.get(node)?.stop(60_000);
        await this.bed.cluster.attempt({ method: 'DELETE', path: `${path}/${metadata.name}?gracePeriodSeconds=0` });
        await this.#startAgent(node);
      }
      await sleep(200);
    }
  }
}

/** Returns the objects of manifests as "BGPPeer/tor1-v4". */
function namesIn(text: string): readonly string[] {
  const documents = text.split(/^---$/m);
  return documents.map((one) => `${/^kind: (\w+)/m.exec(one)?.[1]}/${/^metadata: \{.*?name: ([\w-]+)/m.exec(one)?.[1]}`);
}
