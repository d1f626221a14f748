import { stringify } from 'yaml';
import { importDocuments, type ImportResult } from '../../../../../src/cli/commands/import/import-documents.ts';
import type { ImportedDocument, Manifest } from '../../../../../src/cli/commands/import/tools/tool.ts';

export const imports = (...objects: readonly unknown[]): ImportResult => importDocuments(objects.map((raw) => ({ raw })));

export const documentsOf = (...objects: readonly unknown[]): ImportedDocument[] =>
  imports(...objects).tools.flatMap(({ documents }) => documents);

/** Returns the manifests by "Kind/name", each with its spec. */
export function specs(...objects: readonly unknown[]): Record<string, unknown> {
  const manifests = documentsOf(...objects).flatMap((one): readonly Manifest[] => one.manifests);
  return Object.fromEntries(manifests.map((one) => [`${one.kind}/${String(one.metadata['name'])}`, one['spec']]));
}

/** Returns the remarks as "level field: message". */
export const remarks = (...objects: readonly unknown[]): string[] =>
  documentsOf(...objects).flatMap((one) => one.remarks.map(({ level, field, message }) => `${level} ${field}: ${message}`));

/** Returns the levels above a note, without which nothing is lost. */
export const losses = (...objects: readonly unknown[]): string[] => remarks(...objects).filter((line) => !line.startsWith('note'));

export const object = (apiVersion: string, kind: string, name: string, spec: object, metadata: object = {}): object => ({
  apiVersion,
  kind,
  metadata: { name, ...metadata },
  spec,
});

export const configMap = (name: string, data: Readonly<Record<string, unknown>>, namespace = 'metallb-system'): object => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace },
  data: Object.fromEntries(Object.entries(data).map(([key, value]) => [key, typeof value === 'string' ? value : stringify(value)])),
});
