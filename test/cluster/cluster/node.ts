import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { killedWithParent } from '../../conformance/foreground.ts';
import { networkLines } from '../../lab/build.ts';
import { run, type CommandOptions, type CommandResult } from '../../lab/command.ts';
import { LabProcess } from '../../lab/lab-process.ts';
import type { Lab, Machine } from '../../lab/lab.ts';
import { ip, prepareNamespace } from '../../lab/namespace.ts';
import { recordProcess } from '../../lab/state.ts';
import { until } from '../../lab/until.ts';
import { clusterProgram, cniPlugins, type Minor } from '../programs.ts';
import { createCgroup } from './cgroup.ts';
import { valuesOf, type ClusterDescription, type ClusterPlan, type NodePlan } from './description.ts';
import { nodeFiles } from './node-files.ts';
import type { Pki } from './pki.ts';
import { nodeTopology } from './topology.ts';

export interface NodeSetting {
  readonly lab: Lab;
  readonly cluster: ClusterPlan;
  readonly pki: Pki;
  /** The cluster's directory on a disk. */
  readonly directory: string;
  readonly minor: Minor;
  readonly kubeProxy: ClusterDescription['kubeProxy'];
  readonly pauseImage: string;
}

/** The namespaces that a program of a node enters. */
const namespaces = ['--mount', '--uts', '--ipc', '--net', '--pid'];

/** The nodes are spread over as many zones. Kubernetes' tests of zones need three, some with two nodes each. */
const zones = 3;

/** The interface index of a rebooted node's link. It differs from any that the ToR gives its end (veth in test/lab/build.ts). */
const rebootedIndex = 2000;

/**
 * A node: a machine of the lab with a process namespace, a mount namespace and cgroups of its own, and in them containerd, the kubelet and maybe
 * kube-proxy. The end of its first process ends all of them, pods included.
 */
export class ClusterNode {
  readonly plan: NodePlan;
  readonly #setting: NodeSetting;
  readonly #programs = new Map<string, LabProcess>();
  #init: { readonly process: LabProcess; readonly pid: number } | undefined;

  constructor(plan: NodePlan, setting: NodeSetting) {
    this.plan = plan;
    this.#setting = setting;
  }

  get name(): string {
    return this.plan.name;
  }

  /** The parent of the cgroups of its pods, below the root of each hierarchy. */
  get cgroup(): string {
    return `/${this.#setting.lab.id}/${this.name}`;
  }

  /** The network namespace, for commands that need nothing else of the node: routes, rules, sockets. */
  get machine(): Machine {
    return this.#setting.lab.machine(this.name);
  }

  /** The directory of its containers' logs. */
  get podLogs(): string {
    return join(this.#directory, 'state/log/pods');
  }

  /** Starts the node without programs. */
  async boot(): Promise<void> {
    const { cluster, pki, kubeProxy, pauseImage } = this.#setting;
    const { cgroup } = this;
    createCgroup(cgroup);
    const environment = {
      directory: this.#directory,
      cgroup,
      certificateAuthority: pki.certificate('ca'),
      runc: clusterProgram('runc'),
      cniPlugins,
      pauseImage,
      kubeProxyKubeconfig: pki.kubeconfig('kube-proxy'),
    };
    for (const [name, text] of nodeFiles(cluster, this.plan, environment, kubeProxy)) {
      mkdirSync(dirname(join(this.#directory, name)), { recursive: true });
      writeFileSync(join(this.#directory, name), text);
    }
    mkdirSync(join(this.#directory, 'state'), { recursive: true });
    const unshare = ['unshare', ...namespaces.filter((name) => name !== '--net'), '--fork', '--kill-child', '--propagation', 'private'];
    const init = ['sh', join(import.meta.dirname, 'node-init.sh'), this.name, this.#directory];
    const entered = ['nsenter', `--net=/run/netns/${this.machine.namespace}`, '--', ...unshare, '--mount-proc', ...init];
    // An earlier start wrote the same line.
    rmSync(this.#log('init'), { force: true });
    const started = this.#process('init', killedWithParent(entered));
    await started.waitForLine(/^ready$/);
    this.#init = { process: started, pid: childOf(started.pid) };
  }

  /** Starts containerd and waits until it serves. */
  async startContainerd(): Promise<void> {
    this.#start('containerd', [clusterProgram('containerd'), '--config', join(this.#directory, 'containerd.toml')]);
    await until(`containerd of ${this.name} serves`, async () => (await this.ctr('version')).code === 0);
  }

  /** Starts the kubelet, and kube-proxy if the cluster has it. Resolves at once. */
  startKubelet(): void {
    const { minor, pki, kubeProxy } = this.#setting;
    const { name, plan } = this;
    this.#start('kubelet', [
      clusterProgram('kubelet', minor),
      `--config=${join(this.#directory, 'kubelet.yaml')}`,
      `--kubeconfig=${pki.kubeconfig(name)}`,
      `--hostname-override=${name}`,
      `--node-ip=${valuesOf(plan.address).join()}`,
      `--node-labels=topology.kubernetes.io/zone=zone${((plan.number - 1) % zones) + 1}`,
      '--v=2',
    ]);
    if (kubeProxy !== 'none')
      this.#start('kube-proxy', [clusterProgram('kube-proxy', minor), `--config=${join(this.#directory, 'kube-proxy.yaml')}`]);
  }

  /** Ends a program of the node with SIGKILL: `containerd`, `kubelet` or `kube-proxy`. Pods go on. */
  async kill(program: string): Promise<void> {
    const running = this.#programs.get(program);
    running?.kill('SIGKILL');
    await until(`${program} of ${this.name} has ended`, () => running?.running !== true);
  }

  /** Words before a command line, for another process to run it in all namespaces of the node. */
  get entrance(): readonly string[] {
    return this.#inside([]);
  }

  /** Runs a command to its end in all namespaces of the node. */
  exec(argv: readonly string[], options?: CommandOptions): Promise<CommandResult> {
    return run(this.#inside(argv), options);
  }

  /** Runs ctr. A failure does not reject. */
  ctr(...args: readonly string[]): Promise<CommandResult> {
    const client = [clusterProgram('ctr'), '--address=/run/containerd/containerd.sock', '--namespace=k8s.io', ...args];
    return this.exec(client, { check: false, timeoutMs: 900_000 });
  }

  /** Cuts the power: the link goes down, and every process of the node ends at once. Nothing has time to say good-bye. */
  async powerOff(): Promise<void> {
    await this.#setting.lab.machine('tor').ip(`link set ${this.name} down`);
    await this.end();
  }

  /** Starts the node again after powerOff, with its disk, and without rules, routes, links and connections that it had. */
  async powerOn(): Promise<void> {
    const { lab, cluster } = this.#setting;
    const { namespace } = this.machine;
    const topology = nodeTopology(cluster, this.plan);
    const ends = topology.links.flat();
    // The kernel keeps the old namespace for as long as it still repeats the last packets of connections in it. The link must go now.
    await ip(['link del eth0'], namespace);
    await ip([`netns del ${namespace}`]);
    await ip([`netns add ${namespace}`]);
    await prepareNamespace(namespace, true);
    const tor = lab.machine('tor');
    await ip([`link add eth0 index ${rebootedIndex} netns ${namespace} type veth peer name ${this.name} netns ${tor.namespace}`]);
    await tor.ip(`link set ${this.name} master br0`, `link set ${this.name} up`);
    for (const machine of topology.machines) await ip(networkLines(machine, ends), namespace);
    await this.boot();
    await this.startContainerd();
    this.startKubelet();
  }

  /** Ends every process of the node, those of pods too. */
  async end(): Promise<void> {
    if (this.#init === undefined) return;
    // The parent outside returns when the kernel has ended all processes of the namespace.
    process.kill(this.#init.pid, 'SIGKILL');
    const all = [this.#init.process, ...this.#programs.values()];
    await until(`the processes of ${this.name} have ended`, () => all.every(({ running }) => !running));
    this.#programs.clear();
    this.#init = undefined;
  }

  get #directory(): string {
    return join(this.#setting.directory, this.name);
  }

  /** The directory of containerd's data. */
  get containerdRoot(): string {
    return join(this.#directory, 'state/containerd');
  }

  /** A program in a process namespace does not get the signals of its nsenter outside, so it dies with it. */
  #start(name: string, argv: readonly string[]): void {
    this.#programs.set(name, this.#process(name, killedWithParent(this.#inside(killedWithParent(argv)))));
  }

  #inside(argv: readonly string[]): readonly string[] {
    if (this.#init === undefined) throw new Error(`${this.name} does not run`);
    return ['nsenter', `--target=${this.#init.pid}`, ...namespaces, '--', ...argv];
  }

  #log(program: string): string {
    return join(this.#setting.lab.directory, 'logs', `${this.name}.${program}.log`);
  }

  #process(name: string, argv: readonly string[]): LabProcess {
    const { lab } = this.#setting;
    return new LabProcess(argv, {
      logFile: this.#log(name),
      env: { PATH: [dirname(clusterProgram('containerd-shim-runc-v2')), process.env['PATH'], '/usr/sbin:/sbin'].join(':') },
      record: (identity) => recordProcess(lab.id, identity),
    });
  }
}

/** Returns the only child of a process, which is the first process of a new process namespace. */
function childOf(pid: number): number {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').map(Number);
  const [child] = children;
  if (child === undefined || child === 0 || children.length > 1) throw new Error(`process ${pid} has ${children.length} children, not one`);
  return child;
}
