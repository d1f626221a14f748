import { defined } from '../../lang/defined.ts';
import type { ServiceDifference } from '../../model/objects/node-state.ts';
import { reason, type Reason } from '../../model/reasons.ts';
import type { DirectReturnCheck } from '../host/direct-return-check.ts';
import type { HoldBack } from '../host/hold-back.ts';
import type { HostCheck } from '../host/host-check.ts';
import type { HostIdentity } from '../host/host-identity.ts';
import type { NodeHealth } from '../host/node-health.ts';
import type { KernelAnswersCheck } from '../l2/kernel-answers-check.ts';
import type { L2Announcer } from '../l2/l2-announcer.ts';
import type { NodeLinks } from '../l2/node-links.ts';
import { limits } from '../limits.ts';
import type { AnnouncedRoutes } from '../reconcile/announced-routes.ts';
import type { Announcer } from '../reconcile/announcer.ts';
import type { DataplaneSync } from '../reconcile/dataplane-sync.ts';
import type { ForeignFrontends } from '../reconcile/foreign-frontends.ts';
import type { NodeDraining } from '../reconcile/node-draining.ts';
import type { ReconcileLoop } from '../reconcile/reconcile-loop.ts';
import type { BgpSessions } from '../sessions/bgp-sessions.ts';
import { dataplaneReason } from './dataplane-reason.ts';
import { serviceDifferences } from './service-differences.ts';
import type { ReportContent } from './write-urgency.ts';

/** The parts of the agent that a NodeState reports on. */
interface ReportedParts {
  readonly node: string;
  readonly routes: AnnouncedRoutes;
  readonly sessions: BgpSessions;
  readonly foreignFrontends: ForeignFrontends;
  readonly nodeDraining: NodeDraining;
  readonly dataplaneSync: DataplaneSync;
  readonly announcer: Announcer;
  readonly health: NodeHealth;
  readonly hostCheck: HostCheck;
  readonly holdBack: HoldBack;
  readonly identity: HostIdentity;
  readonly directReturn: DirectReturnCheck;
  readonly links: NodeLinks;
  readonly l2: L2Announcer;
  readonly kernelAnswers: KernelAnswersCheck;
}

/** Returns the content of the node's NodeState, with bounded lists. */
export function reportContent(parts: ReportedParts, loop: ReconcileLoop): ReportContent {
  // In one order, so that a retry of the same Services does not look like a change.
  const differing = differingServices(parts).toSorted(byService);
  const host = hostProblems(parts);
  return {
    sessions: parts.sessions.status(),
    differing: differing.slice(0, limits.differingServices),
    ...(differing.length > limits.differingServices ? { truncated: true } : {}),
    ...defined({ problem: agentProblem(parts, loop) }),
    ...(host.length === 0 ? {} : { host }),
    ...parts.directReturn.reportPart(),
    ...parts.links.reportPart(),
    ...parts.l2.reportPart(),
    ...parts.holdBack.report(),
    ...parts.nodeDraining.report(),
    consumed: loop.consumed,
  };
}

function byService(a: ServiceDifference, b: ServiceDifference): number {
  return a.service < b.service ? -1 : Number(a.service > b.service);
}

/** Returns the Services whose state on this node differs from the decision, once for each aspect that differs. */
export function differingServices(parts: ReportedParts): ServiceDifference[] {
  return [
    ...parts.l2.differences(),
    ...parts.kernelAnswers.differences(),
    ...serviceDifferences({
      quarantined: parts.dataplaneSync.quarantined,
      missing: parts.foreignFrontends.missingByService(),
      taken: parts.hostCheck.taken(),
      held: parts.announcer.held,
      unsupportedRoutes: parts.sessions.unsupportedRoutes(),
      wantedBy: (peer, prefix) => parts.routes.wantedBy(peer, prefix),
      healthChecks: parts.health.serviceProblems(),
    }),
  ];
}

/** Returns the problems of the host and why the agent announces nothing, for metrics and health checks. */
export function agentHostProblems(parts: ReportedParts): Reason[] {
  const { refusal } = parts.identity;
  return [...(refusal === undefined ? [] : [refusal]), ...hostProblems(parts)];
}

/** Returns the problems of the host, at most as many as a NodeState lists. */
function hostProblems({ identity, foreignFrontends, health, hostCheck, directReturn, l2 }: ReportedParts): Reason[] {
  return [identity, foreignFrontends, health, hostCheck, directReturn, l2].flatMap((part) => part.problems()).slice(0, limits.hostReasons);
}

function agentProblem({ node, identity }: ReportedParts, { isStopped, error }: ReconcileLoop): Reason | undefined {
  if (isStopped) return reason('AgentStopped', { node });
  return identity.refusal ?? (error === undefined ? undefined : dataplaneReason(node, error));
}
