import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { inNamespace } from '../lab/namespace.ts';
import { until } from '../lab/until.ts';
import type { LabProcess } from '../lab/lab-process.ts';
import { auditArguments } from './audit.ts';
import { foreground } from './foreground.ts';
import { freePorts } from './free-port.ts';
import { programPath, type Program } from './programs.ts';
import { send } from './request.ts';

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

/** kube-apiserver starts in five seconds on a quiet machine. A busy one only makes it slower, so this is the limit of a hook. */
const startTimeoutMs = 300_000;

/** etcd and kube-apiserver, of this process or borrowed from another. */
export interface ControlPlane {
  /** Keys and certificates. */
  readonly directory: string;
  readonly admin: Credentials;
  /** The port of etcd's client interface on loopback, without TLS. */
  readonly etcdPort: number;
  readonly pids: { readonly apiServer: number; readonly etcd: number };
  stopApiServer(name: 'SIGTERM' | 'SIGKILL'): Promise<void>;
  startApiServer(patience?: number): Promise<void>;
  stop(): Promise<void>;
}

export interface ControlPlaneOptions {
  /** Additional arguments of kube-apiserver. */
  readonly apiServerArguments?: readonly string[];
  /** kube-apiserver logs every request. */
  readonly audit?: boolean;
  /** Runs everything in this network namespace. kube-apiserver listens on port 6443 of all its addresses; `address` is one of them. */
  readonly inside?: { readonly namespace: string; readonly address: string };
}

/** etcd and kube-apiserver as processes of this process. All files are in one directory, which `stop` removes. */
export class OwnControlPlane implements ControlPlane {
  readonly directory = mkdtempSync(join(tmpdir(), 'herald-cluster-'));
  readonly #adminToken = randomBytes(16).toString('hex');
  readonly #ports: { readonly etcd: number; readonly etcdPeer: number; readonly apiServer: number };
  readonly #options: ControlPlaneOptions;
  #certificateAuthority = '';
  #etcd: LabProcess | undefined;
  #apiServer: LabProcess | undefined;
  #socketProxy: LabProcess | undefined;

  private constructor(ports: readonly number[], options: ControlPlaneOptions) {
    const [etcd = 0, etcdPeer = 0, apiServer = 0] = ports;
    this.#ports = { etcd, etcdPeer, apiServer };
    this.#options = options;
  }

  /** Resolves when /readyz succeeds and the namespace "default" exists. */
  static async start(options: ControlPlaneOptions = {}): Promise<OwnControlPlane> {
    const plane = new OwnControlPlane(options.inside === undefined ? await freePorts(3) : [2379, 2380, 6443], options);
    try {
      plane.#writeFiles();
      if (options.inside !== undefined) await plane.#startSocketProxy();
      plane.#etcd = plane.#run('etcd', etcdArguments(plane.directory, plane.#ports.etcd, plane.#ports.etcdPeer));
      await plane.startApiServer();
      return plane;
    } catch (error) {
      const logs = [plane.#etcd, plane.#apiServer].map((one) => one?.lines().slice(-20).join('\n') ?? '').join('\n');
      await plane.stop();
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

  get etcdPort(): number {
    return this.#ports.etcd;
  }

  get pids(): { readonly apiServer: number; readonly etcd: number } {
    return { apiServer: this.#apiServer?.pid ?? -1, etcd: this.#etcd?.pid ?? -1 };
  }

  /** Both programs run. */
  get running(): boolean {
    return this.#etcd?.running === true && this.#apiServer?.running === true;
  }

  async stopApiServer(name: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    this.#apiServer?.kill(name);
    await this.#apiServer?.exited;
  }

  async startApiServer(patience = startTimeoutMs): Promise<void> {
    const { apiServerArguments: further = [], audit = false, inside } = this.#options;
    const running = this.#run('kube-apiserver', [
      ...apiServerArguments(this.directory, this.#ports.etcd, this.#ports.apiServer, inside?.address),
      ...(audit ? auditArguments(this.directory) : []),
      ...further,
    ]);
    this.#apiServer = running;
    const ready = async (): Promise<boolean> => {
      // When it starts with an empty directory, it writes a self-signed certificate for loopback.
      this.#certificateAuthority ||= readFileSync(join(this.directory, 'certificates/apiserver.crt'), 'utf8');
      const paths = ['/readyz', '/api/v1/namespaces/default'];
      const answers = await Promise.all(paths.map((path) => send(this.admin, { path })));
      return answers.every(({ status }) => status === 200);
    };
    await until('kube-apiserver is ready', async () => !running.running || (await ready()), patience);
    if (!running.running) throw new Error(`kube-apiserver has ended: ${running.lines().slice(-20).join('\n')}`);
  }

  async stop(): Promise<void> {
    for (const one of [this.#apiServer, this.#etcd, this.#socketProxy]) {
      // The data is deleted next, so a clean shutdown is not needed.
      one?.kill('SIGKILL');
      await one?.exited;
    }
    rmSync(this.directory, { recursive: true, force: true });
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
    // Everything that a test made is removed at once.
    '--max-txn-ops=100000',
    '--max-request-bytes=67108864',
  ];
}

function apiServerArguments(directory: string, etcdPort: number, securePort: number, advertised: string | undefined): string[] {
  return [
    `--etcd-servers=http://127.0.0.1:${etcdPort}`,
    ...(advertised === undefined ? ['--bind-address=127.0.0.1'] : ['--bind-address=::']),
    // Otherwise the endpoint of default/kubernetes is the address of this machine, which pools of tests may contain.
    `--advertise-address=${advertised ?? '10.255.255.254'}`,
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
