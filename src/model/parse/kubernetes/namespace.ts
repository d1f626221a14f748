import { labels } from '../../annotations.ts';
import type { Namespace } from '../../objects/cluster.ts';
import { readMetadata } from '../../reading/metadata.ts';
import type { FieldReader } from '../../reading/fields.ts';
import type { ParseOptions, ReadResult } from '../../reading/result.ts';

/** Reads a core/v1 Namespace and adds the label that the API server always sets. */
export function readNamespaceObject(fields: FieldReader, options: ParseOptions): ReadResult<Namespace> {
  const metadata = readMetadata(fields, 'Namespace', 'cluster', options);
  if (metadata === undefined) return {};
  return {
    object: { kind: 'Namespace', metadata: { ...metadata, labels: { ...metadata.labels, [labels.namespaceName]: metadata.name } } },
  };
}
