import type { Verdict } from '../decisions/verdict/verdict.ts';
import type { KeptInPool, PoolUsage } from '../decisions/allocation/allocator.ts';
import type { ServiceKey } from '../model/objects/metadata.ts';
import type { Reason } from '../model/reasons.ts';
import type { OutsideResource } from '../model/objects/outside-resource.ts';
import type { ReleasedAddress } from '../model/parse/released-address.ts';
import type { Service } from '../model/objects/service.ts';
import type { Change, Snapshot } from '../model/store/snapshot.ts';
import type { Address } from '../net/address.ts';

/** Recorded addresses by Service, including Services that no longer exist or whose manifest cannot be read at present. */
export type RecordedAddresses = ReadonlyMap<ServiceKey, readonly Address[]>;

/** For a provider that takes over state of an earlier process. */
export interface Recovery {
  /**
   * Takes over the records. Called once, before any `reconcile`, with a complete snapshot, which may be older than the records. The records
   * include Services of other classes, because HeraldConfig may have changed, and Services that are gone: a recorded address is assigned to
   * no other Service. `uids`: the Service that each record belongs to, where it is known.
   */
  adopt(snapshot: Snapshot, recorded: RecordedAddresses, uids: ReadonlyMap<ServiceKey, string>): void;
}

/** For a provider whose resources outlive its memory, or which is not always done with `release` at the first attempt. */
export interface ResourceHolder {
  /**
   * Returns true when the provider holds something for the Service, whichever provider claims it now. Reads only the object (`service`,
   * undefined when the Service is gone) and memory; calls no API.
   */
  holds(key: ServiceKey, service: Service | undefined): boolean;
}

/** For a provider whose Services depend on other objects, such as Nodes or pools. */
export interface ChangeListener {
  /** Returns the Services to requeue after these changes: waiting Services first, in the order in which they wait. */
  affected(changes: readonly Change[], snapshot: Snapshot): Iterable<ServiceKey>;
}

/**
 * How urgent the work for a Service is.
 *
 * - new: it was just created, and waits for its first address
 * - change: its owner has changed or deleted it, or what was made for it is not published yet
 * - repair: something that it depends on has changed, or an earlier attempt has failed
 * - reread: nothing has changed, and it is only checked
 */
export type Urgency = 'new' | 'change' | 'repair' | 'reread';

/** For a remote provider some of whose work can wait. Without it, all work is equally urgent. */
export interface OrderedWork {
  /** Returns how urgent the next `reconcile` or `release` is. Reads only the object (undefined when the Service is gone) and memory. */
  urgencyOf(key: ServiceKey, service: Service | undefined): Urgency;
}

/** For a provider with timeouts, retries or background work of its own. */
export interface PeriodicWork {
  /** Starts the work that is due and returns the Services to requeue. Called every few seconds. `now`: milliseconds since the epoch. */
  runDue(now: number): readonly ServiceKey[];
}

/** For a provider that gives addresses from its own stock, where two Services could be given the same one. */
export interface AddressPools {
  /**
   * Takes over addresses of one Service: from a record that was unreadable when `adopt` was called, or from a status that another program
   * wrote. `free`: only when no Service holds them that may not share them. Addresses that the Service already holds do not change. Returns
   * the Services to requeue because addresses became free.
   */
  adoptService(service: Service, addresses: readonly Address[], snapshot: Snapshot, when: 'free' | 'always'): readonly ServiceKey[];
  /**
   * Stops new assignments while a reason is given: some Service holds an address, and the record that says which cannot be read.
   * `reconcile` then reports the reason for each Service that lacks an address. Undefined resumes.
   */
  suspendAllocation(reason: Reason | undefined): void;
  /**
   * Told when the result of `reconcile` is written: addresses that the Service gave up can be assigned to others from now on. Returns the
   * Services to requeue, in the order in which they wait.
   */
  statusWritten(key: ServiceKey): readonly ServiceKey[];
  /**
   * Stops managing the Service, which is gone or another provider's, but leaves its addresses assigned, because the record still shows them
   * until `release`. A Service that gets the same name before that is a new Service.
   */
  disown(key: ServiceKey): void;
  /** Restores what was kept for Services that had released it before the restart. Called once, after `adopt`. */
  restoreKept(released: readonly ReleasedAddress[]): void;
  /** Returns the addresses that are kept for Services that are gone, with their pool. */
  keptAddresses(): readonly KeptInPool[];
  /** Returns how much of each pool is assigned. Its cost does not grow with the number of Services. */
  usage(): readonly PoolUsage[];
}

/** For a provider that acts outside Kubernetes and can say what it would do. */
export interface Previewable {
  /**
   * Returns what `reconcile`, or `release` when the Service is gone, would do now. Changes nothing and needs no `adopt`. When this cannot
   * be determined, the result says `failed`, or the call rejects with an operating error.
   */
  preview(key: ServiceKey, snapshot: Snapshot): Promise<Preview>;
}

/** The calls that a provider would make for a Service outside Kubernetes. */
export interface Preview {
  /** The existing resources, as lines for people. */
  readonly observed: readonly string[];
  /** The existing resources through which connections pass, for a drawing. Absent: the provider gives lines only. */
  readonly resources?: readonly OutsideResource[];
  /** The desired resources, as lines for people. */
  readonly desired: readonly string[];
  /** The calls that would be made, in order, each with its reason. */
  readonly actions: readonly { readonly id: string; readonly operation: string; readonly reason: string; readonly input: object }[];
  /** Events outside the provider's control that must happen before it can say more. */
  readonly waits: readonly string[];
  /** Errors and warnings. */
  readonly reasons: readonly Reason[];
  /** The verdict of the provider, which has looked at what clients meet, such as the health of targets. Absent: it has not looked. */
  readonly seen?: Verdict;
  /** Why there is no preview: the API could not be asked. Also among `reasons`. */
  readonly failed?: Reason;
}

/** Writes the provider's data on the Service. Only `addFinalizer` treats a Service that is gone as an error. */
export interface ServiceMetadata {
  /**
   * Resolves when the finalizer is on the Service. Repeating it is free. Rejects when the Service is gone: then nothing may be created for
   * it.
   */
  addFinalizer(service: ServiceKey): Promise<void>;
  removeFinalizer(service: ServiceKey): Promise<void>;
  /** Sets annotations; undefined removes one. Resolves to false, without writing, when another client changed the Service meanwhile. */
  annotate(service: ServiceKey, annotations: Readonly<Record<string, string | undefined>>): Promise<boolean>;
}

/** The optional parts of a provider. A provider has each part completely or not at all. */
export interface OptionalParts
  extends
    Partial<Recovery>,
    Partial<ResourceHolder>,
    Partial<ChangeListener>,
    Partial<PeriodicWork>,
    Partial<OrderedWork>,
    Partial<AddressPools>,
    Partial<Previewable> {}

/** The methods of each optional part. */
export const partMethods = {
  Recovery: ['adopt'],
  ResourceHolder: ['holds'],
  ChangeListener: ['affected'],
  PeriodicWork: ['runDue'],
  OrderedWork: ['urgencyOf'],
  AddressPools: ['adoptService', 'suspendAllocation', 'statusWritten', 'disown', 'restoreKept', 'keptAddresses', 'usage'],
  Previewable: ['preview'],
} as const satisfies Readonly<Record<string, readonly (keyof OptionalParts)[]>>;

export type PartName = keyof typeof partMethods;
export const partNames = Object.keys(partMethods) as readonly PartName[];
