import { addBuiltInProviders } from '../support/built-in-providers.ts';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import type { KubernetesCluster } from './cluster.ts';
import { kinds } from '../../src/model/kinds.ts';

addBuiltInProviders();

interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
}

/** Returns the objects of a shipped file of manifests/. */
export function shipped(file: string): readonly Manifest[] {
  const text = readFileSync(join(import.meta.dirname, '../../manifests', file), 'utf8');
  return parseAllDocuments(text).map((document) => document.toJS() as Manifest);
}

/** Applies objects as cluster-admin, as `kubectl apply` does. */
export async function apply(cluster: KubernetesCluster, ...manifests: readonly object[]): Promise<void> {
  for (const manifest of manifests as readonly Manifest[]) {
    const path = `${pathOf(manifest)}?fieldManager=test&force=true`;
    await cluster.request({ method: 'PATCH', path, body: manifest, contentType: 'application/apply-patch+yaml' });
  }
}

/** Returns the path of an object at the API server. */
export function pathOf({ apiVersion, kind, metadata }: Manifest): string {
  const group = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  const scope = metadata.namespace === undefined ? '' : `/namespaces/${metadata.namespace}`;
  return `${group}${scope}/${pluralOf(kind)}/${metadata.name}`;
}

function pluralOf(kind: string): string {
  const lower = kind.toLowerCase();
  return lower.endsWith('y') ? `${lower.slice(0, -1)}ies` : `${lower}s`;
}

/** Returns the shipped CRD of a kind of Herald. */
export function definition(kind: string): object {
  const [found] = shipped(`crds/${pluralOf(kind)}.yaml`);
  if (found === undefined) throw new Error(`there is no CRD of ${kind}`);
  return found;
}

/** Herald's kinds, which an operator's commands read. Each needs its CRD. */
export const configurationKinds: readonly string[] = kinds.map(({ kind }) => kind);

/** Returns an object of herald.dev/v1alpha1. */
export function ours(kind: string, name: string, spec: object): object {
  return { apiVersion: 'herald.dev/v1alpha1', kind, metadata: { name }, spec };
}
