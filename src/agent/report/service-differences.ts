import type { QuarantinedFrontend } from '../../dataplane/dataplane.ts';
import type { ServiceKey } from '../../model/objects/metadata.ts';
import type { ServiceDifference } from '../../model/objects/node-state.ts';
import { reason, type Reason } from '../../model/reasons.ts';

/** What of the Services is not as it was decided, as each part of the agent knows it. */
interface ServiceDifferenceSources {
  /** By frontend. */
  readonly quarantined: ReadonlyMap<string, QuarantinedFrontend>;
  /** Frontends that another program should have. */
  readonly missing: ReadonlyMap<ServiceKey, string>;
  /** Why routes are held back. */
  readonly held: ReadonlyMap<ServiceKey, readonly Reason[]>;
  /** Routes that a peer cannot be sent, and the Services that want them. */
  readonly unsupportedRoutes: readonly { readonly peer: string; readonly prefix: string; readonly why: string }[];
  readonly wantedBy: (peer: string, prefix: string) => Iterable<ServiceKey>;
  readonly healthChecks: readonly Omit<ServiceDifference, 'aspect'>[];
}

/** For the node's report. Of several reasons to hold back routes of one Service, the first. */
export function serviceDifferences(from: ServiceDifferenceSources): ServiceDifference[] {
  const differing: ServiceDifference[] = [];
  for (const [frontend, { services, error, owner }] of from.quarantined) {
    const because =
      owner === undefined ? reason('FrontendQuarantined', { frontend, error }) : reason('FrontendTaken', { frontend, by: owner });
    for (const service of services) differing.push({ service: service as ServiceKey, aspect: 'Programmed', reason: because });
  }
  for (const [service, frontend] of from.missing)
    differing.push({ service, aspect: 'Programmed', reason: reason('AwaitsForwarding', { frontend }) });
  for (const [service, [first]] of from.held) if (first !== undefined) differing.push({ service, aspect: 'Announced', reason: first });
  for (const { peer, prefix, why } of from.unsupportedRoutes) {
    const because = reason('RouteNotPossible', { peer, prefix, why });
    for (const service of from.wantedBy(peer, prefix)) differing.push({ service, aspect: 'Announced', reason: because });
  }
  for (const problem of from.healthChecks) differing.push({ ...problem, aspect: 'HealthCheck' });
  return differing;
}
