import type { KeptInPool, PoolUsage } from '../decisions/allocation/allocator.ts';
import type { ServiceKey } from '../model/metadata.ts';
import type { Reason, ReasonCode } from '../model/reasons.ts';
import type { ReleasedAddress } from '../model/released-address.ts';
import type { Ingress, Service } from '../model/service.ts';
import type { Change, Snapshot } from '../model/snapshot.ts';
import type { Address } from '../net/address.ts';

/** Whether a provider is the one that serves a Service. For any Service at most one provider says yes. */
export type Claim = { readonly mine: true } | { readonly mine: false; readonly reason: Reason };

/**
 * What gives addresses to Services. The contract is narrow because providers have little in common: a bare-metal one takes
 * addresses from pools, a cloud one creates load balancers. The controller owns the loop, the status and its one writer.
 */
export interface Provider {
  readonly name: string;
  /** It asks somebody outside of the cluster, who may be slow or never answer: what waits for it must not keep others from their turn. */
  readonly remote?: true;
  /** Pure. */
  claim(service: Service, snapshot: Snapshot): Claim;
  /**
   * Called once before any `reconcile`, with a complete snapshot: takes over what the records say was assigned, as the snapshot may
   * be older than they. That goes for Services of another class, too, as HeraldConfig may have changed meanwhile, and for those that
   * are gone: until it is off the record, an address is nobody else's. `uids`: of which Service a record is, where it is known.
   */
  adopt(snapshot: Snapshot, recorded: RecordedAddresses, uids: ReadonlyMap<ServiceKey, string>): void;
  /**
   * Takes over what a record says that could not be read when `adopt` was called, or what another program has written. `free`: only where
   * no other Service holds it that may not share it. What the Service holds already stays as it is. Returns the Services to look at again, for
   * whom something became free.
   */
  adoptOne(service: Service, addresses: readonly Address[], snapshot: Snapshot, when: 'free' | 'always'): readonly ServiceKey[];
  /**
   * While a reason is given, nobody is given an address that he does not hold, and whoever lacks one is told the reason:
   * some address is held by a Service, and nobody knows which.
   */
  withhold(reason: Reason | undefined): void;
  /** Makes the Service what it should be. Idempotent. Rejects only for operating errors, which are retried with back-off. */
  reconcile(service: Service, snapshot: Snapshot): Promise<Reconciliation>;
  /**
   * What `reconcile` said is written down: what the Service let go may be given to others from now on. Returns the Services to look
   * at again, in the order in which they wait.
   */
  written(key: ServiceKey): readonly ServiceKey[];
  /**
   * The Service is gone, or no longer the provider's, and the record says otherwise until `release`. One that comes under its name
   * before that is a new Service.
   */
  leave(key: ServiceKey): void;
  /**
   * Lets go of what a Service held: it is gone, or no longer the provider's, and nothing on record says otherwise. Releasing
   * nothing succeeds. `now`: milliseconds since the epoch.
   */
  release(key: ServiceKey, now: number): Promise<Released>;
  /**
   * Whether something is held for the Service, by what its object says (`service`; undefined: there is none) or by what is remembered, whoever
   * claims it now. Costs nothing.
   */
  holds(key: ServiceKey, service: Service | undefined): boolean;
  /** Called once after `adopt`: goes on keeping for Services what was kept for them before. Absent: nothing ever is. */
  keep?(released: readonly ReleasedAddress[]): void;
  /** What is kept for Services that are gone, with the name of its pool. */
  kept?(): readonly KeptInPool[];
  /** Called every now and then: ends what was only for a while. Returns the Services to look at again. */
  expire(now: number): readonly ServiceKey[];
  /** How much of each pool is given, for those that give from pools. Costs the same however many Services there are. */
  usage?(): readonly PoolUsage[];
  /**
   * For those that act outside of Kubernetes: what `reconcile`, or `release` of a Service that is not there, would do now. Changes
   * nothing, and needs no `adopt` before it. Where that cannot be told, says `failed`, or rejects with an operating error.
   */
  preview?(key: ServiceKey, snapshot: Snapshot): Promise<Preview>;
  /** Services to look at again because something other than themselves changed, those that wait first, in their order. */
  affected(changes: readonly Change[], snapshot: Snapshot): Iterable<ServiceKey>;
}

/** What would be done for a Service outside of Kubernetes. */
export interface Preview {
  /** What there is, and what there should be, as lines for people. */
  readonly observed: readonly string[];
  readonly desired: readonly string[];
  /** In the order in which they would be made, each with why. */
  readonly actions: readonly { readonly id: string; readonly operation: string; readonly reason: string; readonly input: object }[];
  /** What has to happen by itself before more can be said. */
  readonly waits: readonly string[];
  /** What is wrong, and what is odd. */
  readonly reasons: readonly Reason[];
  /** Why it cannot be told: what is outside could not be asked. It is among the reasons. */
  readonly failed?: Reason;
}

export interface Reconciliation {
  /** The whole of status.loadBalancer.ingress. */
  readonly ingress: readonly Ingress[];
  /** Why the Service does not have what it asks for; absent when it has. */
  readonly reason?: Reason;
  /** Where several pools were asked: which, and the code of each. */
  readonly details?: readonly { readonly of: string; readonly code: ReasonCode }[];
  /** What is odd about what the Service asks for, although it is done. */
  readonly warnings?: readonly Reason[];
  /** What others had changed and was put right, each as a sentence. */
  readonly repaired?: readonly string[];
}

export interface Released {
  /** What the Service held and does not hold any more. */
  readonly addresses: readonly Address[];
  /** Services to look at again, in the order in which they wait. */
  readonly retry: readonly ServiceKey[];
  /** Why something that the Service had is still there, where somebody should hear of it; the provider tries again by himself. */
  readonly left?: Reason;
}

/** What is on record, also for Services that no longer exist, or cannot be read at the moment because their manifest is broken. */
export type RecordedAddresses = ReadonlyMap<ServiceKey, readonly Address[]>;
