import type { QuarantinedFrontend } from '../dataplane/dataplane.ts';
import type { ServiceKey } from '../model/objects/metadata.ts';
import type { ServiceDifference, SessionStatus } from '../model/objects/node-state.ts';
import type { Reason } from '../model/reasons.ts';
import type { RoutesByPeer } from './reconcile/announced-routes.ts';

/** Who measures what an agent does. It is called in the middle of the work: it must be quick, and must not throw. */
export interface AgentObserver {
  /** A pass begins over these Services; more may be added to the set. `routesOf`: what the sessions are to say of a Service, as it is when asked. */
  pass(services: ReadonlySet<ServiceKey>, routesOf: (service: ServiceKey) => RoutesByPeer): PassObserver;
}

/** The stages of one pass, in order. Those after a failure are not called. */
export interface PassObserver {
  /** Routes that are not wanted any more have been taken back. */
  withdrawn(): void;
  /** The kernel has what the Services want. */
  committed(): void;
  /** The sessions have been given the routes. */
  announced(): void;
  /** Always, at last. */
  ended(): void;
}

/** How things are with an agent at this moment. */
export interface AgentStatus {
  /** Services that wait for the next pass. */
  readonly waiting: number;
  /** When the pass that is running began, by the clock's `now`. */
  readonly passSince?: number;
  /** A pass was carried out. */
  readonly hasSynced: boolean;
  /** No change waits for the kernel for too long. */
  readonly keepsUp: boolean;
  /** Why the data plane did not take the last changes. */
  readonly dataplaneError?: string;
  readonly quarantined: ReadonlyMap<string, QuarantinedFrontend>;
  readonly differing: readonly ServiceDifference[];
  readonly host: readonly Reason[];
  readonly sessions: readonly SessionStatus[];
}

export const noPassObserver: PassObserver = { withdrawn: ignore, committed: ignore, announced: ignore, ended: ignore };

function ignore(): void {
  // Nobody measures.
}
