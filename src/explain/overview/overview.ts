import { defined } from '../../lang/defined.ts';
import type { Condition } from '../../model/objects/condition.ts';
import type { ServiceKey } from '../../model/objects/metadata.ts';
import { currentReport, reportAge } from '../../model/objects/node-state.ts';
import type { Reason } from '../../model/reasons.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { reason } from '../../model/reasons.ts';
import { poolReport, type PoolReport } from '../pools/pool-report.ts';
import { isUp, sessionCounts, sessionReport, type SessionRow } from '../sessions/session-report.ts';

/** How everything is. Plain data. */
export interface Overview {
  /** Absent: nobody could tell. */
  readonly controller?: Leadership;
  readonly nodes: {
    readonly total: number;
    readonly reporting: number;
    /** What is wrong with them, in order of their names. */
    readonly troubled: readonly { readonly node: string; readonly reason: Reason; readonly reportedSecondsAgo?: number }[];
    readonly draining: readonly { readonly node: string; readonly phase: string }[];
  };
  readonly sessions: { readonly established: number; readonly expected: number; readonly down: readonly SessionRow[] };
  readonly services: {
    /** Of type LoadBalancer. */
    readonly total: number;
    /** Of them, those that Herald serves, or has served. */
    readonly ours: number;
    /** The conditions of ours, each with how many have it. */
    readonly conditions: readonly ConditionCount[];
  };
  /** Configuration objects that are left out, or do not do what they are there for; not those of which sessions or problems tell. */
  readonly objects: readonly UnhealthyObject[];
  readonly pools: PoolReport['pools'];
}

export interface UnhealthyObject {
  /** "BGPAdvertisement/public". */
  readonly object: string;
  /** Of its condition Accepted or Ready, whichever is False first. */
  readonly reason: Reason;
}

interface ConditionCount {
  /** "AddressAssigned". */
  readonly condition: string;
  readonly status: Condition['status'];
  readonly reason: string;
  readonly services: readonly ServiceKey[];
}

/** What the Lease of the controllers says. */
export interface Leadership {
  readonly lease: string;
  /** "": nobody leads. */
  readonly holder: string;
  readonly renewedSecondsAgo?: number;
  /** For how long it holds unless it is renewed. */
  readonly durationSeconds: number;
}

interface OverviewFacts {
  readonly snapshot: Snapshot;
  /** Of the Services that have any. */
  readonly conditions: ReadonlyMap<ServiceKey, readonly Condition[]>;
  readonly controller?: Leadership;
  /** BGPAdvertisements and BGPPeers. */
  readonly objects: readonly UnhealthyObject[];
  /** Milliseconds since the epoch, by which the agents' reports are judged. */
  readonly now: number;
}

export function overviewOf({ snapshot, conditions, controller, objects, now }: OverviewFacts): Overview {
  const nodes = [...snapshot.nodes.keys()].toSorted();
  const table = sessionReport(snapshot, now);
  const { pools } = poolReport(snapshot);
  const states = nodes.map((node) => ({ node, state: currentReport(snapshot.nodeStates, node, now) }));
  return {
    ...defined({ controller }),
    nodes: {
      total: nodes.length,
      reporting: states.filter(({ state }) => state !== undefined && state.problem?.code !== 'AgentStopped').length,
      troubled: states.flatMap(({ node, state }) => {
        const last = snapshot.nodeStates.get(node);
        const age = last === undefined ? {} : { reportedSecondsAgo: reportAge(last, now) };
        const why =
          state === undefined ? [reason('AgentSilent', { node })] : [...(state.problem ? [state.problem] : []), ...(state.host ?? [])];
        return why.map((because) => ({ node, reason: because, ...age }));
      }),
      draining: states.flatMap(({ node, state }) => (state?.drain === undefined ? [] : [{ node, phase: state.drain.phase }])),
    },
    // A node that is silent was told of; what its sessions are nobody knows.
    sessions: { ...sessionCounts(table), down: table.sessions.filter((one) => !isUp(one) && isOfItself(one)) },
    services: {
      total: [...snapshot.services.values()].filter(({ type }) => type === 'LoadBalancer').length,
      ours: conditions.size,
      conditions: countConditions(conditions),
    },
    objects: [...objects, ...pools.flatMap(({ pool, reason: why }) => (why ? [{ object: `IPAddressPool/${pool}`, reason: why }] : []))],
    pools,
  };
}

const ofTheNode = new Set<string | undefined>(['AgentSilent', 'AgentStopped', 'PeerAdminDown']);

function isOfItself({ reason: why }: SessionRow): boolean {
  return !ofTheNode.has(why?.code);
}

const order = ['AddressAssigned', 'Programmed', 'Announced'];

/** In the order in which a Service gets them; what is wrong first. */
function countConditions(conditions: OverviewFacts['conditions']): ConditionCount[] {
  const all = [...conditions].flatMap(([service, list]) => list.map((one) => ({ service, one })));
  const groups = Map.groupBy(all, ({ one }) => `${one.type} ${one.status} ${one.reason}`);
  const counts = [...groups.values()].flatMap((group): ConditionCount[] => {
    const [first] = group;
    if (first === undefined) return [];
    const { type, status, reason } = first.one;
    return [{ condition: type.replace('herald.dev/', ''), status, reason, services: group.map(({ service }) => service).toSorted() }];
  });
  return counts.toSorted(
    (a, b) =>
      order.indexOf(a.condition) - order.indexOf(b.condition) ||
      a.status.localeCompare(b.status) ||
      b.services.length - a.services.length ||
      (a.reason < b.reason ? -1 : 1),
  );
}
