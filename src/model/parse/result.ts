import type { EndpointSlice } from '../objects/endpoint-slice.ts';
import type { TranslatedFrom } from '../objects/metadata.ts';

/** Which object a manifest describes, known even where the object itself cannot be used. */
export interface ObjectIdentity {
  readonly kind: string;
  /** "" for cluster-scoped kinds. */
  readonly namespace: string;
  readonly name: string;
}

export interface ParseOptions {
  /** Set where objects come from files: replaces metadata.resourceVersion, and the uid is derived from the identity. */
  readonly resourceVersion?: string;
  /** Where the object is the translation of another program's. */
  readonly origin?: TranslatedFrom;
  /**
   * Fields of our own kinds that this version does not know: a mistake in a file. An API server has taken them by a CRD that knows
   * them, which is a newer one than this program: to refuse the object would take from it what it can do.
   */
  readonly unknownFields?: 'refused' | 'warned of';
  /** What an API server chooses where nobody else has (clusterIP, nodePort), in a manifest that none has seen yet. */
  readonly unchosen?: 'refused' | 'left open';
}

/** What the reader of one kind finds: the object, unless its problems leave nothing to use. */
export interface ReadResult<T> {
  readonly object?: T;
  readonly companions?: readonly EndpointSlice[];
}

export function identityText({ kind, namespace, name }: ObjectIdentity): string {
  return namespace === '' ? `${kind}/${name}` : `${kind}/${namespace}/${name}`;
}
