import { rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { inNamespace } from '../lab/namespace.ts';
import type { LabProcess } from '../lab/lab-process.ts';
import { auditedCalls, type AuditedCall } from './audit.ts';
import { OwnControlPlane, type ControlPlane, type ControlPlaneOptions, type Credentials } from './control-plane.ts';
import { Etcd } from './etcd.ts';
import { foreground } from './foreground.ts';
import { programPath } from './programs.ts';
import { send, type ApiRequest, type ApiResponse } from './request.ts';

export type { Credentials } from './control-plane.ts';

export interface ClusterOptions extends ControlPlaneOptions, ControllerManagerOptions {}

export interface ControllerManagerOptions {
  /** Also runs kube-controller-manager: EndpointSlices from selectors, garbage collection, deletion of namespaces. */
  readonly controllerManager?: boolean;
  /** Additional arguments of kube-controller-manager. */
  readonly controllerManagerArguments?: readonly string[];
}

/**
 * etcd and an empty kube-apiserver with RBAC, on loopback. `borrowCluster` of borrowed-cluster.ts gives one that another file has used before.
 *
 *   const cluster = await KubernetesCluster.start();
 *   await cluster.request({ method: 'POST', path: '/api/v1/namespaces', body: {...} });   as cluster-admin; throws unless 2xx
 *   const token = await cluster.serviceAccountToken('herald-system', 'agent');            RBAC applies to it
 *   await cluster.stop();
 */
export class KubernetesCluster {
  /** The kubeconfig of cluster-admin, and files of tests. `stop` removes it. A cluster that is not borrowed has its keys, data and logs here too. */
  readonly directory: string;
  readonly #plane: ControlPlane;
  /** Requests before it are of other tests. */
  readonly #audit: { readonly offset: number; readonly since: string };
  #controllerManager: LabProcess | undefined;

  /** Takes over the control plane. `stop` ends it, or gives it back. */
  constructor(plane: ControlPlane, directory = plane.directory) {
    this.#plane = plane;
    this.directory = directory;
    const { size = 0 } = statSync(join(plane.directory, 'audit.log'), { throwIfNoEntry: false }) ?? {};
    // Without the Z, because kube-apiserver writes more digits.
    this.#audit = { offset: size, since: new Date().toISOString().slice(0, -1) };
    writeFileSync(join(this.directory, 'kubeconfig'), this.kubeconfig(), { mode: 0o600 });
  }

  /** Resolves when /readyz succeeds and the namespace "default" exists. */
  static async start({ controllerManager = false, controllerManagerArguments = [], ...options }: ClusterOptions = {}) {
    const cluster = new KubernetesCluster(await OwnControlPlane.start(options));
    if (controllerManager) cluster.startControllerManager(controllerManagerArguments, options.inside?.namespace);
    return cluster;
  }

  /** Starts kube-controller-manager, which ends with the cluster. */
  startControllerManager(further: readonly string[] = [], namespace?: string): void {
    const argv = [programPath('kube-controller-manager'), ...controllerManagerArguments(this.directory, this.#plane.directory), ...further];
    this.#controllerManager = foreground(
      namespace === undefined ? argv : inNamespace(namespace, argv),
      join(this.directory, 'kube-controller-manager.log'),
    );
  }

  get admin(): Credentials {
    return this.#plane.admin;
  }

  /** Sends a request as cluster-admin, or with another token. Resolves with the parsed body; rejects unless the status is 2xx. */
  async request(request: ApiRequest, token = this.admin.token): Promise<unknown> {
    const { status, body } = await this.attempt(request, token);
    if (status >= 300) throw new Error(`${request.method ?? 'GET'} ${request.path}: ${status} ${JSON.stringify(body)}`);
    return body;
  }

  /** Sends a request and resolves with any status. Rejects only when there is no answer. */
  attempt(request: ApiRequest, token = this.admin.token): Promise<ApiResponse> {
    return send({ ...this.admin, token }, request);
  }

  /** Creates the service account and its namespace if they do not exist, and returns a token that is valid for one hour. */
  async serviceAccountToken(namespace: string, name: string): Promise<string> {
    const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name } };
    await this.#ensure('/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
    await this.#ensure(`/api/v1/namespaces/${namespace}/serviceaccounts`, account);
    const answer = await this.request({
      method: 'POST',
      path: `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`,
      body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { expirationSeconds: 3600 } },
    });
    return (answer as { status: { token: string } }).status.token;
  }

  /** Returns the text of a kubeconfig file with one context, for cluster-admin or for another token. */
  kubeconfig(token = this.admin.token, contextNamespace = 'default'): string {
    const { server, certificateAuthority } = this.admin;
    const authority = Buffer.from(certificateAuthority).toString('base64');
    return JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'test', cluster: { server, 'certificate-authority-data': authority } }],
      users: [{ name: 'test', user: { token } }],
      contexts: [{ name: 'test', context: { cluster: 'test', user: 'test', namespace: contextNamespace } }],
      'current-context': 'test',
    });
  }

  /** The port of etcd's client interface on loopback, without TLS. */
  get etcdPort(): number {
    return this.#plane.etcdPort;
  }

  /** The process IDs of kube-apiserver and etcd. That of kube-apiserver changes with each start. */
  get pids(): { readonly apiServer: number; readonly etcd: number } {
    return this.#plane.pids;
  }

  /** Returns the requests since this object was made. The cluster has `audit`. */
  auditedCalls(): readonly AuditedCall[] {
    return auditedCalls(this.#plane.directory, this.#audit);
  }

  /** Stops kube-apiserver, by default with SIGKILL. Connections break, and its port is closed until `startApiServer`. */
  stopApiServer(name: 'SIGTERM' | 'SIGKILL' = 'SIGKILL'): Promise<void> {
    return this.#plane.stopApiServer(name);
  }

  /** Starts kube-apiserver on the same port with the data of etcd. Resolves when it is ready. */
  startApiServer(patience?: number): Promise<void> {
    return this.#plane.startApiServer(patience);
  }

  /** Makes etcd forget all versions before the latest. kube-apiserver has it done every five minutes. */
  compact(): Promise<void> {
    return new Etcd(this.etcdPort).compact();
  }

  async stop(): Promise<void> {
    this.#controllerManager?.kill('SIGKILL');
    await this.#controllerManager?.exited;
    await this.#plane.stop();
    rmSync(this.directory, { recursive: true, force: true });
  }

  async #ensure(collection: string, object: object): Promise<void> {
    const { status, body } = await this.attempt({ method: 'POST', path: collection, body: object });
    if (status >= 300 && status !== 409) throw new Error(`${collection}: ${status} ${JSON.stringify(body)}`);
  }
}

function controllerManagerArguments(directory: string, keys: string): string[] {
  return [
    `--kubeconfig=${join(directory, 'kubeconfig')}`,
    '--leader-elect=false',
    // Its own port is not used.
    '--secure-port=0',
    `--service-account-private-key-file=${join(keys, 'service-account.key')}`,
  ];
}
