import type { Condition } from '../model/objects/condition.ts';
import type { ObjectFields } from '../model/status-manifest.ts';
import type { ReleasedAddress } from '../model/parse/released-address.ts';
import type { ServiceKey } from '../model/objects/metadata.ts';
import type { ObjectReference } from '../model/objects/object-event.ts';
import type { Ingress } from '../model/objects/service.ts';
import type { Address } from '../net/address.ts';

export type { Condition } from '../model/objects/condition.ts';

export interface ServiceStatus {
  readonly ingress: readonly Ingress[];
  readonly conditions: readonly Condition[];
}

/** The status of a configuration object. */
export interface ObjectRecord {
  readonly conditions: readonly Condition[];
  readonly fields: ObjectFields;
}

/** What is on record, also of Services that no longer exist. */
export interface RecordedStatus {
  readonly addresses: ReadonlyMap<ServiceKey, readonly Address[]>;
  /** Of which Service each record is, where it is known: not that of another one that has its name by now. */
  readonly uids?: ReadonlyMap<ServiceKey, string>;
  /** Services whose record cannot be read, with the name of the file. They are not among the others. */
  readonly unreadable: ReadonlyMap<ServiceKey, string>;
  /** Since when Services lack what they ask for, RFC 3339 in UTC; absent where the records do not tell. */
  readonly waitingSince?: ReadonlyMap<ServiceKey, string>;
  /** What pools keep for Services that let it go. */
  readonly released?: readonly ReleasedAddress[];
  /** The conditions that were written; absent where the records do not tell. */
  readonly conditions?: ReadonlyMap<ServiceKey, readonly Condition[]>;
}

/** The form of a Service that a decision was taken from. */
export interface ObservedVersion {
  readonly uid: string;
  readonly resourceVersion: string;
}

/** The one place from which status of Services is written. Writing what is already there costs nothing and writes nothing. */
export interface StatusWriter {
  recorded(): Promise<RecordedStatus>;
  /** Rejects where the Service is another one by now, or another one wrote about it: then the decision is to be taken anew. */
  writeService(key: ServiceKey, status: ServiceStatus, from: ObservedVersion): Promise<void>;
  /** Whether another one has changed the addresses since they were written last, as `from` shows. Absent: nobody else writes. */
  overwritten?(key: ServiceKey, from: ObservedVersion): boolean;
  /**
   * The Service is another controller's: takes away our conditions, and leaves its addresses as they are. Absent: nobody else writes, and
   * what is held stays on record.
   */
  disownService?(key: ServiceKey, from: ObservedVersion): Promise<void>;
  /** `from` undefined: the Service is not there any more. */
  removeService(key: ServiceKey, from: ObservedVersion | undefined): Promise<void>;
  /**
   * The status of a configuration object of herald.dev. Resolves to the conditions that were there before; undefined: there is no such object, or it is
   * another one of its name by now.
   */
  writeObject(of: ObjectReference, status: ObjectRecord): Promise<readonly Condition[] | undefined>;
  /** There is no such object any more. */
  removeObject(kind: string, name: string): Promise<void>;
}
