import { mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { parse } from 'yaml';
import { Client } from '../client.ts';
import { run, type CommandOptions, type CommandResult } from '../command.ts';
import { documents, heraldConfig, type Manifest } from '../host/objects.ts';
import { LabProcess } from '../lab-process.ts';
import { Segment } from '../l2/segment.ts';
import { inNamespace, ip, prepareNamespace } from '../namespace.ts';
import { signal, type ProcessIdentity } from '../owner.ts';
import { podLinkLines } from '../pod.ts';
import { until } from '../until.ts';
import {
  announcementManifests,
  nodeAddress,
  nodeAddress6,
  nodeManifest,
  nodeName,
  podAddress,
  podAddress6,
  serviceManifests,
} from './manifests.ts';
import { Watch, wallTime } from './watch.ts';

const program = join(import.meta.dirname, '../../../bin/herald');
const podProgram = join(import.meta.dirname, '../pod-server.ts');

/** The addresses of the first Service. */
export const vip = '10.77.1.1';
export const vip6 = 'fd77::1:1';

interface BuildOptions {
  readonly nodes: number;
  /** Hosts on the segment that are no nodes, beside the client and the watch. */
  readonly strangers?: number;
  /** The spec of the L2Advertisement. */
  readonly advertisement?: Manifest;
  /** Replaces all manifests but the Nodes and the HeraldConfig. */
  readonly manifests?: readonly Manifest[];
  /** More settings of the HeraldConfig. */
  readonly config?: Manifest;
  /** Starts no agent. */
  readonly idle?: boolean;
}

interface RecordedCondition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
}

interface RecordedNode {
  readonly links?: readonly { readonly name: string; readonly linkAddress: string }[];
  readonly host?: readonly { readonly code: string; readonly message: string }[];
  readonly differing?: readonly {
    readonly service: string;
    readonly aspect: string;
    readonly reason: { readonly code: string; readonly message: string; readonly details: Readonly<Record<string, unknown>> };
  }[];
  readonly drain?: { readonly phase: string };
  readonly directReturn?: { readonly receives: readonly string[] };
}

/**
 * Nodes n0, n1, ... with one pod each, a client, a watch and strangers on one bridge, a directory of manifests, a controller and an agent on
 * each node. The first Service, shop/web, has `vip` and `vip6`.
 */
export class AgentsOnSegment {
  readonly segment: Segment;
  readonly directory: string;
  readonly client: Client;
  readonly watch: Watch;
  readonly #nodes: number;
  readonly #identities: ProcessIdentity[] = [];
  readonly #agents = new Map<number, LabProcess>();
  readonly #wrappers = new Map<number, readonly string[]>();
  #controller: LabProcess | undefined;
  #logs = 0;

  private constructor(nodes: number, segment: Segment, directory: string) {
    this.#nodes = nodes;
    this.segment = segment;
    this.directory = directory;
    this.client = new Client(segment.host(nodes), (identity) => void this.#identities.push(identity));
    const at = nodes + 1;
    this.watch = new Watch(segment.host(at), { own: nodeAddress(at), own6: nodeAddress6(at), ownMac: segment.macOf(at) });
  }

  static async build({
    nodes,
    strangers = 0,
    advertisement = {},
    manifests,
    config = {},
    idle = false,
  }: BuildOptions): Promise<AgentsOnSegment> {
    const segment = new Segment(nodes + 2 + strangers);
    const lab = new AgentsOnSegment(nodes, segment, await mkdtemp(join(tmpdir(), 'herald-l2-')));
    try {
      const all = Array.from({ length: nodes }, (_, at) => at);
      for (const at of all) await lab.#addPod(at);
      await lab.write('10-nodes.yaml', documents(heraldConfig({ ...lab.config, ...config }), ...all.map((at) => nodeManifest(at))));
      await lab.write(
        '20-herald.yaml',
        documents(...(manifests ?? [...announcementManifests(advertisement), ...serviceManifests({ pods: all })])),
      );
      if (idle) return lab;
      lab.startController();
      await Promise.all(all.map((at) => lab.startAgent(at)));
      return lab;
    } catch (error) {
      await lab.close();
      throw error;
    }
  }

  /** The spec of the HeraldConfig. */
  readonly config: Manifest = { serviceCIDRs: ['10.96.0.0/16', 'fd96::/112'], drainSeconds: 2 };

  /** The host number of the client, of the watch, and of a stranger. */
  get clientHost(): number {
    return this.#nodes;
  }

  strangerHost(number = 0): number {
    return this.#nodes + 2 + number;
  }

  startController(): LabProcess {
    this.#controller = this.#spawn(this.segment.bridge, 'controller', [
      program,
      'controller',
      '--source',
      this.directory,
      '--socket',
      this.socket('controller'),
    ]);
    return this.#controller;
  }

  get controller(): LabProcess {
    if (this.#controller === undefined) throw new Error('the controller was not started');
    return this.#controller;
  }

  /** Starts the agent of a node and waits until it runs. */
  async startAgent(at: number, ...options: readonly string[]): Promise<LabProcess> {
    const name = nodeName(at);
    const command = [program, 'agent', '--node', name, '--source', this.directory, '--socket', this.socket(name), ...options];
    const agent = this.#spawn(this.segment.host(at), name, [...(this.#wrappers.get(at) ?? []), ...command]);
    this.#agents.set(at, agent);
    await agent.waitForLine(/agent started/);
    return agent;
  }

  /** Has the agents that start on a node from now on run by this command. */
  wrap(at: number, ...wrapper: readonly string[]): void {
    this.#wrappers.set(at, wrapper);
  }

  /** Starts controller and agent of a node in one process, and waits until it runs. */
  async startRun(at: number): Promise<LabProcess> {
    const name = nodeName(at);
    const process = this.#spawn(this.segment.host(at), name, [
      program,
      'run',
      this.directory,
      '--node',
      name,
      '--socket',
      this.socket(name),
    ]);
    this.#agents.set(at, process);
    await process.waitForLine(/agent started/);
    return process;
  }

  agent(at: number): LabProcess {
    const agent = this.#agents.get(at);
    if (agent === undefined) throw new Error(`no agent was started on node ${at}`);
    return agent;
  }

  socket(of: string): string {
    return join(this.directory, `.${of}.sock`);
  }

  /** Kills an agent with SIGKILL. */
  async kill(at: number): Promise<void> {
    this.agent(at).kill('SIGKILL');
    await this.agent(at).exited;
  }

  /** Starts a program on a node that runs until the lab is closed. */
  spawn(at: number, name: string, command: readonly string[]): LabProcess {
    return this.#spawn(this.segment.host(at), name, command);
  }

  exec(at: number, argv: readonly string[], options?: CommandOptions): Promise<CommandResult> {
    return run(inNamespace(this.segment.host(at), argv), options);
  }

  /** Runs a command in the namespace of the bridge, whose ports are p0, p1, ... */
  inBridge(argv: readonly string[]): Promise<CommandResult> {
    return run(inNamespace(this.segment.bridge, argv));
  }

  /** Runs `herald` with the manifests of this lab. */
  herald(...argv: readonly string[]): Promise<CommandResult> {
    return run([program, ...argv], { check: false });
  }

  /** Writes a manifest as an editor does: to a temporary file that is renamed into place. */
  async write(file: string, text: string): Promise<void> {
    const aside = join(this.directory, `.${file}.swp`);
    await writeFile(aside, text);
    await rename(aside, join(this.directory, file));
  }

  async edit(file: string, change: (text: string) => string): Promise<void> {
    const before = await readFile(join(this.directory, file), 'utf8');
    const after = change(before);
    if (after === before) throw new Error(`the edit of ${file} changes nothing`);
    await this.write(file, after);
  }

  /** Returns a condition of a Service of namespace shop. */
  async condition(service: string, type: string): Promise<RecordedCondition | undefined> {
    const text = await readFile(join(this.directory, `.herald/status/services/shop/${service}.yaml`), 'utf8').catch(() => '');
    const { status } = (parse(text) ?? {}) as { status?: { conditions?: RecordedCondition[] } };
    return status?.conditions?.find((condition) => condition.type === `herald.dev/${type}`);
  }

  /** Returns the report of a node's agent. */
  async report(at: number): Promise<RecordedNode> {
    const text = await readFile(join(this.directory, `.herald/nodes/${nodeName(at)}.yaml`), 'utf8').catch(() => '');
    return ((parse(text) ?? {}) as { status?: RecordedNode }).status ?? {};
  }

  async explain(service = 'shop/web', ...options: readonly string[]): Promise<string> {
    const { stdout } = await this.herald('explain', 'service', service, '-o', 'wide', '--source', this.directory, ...options);
    return stdout;
  }

  /** Returns the nodes that answered for an address in the last moments, by number. Needs `watch.ask`. */
  async answering(address: string = vip, milliseconds = 100): Promise<readonly number[]> {
    const answers = await this.watch.answers(address, wallTime() - milliseconds);
    return [...answers.keys()]
      .map((mac) => this.segment.hosts.findIndex((_, at) => this.segment.macOf(at) === mac))
      .toSorted((a, b) => a - b);
  }

  /** Waits until exactly one node answers for all addresses for a moment, and returns its number, by address. */
  async untilOwned(addresses: readonly string[] = [vip, vip6]): Promise<readonly number[]> {
    return until(`${addresses.join(' and ')} have one owner each`, async (note) => {
      const owners = await Promise.all(addresses.map((address) => this.answering(address, 300)));
      return note(owners).every((nodes) => nodes.length === 1) ? owners.flat() : undefined;
    });
  }

  async untilOwner(at: number, addresses: readonly string[] = [vip, vip6], timeoutMs?: number): Promise<void> {
    await until(
      `node ${at} alone answers for ${addresses.join(' and ')}`,
      async (note) =>
        note(await Promise.all(addresses.map((address) => this.answering(address)))).every((nodes) => nodes.join() === `${at}`),
      timeoutMs,
    );
  }

  /**
   * Waits until the kernel of every node passes packets for pods of each other node on, in both families. Before that, a new owner translates
   * them, which resets connections that are under way.
   */
  async untilDirectReturn(): Promise<void> {
    const all = Array.from({ length: this.#nodes }, (_, at) => at);
    const lacking = async (at: number): Promise<string[]> => {
      const list = async (family: 4 | 6): Promise<string> => {
        const command = ['nft', 'list', 'map', 'netdev', 'herald_direct', `nodes${family}`];
        return (await run(inNamespace(this.segment.host(at), command), { check: false })).stdout;
      };
      const [text4, text6] = await Promise.all([list(4), list(6)]);
      const others = all.filter((other) => other !== at);
      const wanted = others.flatMap((other) => [
        { text: text4, address: nodeAddress(other) },
        { text: text6, address: nodeAddress6(other) },
      ]);
      return wanted.flatMap(({ text, address }) => (new RegExp(`: ${address}\\b`).test(text) ? [] : [`n${at} to ${address}`]));
    };
    await until(
      'every node passes packets on to every other one',
      async (note) => note((await Promise.all(all.map(lacking))).flat()).length === 0,
    );
  }

  async close(): Promise<void> {
    for (const identity of this.#identities) {
      signal(identity, 'SIGCONT');
      signal(identity, 'SIGKILL');
    }
    await this.watch.kill();
    for (let at = 0; at < this.#nodes; at++) await run(['ip', 'netns', 'del', this.#podNamespace(at)], { check: false });
    this.segment.close();
    await rm(this.directory, { recursive: true, force: true });
  }

  #podNamespace(at: number): string {
    return `${this.segment.name}p${at}`;
  }

  /** Gives a node a pod behind a pair of interfaces, and the node and its pod the routes to the pods of other nodes. */
  async #addPod(at: number): Promise<void> {
    const [node, pod] = [this.segment.host(at), this.#podNamespace(at)];
    await run(['ip', 'netns', 'add', pod]);
    await prepareNamespace(pod, false);
    await prepareNamespace(node, true);
    await run(inNamespace(node, ['sysctl', '-qw', 'net.ipv4.conf.v0.rp_filter=0', 'net.ipv4.conf.v0.send_redirects=0']));
    await ip([`link add eth0 netns ${pod} type veth peer name pod netns ${node}`]);
    const internal = { ipv4: nodeAddress(at), ipv6: nodeAddress6(at) };
    const lines = podLinkLines({ ipv4: podAddress(at), ipv6: podAddress6(at) }, 'pod', { internal });
    await ip(lines.node, node);
    await ip(lines.pod, pod);
    for (let other = 0; other < this.#nodes; other++) {
      if (other === at) continue;
      await ip(
        [`route add 10.244.${other}.0/24 via ${nodeAddress(other)}`, `route add fd44:${other}::/64 via ${nodeAddress6(other)}`],
        node,
      );
    }
    await this.#spawn(pod, `pod${at}`, [process.execPath, podProgram, `pod${at}`, '8080']).waitForLine(/^listening$/);
  }

  #spawn(namespace: string, name: string, command: readonly string[]): LabProcess {
    return new LabProcess(inNamespace(namespace, command), {
      logFile: join(this.directory, `.${name}-${this.#logs++}.log`),
      record: (identity) => void this.#identities.push(identity),
    });
  }
}
