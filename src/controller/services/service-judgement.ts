import { defined } from '../../lang/defined.ts';
import { decideAllocationClaim } from '../../decisions/allocation/claim.ts';
import { clientReachability } from '../../decisions/verdict/client-reachability.ts';
import { seenConnections } from '../../decisions/verdict/seen-connections.ts';
import { NodeViews } from '../../decisions/verdict/node-views.ts';
import { decideVerdict } from '../../decisions/verdict/decide-verdict.ts';
import { endpointPlaces } from '../../decisions/verdict/causes/silent-endpoints.ts';
import type { Verdict } from '../../decisions/verdict/verdict.ts';
import type { Reason } from '../../model/reasons.ts';
import { assignedAddresses, type Service } from '../../model/objects/service.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import type { Condition } from '../status-writer.ts';
import { currentReportsOf, type CurrentReports } from './current-reports.ts';

/** The input of a Service's conditions. It computes views when a condition asks for them: most Services need that of one node. */
export interface Judgement {
  readonly snapshot: Snapshot;
  readonly service: Service;
  readonly now: number;
  readonly reports: CurrentReports;
  readonly views: NodeViews;
  readonly verdict: () => Verdict;
}

/** `unmet`: why the Service has not what it asks for. 'other': pools do not serve it, and nodes may forward it nevertheless. */
export function judgementOf(snapshot: Snapshot, service: Service, unmet: Reason | 'other' | undefined, now: number): Judgement {
  const views = new NodeViews(snapshot, service, now);
  let verdict: Verdict | undefined;
  const decide = (): Verdict => {
    // Nodes neither forward nor announce a load balancer that has a hostname.
    const claim = decideAllocationClaim(service, snapshot.config);
    const isPlaced = unmet === 'other' || assignedAddresses(service).length > 0 || service.externalIPs.length > 0;
    const nodes = isPlaced ? views.all() : [];
    const seen = seenConnections(snapshot, now);
    return decideVerdict({
      service,
      nodes,
      clients: clientReachability(service, nodes, claim.mine, seen),
      seen,
      placeOf: endpointPlaces(snapshot, service),
      ...defined(unmet === 'other' ? { notOurs: claim.mine ? undefined : claim.reason } : { unmet }),
    });
  };
  return { snapshot, service, now, reports: currentReportsOf(snapshot, now), views, verdict: () => (verdict ??= decide()) };
}

/** A condition before its message is chosen. `because` is present when it is negative. */
export interface Assessment extends Omit<Condition, 'message'> {
  readonly message?: string;
  readonly because?: Reason;
}

export function negative(type: string, because: Reason): Assessment {
  return { type, status: 'False', reason: because.code, because };
}

export const reportCut = {
  status: 'Unknown',
  reason: 'ReportCut',
  message: 'More Services differ from what was decided than the report of a node lists',
} as const;
