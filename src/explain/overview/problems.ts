import type { ServiceKey } from '../../model/objects/metadata.ts';
import { reasonText, type Reason } from '../../model/reasons.ts';
import { causeKey } from '../../decisions/verdict/causes/causes.ts';
import { listText, problemLine, reasonLine } from '../../decisions/verdict/verdict-text.ts';
import { clockReason, type Overview, type UnhealthyObject } from './overview.ts';
import { whyNoneLeads } from './leadership.ts';
import type { SessionRow } from '../sessions/session-report.ts';
import type { Problem, ServiceProblem } from './problem.ts';
import { sessionProblems } from './session-problems.ts';

interface ProblemFacts {
  /** Objects that could not be used as they are written, each as one line. */
  readonly unusable: readonly { readonly object: string; readonly line: string }[];
  /** Only Services that have a problem. */
  readonly services: ReadonlyMap<ServiceKey, ServiceProblem>;
  readonly overview: Pick<Overview, 'controller' | 'unwritten' | 'refused' | 'nodes' | 'objects' | 'clockSkewSeconds'> & {
    readonly services: Pick<Overview['services'], 'unclaimed' | 'deniedExternalIPs' | 'differing'>;
  };
  readonly sessions: readonly SessionRow[];
}

/**
 * Lists each problem once, causes before what follows from them: the controller, nodes, sessions, the host, unusable objects, Services by
 * verdict, configuration objects. A configuration object that is the cause of a Service's problem, such as a full pool, or of a session's, has
 * no second line.
 */
export function problemsOf({ unusable, services, overview, sessions }: ProblemFacts): Problem[] {
  const { controller, unwritten = [], refused = [], nodes, objects, clockSkewSeconds } = overview;
  const leaderless = controller === undefined ? undefined : whyNoneLeads(controller);
  const { unclaimed, deniedExternalIPs, differing } = overview.services;
  const ofSessions = sessionProblems(sessions);
  const untold = ({ service, reason: { code } }: { readonly service: ServiceKey; readonly reason: Reason }): boolean =>
    services.get(service)?.code !== code;
  const told = new Set([
    ...[...services.values()].map(({ code, cause = '' }) => `${cause} ${code}`),
    ...ofSessions.map(({ object, code }) => `${object} ${code}`),
  ]);
  return [
    ...(controller === undefined || leaderless === undefined
      ? []
      : [objectProblem({ object: `Lease/${controller.lease}`, reason: leaderless })]),
    ...refused.map(({ process, reason }) => objectProblem({ object: process, reason })),
    ...alike(nodes.troubled.map(({ node, reason }) => problemOf(`Node/${node}`, reason))).toSorted(byObjects),
    ...ofSessions,
    ...(clockSkewSeconds === undefined ? [] : [objectProblem({ object: 'this host', reason: clockReason(clockSkewSeconds) })]),
    ...alike(unwritten.map(({ process, reason }) => problemOf(process, reason))),
    ...unusable.map(({ object, line }) => ({ object, code: 'ObjectUnreadable', line })),
    ...alike([...services].map(([key, problem]) => serviceProblem(key, problem))),
    ...alike([...unclaimed, ...deniedExternalIPs].filter(untold).map(({ service, reason }) => problemOf(`Service/${service}`, reason))),
    ...differences(
      differing.filter(({ service, aspect }) => aspect === 'HealthCheck' || (aspect === 'Programmed' && !services.has(service))),
    ),
    ...objects.filter(({ object, reason: { code } }) => !told.has(`${object} ${code}`)).map(objectProblem),
  ];
}

/** One problem for each Service and reason, with the nodes that report it. What nodes do not announce is in the Service's own problem. */
function differences(differing: Overview['services']['differing']): Problem[] {
  const groups = Map.groupBy(differing, ({ service, reason }) => `${service} ${causeKey(reason)}`);
  return [...groups.values()].flatMap((group): Problem[] => {
    const [first] = group;
    if (first === undefined) return [];
    const { service, reason } = first;
    const { line } = problemLine(`On ${listText([...new Set(group.map(({ node }) => node))])}`, reasonText(reason), reason);
    return [{ object: `Service/${service}`, code: reason.code, line }];
  });
}

interface Found extends Problem {
  /** Equal for problems that are one. */
  readonly same: string;
}

/** Services whose problem another object causes have one row for that object: their lines differ only by what the fix of each could release. */
function serviceProblem(key: ServiceKey, { code, line, cause = '', outcome }: ServiceProblem): Found {
  const [kind = ''] = cause.split('/');
  const same = kind === '' || kind === 'Service' ? line : kind === 'Node' ? kind : cause;
  return { object: `Service/${key}`, code, line, same: `${code} ${outcome ?? ''} ${same}` };
}

/** What concerns more objects comes first. */
function byObjects({ others: a = [] }: Problem, { others: b = [] }: Problem): number {
  return b.length - a.length;
}

/** Problems of nodes are one when their reasons differ only by the name of the node. */
function problemOf(object: string, because: Reason): Found {
  return { object, code: because.code, line: reasonLine(because), same: causeKey(because) };
}

function alike(found: readonly Found[]): Problem[] {
  return [...Map.groupBy(found, ({ same }) => same).values()].flatMap(([first, ...others]): Problem[] => {
    if (first === undefined) return [];
    const { same: _, ...problem } = first;
    return [others.length === 0 ? problem : { ...problem, others: others.map(({ object }) => object) }];
  });
}

function objectProblem({ object, reason }: UnhealthyObject): Problem {
  return { object, code: reason.code, line: reasonLine(reason) };
}
