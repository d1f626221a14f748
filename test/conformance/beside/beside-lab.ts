import { execFile } from 'node:child_process';
import { join } from 'node:path';
import process from 'node:process';
import { Agent } from '../../../src/agent/agent.ts';
import { KubeProxyForwarding } from '../../../src/dataplane/kube-proxy/kube-proxy.ts';
import { NftablesDataplane } from '../../../src/dataplane/nftables/nftables.ts';
import { machinePorts } from '../../../src/dataplane/nftables/ports.ts';
import { namespaceNamed } from '../../support/namespace-named.ts';
import type { ServicesScope } from '../../../src/model/kinds/types.ts';
import type { NodeState } from '../../../src/model/objects/node-state.ts';
import { parseObject } from '../../../src/model/parse.ts';
import type { HeraldObject } from '../../../src/model/store/snapshot.ts';
import type { Protocol } from '../../../src/net/frontend.ts';
import { systemClock } from '../../../src/system/clock.ts';
import { silentLog } from '../../../src/system/log.ts';
import { FixtureApiServer } from '../../kube-fixture/api-server.ts';
import { startKubeProxy, type KubeProxy } from '../../kube-fixture/kube-proxy.ts';
import type { ApiObject } from '../../kube-fixture/object.ts';
import { inside, namespaceOf, nodeAddress, OneNode, type Machine } from '../../lab/dataplane/one-node.ts';
import { FakeHost } from '../../unit/agent/fakes/fake-host.ts';
import { FakeHttp } from '../../unit/agent/fakes/fake-http.ts';
import { FakeBfd } from '../../unit/agent/fakes/fake-bfd.ts';
import { RecordingSpeaker } from '../../unit/agent/fakes/recording-speaker.ts';
import { advertisement, config, peer, pool } from '../../unit/decisions/fixtures.ts';
import { TestSource } from '../../unit/test-source.ts';
import { node, serviceCIDR } from './objects.ts';

export interface Ask {
  readonly from?: Machine;
  readonly protocol?: Protocol;
  readonly to: string;
  readonly port?: number;
  readonly count?: number;
  readonly localAddress?: string;
  /** In milliseconds. */
  readonly timeout?: number;
}

/**
 * One node with a real kube-proxy and Herald's agent. The kernel, the packets and the rules of both programs are real, and the agent
 * observes kube-proxy's real rules. BGP is a recorded list of the routes that a peer would get. Objects are given to one of the two
 * programs or to both.
 */
export class BesideLab {
  readonly lab: OneNode;
  readonly #api: FixtureApiServer;
  readonly #source = new TestSource();
  /** The routes in order of sending: "announce 192.0.2.1/32 to tor1". */
  readonly routes: string[] = [];
  readonly states: NodeState[] = [];
  #proxy: KubeProxy | undefined;
  #agent: Agent | undefined;

  private constructor(lab: OneNode, api: FixtureApiServer) {
    this.lab = lab;
    this.#api = api;
  }

  static async start(): Promise<BesideLab> {
    const lab = await OneNode.start();
    const made = new BesideLab(lab, await FixtureApiServer.start(namespaceOf('node')));
    made.put(node, serviceCIDR);
    made.#source.put(
      pool({ name: 'main', addresses: ['192.0.2.0/24', 'fd09::/120'] }),
      advertisement({ name: 'all', addressTypes: ['LoadBalancer', 'ClusterIP'] }),
      peer({ name: 'tor1', dualStackAddressFamily: true }),
    );
    return made;
  }

  put(...objects: readonly ApiObject[]): void {
    this.putProxy(...objects);
    this.putHerald(...objects);
  }

  putProxy(...objects: readonly ApiObject[]): void {
    this.#api.put(...objects);
  }

  putHerald(...objects: readonly ApiObject[]): void {
    this.#source.put(...objects.map(parsed));
  }

  scope(services: ServicesScope): void {
    this.#source.put(config({ services, masqueradeBit: services === 'all' ? 14 : 13, drainSeconds: 1 }));
  }

  async startAgent(services: ServicesScope): Promise<void> {
    this.scope(services);
    const namespace = namespaceNamed(namespaceOf('node'));
    const host = new FakeHost();
    // An agent announces nothing from a host that has no InternalIP of its Node.
    host.others.push(nodeAddress(4), nodeAddress(6));
    this.#agent = new Agent(
      {
        source: this.#source,
        dataplane: new NftablesDataplane(machinePorts(systemClock, silentLog, { own: true, namespace })),
        foreign: new KubeProxyForwarding(systemClock, {
          networkNamespace: namespace.file,
          commandPrefix: namespace.commandPrefix,
          legacyTables: async (family) => inside('node', `cat /proc/net/${family}_tables_names`).split('\n'),
        }),
        speaker: new RecordingSpeaker(this.routes).speaker,
        startBfd: () => new FakeBfd(),
        countConnections: async () => 0,
        writeNodeState: async (state) => void this.states.push(state),
        listenHttp: new FakeHttp().listen,
        host,
        hostFilters: async () => [],
        clock: systemClock,
        random: () => 1,
        log: silentLog,
      },
      { node: 'here' },
    );
    await this.#agent.start();
  }

  async settled(): Promise<void> {
    await this.#agent?.settled();
  }

  async stopAgent(): Promise<void> {
    await this.#agent?.stop('the test is over');
    this.#agent = undefined;
    this.routes.length = 0;
    this.states.length = 0;
  }

  startProxy(mode: 'nftables' | 'iptables' = 'nftables'): void {
    this.#proxy = startKubeProxy({
      namespace: namespaceOf('node'),
      apiServer: this.#api.url,
      nodeName: 'here',
      config: { mode, detectLocalMode: 'ClusterCIDR', clusterCIDR: '10.244.1.0/24,fd01::/64', iptables: { minSyncPeriod: '1ms' } },
    });
  }

  /** Kills kube-proxy. Its rules stay. */
  async stopProxy(): Promise<void> {
    await this.#proxy?.stop('SIGKILL');
    this.#proxy = undefined;
  }

  /**
   * Sends requests and returns the distinct answers, sorted: "pod1 10.99.0.2" with the client's address as the pod saw it, or an error
   * code.
   */
  async ask({ from = 'client', protocol = 'TCP', to, port = 80, count = 12, ...rest }: Ask): Promise<string[]> {
    const { answers } = await this.lab.request(from, {
      protocol,
      address: to,
      port,
      count,
      ...rest,
    });
    return [...new Set(answers)].toSorted();
  }

  /** Returns to the state of the start: neither program, no rules, no Service. */
  async reset(): Promise<void> {
    await this.stopAgent();
    await this.stopProxy();
    for (const kind of ['EndpointSlice', 'Service'] as const) this.#api.replaceAll(kind, []);
    const { services } = this.#source.store;
    const slices = [...services.keys()].flatMap((key) => this.#source.store.endpointSlices(key));
    for (const object of [...slices, ...services.values()]) this.#source.remove(object);
    inside('node', 'nft flush ruleset', 'conntrack -F');
  }

  async stop(): Promise<void> {
    await this.stopAgent();
    await this.stopProxy();
    await this.#api.stop();
    this.lab.stop();
  }
}

export interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the real `herald` command on the node. */
export function heraldOnNode(...command: readonly string[]): Promise<Outcome> {
  const program = join(import.meta.dirname, '../../../src/cli/main.ts');
  return new Promise((resolve) => {
    execFile('ip', ['netns', 'exec', namespaceOf('node'), process.execPath, program, ...command], (error, stdout, stderr) => {
      resolve({ code: typeof error?.code === 'number' ? error.code : error === null ? 0 : -1, stdout, stderr });
    });
  });
}

function parsed(raw: ApiObject): HeraldObject {
  const { object, problems } = parseObject(raw);
  if (object === undefined || problems.length > 0) throw new Error(JSON.stringify(problems));
  return object;
}
