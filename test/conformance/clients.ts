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

/** A kube-apiserver that is busy takes minutes to let go of a definition: it looks for objects of the kind, and again later and later. */
export const patience = 300_000;

/** kubectl and Helm as cluster-admin, with files of their own that go with `remove`. */
export class Clients {
  readonly directory = mkdtempSync(join(tmpdir(), 'herald-clients-'));
  readonly #environment: Readonly<Record<string, string>>;
  /** Where the cluster is. */
  readonly #namespace: string | undefined;

  constructor(cluster: KubernetesCluster, { namespace }: { readonly namespace?: string } = {}) {
    const kubeconfig = join(this.directory, 'kubeconfig');
    // Within a namespace its certificate is for loopback by name only.
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

  /** Another program, with the kubeconfig of cluster-admin. `path`: where programs are found before anywhere else. */
  run(argv: readonly string[], { path }: { readonly path?: string } = {}): Promise<CommandResult> {
    const env = { ...this.#environment, ...(path === undefined ? {} : { PATH: `${path}:${process.env['PATH'] ?? ''}` }) };
    const inside = this.#namespace === undefined ? argv : inNamespace(this.#namespace, argv);
    return run(inside, { env, timeoutMs: patience, check: false });
  }

  remove(): void {
    rmSync(this.directory, { recursive: true, force: true });
  }
}

/** What it printed. Fails where it complained. */
export function succeeded({ code, stdout, stderr }: CommandResult): string {
  expect(stderr.replaceAll(/^(level=INFO|Warning: .* is deprecated).*\n/gm, '')).toBe('');
  expect(code).toBe(0);
  return stdout;
}

export const objectsOf = (text: string): Manifest[] =>
  parseAllDocuments(text)
    .map((document) => document.toJS() as Manifest | null)
    .filter((object) => object !== null);
