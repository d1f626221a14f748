import type { EndpointSlice } from '../objects/endpoint-slice.ts';
import type { NamespacedName, TranslatedFrom } from '../objects/metadata.ts';

/** Identifies the object that a manifest describes. Known even when the object is unusable. */
export interface ObjectIdentity extends NamespacedName {
  readonly kind: string;
}

export interface ParseOptions {
  /** Set for objects from files. It replaces metadata.resourceVersion, and the uid is derived from the identity. */
  readonly resourceVersion?: string;
  /** Set when the object was translated from another program's object. */
  readonly origin?: TranslatedFrom;
  /**
   * How unknown fields of our own kinds are treated. In a file they are a mistake. An API server accepts them only with a newer CRD than
   * this program knows; refusing such an object would also lose its known fields.
   */
  readonly unknownFields?: 'refused' | 'warned of';
  /**
   * How to treat fields that an API server fills in (clusterIP, nodePort) when they are missing, in a manifest that no API server has seen
   * yet.
   */
  readonly unchosen?: 'refused' | 'left open';
  /** Leaves out what no agent uses: annotations of Services, once their fields were read, and names of pods. */
  readonly forAgent?: true;
}

/** The result of reading one kind: the object, unless problems make it unusable. */
export interface ReadResult<T> {
  readonly object?: T;
  readonly companions?: readonly EndpointSlice[];
}

export function identityText({ kind, namespace, name }: ObjectIdentity): string {
  return namespace === '' ? `${kind}/${name}` : `${kind}/${namespace}/${name}`;
}
