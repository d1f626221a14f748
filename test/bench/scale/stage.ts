import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { KubernetesCluster, type Credentials } from '../../conformance/cluster.ts';
import { foreground, killedWithParent } from '../../conformance/foreground.ts';
import { apply, configurationKinds, definition, ours, shipped } from '../../conformance/manifests.ts';
import { startKubeProxy, type KubeProxy } from '../../kube-fixture/kube-proxy.ts';
import type { LabProcess } from '../../lab/lab-process.ts';
import { inNamespace, ip, prepareNamespace } from '../../lab/namespace.ts';
import { until } from '../../lab/until.ts';
import { sharePriority } from '../dataplane/priority.ts';
import { Caller } from '../runner/caller.ts';
import { apiServerAddress, controllerAddress, heraldAsn, nodeAddress, nodeName, podName, routerAddress, routerAsn } from './addresses.ts';
import { auditLogArguments } from './audit-log.ts';
import { namespace, podUid } from './objects.ts';

const program = join(import.meta.dirname, '../../../bin/herald');

/** A program of the bench in a namespace of its own, and how to call it. */
export interface Helper {
  readonly pid: number;
  readonly call: Caller['call'];
  end(): void;
}

/** The API server with all that talks to it. Each kind of client has a network namespace of its own, whose counters tell its octets. */
export class Stage {
  readonly directory = mkdtempSync(join(tmpdir(), 'herald-scale-'));
  readonly cluster: KubernetesCluster;
  /** The audit log of the API server is in it. */
  readonly auditDirectory: string;
  readonly #running = new Map<string, LabProcess>();
  readonly #helpers: Helper[] = [];
  readonly #namespaces = new Set<string>(['api']);
  #kubeProxy: KubeProxy | undefined;
  #started = 0;
  #tokens = new Map<string, Credentials>();

  private constructor(cluster: KubernetesCluster, auditDirectory: string) {
    [this.cluster, this.auditDirectory] = [cluster, auditDirectory];
    // Also when a signal ends the bench: endTogether has ended the processes before.
    process.once('exit', this.#removeDirectories);
  }

  static async start(): Promise<Stage> {
    await makeNamespace('api');
    await ip(['link add br0 type bridge', 'link set br0 up', `addr add ${apiServerAddress}/16 dev br0`], networkNamespace('api'));
    const audit = mkdtempSync(join(tmpdir(), 'herald-audit-'));
    const cluster = await KubernetesCluster.start({
      inside: { namespace: networkNamespace('api'), address: apiServerAddress },
      apiServerArguments: auditLogArguments(audit),
    });
    const stage = new Stage(cluster, audit);
    stage.sharePriority();
    return stage;
  }

  /** Gives the API server and etcd the priority of the bench. */
  sharePriority(): void {
    for (const pid of Object.values(this.cluster.pids)) sharePriority(pid);
  }

  /** Applies what a user installs, and the settings of the run. */
  async install(realAgents: number): Promise<void> {
    for (const kind of configurationKinds) await apply(this.cluster, definition(kind));
    const files = ['namespace', 'agent-rbac', 'controller-rbac', 'flow-control'];
    for (const file of files) await apply(this.cluster, ...shipped(`base/${file}.yaml`));
    const daemonSet = shipped('base/agent.yaml').filter(({ kind }) => kind === 'DaemonSet');
    await apply(this.cluster, ...daemonSet, kubeProxyRole);
    await until('the settings are accepted', async () => {
      await apply(this.cluster, ...settings(realAgents));
      return true;
    });
  }

  async credentials(account: 'herald-agent' | 'herald-controller' | 'kube-proxy' | 'admin'): Promise<Credentials> {
    // The socket that leads to the server is for programs outside of the namespaces.
    const { server, certificateAuthority, token } = this.cluster.admin;
    const known = this.#tokens.get(account);
    if (known !== undefined) return known;
    const of = account === 'kube-proxy' ? 'kube-system' : namespace;
    const found = {
      server,
      certificateAuthority,
      token: account === 'admin' ? token : await this.cluster.serviceAccountToken(of, account),
    };
    this.#tokens.set(account, found);
    return found;
  }

  /** Starts a program of this folder in the namespace with this name. */
  async helper(name: string, address: string | undefined, file: string, argument: object): Promise<Helper> {
    if (address !== undefined) await this.#connect(name, address);
    const [command = '', ...rest] = inNamespace(networkNamespace(name), [
      ...killedWithParent([process.execPath, '--max-old-space-size=8192', join(import.meta.dirname, file)]),
      JSON.stringify(argument),
    ]);
    const child = spawn(command, rest, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
    const caller = new Caller(child);
    const helper = { pid: child.pid ?? -1, call: caller.call, end: () => void child.kill('SIGKILL') };
    this.#helpers.push(helper);
    return helper;
  }

  /** Starts the agent of a node, as in a Pod. It replaces the one that ran there. */
  async startAgent(index: number): Promise<LabProcess> {
    const name = `node${index}`;
    await this.#connect(name, nodeAddress(index));
    const variables = [`POD_NAME=${podName(index)}`, `POD_UID=${podUid(index)}`, `POD_NAMESPACE=${namespace}`];
    const daemonSet = `--daemonset=${namespace}/herald-agent`;
    return this.#inPod(name, 'herald-agent', variables, [
      'agent',
      '--node',
      nodeName(index),
      daemonSet,
      '--metrics-address',
      '127.0.0.1:10290',
    ]);
  }

  async startController(index: number): Promise<LabProcess> {
    const name = `controller${index}`;
    await this.#connect(name, controllerAddress(index));
    return this.#inPod(name, 'herald-controller', [], ['controller', '--metrics-address', '127.0.0.1:10292']);
  }

  /** Starts the real kube-proxy as it comes, in nftables mode, on a node without an agent. */
  async startKubeProxy(index: number): Promise<KubeProxy> {
    const name = `node${index}`;
    await this.#connect(name, nodeAddress(index));
    const { token } = await this.credentials('kube-proxy');
    const kubeconfig = join(this.directory, 'kube-proxy.kubeconfig');
    writeFileSync(kubeconfig, this.cluster.kubeconfig(token), { mode: 0o600 });
    this.#kubeProxy = startKubeProxy({
      namespace: networkNamespace(name),
      apiServer: this.cluster.admin.server,
      nodeName: nodeName(index),
      config: {
        clientConnection: { kubeconfig, contentType: 'application/vnd.kubernetes.protobuf' },
        detectLocalMode: 'ClusterCIDR',
        clusterCIDR: '10.128.0.0/9',
        // Its default.
        nftables: { minSyncPeriod: '1s' },
      },
    });
    sharePriority(this.#kubeProxy.process.pid);
    return this.#kubeProxy;
  }

  /** Ends kube-proxy, when it runs. */
  async stopKubeProxy(): Promise<void> {
    const running = this.#kubeProxy;
    this.#kubeProxy = undefined;
    await running?.stop('SIGKILL');
  }

  /** Returns the last lines of Herald's processes that have ended. */
  ended(): readonly string[] {
    return [...this.#running]
      .filter(([, { running }]) => !running)
      .map(([name, one]) => `${name} has ended: ${one.lines().slice(-5).join('\n')}`);
  }

  async stop(): Promise<void> {
    for (const helper of this.#helpers) helper.end();
    for (const one of this.#running.values()) {
      one.kill('SIGKILL');
      await one.exited;
    }
    await this.stopKubeProxy();
    await this.cluster.stop();
    for (const name of this.#namespaces) await ip([`netns del ${networkNamespace(name)}`]);
    process.off('exit', this.#removeDirectories);
    this.#removeDirectories();
  }

  readonly #removeDirectories = (): void => {
    for (const directory of [this.directory, this.auditDirectory, this.cluster.directory])
      rmSync(directory, { recursive: true, force: true });
  };

  /**
   * Runs Herald with the files that a kubelet mounts. `ip netns exec` gives it a mount namespace of its own, so nothing of this is seen
   * outside. The host name tells the controllers apart.
   */
  async #inPod(
    name: string,
    account: 'herald-agent' | 'herald-controller',
    variables: readonly string[],
    words: readonly string[],
  ): Promise<LabProcess> {
    const before = this.#running.get(name);
    if (before?.running === true) throw new Error(`${name} runs already`);
    const files = join(this.directory, account);
    const { server, certificateAuthority, token } = await this.credentials(account);
    mkdirSync(files, { recursive: true });
    for (const [file, content] of Object.entries({ 'ca.crt': certificateAuthority, token, namespace }))
      writeFileSync(join(files, file), content, { mode: 0o600 });
    const script = `hostname ${name} && mount -t tmpfs none /run && mkdir -p ${mounted} && cp ${files}/* ${mounted}/ && exec "$@"`;
    const argv = ['unshare', '--uts', '--mount', 'sh', '-c', script, 'sh', 'env', ...variables, program, ...words, '--apiserver', server];
    const child = foreground(inNamespace(networkNamespace(name), argv), join(this.directory, `${name}-${++this.#started}.log`));
    sharePriority(child.pid);
    this.#running.set(name, child);
    return child;
  }

  async #connect(name: string, address: string): Promise<void> {
    if (this.#namespaces.has(name)) return;
    this.#namespaces.add(name);
    const own = networkNamespace(name);
    await makeNamespace(name);
    const link = `v-${name}`;
    await ip([`link add eth0 netns ${own} type veth peer name ${link} netns ${networkNamespace('api')}`]);
    await ip([`link set ${link} master br0`, `link set ${link} up`], networkNamespace('api'));
    await ip([`addr add ${address}/16 dev eth0`, 'link set eth0 up', `route add default via ${apiServerAddress}`], own);
  }
}

const mounted = '/run/secrets/kubernetes.io/serviceaccount';

export const networkNamespace = (name: string): string => `hs-${process.pid}-${name}`;

async function makeNamespace(name: string): Promise<void> {
  await ip([`netns add ${networkNamespace(name)}`]);
  await prepareNamespace(networkNamespace(name), true);
}

/** Returns the octets that the network namespace of a process has received and sent. */
export function octetsOf(pid: number): { readonly received: number; readonly sent: number } {
  const line = /^\s*eth0:\s*(.*)$/m.exec(readFileSync(`/proc/${pid}/net/dev`, 'utf8'))?.[1] ?? '';
  const fields = line.split(/\s+/).map(Number);
  return { received: fields[0] ?? Number.NaN, sent: fields[8] ?? Number.NaN };
}

const kubeProxyRole = {
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRoleBinding',
  metadata: { name: 'bench-kube-proxy' },
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'system:node-proxier' },
  subjects: [{ kind: 'ServiceAccount', name: 'kube-proxy', namespace: 'kube-system' }],
};

/** Only the real agents have a session. */
function settings(realAgents: number): readonly object[] {
  const names = Array.from({ length: realAgents }, (_, index) => nodeName(index));
  const nodeSelectors = [{ matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In', values: names }] }];
  return [
    ours('HeraldConfig', 'default', { services: 'all' }),
    ours('IPAddressPool', 'main', { addresses: ['10.64.0.0/12'] }),
    ours('BGPPeer', 'router', { myASN: heraldAsn, peerASN: routerAsn, peerAddress: routerAddress, nodeSelectors }),
    ours('BGPAdvertisement', 'all', {}),
  ];
}
