import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { KubernetesCluster, type ClusterOptions } from '../conformance/cluster.ts';
import { programPath } from '../conformance/programs.ts';
import { run, type CommandResult } from '../lab/command.ts';
import { Lab } from '../lab/lab.ts';
import { inNamespace } from '../lab/namespace.ts';
import type { Topology } from '../lab/topology.ts';
import { root, type Bed } from './follow.ts';

export const herald = join(root, 'bin/herald');

/** A single machine, for pages that need only an API server. */
export const oneMachine: Topology = {
  machines: [{ name: 'client', kind: 'control', loopback: ['192.0.2.10/32'] }],
  links: [],
  pods: [],
};

export interface ClusterBedOptions {
  readonly topology: Topology;
  /** The machine of the API server, and one of its addresses. */
  readonly server: { readonly machine: string; readonly address: string };
  /** The machine of the reader. Default: "client". */
  readonly reader?: string;
  /** Runs kube-controller-manager, which makes EndpointSlices for selectors and removes deleted namespaces. */
  readonly controllerManager?: boolean;
  readonly controllerManagerArguments?: readonly string[];
  readonly checkout?: boolean;
}

/** An API server on a machine of a lab. The reader is its administrator, and Herald is not installed. */
export class ClusterBed implements Bed {
  readonly lab: Lab;
  readonly checkout: boolean;
  readonly entrance: readonly string[];
  /** A directory with kubectl and helm. */
  readonly programs = mkdtempSync(join(tmpdir(), 'herald-docs-bin-'));
  readonly #options: ClusterOptions;
  #cluster: KubernetesCluster | undefined;

  private constructor(lab: Lab, { server, reader = 'client', checkout = false, ...options }: ClusterBedOptions) {
    this.lab = lab;
    this.checkout = checkout;
    const { controllerManager = false, controllerManagerArguments = [] } = options;
    const inside = { namespace: lab.machine(server.machine).namespace, address: server.address };
    this.#options = { controllerManager, controllerManagerArguments, inside };
    this.entrance = inNamespace(lab.machine(reader).namespace, []);
    for (const program of ['kubectl', 'helm'] as const) symlinkSync(programPath(program), join(this.programs, program));
  }

  static async start(options: ClusterBedOptions): Promise<ClusterBed> {
    const bed = new ClusterBed(await Lab.start(options.topology), options);
    try {
      await bed.startCluster();
      return bed;
    } catch (error) {
      await bed.stop();
      throw error;
    }
  }

  get cluster(): KubernetesCluster {
    if (this.#cluster === undefined) throw new Error('the cluster was not started');
    return this.#cluster;
  }

  /** The administrator's kubeconfig file. */
  get kubeconfig(): string {
    return join(this.programs, 'kubeconfig');
  }

  get variables(): Readonly<Record<string, string>> {
    // Node caches compiled TypeScript, which is half the work of a command.
    return { KUBECONFIG: this.kubeconfig, NODE_COMPILE_CACHE: join(this.programs, 'compiled') };
  }

  renew(): Promise<void> {
    return this.startCluster();
  }

  /** Starts an empty cluster and stops the one before. */
  async startCluster(): Promise<void> {
    await this.#cluster?.stop();
    this.#cluster = undefined;
    this.#cluster = await KubernetesCluster.start(this.#options);
    writeFileSync(this.kubeconfig, this.#cluster.kubeconfig(), { mode: 0o600 });
  }

  /** Runs kubectl as the reader, in the root of the repository. `input` is standard input. */
  kubectl(args: readonly string[], options: { readonly input?: string; readonly check?: boolean } = {}): Promise<CommandResult> {
    return this.#asReader('kubectl', args, options);
  }

  /** Runs helm as the reader. */
  helm(args: readonly string[]): Promise<CommandResult> {
    return this.#asReader('helm', args, {});
  }

  #asReader(
    program: string,
    args: readonly string[],
    options: { readonly input?: string; readonly check?: boolean },
  ): Promise<CommandResult> {
    const argv = [...this.entrance, join(this.programs, program), ...args];
    return run(argv, { cwd: root, env: { ...this.variables, HOME: this.programs }, timeoutMs: 120_000, ...options });
  }

  /** Installs the definitions of Herald's kinds. */
  async installDefinitions(): Promise<void> {
    await this.kubectl(['apply', '--server-side', '-k', 'manifests/crds']);
    await this.kubectl(['wait', '--for=condition=Established', '--timeout=100s', 'crd', '--all']);
  }

  async stop(): Promise<void> {
    await this.#cluster?.stop();
    await this.lab.stop();
    rmSync(this.programs, { recursive: true, force: true });
  }
}
