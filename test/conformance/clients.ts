import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { expect } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { run, type CommandResult } from '../lab/command.ts';
import { inNamespace } from '../lab/namespace.ts';
import type { KubernetesCluster } from './cluster.ts';
import { programPath } from './programs.ts';

export interface Labels {
  readonly [name: string]: string;
}

export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly labels?: Labels; readonly annotations?: Labels };
  readonly spec?: { readonly template?: { readonly metadata: object; readonly spec: object } };
}

/** In milliseconds. A busy kube-apiserver needs minutes to delete a CRD, because it looks for objects of the kind at growing intervals. */
export const clientTimeoutMs = 300_000;

/** Runs kubectl and Helm as cluster-admin, with their own files, which `remove` deletes. */
export class Clients {
  readonly directory = mkdtempSync(join(tmpdir(), 'herald-clients-'));
  readonly #environment: Readonly<Record<string, string>>;
  /** The network namespace of the cluster. */
  readonly #namespace: string | undefined;

  constructor(cluster: KubernetesCluster, { namespace }: { readonly namespace?: string } = {}) {
    const kubeconfig = join(this.directory, 'kubeconfig');
    // Within a namespace, the server's certificate covers loopback only by the name localhost.
    const text = namespace === undefined ? cluster.kubeconfig() : cluster.kubeconfig().replace('127.0.0.1', 'localhost');
    writeFileSync(kubeconfig, text, { mode: 0o600 });
    const { directory } = this;
    this.#environment = { KUBECONFIG: kubeconfig, HOME: directory, HELM_CACHE_HOME: directory, HELM_CONFIG_HOME: directory };
    this.#namespace = namespace;
  }

  kubectl(...args: readonly string[]): Promise<CommandResult> {
    return this.run([programPath('kubectl'), ...args]);
  }

  helm(...args: readonly string[]): Promise<CommandResult> {
    return this.run([programPath('helm'), ...args]);
  }

  /** Runs another program with the kubeconfig of cluster-admin. `path` is put in front of PATH. */
  run(argv: readonly string[], { path }: { readonly path?: string } = {}): Promise<CommandResult> {
    const env = { ...this.#environment, ...(path === undefined ? {} : { PATH: `${path}:${process.env['PATH'] ?? ''}` }) };
    const inside = this.#namespace === undefined ? argv : inNamespace(this.#namespace, argv);
    return run(inside, { env, timeoutMs: clientTimeoutMs, check: false });
  }

  remove(): void {
    rmSync(this.directory, { recursive: true, force: true });
  }
}

/** Returns the standard output. Fails the test when the program failed or printed errors. */
export function succeeded({ code, stdout, stderr }: CommandResult): string {
  expect(stderr.replaceAll(/^(level=INFO|Warning: .* is deprecated).*\n/gm, '')).toBe('');
  expect(code).toBe(0);
  return stdout;
}

export const objectsOf = (text: string): Manifest[] =>
  parseAllDocuments(text)
    .map((document) => document.toJS() as Manifest | null)
    .filter((object) => object !== null);
