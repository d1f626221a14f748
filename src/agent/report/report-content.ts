import { defined } from '../../lang/defined.ts';
import type { NodeState, ServiceDifference } from '../../model/objects/node-state.ts';
import { reason, type Reason } from '../../model/reasons.ts';
import type { AgentParts } from '../agent-parts.ts';
import { isLinkLocal, parseAddress } from '../../net/address.ts';
import { limits } from '../limits.ts';
import type { ReconcileLoop } from '../reconcile/reconcile-loop.ts';
import type { ReportContent } from './write-urgency.ts';
import type { DataplaneError, QuarantinedFrontend } from '../../dataplane/dataplane.ts';
import type { ServiceKey } from '../../model/objects/metadata.ts';

/** Returns the content of the node's NodeState, with bounded lists. */
export function reportContent(parts: AgentParts, loop: ReconcileLoop): ReportContent {
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
    ...routersPart(parts),
    ...parts.l2.reportPart(),
    ...parts.checks.reportPart(),
    ...parts.holdBack.report(),
    ...parts.nodeDraining.report(),
    consumed: loop.consumed,
  };
}

/** The routers that no BGPPeer names: next hops of received routes, and those that connected. */
function routersPart({ received, sessions }: AgentParts): Pick<NodeState, 'routers'> {
  const connected = sessions.status().flatMap(({ neighbors = [] }) => neighbors.filter(({ state }) => state === 'Established'));
  const found = new Set([...received.nextHops(), ...connected.map(({ address }) => address)]);
  const routers = [...found]
    .toSorted()
    .slice(0, limits.routers)
    .flatMap((text) => {
      const read = parseAddress(text);
      return read.ok && !isLinkLocal(read.value) ? [read.value] : [];
    });
  return routers.length === 0 ? {} : { routers };
}

function byService(a: ServiceDifference, b: ServiceDifference): number {
  return a.service < b.service ? -1 : Number(a.service > b.service);
}

/** Returns the Services whose state on this node differs from the decision, once for each aspect that differs. */
export function differingServices(parts: AgentParts): ServiceDifference[] {
  return [
    ...parts.l2.differences(),
    ...parts.kernelAnswers.differences(),
    ...serviceDifferences({
      quarantined: parts.dataplaneSync.quarantined,
      missing: parts.foreignFrontends.missingByService(),
      taken: [...parts.hostCheck.taken(), ...parts.hostCheck.filtered()],
      held: parts.announcer.held,
      unsupportedRoutes: parts.sessions.unsupportedRoutes(),
      wantedBy: (peer, prefix) => parts.routes.wantedBy(peer, prefix),
      healthChecks: parts.health.serviceProblems(),
    }),
  ];
}

/** Returns the problems of the host and why the agent announces nothing, for metrics and health checks. */
export function agentHostProblems(parts: AgentParts): Reason[] {
  const { refusal } = parts.identity;
  return [...(refusal === undefined ? [] : [refusal]), ...hostProblems(parts)];
}

/** Returns the problems of the host, at most as many as a NodeState lists. */
function hostProblems({ identity, foreignFrontends, health, hostCheck, directReturn, l2, uplinks }: AgentParts): Reason[] {
  return [identity, foreignFrontends, health, hostCheck, directReturn, l2, uplinks]
    .flatMap((part) => part.problems())
    .slice(0, limits.hostReasons);
}

function agentProblem({ node, identity }: AgentParts, { isStopped, error }: ReconcileLoop): Reason | undefined {
  if (isStopped) return reason('AgentStopped', { node });
  return identity.refusal ?? (error === undefined ? undefined : dataplaneReason(node, error));
}

/** Why the data plane accepts no changes. An agent without the capability runs, but can neither read nor write rules. */
export function dataplaneReason(node: string, { code, message }: Pick<DataplaneError, 'code' | 'message'>): Reason {
  if (code === 'permission') return reason('DataPlaneNotPermitted', { node, error: message });
  return reason('DataPlaneFailed', { error: message });
}

/** The differences between Services and their decisions, as each part of the agent knows them. */
interface ServiceDifferenceSources {
  /** By frontendKey. */
  readonly quarantined: ReadonlyMap<string, QuarantinedFrontend>;
  /** For each Service a frontend that another program should forward and does not. */
  readonly missing: ReadonlyMap<ServiceKey, string>;
  /** Services whose packets another program may translate first, or drops. */
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
