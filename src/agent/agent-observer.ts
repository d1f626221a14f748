import type { QuarantinedFrontend } from '../dataplane/dataplane.ts';
import type { ServiceKey } from '../model/objects/metadata.ts';
import type { HeldBackFamily, ServiceDifference, SessionStatus } from '../model/objects/node-state.ts';
import type { Reason } from '../model/reasons.ts';
import type { CheckFigures } from './checks/connection-checks.ts';
import type { RoutesByPeer } from './reconcile/announced-routes.ts';

/** Measures the agent. The agent calls it during its work: the methods must be quick and must not throw. */
export interface AgentObserver {
  /** A pass begins over these Services; the agent may add Services to the set later. `routesOf` returns the current routes of a Service. */
  pass(services: ReadonlySet<ServiceKey>, routesOf: (service: ServiceKey) => RoutesByPeer): PassObserver;
}

/** Observes the stages of one pass, in this order. After a failure only `ended` is called. */
export interface PassObserver {
  /** The routes that are no longer planned are withdrawn. */
  withdrawn(): void;
  /** The kernel has the rules of the Services. */
  committed(): void;
  /** The sessions have the routes of the Services. */
  announced(): void;
  /** Called last, in every case. */
  ended(): void;
}

/** The current state of an agent. */
export interface AgentStatus {
  /** Services that wait for the next pass. */
  readonly waiting: number;
  /** When the running pass began, by the clock's `now`. Absent: no pass runs. */
  readonly passSince?: number;
  /** True after the first successful pass. */
  readonly hasSynced: boolean;
  /** False when a change waits too long for the kernel. */
  readonly keepsUp: boolean;
  /** Why the data plane did not take the last changes. Absent: it took them. */
  readonly dataplaneError?: string;
  readonly quarantined: ReadonlyMap<string, QuarantinedFrontend>;
  readonly differing: readonly ServiceDifference[];
  readonly host: readonly Reason[];
  /** The address families that the host does not forward, when HeraldConfig lets the node hold them back. */
  readonly heldBack: readonly HeldBackFamily[];
  /** Services with an address that this node announces although it cannot forward, because no node that can does. */
  readonly heldBackLastNextHops: number;
  readonly sessions: readonly SessionStatus[];
  readonly checks: CheckFigures;
}

export const noPassObserver: PassObserver = { withdrawn: ignore, committed: ignore, announced: ignore, ended: ignore };

function ignore(): void {}
