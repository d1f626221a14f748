import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { inNamespace } from '../lab/namespace.ts';
import { until } from '../lab/until.ts';
import type { LabProcess } from '../lab/lab-process.ts';
import { foreground } from './foreground.ts';
import { freePorts } from './free-port.ts';
import { programPath, type Program } from './programs.ts';
import { send, type ApiRequest, type ApiResponse } from './request.ts';

/** The data that a client needs to reach the API server as one user. */
export interface Credentials {
  /** "https://127.0.0.1:34567" */
  readonly server: string;
  /** A PEM file's text. */
  readonly certificateAuthority: string;
  readonly token: string;
  /** A Unix socket that leads to the server. Set when the server runs in a network namespace. */
  readonly socket?: string;
}

export interface ClusterOptions {
  /** Also runs kube-controller-manager: EndpointSlices from selectors, garbage collection, deletion of namespaces. */
  readonly controllerManager?: boolean;
  /** Additional arguments of kube-controller-manager. */
  readonly controllerManagerArguments?: readonly string[];
  /** Additional arguments of kube-apiserver. */
  readonly apiServerArguments?: readonly string[];
  /** Runs everything in this network namespace. kube-apiserver listens on port 6443 of all its addresses; `address` is one of them. */
  readonly inside?: { readonly namespace: string; readonly address: string };
}

/**
 * etcd and an empty kube-apiserver with RBAC, on loopback. All files are in one directory, which `stop` removes.
 *
 *   const cluster = await KubernetesCluster.start();
 *   await cluster.request({ method: 'POST', path: '/api/v1/namespaces', body: {...} });   as cluster-admin; throws unless 2xx
 *   const token = await cluster.serviceAccountToken('herald-system', 'agent');            RBAC applies to it
 *   await cluster.stop();
 */
export class KubernetesCluster {
  /** Keys, certificates, data and logs of this cluster. */
  readonly directory = mkdtempSync(join(tmpdir(), 'herald-cluster-'));
  readonly #adminToken = randomBytes(16).toString('hex');
  readonly #ports: { readonly etcd: number; readonly etcdPeer: number; readonly apiServer: number };
  readonly #options: ClusterOptions;
  #certificateAuthority = '';
  #etcd: LabProcess | undefined;
  #apiServer: LabProcess | undefined;
  #controllerManager: LabProcess | undefined;
  #socketProxy: LabProcess | undefined;

  private constructor(ports: readonly number[], options: ClusterOptions) {
    const [etcd = 0, etcdPeer = 0, apiServer = 0] = ports;
    this.#ports = { etcd, etcdPeer, apiServer };
    this.#options = options;
  }

  /** Resolves when /readyz succeeds and the namespace "default" exists. */
  static async start(options: ClusterOptions = {}): Promise<KubernetesCluster> {
    const cluster = new KubernetesCluster(options.inside === undefined ? await freePorts(3) : [2379, 2380, 6443], options);
    try {
      cluster.#writeFiles();
      if (options.inside !== undefined) await cluster.#startSocketProxy();
      cluster.#etcd = cluster.#run('etcd', etcdArguments(cluster.directory, cluster.#ports.etcd, cluster.#ports.etcdPeer));
      await cluster.startApiServer();
      writeFileSync(join(cluster.directory, 'kubeconfig'), cluster.kubeconfig(), { mode: 0o600 });
      if (options.controllerManager === true) {
        const all = [...controllerManagerArguments(cluster.directory), ...(options.controllerManagerArguments ?? [])];
        cluster.#controllerManager = cluster.#run('kube-controller-manager', all);
      }
      return cluster;
    } catch (error) {
      const logs = [cluster.#etcd, cluster.#apiServer].map((one) => one?.lines().slice(-20).join('\n') ?? '').join('\n');
      await cluster.stop();
      throw new Error(`the cluster did not start: ${logs}`, { cause: error });
    }
  }

  get admin(): Credentials {
    const { inside } = this.#options;
    return {
      server: `https://${inside?.address ?? '127.0.0.1'}:${this.#ports.apiServer}`,
      certificateAuthority: this.#certificateAuthority,
      token: this.#adminToken,
      ...(inside === undefined ? {} : { socket: this.#socket }),
    };
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
    return this.#ports.etcd;
  }

  /** The process IDs of kube-apiserver and etcd. That of kube-apiserver changes with each start. */
  get pids(): { readonly apiServer: number; readonly etcd: number } {
    return { apiServer: this.#apiServer?.pid ?? -1, etcd: this.#etcd?.pid ?? -1 };
  }

  /** Returns the last lines of kube-apiserver's output. */
  log(): readonly string[] {
    return this.#apiServer?.lines().slice(-50) ?? [];
  }

  /** Stops kube-apiserver, by default with SIGKILL. Connections break, and its port is closed until `startApiServer`. */
  async stopApiServer(name: 'SIGTERM' | 'SIGKILL' = 'SIGKILL'): Promise<void> {
    this.#apiServer?.kill(name);
    await this.#apiServer?.exited;
  }

  /** Starts kube-apiserver on the same port with the data of etcd. Resolves when it is ready. */
  async startApiServer(patience = 60_000): Promise<void> {
    const further = this.#options.apiServerArguments ?? [];
    const running = this.#run('kube-apiserver', [
      ...apiServerArguments(this.directory, this.#ports.etcd, this.#ports.apiServer, this.#options.inside?.address),
      ...further,
    ]);
    this.#apiServer = running;
    const ready = async (): Promise<boolean> => {
      // When it starts with an empty directory, it writes a self-signed certificate for loopback.
      this.#certificateAuthority ||= readFileSync(join(this.directory, 'certificates/apiserver.crt'), 'utf8');
      const paths = ['/readyz', '/api/v1/namespaces/default'];
      const answers = await Promise.all(paths.map((path) => this.attempt({ path })));
      return answers.every(({ status }) => status === 200);
    };
    await until('kube-apiserver is ready', async () => !running.running || (await ready()), patience);
    if (!running.running) throw new Error(`kube-apiserver has ended: ${running.lines().slice(-20).join('\n')}`);
  }

  /** Makes etcd forget all versions before the latest. kube-apiserver has it done every five minutes. */
  async compact(): Promise<void> {
    const ask = async (path: string, body: object): Promise<{ readonly header?: { readonly revision: string } }> => {
      const answer = await fetch(`http://127.0.0.1:${this.#ports.etcd}/v3/kv/${path}`, { method: 'POST', body: JSON.stringify(body) });
      if (!answer.ok) throw new Error(`etcd: ${path}: ${answer.status} ${await answer.text()}`);
      return (await answer.json()) as { readonly header?: { readonly revision: string } };
    };
    const { header } = await ask('range', { key: Buffer.from('/registry').toString('base64'), limit: '1' });
    await ask('compaction', { revision: header?.revision ?? '0', physical: true });
  }

  async stop(): Promise<void> {
    for (const one of [this.#controllerManager, this.#apiServer, this.#etcd, this.#socketProxy]) {
      // The data is deleted next, so a clean shutdown is not needed.
      one?.kill('SIGKILL');
      await one?.exited;
    }
    rmSync(this.directory, { recursive: true });
  }

  #run(program: Program, programArguments: readonly string[]): LabProcess {
    return this.#foreground([programPath(program), ...programArguments], program);
  }

  #foreground(argv: readonly string[], name: string): LabProcess {
    const { inside } = this.#options;
    return foreground(inside === undefined ? argv : inNamespace(inside.namespace, argv), join(this.directory, `${name}.log`));
  }

  get #socket(): string {
    return join(this.directory, 'kube-apiserver.sock');
  }

  /**
   * Starts a proxy from a Unix socket to the API server. A socket file is visible in every network namespace, so the test can connect to
   * it.
   */
  async #startSocketProxy(): Promise<void> {
    const program = join(import.meta.dirname, 'socket-proxy.ts');
    this.#socketProxy = this.#foreground([process.execPath, program, this.#socket, String(this.#ports.apiServer)], 'socket-proxy');
    await this.#socketProxy.waitForLine(/open/);
  }

  /** Writes the keys for service account tokens and the token of the one predefined user. */
  #writeFiles(): void {
    const { privateKey, publicKey } = generateKeyPairSync('rsa', {
      modulusLength: 2048,
      privateKeyEncoding: { type: 'pkcs1', format: 'pem' },
      publicKeyEncoding: { type: 'spki', format: 'pem' },
    });
    writeFileSync(join(this.directory, 'service-account.key'), privateKey, { mode: 0o600 });
    writeFileSync(join(this.directory, 'service-account.pub'), publicKey);
    writeFileSync(join(this.directory, 'tokens.csv'), `${this.#adminToken},admin,admin,system:masters\n`, { mode: 0o600 });
  }

  async #ensure(collection: string, object: object): Promise<void> {
    const { status, body } = await this.attempt({ method: 'POST', path: collection, body: object });
    if (status >= 300 && status !== 409) throw new Error(`${collection}: ${status} ${JSON.stringify(body)}`);
  }
}

function etcdArguments(directory: string, clientPort: number, peerPort: number): string[] {
  const client = `http://127.0.0.1:${clientPort}`;
  const peer = `http://127.0.0.1:${peerPort}`;
  return [
    `--data-dir=${join(directory, 'etcd')}`,
    `--listen-client-urls=${client}`,
    `--advertise-client-urls=${client}`,
    `--listen-peer-urls=${peer}`,
    `--initial-advertise-peer-urls=${peer}`,
    `--initial-cluster=default=${peer}`,
    '--unsafe-no-fsync',
    '--log-level=warn',
  ];
}

function apiServerArguments(directory: string, etcdPort: number, securePort: number, advertised: string | undefined): string[] {
  return [
    `--etcd-servers=http://127.0.0.1:${etcdPort}`,
    ...(advertised === undefined ? ['--bind-address=127.0.0.1'] : ['--bind-address=::', `--advertise-address=${advertised}`]),
    `--secure-port=${securePort}`,
    `--cert-dir=${join(directory, 'certificates')}`,
    `--token-auth-file=${join(directory, 'tokens.csv')}`,
    '--authorization-mode=RBAC',
    '--service-account-issuer=https://kubernetes.default.svc',
    `--service-account-key-file=${join(directory, 'service-account.pub')}`,
    `--service-account-signing-key-file=${join(directory, 'service-account.key')}`,
    '--service-cluster-ip-range=10.96.0.0/12,fd00:96::/112',
    // No pod runs here, and no controller creates the service accounts that this plugin demands.
    '--disable-admission-plugins=ServiceAccount',
  ];
}

function controllerManagerArguments(directory: string): string[] {
  return [
    `--kubeconfig=${join(directory, 'kubeconfig')}`,
    '--leader-elect=false',
    // Its own port is not used.
    '--secure-port=0',
    `--service-account-private-key-file=${join(directory, 'service-account.key')}`,
  ];
}
