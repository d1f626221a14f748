import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { foreground, killedWithParent } from '../../conformance/foreground.ts';
import { KubernetesCluster } from '../../conformance/cluster.ts';
import { apply, configurationKinds, definition } from '../../conformance/manifests.ts';
import type { ApiObject } from '../../kube-fixture/object.ts';
import type { LabProcess } from '../../lab/lab-process.ts';
import { inNamespace, ip, prepareNamespace } from '../../lab/namespace.ts';
import { until } from '../../lab/until.ts';
import { startBgpd, type BenchProcess } from '../runner/bench-network.ts';
import { VtySession } from '../runner/vty-session.ts';
import { ApiWriter } from './api-writer.ts';
import { heraldAsn, nodeAddress, routerAddress, routerAsn } from './addresses.ts';
import { configuration, node } from './objects.ts';

const program = join(import.meta.dirname, '../../../bin/herald');

export type SourceName = 'directory' | 'API server';

/** A node with an agent and a router with FRR, each in a network namespace, and the source of the agent's objects. */
export class Stage {
  readonly folder = mkdtempSync(join(tmpdir(), 'herald-agent-'));
  readonly manifests = join(this.folder, 'manifests');
  readonly node = `hag-${process.pid}-node`;
  readonly router = `hag-${process.pid}-router`;
  readonly source: SourceName;
  #cluster: KubernetesCluster | undefined;
  #writer: ApiWriter | undefined;
  /** The agents and other programs on the node. */
  readonly #programs: LabProcess[] = [];
  #frr: { readonly process: BenchProcess; readonly vty: string } | undefined;
  #agents = 0;

  private constructor(source: SourceName) {
    this.source = source;
  }

  static async start(source: SourceName): Promise<Stage> {
    const stage = new Stage(source);
    // A signal that ends the benchmark leaves no time for `stop`. Programs that write into the folder have ended by then (`endTogether`).
    process.once('exit', () => rmSync(stage.folder, { recursive: true, force: true }));
    mkdirSync(stage.manifests);
    for (const name of [stage.node, stage.router]) {
      await ip([`netns add ${name}`]);
      await prepareNamespace(name, true);
    }
    await ip([`link add eth0 netns ${stage.node} type veth peer name eth0 netns ${stage.router}`]);
    for (const [name, address] of [
      [stage.node, nodeAddress],
      [stage.router, routerAddress],
    ] as const)
      await ip(['link set eth0 up', `addr add ${address(4)}/24 dev eth0`, `addr add ${address(6)}/64 dev eth0 nodad`], name);
    await ip([`route add default via ${routerAddress(4)}`, `route add default via ${routerAddress(6)}`], stage.node);
    if (source === 'API server') await stage.#startCluster();
    stage.startRouter();
    return stage;
  }

  startRouter(): void {
    const neighbors = [4, 6].map((family) => ` neighbor ${nodeAddress(family)} remote-as ${heraldAsn}`);
    this.#frr = startBgpd(
      this.router,
      [
        `router bgp ${routerAsn}`,
        ` bgp router-id ${routerAddress(4)}`,
        ' no bgp ebgp-requires-policy',
        ' no bgp default ipv4-unicast',
        ...neighbors,
        ' address-family ipv4 unicast',
        `  neighbor ${nodeAddress(4)} activate`,
        ' exit-address-family',
        ' address-family ipv6 unicast',
        `  neighbor ${nodeAddress(6)} activate`,
        ' exit-address-family',
        '',
      ].join('\n'),
    );
  }

  async stopRouter(): Promise<void> {
    await this.#frr?.process.kill();
  }

  vty(): Promise<VtySession> {
    const path = this.#frr?.vty ?? '';
    return until('FRR answers', () => VtySession.open(path));
  }

  /** Puts objects into the source. In a directory, those of one call are one file, which a rename puts in place. */
  async put(file: string, ...objects: readonly ApiObject[]): Promise<void> {
    if (this.#writer !== undefined) return this.#writer.apply(objects);
    const aside = join(this.folder, 'aside');
    writeFileSync(aside, objects.map((object) => JSON.stringify(object)).join('\n---\n'));
    renameSync(aside, join(this.manifests, `${file}.yaml`));
  }

  /** Deletes the objects that `put` has put into the file. */
  async delete(file: string, ...objects: readonly ApiObject[]): Promise<void> {
    if (this.#writer !== undefined) return this.#writer.delete(objects);
    rmSync(join(this.manifests, `${file}.yaml`));
  }

  /** Starts the agent; with an API server as in a Pod. `nodeOptions` are for Node.js. */
  startAgent(words: readonly string[] = [], nodeOptions = ''): LabProcess {
    const flags = ['--node', node, '--socket', join(this.folder, 'socket'), ...words];
    const command =
      this.#cluster === undefined
        ? [program, 'agent', ...flags, '--source', this.manifests]
        : this.#inPod([program, 'agent', ...flags, '--apiserver', this.#cluster.admin.server]);
    const started = ['env', `NODE_OPTIONS=${nodeOptions}`, ...command];
    return this.#startProgram(inNamespace(this.node, killedWithParent(started)), `agent-${++this.#agents}.log`);
  }

  /** Starts another program on the node, which reads the API server as its administrator. */
  startWithKubeconfig(command: readonly string[], environment: Readonly<Record<string, string>> = {}): LabProcess {
    const { directory } = this.cluster;
    const variables = Object.entries({ ...environment, KUBECONFIG: join(directory, 'kubeconfig') }).map(
      ([name, value]) => `${name}=${value}`,
    );
    const started = inNamespace(this.node, killedWithParent(['env', ...variables, ...command]));
    return this.#startProgram(started, `program-${++this.#agents}.log`);
  }

  #startProgram(command: readonly string[], log: string): LabProcess {
    const started = foreground(command, join(this.folder, log));
    this.#programs.push(started);
    return started;
  }

  get cluster(): KubernetesCluster {
    if (this.#cluster === undefined) throw new Error('this stage has no API server');
    return this.#cluster;
  }

  /** `ip netns exec` gives the program a mount namespace of its own, so the files of the kubelet are not seen outside. */
  #inPod(command: readonly string[]): readonly string[] {
    const mounted = '/run/secrets/kubernetes.io/serviceaccount';
    const script = `mount -t tmpfs none /run && mkdir -p ${mounted} && cp ${join(this.folder, 'account')}/* ${mounted}/ && exec "$@"`;
    return ['sh', '-c', script, 'sh', ...command];
  }

  async stop(): Promise<void> {
    // An agent that runs longer writes its report into the folder again.
    await Promise.all(this.#programs.map((each) => each.stop()));
    await this.stopRouter();
    this.#writer?.close();
    await this.#cluster?.stop();
    for (const name of [this.node, this.router]) await ip([`netns del ${name}`]);
    rmSync(this.folder, { recursive: true });
    rmSync(`/run/frr/${this.router}`, { recursive: true, force: true });
  }

  async #startCluster(): Promise<void> {
    const address = routerAddress(4);
    const cluster = await KubernetesCluster.start({ inside: { namespace: this.router, address } });
    this.#cluster = cluster;
    for (const kind of configurationKinds) await apply(cluster, definition(kind));
    await apply(cluster, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'bench' } });
    const { certificateAuthority, token } = cluster.admin;
    mkdirSync(join(this.folder, 'account'));
    for (const [file, content] of Object.entries({ 'ca.crt': certificateAuthority, token, namespace: 'herald-system' }))
      writeFileSync(join(this.folder, 'account', file), content, { mode: 0o600 });
    const writer = new ApiWriter(cluster.admin);
    // The API server takes a moment to serve the kinds.
    await until('the settings are accepted', () => writer.apply(configuration()).then(() => true));
    this.#writer = writer;
  }
}
