import type { ServiceKey } from '../model/objects/metadata.ts';
import type { Reason, ReasonCode } from '../model/reasons.ts';
import type { Ingress, Service } from '../model/objects/service.ts';
import type { Snapshot } from '../model/store/snapshot.ts';
import type { Address } from '../net/address.ts';
import type { OptionalParts } from './provider-parts.ts';

/**
 * Gives Services of type LoadBalancer their ingress: from pools, or by making load balancers in a cloud. The controller owns the work
 * queue, the retries, the status and its only writer. These four members are the whole contract; a provider adds the optional parts that it
 * needs (provider-parts.ts), each of them completely, and stubs none.
 */
export interface Provider extends OptionalParts {
  /** A label of metrics and a part of messages: lower-case letters, digits and "-". */
  readonly name: string;
  /**
   * True when the provider calls an API outside the cluster, which may be slow or never answer. The controller then gives its Services
   * slots of their own in the work queue, so that they delay no Service of another provider. The most urgent ones get a slot first
   * (OrderedWork).
   */
  readonly remote?: true;
  /** Decides whether this provider serves the Service. Pure. At most one provider claims a Service. */
  claim(service: Service, snapshot: Snapshot): Claim;
  /**
   * Gives the Service what it asks for. Idempotent. Rejects only with operating errors (an Error with a string `code`); the controller
   * retries them with back-off.
   */
  reconcile(service: Service, snapshot: Snapshot): Promise<Reconciliation>;
  /**
   * Returns everything that the provider owns for the Service: the Service is gone or another provider's, and the status no longer shows
   * what it had. Succeeds when there is nothing to release. An operating error is retried. `now`: milliseconds since the epoch.
   */
  release(key: ServiceKey, snapshot: Snapshot, now: number): Promise<Released>;
}

/** A provider's answer to whether it serves a Service. */
export type Claim = { readonly mine: true } | { readonly mine: false; readonly reason: Reason };

export interface Reconciliation {
  /** The complete new status.loadBalancer.ingress. */
  readonly ingress: readonly Ingress[];
  /** Why the Service lacks what it asks for. Absent when it lacks nothing. */
  readonly reason?: Reason;
  /** Why each pool refused, by pool, when several were tried. */
  readonly details?: readonly { readonly of: string; readonly code: ReasonCode }[];
  /** Problems of the request that did not prevent serving it. */
  readonly warnings?: readonly Reason[];
  /** News for the people who use the Service, each as a sentence. Each becomes an Event once. */
  readonly notices?: readonly string[];
  /** Changes by others that the provider corrected, each as a sentence. */
  readonly repaired?: readonly string[];
  /** The controller calls `reconcile` again after this time, or earlier. */
  readonly againAfterMilliseconds?: number;
}

export interface Released {
  /** Addresses that the Service held and holds no longer. */
  readonly addresses?: readonly Address[];
  /** Services to requeue, in the order in which they wait. */
  readonly requeue?: readonly ServiceKey[];
  /** Why something of the Service still exists, when a person should know. The provider retries. */
  readonly remaining?: Reason;
}
