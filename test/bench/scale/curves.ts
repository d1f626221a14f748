import type { SizeResult } from './results.ts';
import { everyAgentWatches } from './size.ts';

/** A figure that grows with the cluster. */
export interface Curve {
  readonly name: string;
  readonly unit: string;
  /** A figure of all agents together. A run in which some nodes had no agent does not have it. */
  readonly ofAll?: true;
  /** Undefined: the run has no such figure. */
  readonly of: (result: SizeResult) => number | undefined;
}

const total = (requests: Readonly<Record<string, number>>, program: RegExp): number =>
  Object.entries(requests)
    .filter(([key]) => program.test(key))
    .reduce((sum, [, count]) => sum + count, 0);

const agents = /^herald-agent/;

/** The curves of the report. Each is a figure of the whole cluster unless its name says "one". */
export const curves: readonly Curve[] = [
  {
    name: 'API server CPU for Herald, under changes',
    ofAll: true,
    unit: '% of a core',
    of: ({ churn, without }) => churn.apiServerCpuPercent - without.apiServerCpuPercent,
  },
  {
    name: 'Watch events to all agents',
    ofAll: true,
    unit: '/s',
    of: ({ churn, nodes, recordedAgents }) => events(churn.clients, nodes, recordedAgents),
  },
  {
    name: 'Bytes to all agents',
    ofAll: true,
    unit: 'MB/s',
    of: ({ churn, nodes }) => bytes(churn.clients, 'herald-agent (recorded)', nodes),
  },
  { name: 'Requests of all agents, under changes', ofAll: true, unit: '/s', of: ({ churn }) => total(churn.requestsPerSecond, agents) },
  { name: 'NodeState writes of all agents, under changes', ofAll: true, unit: '/s', of: ({ churn }) => churn.nodeStateWritesPerSecond },
  {
    name: 'NodeState writes of all agents, new Services',
    ofAll: true,
    unit: '/s',
    of: ({ newServices }) => newServices.nodeStateWritesPerSecond,
  },
  { name: 'Start of all agents: API server CPU', ofAll: true, unit: 's', of: ({ start }) => start.apiServerCpuSeconds },
  { name: 'Start of all agents: bytes', ofAll: true, unit: 'MB', of: ({ start }) => start.megabytes },
  { name: 'One agent: bytes under changes', unit: 'kB/s', of: ({ churn }) => kilobytes(churn.clients['herald-agent']) },
  { name: 'One kube-proxy: bytes under changes', unit: 'kB/s', of: ({ churn }) => kilobytes(churn.clients['kube-proxy']) },
  { name: 'One agent: CPU under changes', unit: '% of a core', of: ({ churn }) => churn.clients['herald-agent']?.cpuPercent },
  { name: 'One kube-proxy: CPU under changes', unit: '% of a core', of: ({ churn }) => churn.clients['kube-proxy']?.cpuPercent },
  { name: 'One agent: memory (RSS)', unit: 'MB', of: ({ churn }) => churn.clients['herald-agent']?.rssMegabytes },
  { name: 'One kube-proxy: memory (RSS)', unit: 'MB', of: ({ churn }) => churn.clients['kube-proxy']?.rssMegabytes },
  { name: 'Leading controller: memory (RSS)', unit: 'MB', of: ({ churn }) => churn.clients['herald-controller']?.rssMegabytes },
  { name: 'EndpointSlice to rule, agent, p99', unit: 'ms', of: ({ churn }) => churn.sliceToRule['herald-agent']?.p99 },
  { name: 'EndpointSlice to rule, kube-proxy, p99', unit: 'ms', of: ({ churn }) => churn.sliceToRule['kube-proxy']?.p99 },
  { name: 'Service to route, p99', unit: 'ms', of: ({ newServices }) => newServices.serviceToRoute.p99 },
];

type Clients = SizeResult['churn']['clients'];

function events(clients: Clients, nodes: number, recorded: number): number | undefined {
  const of = clients['herald-agent (recorded)']?.eventsPerSecond;
  return of === undefined ? undefined : (of / recorded) * nodes;
}

function bytes(clients: Clients, name: string, nodes: number): number | undefined {
  const of = clients[name];
  return of === undefined ? undefined : (of.bytesReceivedPerSecond / of.processes / 1e6) * nodes;
}

const kilobytes = (of: Clients[string] | undefined): number | undefined =>
  of === undefined ? undefined : of.bytesReceivedPerSecond / of.processes / 1000;

/**
 * Returns the exponent by which y grows with x: the slope of the line of least squares through the logarithms. 1: twice the nodes cost
 * twice as much; 0: they cost nothing. Undefined unless two points have positive values.
 */
export function exponent(points: readonly (readonly [number, number])[]): number | undefined {
  const logs = points.filter(([x, y]) => x > 0 && y > 0).map(([x, y]) => [Math.log(x), Math.log(y)] as const);
  const mean = (axis: 0 | 1): number => logs.reduce((sum, point) => sum + point[axis], 0) / logs.length;
  const [x, y] = [mean(0), mean(1)];
  const spread = logs.reduce((sum, [at]) => sum + (at - x) ** 2, 0);
  if (logs.length < 2 || spread === 0) return undefined;
  return logs.reduce((sum, [at, value]) => sum + (at - x) * (value - y), 0) / spread;
}

/** Returns the values of a curve by number of nodes. */
export function pointsOf({ of, ofAll }: Curve, results: readonly SizeResult[]): (readonly [number, number])[] {
  return results.flatMap((result) => {
    const value = ofAll && !everyAgentWatches(result) ? undefined : of(result);
    return value === undefined || !Number.isFinite(value) ? [] : [[result.nodes, value] as const];
  });
}

export function exponentsOf(results: readonly SizeResult[]): Record<string, number> {
  const found = curves.flatMap((curve) => {
    const slope = exponent(pointsOf(curve, results));
    return slope === undefined ? [] : [[curve.name, Math.round(slope * 100) / 100] as const];
  });
  return Object.fromEntries(found);
}
