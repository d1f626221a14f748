import { expect } from 'vitest';
import { run, type CommandResult } from '../../lab/command.ts';
import { inNamespace } from '../../lab/namespace.ts';
import { establishedSessions, nextHops } from '../../lab/routes.ts';
import { unexplainedFailures } from '../../lab/route-watch.ts';
import { until } from '../../lab/until.ts';
import { createCluster, type Cluster } from '../cluster/cluster.ts';
import { valuesOf, type ClusterDescription } from '../cluster/description.ts';
import type { ClusterNode } from '../cluster/node.ts';
import { heraldImage } from '../images/index.ts';
import { Load, summary, textsOf, type LoadReport } from './load.ts';
import type { Method } from './methods.ts';
import { configuration, loadBalancer, webServer } from './objects.ts';
import { nextVersion } from './next-version.ts';

const patienceMs = 300_000;

/** A cluster with Herald in kube-proxy's place, a web server on each node, and one Service of type LoadBalancer whose addresses the ToR has. */
export class Bed {
  readonly cluster: Cluster;
  readonly method: Method;
  /** The image of this version, and one with a higher version number. */
  readonly image: string;
  readonly nextImage: string;

  private constructor(cluster: Cluster, method: Method, image: string, nextImage: string) {
    this.cluster = cluster;
    this.method = method;
    this.image = image;
    this.nextImage = nextImage;
  }

  /** Resolves when the client gets answers from all addresses and all nodes are next hops. */
  static async start(method: Method, families: ClusterDescription['families'] = 'dual'): Promise<Bed> {
    const [present, next] = [await heraldImage(), await nextVersion()];
    const cluster = await createCluster({ families, kubeProxy: 'none' }, { images: [present, next] });
    const bed = new Bed(cluster, method, present.name, next.name);
    try {
      await method.install(cluster, present.name);
      await bed.untilRolledOut();
      // An API server serves a new kind some seconds after it was defined.
      await until(
        "Herald's kinds are served",
        async () => (await cluster.kubectl(['get', 'bgppeers,bfdprofiles'], { check: false })).code === 0,
      );
      for (const object of [...configuration(cluster.plan), ...webServer(present.name, cluster.nodes.length), loadBalancer('web')])
        await cluster.apply(object);
      await cluster.kubectl(['rollout', 'status', 'deployment/web', '--timeout=5m'], { timeoutMs: patienceMs });
      await bed.untilAnnounced();
      return bed;
    } catch (error) {
      await cluster.remove();
      throw error;
    }
  }

  /** Returns the addresses of a Service of namespace default, when it has one of each family. */
  addresses(service = 'web'): Promise<readonly string[]> {
    return until(
      `the Service ${service} has its addresses`,
      async (note) => {
        const path = `/api/v1/namespaces/default/services/${service}`;
        const { status } = (await this.cluster.request({ path })) as { status: { loadBalancer: { ingress?: { ip: string }[] } } };
        const all = note(status.loadBalancer.ingress ?? []).map(({ ip }) => ip);
        return all.length === this.cluster.plan.families.length && all;
      },
      patienceMs,
    );
  }

  /** Waits until the ToR's kernel has exactly these nodes, by default all, as next hops for each address, and the client gets answers by TCP and UDP. */
  async untilAnnounced(nodes: readonly ClusterNode[] = this.cluster.nodes, service = 'web'): Promise<void> {
    const { lab, client } = this.cluster;
    for (const address of await this.addresses(service)) {
      const wanted = nodes.flatMap(({ plan }) => plan.address[address.includes(':') ? 'ipv6' : 'ipv4'] ?? []).toSorted();
      await until(
        `the ToR sends ${address} to ${wanted.join(', ') || 'no node'}`,
        async (note) => note(await nextHops(lab, 'tor', address)).join() === wanted.join(),
        patienceMs,
      );
      if (nodes.length === 0) continue;
      for (const protocol of ['tcp', 'udp'] as const) {
        const { failed, errors } = await client[protocol]({ address, port: 80, count: 20 });
        expect({ protocol, address, failed, errors }).toEqual({ protocol, address, failed: 0, errors: {} });
      }
    }
  }

  /** Counts the ToR's established sessions, of both families. */
  async sessions(): Promise<number> {
    const { lab, plan } = this.cluster;
    const counts = await Promise.all(plan.families.map((family) => establishedSessions(lab, 'tor', family === 'ipv4' ? 4 : 6)));
    return counts.reduce((sum, count) => sum + count, 0);
  }

  async untilAllSessions(): Promise<void> {
    const wanted = this.cluster.nodes.length * this.cluster.plan.families.length;
    await until(`the ToR has ${wanted} sessions`, async (note) => note(await this.sessions()) === wanted, patienceMs);
  }

  /** Waits until the DaemonSet and the Deployment have rolled out their last change. */
  async untilRolledOut(): Promise<void> {
    for (const workload of ['daemonset/herald-agent', 'deployment/herald-controller']) {
      const args = ['--namespace', 'herald-system', 'rollout', 'status', workload, '--timeout=10m'];
      await this.cluster.kubectl(args, { timeoutMs: 2 * patienceMs });
    }
  }

  /** Runs a kubectl command in Herald's namespace and returns its output. */
  async kubectl(...args: readonly string[]): Promise<string> {
    return (await this.cluster.kubectl(['--namespace', 'herald-system', ...args])).stdout.trim();
  }

  /** Runs Herald's command line at the ToR with cluster-admin's rights. A failure does not reject. */
  herald(args: readonly string[]): Promise<CommandResult> {
    const { tor, kubeconfig } = this.cluster;
    const program = new URL('../../../bin/herald', import.meta.url).pathname;
    const options = { env: { KUBECONFIG: kubeconfig }, timeoutMs: 2 * patienceMs, check: false };
    return run(inNamespace(tor.namespace, [program, ...args]), options);
  }

  /** Returns the name of the pod of the agent on a node. */
  agentOf(node: ClusterNode): Promise<string> {
    const selector = ['--selector=app.kubernetes.io/component=agent', `--field-selector=spec.nodeName=${node.name}`];
    return this.kubectl('get', 'pods', ...selector, '--output=jsonpath={.items[0].metadata.name}');
  }

  /** Sends requests to the Service while `action` runs. Resolves with what was lost. */
  async underLoad(action: (load: Load) => Promise<void>): Promise<LoadReport> {
    const load = await Load.start(this.cluster, await this.addresses());
    try {
      await action(load);
    } finally {
      // Reported below, or by the action's own error.
      this.#last = await load.stop();
    }
    return this.#last;
  }

  #last: LoadReport = { lost: [], answered: 0, routes: [] };

  /** Fails the test when a request was lost, or a route of the ToR changed. */
  static expectNoLoss(report: LoadReport): void {
    expect(summary(report.lost)).toEqual({});
    expect(report.answered).toBeGreaterThan(100);
  }

  /**
   * Fails the test when a request was lost that was not open when the ToR's routes changed. With translation such a request is reset: its node does not
   * know it (docs/explanation/failure-modes.md). `since` leaves out what was lost before.
   */
  static expectOnlyMoved({ lost, routes }: LoadReport, since = 0): void {
    const later = lost.filter(({ at }) => at >= since);
    expect(textsOf(unexplainedFailures(later, routes), routes)).toEqual([]);
    expect(
      textsOf(
        later.filter(({ error }) => error !== 'ECONNRESET' && error !== 'CLOSED'),
        routes,
      ),
    ).toEqual([]);
  }

  static expectNoRouteChange(report: LoadReport): void {
    expect(report.routes.map(({ deleted, text }) => `${deleted ? 'deleted ' : ''}${text}`)).toEqual([]);
  }

  remove(): Promise<void> {
    return this.cluster.remove();
  }
}

export const familiesOf = (bed: Bed): number => valuesOf(bed.cluster.plan.tor).length;
