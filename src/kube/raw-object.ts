import { isRecord } from '../lang/is-record.ts';
import { KubeError } from './error.ts';

/** An object as the API server sends it. Only its name and version are known. */
export interface RawObject {
  readonly [field: string]: unknown;
  readonly metadata: RawMetadata;
}

interface RawMetadata {
  readonly [field: string]: unknown;
  readonly name: string;
  readonly namespace?: string;
  readonly resourceVersion: string;
}

/** Throws KubeError (malformed) for anything that cannot be an API object. */
export function rawObject(value: unknown): RawObject {
  if (isRecord(value) && isRecord(value['metadata'])) {
    const { name, resourceVersion, namespace } = value['metadata'];
    const named = typeof name === 'string' && name !== '' && (namespace === undefined || typeof namespace === 'string');
    if (named && typeof resourceVersion === 'string') return value as RawObject;
  }
  throw new KubeError('malformed', 'the API server sent an object without name or resourceVersion');
}

/** "namespace/name", or the name of a cluster-scoped object. */
export function rawKey({ metadata: { name, namespace = '' } }: RawObject): string {
  return namespace === '' ? name : `${namespace}/${name}`;
}
