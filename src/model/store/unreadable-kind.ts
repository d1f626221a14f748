import type { KindName } from './snapshot.ts';

/** A kind of objects, or a part of it, that could not be read. */
export interface UnreadableKind {
  readonly kind: KindName;
  /** The name that RBAC uses, such as "ipaddresspools.herald.dev". */
  readonly resource: string;
  /** absent: the cluster does not have the kind, because its CRD is not installed. */
  readonly why: 'forbidden' | 'absent';
  /** The only namespace that could be read. Absent: nothing could be read. */
  readonly readableNamespace?: string;
  /** The API server's message. */
  readonly message: string;
}
