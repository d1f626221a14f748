import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import type { Cluster } from '../cluster/cluster.ts';

const manifests = join(import.meta.dirname, '../../../manifests');

/** A way to install Herald, as docs/how-to/install.md describes it. */
export interface Method {
  /** Installs the image `NAME:TAG` in place of kube-proxy. */
  readonly install: (cluster: Cluster, image: string) => Promise<void>;
  /**
   * Changes the image of the installation. Resolves when the change is written, and not when it is rolled out. `force` overrides what other programs
   * wrote into its objects since.
   */
  readonly upgrade: (cluster: Cluster, image: string, options?: { readonly force: boolean }) => Promise<void>;
  readonly uninstall: (cluster: Cluster) => Promise<void>;
}

const namespace = 'herald-system';

function valuesOf(cluster: Cluster, image: string): readonly string[] {
  const [repository, tag] = image.split(':');
  const values = { 'image.repository': repository, 'image.tag': tag, 'config.spec.services': 'all', apiServer: cluster.plan.server };
  return Object.entries(values).map(([name, value]) => `--set=${name}=${value}`);
}

export const helm: Method = {
  async install(cluster, image) {
    const chart = join(manifests, 'chart');
    await cluster.helm(['install', 'herald', chart, '--namespace', namespace, '--create-namespace', ...valuesOf(cluster, image)]);
  },
  async upgrade(cluster, image, { force } = { force: false }) {
    const options = ['--namespace', namespace, ...(force ? ['--force-conflicts'] : [])];
    await cluster.helm(['upgrade', 'herald', join(manifests, 'chart'), ...options, ...valuesOf(cluster, image)]);
  },
  async uninstall(cluster) {
    await cluster.helm(['uninstall', 'herald', '--namespace', namespace]);
  },
};

export const kustomize: Method = {
  async install(cluster, image) {
    await cluster.kubectl(['apply', '--server-side', '-k', join(manifests, 'crds')]);
    await cluster.kubectl(['wait', '--for=condition=Established', 'crd/heraldconfigs.herald.dev', '--timeout=5m']);
    // The overlay names this ConfigMap; its namespace must exist before it.
    await cluster.kubectl(['create', 'namespace', namespace]);
    const address = `--from-literal=url=${cluster.plan.server}`;
    await cluster.kubectl(['--namespace', namespace, 'create', 'configmap', 'herald-apiserver', address]);
    await cluster.kubectl(['apply', '--server-side', '-k', ownOverlay(cluster, image)]);
  },
  async upgrade(cluster, image, { force } = { force: false }) {
    await cluster.kubectl(['apply', '--server-side', ...(force ? ['--force-conflicts'] : []), '-k', ownOverlay(cluster, image)]);
  },
  async uninstall(cluster) {
    // HeraldConfig goes with its definition, before its own turn.
    await cluster.kubectl(['delete', '-k', join(cluster.directory, 'install/cluster'), '--ignore-not-found', '--timeout=5m']);
  },
};

/** Writes cluster/kustomization.yaml beside a copy of manifests/, as a user has it in a repository. */
function ownOverlay({ directory }: Cluster, image: string): string {
  const [newName, newTag] = image.split(':');
  const overlay = join(directory, 'install/cluster');
  mkdirSync(overlay, { recursive: true });
  cpSync(manifests, join(directory, 'install/manifests'), { recursive: true });
  const kustomization = {
    apiVersion: 'kustomize.config.k8s.io/v1beta1',
    kind: 'Kustomization',
    resources: ['../manifests/overlays/without-kube-proxy'],
    images: [{ name: 'herald', newName, newTag }],
  };
  writeFileSync(join(overlay, 'kustomization.yaml'), stringify(kustomization));
  return overlay;
}
