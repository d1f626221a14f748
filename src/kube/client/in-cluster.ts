import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../../system/clock.ts';
import type { Connection, Credentials } from './connection.ts';
import { KubeError } from '../error.ts';
import { limits } from '../limits.ts';

const serviceAccountFolder = '/var/run/secrets/kubernetes.io/serviceaccount';

/**
 * The connection that the kubelet prepares for a pod. The kubelet replaces the short-lived token in its file, so the token is read again
 * and again.
 */
export class InCluster implements Connection {
  readonly server: URL;
  readonly whenUnreachable = 'where no kube-proxy makes this address work, say --apiserver with one that works without';
  readonly #clock: Clock;
  readonly #folder: string;
  #read: { readonly at: number; readonly credentials: Promise<Credentials> } | undefined;

  constructor(server: URL, { clock, folder = serviceAccountFolder }: { readonly clock: Clock; readonly folder?: string }) {
    this.server = server;
    this.#clock = clock;
    this.#folder = folder;
  }

  credentials(): Promise<Credentials> {
    const now = this.#clock.now();
    if (this.#read !== undefined && now - this.#read.at < limits.credentialsMilliseconds) return this.#read.credentials;
    const credentials = this.#readFiles();
    const read = { at: now, credentials };
    this.#read = read;
    credentials.catch(() => {
      if (this.#read === read) this.#read = undefined;
    });
    return credentials;
  }

  expired(): void {
    this.#read = undefined;
  }

  async #readFiles(): Promise<Credentials> {
    try {
      const [ca, token] = await Promise.all(['ca.crt', 'token'].map((file) => readFile(join(this.#folder, file), 'utf8')));
      return { ca: ca ?? '', authorization: `Bearer ${token?.trim()}` };
    } catch (error) {
      throw new KubeError(
        'credentials',
        `the service account cannot be read: ${(error as NodeJS.ErrnoException).code ?? ''} ${this.#folder}`,
        {
          cause: error,
          fix: 'set automountServiceAccountToken: true on the pod, or say --kubeconfig FILE',
        },
      );
    }
  }
}

/** Returns this pod's namespace. Undefined outside a pod or without a service account. */
export async function podNamespace(folder = serviceAccountFolder): Promise<string | undefined> {
  const text = await readFile(join(folder, 'namespace'), 'utf8').catch(() => '');
  return text.trim() === '' ? undefined : text.trim();
}

/** Returns the API server address from the environment of a pod. Undefined outside a pod. */
export function inClusterServer(environment: Readonly<Record<string, string | undefined>>): URL | undefined {
  const { KUBERNETES_SERVICE_HOST: host = '', KUBERNETES_SERVICE_PORT: port = '443' } = environment;
  if (host === '') return undefined;
  return new URL(`https://${host.includes(':') ? `[${host}]` : host}:${port}`);
}
