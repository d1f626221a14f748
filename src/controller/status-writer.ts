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

/** All recorded statuses, including those of Services that no longer exist. */
export interface RecordedStatus {
  readonly addresses: ReadonlyMap<ServiceKey, readonly Address[]>;
  /** The uid of the Service of each record, where known. A Service of the same name may exist with another uid. */
  readonly uids?: ReadonlyMap<ServiceKey, string>;
  /** Services whose record is unreadable, with the file name. They are in no other field. */
  readonly unreadable: ReadonlyMap<ServiceKey, string>;
  /** Since when Services lack what they ask for, RFC 3339 in UTC. Absent when the records do not contain it. */
  readonly waitingSince?: ReadonlyMap<ServiceKey, string>;
  /** Pools with a recorded status, including pools that no longer exist. Absent when a status goes with its pool. */
  readonly pools?: readonly string[];
  /** Addresses that pools keep for Services that released them. */
  readonly released?: readonly ReleasedAddress[];
  /** The recorded conditions. Absent when the records do not contain them. */
  readonly conditions?: ReadonlyMap<ServiceKey, readonly Condition[]>;
}

/** The version of a Service that a decision was based on. */
export interface ObservedVersion {
  readonly uid: string;
  readonly resourceVersion: string;
}

/** Writes the status of Services; nothing else does. A write that changes nothing is free and sends nothing. */
export interface StatusWriter {
  recorded(): Promise<RecordedStatus>;
  /** Rejects when the Service was replaced or another client wrote to it since `from`; the decision must then be made again. */
  writeService(key: ServiceKey, status: ServiceStatus, from: ObservedVersion): Promise<void>;
  /** True when another program changed the addresses after the last write, judged by `from`. Absent when none writes. */
  overwritten?(key: ServiceKey, from: ObservedVersion): boolean;
  /**
   * Removes Herald's conditions and leaves the addresses to another controller. Absent when no other program writes; the addresses then
   * stay recorded.
   */
  disownService?(key: ServiceKey, from: ObservedVersion): Promise<void>;
  /** Removes the status. `from` undefined: the Service is gone. */
  releaseService(key: ServiceKey, from: ObservedVersion | undefined): Promise<void>;
  /**
   * Writes the status of a configuration object of herald.dev. Resolves to its earlier conditions, or to undefined when the object is gone
   * or was replaced.
   */
  writeObject(of: ObjectReference, status: ObjectRecord): Promise<readonly Condition[] | undefined>;
  /**
   * Removes the NodeState of a Node that is gone. Removes nothing when the NodeState was written since `from`. Absent in a directory, whose
   * files of nodes stay.
   */
  removeNodeState?(name: string, from: ObservedVersion): Promise<void>;
  /** Removes the record of an object that is gone. */
  removeObject(kind: string, name: string): Promise<void>;
}
