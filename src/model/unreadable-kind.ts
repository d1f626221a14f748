import type { KindName } from './store/snapshot.ts';

/** A kind of objects, or a part of it, that whoever asks could not read. */
export interface UnreadableKind {
  readonly kind: KindName;
  /** As RBAC names it: "ipaddresspools.herald.dev". */
  readonly resource: string;
  /** absent: the cluster has no such kind, as its CRD is not installed. */
  readonly why: 'forbidden' | 'absent';
  /** Of this namespace alone it was read. Absent: nothing was. */
  readonly readableNamespace?: string;
  /** The API server's words. */
  readonly message: string;
}
