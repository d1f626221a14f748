import type { Labels } from '../model/objects/metadata.ts';
import type { Snapshot } from '../model/store/snapshot.ts';

/**
 * The labels that namespace selectors see. The API server puts the name of each namespace into a label of its own; a
 * directory may lack the Namespace object altogether, and selecting by name must work there too.
 */
export function namespaceLabels(snapshot: Snapshot, namespace: string): Labels {
  return { ...snapshot.namespaces.get(namespace)?.metadata.labels, 'kubernetes.io/metadata.name': namespace };
}
