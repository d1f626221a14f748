import { defined } from '../../lang/defined.ts';
import type { Allocator } from '../../decisions/allocation/allocator.ts';
import { unclaimedServices, type UnclaimedService } from '../../decisions/allocation/unclaimed.ts';
import { deniedExternalIP } from '../../decisions/forwarding/external-ips.ts';
import type { Condition } from '../../model/objects/condition.ts';
import type { ServiceKey } from '../../model/objects/metadata.ts';
import {
  currentReport,
  hostProblemsOf,
  isRunning,
  reportAge,
  whyNoReport,
  type ServiceDifference,
} from '../../model/objects/node-state.ts';
import { reason, type Reason } from '../../model/reasons.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import type { Leadership } from './leadership.ts';
import { l2Overview, type L2Overview } from '../l2/l2-overview.ts';
import { poolReport, type PoolReport } from '../pools/pool-report.ts';
import { isUp, sessionCounts, sessionReport, type SessionRow } from '../sessions/session-report.ts';

/** The state of everything. Plain data. */
export interface Overview {
  /** Absent: unknown. */
  readonly controller?: Leadership;
  /** Seconds by which the clock of this host is ahead of the API server's, or behind if negative. Absent: they agree. */
  readonly clockSkewSeconds?: number;
  /** Processes whose records the file system of the directory refuses. Absent: none of which it is known. */
  readonly unwritten?: readonly UnwrittenBy[];
  /** Controllers that may not write the status of Services. Absent: none of which it is known. */
  readonly refused?: readonly UnwrittenBy[];
  readonly nodes: {
    readonly total: number;
    readonly reporting: number;
    /** Problems of nodes, sorted by node name. */
    readonly troubled: readonly { readonly node: string; readonly reason: Reason; readonly reportedSecondsAgo?: number }[];
    readonly draining: readonly { readonly node: string; readonly phase: string }[];
  };
  readonly sessions: { readonly established: number; readonly expected: number; readonly down: readonly SessionRow[] };
  /** Addresses that are announced by ARP and NDP. Absent: there is no L2Advertisement. */
  readonly l2?: L2Overview;
  readonly services: {
    /** Services of type LoadBalancer. */
    readonly total: number;
    /** How many of them Herald serves or has served. */
    readonly ours: number;
    /** How many of Herald's Services have each condition. */
    readonly conditions: readonly ConditionCount[];
    /** Services without a class that no controller serves. */
    readonly unclaimed: readonly UnclaimedService[];
    /** Services of any type with an external IP that no ExternalIPPolicy allows. */
    readonly deniedExternalIPs: readonly { readonly service: ServiceKey; readonly reason: Reason }[];
    /** Differences that nodes report of single Services, sorted by Service. */
    readonly differing: readonly (ServiceDifference & { readonly node: string })[];
  };
  /** Configuration objects that are refused or not ready. Those that the sessions or problems report already are left out. */
  readonly objects: readonly UnhealthyObject[];
  readonly pools: PoolReport['pools'];
}

interface UnwrittenBy {
  /** For people: "the agent of node1". */
  readonly process: string;
  readonly reason: Reason;
}

export interface UnhealthyObject {
  /** "BGPAdvertisement/public". */
  readonly object: string;
  /** The reason of the condition Accepted or Ready, the first of them that is False. */
  readonly reason: Reason;
}

interface ConditionCount {
  /** "AddressAssigned". */
  readonly condition: string;
  readonly status: Condition['status'];
  readonly reason: string;
  readonly services: readonly ServiceKey[];
}

interface OverviewFacts {
  readonly snapshot: Snapshot;
  /** The Services to show. Absent: all. */
  readonly selected?: ReadonlySet<ServiceKey>;
  /** Only Services that have conditions. */
  readonly conditions: ReadonlyMap<ServiceKey, readonly Condition[]>;
  readonly controller?: Leadership;
  readonly clockSkewSeconds?: number;
  readonly unwritten?: readonly UnwrittenBy[];
  readonly refused?: readonly UnwrittenBy[];
  /** BGPAdvertisements and BGPPeers. */
  readonly objects: readonly UnhealthyObject[];
  /** Milliseconds since the epoch. The age of agents' reports is measured by it. */
  readonly now: number;
  /** Nodes whose agents' answers are in the snapshot. Absent: none were queried. */
  readonly live?: ReadonlyMap<string, unknown>;
  /** With the addresses of this snapshot. Absent: one is made. */
  readonly allocator?: Allocator;
}

export function overviewOf(facts: OverviewFacts): Overview {
  const { snapshot, controller, clockSkewSeconds, unwritten, refused, objects, now, live, allocator } = facts;
  const isShown = (key: ServiceKey): boolean => facts.selected === undefined || facts.selected.has(key);
  const conditions = new Map([...facts.conditions].filter(([key]) => isShown(key)));
  const nodes = [...snapshot.nodes.keys()].toSorted();
  const table = sessionReport(snapshot, now, {}, live);
  const { pools } = poolReport(snapshot, defined({ allocator }));
  const states = nodes.map((node) => ({ node, state: currentReport(snapshot.nodeStates, node, now) }));
  return {
    ...defined({ controller, clockSkewSeconds, unwritten, refused }),
    nodes: {
      total: nodes.length,
      reporting: states.filter(({ state }) => state !== undefined && isRunning(state)).length,
      troubled: [
        ...withoutNode(snapshot, now),
        ...states.flatMap(({ node, state }) => {
          const last = snapshot.nodeStates.get(node);
          const age = last === undefined ? {} : { reportedSecondsAgo: reportAge(last, now) };
          const why =
            state === undefined
              ? [whyNoReport(snapshot.nodeStates, node)]
              : [...(state.problem ? [state.problem] : []), ...hostProblemsOf(state)];
          return why.filter((because) => !isOfPlugin(because)).map((because) => ({ node, reason: because, ...age }));
        }),
      ],
      draining: states.flatMap(({ node, state }) => (state?.drain === undefined ? [] : [{ node, phase: state.drain.phase }])),
    },
    // Sessions of silent nodes are left out: the node is listed already, and its sessions are unknown.
    sessions: { ...sessionCounts(table), down: table.sessions.filter((one) => !isUp(one) && isOfItself(one)) },
    ...defined({ l2: l2Overview(snapshot, now) }),
    services: {
      total: [...snapshot.services].filter(([key, { type }]) => type === 'LoadBalancer' && isShown(key)).length,
      ours: conditions.size,
      conditions: countConditions(conditions),
      unclaimed: unclaimedServices(snapshot, now).filter(({ service }) => isShown(service)),
      deniedExternalIPs: deniedExternalIPs(snapshot).filter(({ service }) => isShown(service)),
      differing: states
        .flatMap(({ node, state }) => (state?.differing ?? []).map((one) => ({ ...one, node })))
        .filter(({ service }) => isShown(service))
        .toSorted(byService),
    },
    objects: [...objects, ...pools.flatMap(({ pool, reason: why }) => (why ? [{ object: `IPAddressPool/${pool}`, reason: why }] : []))],
    pools,
  };
}

const byService = (a: ServiceDifference, b: ServiceDifference): number => (a.service < b.service ? -1 : a.service > b.service ? 1 : 0);

function deniedExternalIPs(snapshot: Snapshot): Overview['services']['deniedExternalIPs'] {
  const found = [...snapshot.services].flatMap(([service, object]) => {
    const denied = deniedExternalIP(snapshot, object);
    return denied === undefined ? [] : [{ service, reason: denied }];
  });
  return found.toSorted((a, b) => (a.service < b.service ? -1 : 1));
}

/** Every node of such a plugin has its programs. They explain connections that fail, and are no problem by themselves. */
const isOfPlugin = ({ code, details }: Reason): boolean => code === 'TrafficFilterUnread' && details.plugin !== undefined;

/** Agents that report for a node without a Node object: a wrong --node, or a Node that was deleted. */
function withoutNode({ nodes, nodeStates }: Snapshot, now: number): Overview['nodes']['troubled'] {
  // Without any Node object it is unknown which nodes exist.
  if (nodes.size === 0) return [];
  const unknown = [...nodeStates.keys()].filter(
    (node) => !nodes.has(node) && currentReport(nodeStates, node, now)?.problem?.code !== 'AgentStopped',
  );
  return unknown
    .filter((node) => currentReport(nodeStates, node, now) !== undefined)
    .toSorted()
    .map((node) => ({ node, reason: reason('NodeUnknown', { node }) }));
}

const ofTheNode = new Set<string | undefined>(['AgentSilent', 'AgentStopped', 'DataPlaneFailed', 'DataPlaneNotPermitted', 'PeerAdminDown']);

/** False when the node's own problem explains the session, or a user shut it down. */
export function isOfItself({ reason: why }: SessionRow): boolean {
  return !ofTheNode.has(why?.code);
}

const order = ['AddressAssigned', 'Programmed', 'Announced'];

/** Sorted in the order in which a Service gets its conditions; False comes first. */
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

/** Returns the reason for a difference between this host's clock and the API server's. Positive seconds: ours is ahead. */
export function clockReason(seconds: number): Reason {
  return reason('ClockSkew', { seconds: Math.round(Math.abs(seconds)), direction: seconds > 0 ? 'ahead of' : 'behind' });
}
