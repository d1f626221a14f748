import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import type { Credentials } from '../../conformance/cluster.ts';
import { killedWithParent } from '../../conformance/foreground.ts';
import { send, type ApiRequest, type ApiResponse } from '../../conformance/request.ts';
import type { LabProcess, Machine } from '../../lab/lab.ts';
import { until } from '../../lab/until.ts';
import { clusterProgram, type Minor } from '../programs.ts';
import { firstOf, valuesOf, type ClusterPlan } from './description.ts';
import type { Pki } from './pki.ts';

/** etcd, kube-apiserver, kube-controller-manager, kube-scheduler and DNS, as processes of the ToR. */
export class ControlPlane {
  readonly #tor: Machine;
  readonly #plan: ClusterPlan;
  readonly #pki: Pki;
  readonly #directory: string;
  readonly #minor: Minor;
  readonly #token = randomBytes(16).toString('hex');

  constructor(tor: Machine, plan: ClusterPlan, pki: Pki, directory: string, minor: Minor) {
    this.#tor = tor;
    this.#plan = plan;
    this.#pki = pki;
    this.#directory = directory;
    this.#minor = minor;
  }

  /** Resolves when the API server is ready and the other programs run. */
  async start(): Promise<void> {
    writeFileSync(this.#tokens, `${this.#token},admin,admin,system:masters\n`, { mode: 0o600 });
    const proxy = join(import.meta.dirname, '../../conformance/socket-proxy.ts');
    await this.#spawn('socket-proxy', [process.execPath, proxy, this.#socket, '6443']).waitForLine(/open/);
    const etcd = this.#run('etcd', etcdArguments(join(this.#directory, 'etcd')));
    const server = this.#run('kube-apiserver', apiServerArguments(this.#plan, this.#pki, this.#tokens));
    await until(
      'kube-apiserver is ready',
      async () => {
        for (const one of [etcd, server]) if (!one.running) return one;
        const answers = await Promise.all(['/readyz', '/api/v1/namespaces/default'].map((path) => this.attempt({ path })));
        return answers.every(({ status }) => status === 200);
      },
      180_000,
    );
    for (const one of [etcd, server]) if (!one.running) throw new Error(`the control plane ended: ${one.lines().slice(-20).join('\n')}`);
    this.#run('kube-controller-manager', controllerManagerArguments(this.#plan, this.#pki));
    this.#run('kube-scheduler', [`--kubeconfig=${this.#pki.kubeconfig('kube-scheduler')}`, '--leader-elect=false']);
    const dns = [process.execPath, join(import.meta.dirname, 'dns/server.ts'), this.#pki.kubeconfig('admin'), ...valuesOf(this.#plan.tor)];
    await this.#spawn('dns', dns).waitForLine(/ready/);
  }

  /** Sends a request as cluster-admin and resolves with any status. */
  attempt(request: ApiRequest): Promise<ApiResponse> {
    return send(this.#admin, request);
  }

  get #admin(): Credentials {
    return {
      server: this.#plan.server,
      certificateAuthority: readFileSync(this.#pki.certificate('ca'), 'utf8'),
      token: this.#token,
      socket: this.#socket,
    };
  }

  get #tokens(): string {
    return join(this.#pki.directory, 'tokens.csv');
  }

  /** A socket file is visible in every network namespace. */
  get #socket(): string {
    return join(this.#directory, 'kube-apiserver.sock');
  }

  #run(program: 'etcd' | 'kube-apiserver' | 'kube-controller-manager' | 'kube-scheduler', args: readonly string[]): LabProcess {
    return this.#spawn(program, [clusterProgram(program, this.#minor), ...args]);
  }

  #spawn(name: string, argv: readonly string[]): LabProcess {
    return this.#tor.spawn(killedWithParent(argv), { name });
  }
}

function etcdArguments(directory: string): string[] {
  const [client, peer] = ['http://127.0.0.1:2379', 'http://127.0.0.1:2380'];
  return [
    `--data-dir=${directory}`,
    `--listen-client-urls=${client}`,
    `--advertise-client-urls=${client}`,
    `--listen-peer-urls=${peer}`,
    `--initial-advertise-peer-urls=${peer}`,
    `--initial-cluster=default=${peer}`,
    '--unsafe-no-fsync',
    '--log-level=warn',
  ];
}

export function apiServerArguments(plan: ClusterPlan, pki: Pki, tokens: string): string[] {
  return [
    '--etcd-servers=http://127.0.0.1:2379',
    `--bind-address=${plan.families.includes('ipv6') ? '::' : '0.0.0.0'}`,
    `--advertise-address=${firstOf(plan.apiServer)}`,
    '--secure-port=6443',
    `--tls-cert-file=${pki.certificate('api-server')}`,
    `--tls-private-key-file=${pki.key('api-server')}`,
    `--client-ca-file=${pki.certificate('ca')}`,
    `--token-auth-file=${tokens}`,
    '--service-account-issuer=https://kubernetes.default.svc.cluster.local',
    `--service-account-key-file=${join(pki.directory, 'service-account.pub')}`,
    `--service-account-signing-key-file=${pki.key('service-account')}`,
    `--service-cluster-ip-range=${valuesOf(plan.serviceNetwork).join()}`,
    '--authorization-mode=Node,RBAC',
    '--enable-admission-plugins=NodeRestriction',
    '--allow-privileged',
    `--kubelet-client-certificate=${pki.certificate('kubelet-client')}`,
    `--kubelet-client-key=${pki.key('kubelet-client')}`,
    '--kubelet-preferred-address-types=InternalIP',
    `--requestheader-client-ca-file=${pki.certificate('ca')}`,
    '--requestheader-allowed-names=front-proxy',
    '--requestheader-username-headers=X-Remote-User',
    '--requestheader-group-headers=X-Remote-Group',
    '--requestheader-extra-headers-prefix=X-Remote-Extra-',
    `--proxy-client-cert-file=${pki.certificate('front-proxy')}`,
    `--proxy-client-key-file=${pki.key('front-proxy')}`,
    // No Service of the aggregator works at the ToR, where the API server runs.
    '--enable-aggregator-routing',
  ];
}

export function controllerManagerArguments(plan: ClusterPlan, pki: Pki): string[] {
  return [
    `--kubeconfig=${pki.kubeconfig('kube-controller-manager')}`,
    '--leader-elect=false',
    '--use-service-account-credentials',
    `--root-ca-file=${pki.certificate('ca')}`,
    `--service-account-private-key-file=${pki.key('service-account')}`,
    `--cluster-signing-cert-file=${pki.certificate('ca')}`,
    `--cluster-signing-key-file=${pki.key('ca')}`,
    // Each node's CNI configuration says which pod CIDR it has. Nodes get the same one by hand (node.ts).
    '--allocate-node-cidrs=false',
    `--cluster-cidr=${valuesOf(plan.podNetwork).join()}`,
    `--service-cluster-ip-range=${valuesOf(plan.serviceNetwork).join()}`,
  ];
}
