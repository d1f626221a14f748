import type { QuarantinedFrontend } from '../../dataplane/dataplane.ts';
import type { ServiceKey } from '../../model/objects/metadata.ts';
import type { ServiceDifference } from '../../model/objects/node-state.ts';
import { reason, type Reason } from '../../model/reasons.ts';

/** The differences between Services and their decisions, as each part of the agent knows them. */
interface ServiceDifferenceSources {
  /** By frontendKey. */
  readonly quarantined: ReadonlyMap<string, QuarantinedFrontend>;
  /** For each Service a frontend that another program should forward and does not. */
  readonly missing: ReadonlyMap<ServiceKey, string>;
  /** Services whose packets another program may translate first. */
  readonly taken: readonly Omit<ServiceDifference, 'aspect'>[];
  /** Why routes of a Service are held back. */
  readonly held: ReadonlyMap<ServiceKey, readonly Reason[]>;
  /** Routes that a session cannot carry. `wantedBy` returns the Services that announce them. */
  readonly unsupportedRoutes: readonly { readonly peer: string; readonly prefix: string; readonly reason: Reason }[];
  readonly wantedBy: (peer: string, prefix: string) => Iterable<ServiceKey>;
  readonly healthChecks: readonly Omit<ServiceDifference, 'aspect'>[];
}

/** Returns the differences for the node's report. If several reasons hold back routes of one Service, it lists the first. */
export function serviceDifferences(from: ServiceDifferenceSources): ServiceDifference[] {
  const differing: ServiceDifference[] = [];
  for (const [frontend, { services, error, owner }] of from.quarantined) {
    const because =
      owner === undefined ? reason('FrontendQuarantined', { frontend, error }) : reason('FrontendTaken', { frontend, by: owner });
    for (const service of services) differing.push({ service: service as ServiceKey, aspect: 'Programmed', reason: because });
  }
  for (const [service, frontend] of from.missing)
    differing.push({ service, aspect: 'Programmed', reason: reason('AwaitsForwarding', { frontend }) });
  for (const one of from.taken) differing.push({ ...one, aspect: 'Programmed' });
  for (const [service, [first]] of from.held) if (first !== undefined) differing.push({ service, aspect: 'Announced', reason: first });
  for (const { peer, prefix, reason: because } of from.unsupportedRoutes) {
    for (const service of from.wantedBy(peer, prefix)) differing.push({ service, aspect: 'Announced', reason: because });
  }
  for (const problem of from.healthChecks) differing.push({ ...problem, aspect: 'HealthCheck' });
  return differing;
}
