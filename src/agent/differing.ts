import type { QuarantinedFrontend } from '../dataplane/dataplane.ts';
import type { ServiceKey } from '../model/metadata.ts';
import type { NodeState } from '../model/node-state.ts';
import { reason, type Reason } from '../model/reasons.ts';
import type { Elsewhere } from './elsewhere.ts';
import type { NodeHealth } from './node-health.ts';
import type { RouteTable } from './route-table.ts';
import type { Sessions } from './sessions.ts';

/** Those who know of a difference, each of its own kind. */
export interface Differences {
  readonly quarantined: ReadonlyMap<string, QuarantinedFrontend>;
  readonly elsewhere: Pick<Elsewhere, 'missing'>;
  /** Routes that wait for the kernel. */
  readonly held: ReadonlyMap<ServiceKey, readonly Reason[]>;
  readonly sessions: Pick<Sessions, 'notPossible'>;
  readonly routes: Pick<RouteTable, 'wantedBy'>;
  readonly health: Pick<NodeHealth, 'serviceProblems'>;
}

/** Where the state of this node differs from what was decided, each Service with the reason: forwarding first, then routes, then health checks. */
export function differingServices({ quarantined, elsewhere, held, sessions, routes, health }: Differences): NodeState['differing'] {
  const differing: NodeState['differing'][number][] = [];
  for (const [frontend, { services, error, owner }] of quarantined) {
    const because =
      owner === undefined ? reason('FrontendQuarantined', { frontend, error }) : reason('FrontendTaken', { frontend, by: owner });
    for (const service of services) differing.push({ service: service as ServiceKey, aspect: 'Programmed', reason: because });
  }
  for (const [service, frontend] of elsewhere.missing())
    differing.push({ service, aspect: 'Programmed', reason: reason('AwaitsForwarding', { frontend }) });
  for (const [service, [first]] of held) if (first !== undefined) differing.push({ service, aspect: 'Announced', reason: first });
  for (const { peer, prefix, why } of sessions.notPossible()) {
    const because = reason('RouteNotPossible', { peer, prefix, why });
    for (const service of routes.wantedBy(peer, prefix)) differing.push({ service, aspect: 'Announced', reason: because });
  }
  for (const problem of health.serviceProblems()) differing.push({ ...problem, aspect: 'HealthCheck' });
  return differing;
}
