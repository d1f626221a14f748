import type { Labels } from '../model/objects/metadata.ts';
import type { Snapshot } from '../model/store/snapshot.ts';

/**
 * Returns the labels that namespace selectors see. The API server adds a label with the namespace's name; in a directory the Namespace
 * object may be missing, and selection by name must work there too.
 */
export function namespaceLabels(snapshot: Snapshot, namespace: string): Labels {
  return { ...snapshot.namespaces.get(namespace)?.metadata.labels, 'kubernetes.io/metadata.name': namespace };
}
