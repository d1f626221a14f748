import { setTimeout as pause } from 'node:timers/promises';
import { defined } from '../../../../src/lang/defined.ts';
import { drainCommand } from '../../../../src/cli/drain/drain-command.ts';
import type { NodeDrainReport } from '../../../../src/model/objects/node-state.ts';
import type { CommandContext } from '../../../../src/cli/context/command-context.ts';
import { VirtualClock } from '../../../../src/system/virtual-clock.ts';
import { FabricCluster, listPath } from '../fabric-cluster.ts';
import type { Outcome } from '../program.ts';

const peers = ['tor1-v4', 'tor1-v6', 'tor2-v4', 'tor2-v6'];
export const nodeStates = listPath({ apiVersion: 'herald.dev/v1alpha1', kind: 'NodeState' });
export const drainAnnotation = 'herald.dev/drain';

export interface Report {
  readonly drain?: NodeDrainReport;
  /** The resource version of the Node that the agent has acted on. */
  readonly consumed?: string;
  readonly sent?: number;
  readonly down?: readonly string[];
  readonly ageSeconds?: number;
}

/** examples/fabric with addresses and with agents that the test plays. Its clock moves while a command waits. */
export class DrainBed {
  readonly cluster: FabricCluster;
  readonly clock = new VirtualClock();

  private constructor(cluster: FabricCluster) {
    this.cluster = cluster;
  }

  static async start(): Promise<DrainBed> {
    const bed = new DrainBed(await FabricCluster.start());
    bed.cluster.server.pageItems = 500;
    bed.assign('web', '198.51.100.10');
    // node3 has no pod of this Service.
    bed.assign('ledger', '198.51.100.11');
    for (const node of ['node1', 'node2', 'node3']) bed.report(node);
    return bed;
  }

  stop(): Promise<void> {
    return this.cluster.stop();
  }

  assign(name: string, ip: string, change: object = {}): void {
    this.cluster.edit(name, () => ({ ...change, status: { loadBalancer: { ingress: [{ ip, ipMode: 'VIP' }] } } }));
  }

  report(node: string, { drain, consumed = this.cluster.server.version, sent = 0, down = [], ageSeconds = 0 }: Report = {}): void {
    const sessions = peers.map((peer) => ({
      peer,
      address: '',
      state: down.includes(peer) ? 'Active' : 'Established',
      since: '2026-01-01T00:00:00Z',
      localASN: 64_512,
      peerASN: 65_101,
      prefixesSent: sent,
    }));
    const updated = new Date(this.clock.date().getTime() - ageSeconds * 1000).toISOString();
    const status = { updated, consumed: { Node: consumed }, sessions, differing: [], ...defined({ drain }) };
    this.cluster.put({ apiVersion: 'herald.dev/v1alpha1', kind: 'NodeState', metadata: { name: node }, status });
  }

  /** Leaves node1 as the only node with a pod of Service shop/ledger, whose policy is Local. */
  leaveAlone(): void {
    for (const [family, address] of [
      ['v4', '10.244.1.11'],
      ['v6', 'fd00:244:1::11'],
    ] as const) {
      this.cluster.put({
        apiVersion: 'discovery.k8s.io/v1',
        kind: 'EndpointSlice',
        metadata: { namespace: 'shop', name: `ledger-${family}`, labels: { 'kubernetes.io/service-name': 'ledger' } } as never,
        addressType: family === 'v4' ? 'IPv4' : 'IPv6',
        ports: [{ name: 'http', protocol: 'TCP', port: 8080 }],
        endpoints: [{ addresses: [address], nodeName: 'node1', conditions: { ready: true } }],
      });
    }
  }

  /** How often the command has read the report of a node. */
  get looks(): number {
    return this.#looks;
  }
  #looks = 0;

  /**
   * Runs `herald drain`. `story` returns what the agent does before each read of its report, counted from 0. The clock stands still during
   * a request, because this thread answers it.
   */
  async drain(
    words: readonly string[],
    story: (look: number) => void = () => undefined,
    changes: Partial<CommandContext> = {},
  ): Promise<Outcome> {
    const { cluster, clock } = this;
    const seen = cluster.server.paths.length;
    // The first list of NodeStates is that of the whole cluster.
    const looked = (): number => cluster.server.queries.slice(seen).filter((query) => query === 'metadata.name=node1').length;
    this.#looks = 0;
    story(0);
    const outcome = cluster.herald(drainCommand, words, { clock, variables: { KUBECONFIG: cluster.kubeconfig }, ...changes });
    return this.whileTimePasses(outcome, () => {
      if (looked() > this.#looks) story((this.#looks = looked()));
    });
  }

  /** Moves the clock until the command has ended. */
  async whileTimePasses(command: Promise<Outcome>, each: () => void | Promise<void>): Promise<Outcome> {
    const ended = new AbortController();
    const time = async (): Promise<void> => {
      while (!ended.signal.aborted) {
        await pause(2);
        await each();
        this.clock.advance(250);
      }
    };
    const [result] = await Promise.all([command.finally(() => ended.abort()), time()]);
    return result;
  }
}
