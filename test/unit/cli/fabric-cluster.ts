import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { pluralOf } from '../../../src/model/kinds.ts';
import { FakeApiServer } from '../kube/fake-api-server.ts';
import type { Command } from 'commander';
import type { CommandContext } from '../../../src/cli/context/command-context.ts';
import { inProcess } from './in-process.ts';
import { root, type Outcome } from './program.ts';

export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly [field: string]: unknown;
}

const plurals: Readonly<Record<string, string>> = {
  Service: 'services',
  Node: 'nodes',
  Namespace: 'namespaces',
  EndpointSlice: 'endpointslices',
  Secret: 'secrets',
  Pod: 'pods',
};

/** Returns the list path of a kind. */
export function listPath({ apiVersion, kind }: Pick<Manifest, 'apiVersion' | 'kind'>): string {
  const group = apiVersion === 'v1' ? '/api/v1' : `/apis/${apiVersion}`;
  return `${group}/${plurals[kind] ?? pluralOf(kind)}`;
}

/** In a cluster Herald serves Services without a class only if HeraldConfig says so. */
function withDefaultClass(config: Manifest): Manifest {
  return { ...config, spec: { ...(config['spec'] as object), defaultClass: true } };
}

/** An API server with the objects of examples/fabric, and a kubeconfig for it. */
export class FabricCluster {
  readonly server: FakeApiServer;
  readonly directory: string;

  private constructor(server: FakeApiServer, directory: string) {
    this.server = server;
    this.directory = directory;
  }

  static async start(): Promise<FabricCluster> {
    const directory = await mkdtemp(join(tmpdir(), 'herald-fabric-'));
    const cluster = new FabricCluster(await FakeApiServer.start(), directory);
    const context = (name: string): object => ({ name, context: { cluster: name, user: name } });
    const at = (name: string, server: string): object => ({ name, cluster: { server, 'insecure-skip-tls-verify': true } });
    const config = {
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': 'a',
      contexts: [context('a'), context('b')],
      // No server listens at the second address.
      clusters: [at('a', cluster.server.url.href), at('b', 'http://127.0.0.1:1')],
      users: [
        { name: 'a', user: {} },
        { name: 'b', user: {} },
      ],
    };
    await writeFile(cluster.kubeconfig, JSON.stringify(config));
    for (const file of ['10-cluster', '20-herald', '30-web', '40-ledger']) {
      const text = readFileSync(join(root, `examples/fabric/${file}.yaml`), 'utf8');
      for (const document of parseAllDocuments(text)) {
        const manifest = document.toJS() as Manifest | null;
        if (manifest !== null) cluster.put(manifest.kind === 'HeraldConfig' ? withDefaultClass(manifest) : manifest);
      }
    }
    return cluster;
  }

  get kubeconfig(): string {
    return join(this.directory, 'kubeconfig');
  }

  put(manifest: Manifest): void {
    const { apiVersion: _, kind, metadata, ...rest } = manifest;
    const { name, namespace = kind === 'Service' || kind === 'EndpointSlice' ? 'default' : undefined } = metadata;
    this.server.put(listPath(manifest), name, { metadata, ...rest }, namespace);
  }

  /** Changes a Service of the examples. */
  edit(name: string, change: (service: Record<string, unknown>) => object): void {
    const file = name === 'web' ? '30-web' : '40-ledger';
    const documents = parseAllDocuments(readFileSync(join(root, `examples/fabric/${file}.yaml`), 'utf8'));
    const service = documents.map((one) => one.toJS() as Manifest).find(({ kind }) => kind === 'Service');
    this.put({ ...(service as Manifest), ...change(service as unknown as Record<string, unknown>) });
  }

  /** Runs a command with the kubeconfig from the environment, as a user would. */
  herald(command: (context: CommandContext) => Command, words: readonly string[], changes: Partial<CommandContext> = {}): Promise<Outcome> {
    return inProcess(command, words, { variables: { KUBECONFIG: this.kubeconfig }, ...changes });
  }

  async stop(): Promise<void> {
    await this.server.stop();
    await rm(this.directory, { recursive: true, force: true });
  }
}
