import type { EndpointSlice } from '../objects/endpoint-slice.ts';
import type { TranslatedFrom } from '../objects/metadata.ts';
import type { HeraldObject } from '../store/snapshot.ts';
import type { FieldProblem } from './problem.ts';

/** Which object a manifest describes, known even where the object itself cannot be used. */
export interface ObjectIdentity {
  readonly kind: string;
  /** "" for cluster-scoped kinds. */
  readonly namespace: string;
  readonly name: string;
}

export interface ParseResult {
  /** Absent when a problem leaves nothing to use. Problems beside an object concern a part of it that is left out. */
  readonly object?: HeraldObject;
  /** Further slices that one core/v1 Endpoints needs: other families, other subsets. */
  readonly companions: readonly EndpointSlice[];
  /** Absent where kind or name cannot be told. */
  readonly identity?: ObjectIdentity;
  /** A kind that Herald does not read: neither good nor bad. */
  readonly ignored: boolean;
  readonly problems: readonly FieldProblem[];
  readonly warnings: readonly FieldProblem[];
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
