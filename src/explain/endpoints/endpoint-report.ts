import { algorithmOf } from '../../decisions/forwarding/balancing.ts';
import { chooseEndpoints, targetsOf, topologyOf, type Target } from '../../decisions/forwarding/endpoints.ts';
import { defined } from '../../lang/defined.ts';
import type { LiveEndpointConnections } from '../../live/contract.ts';
import { serviceKey, type ServiceKey } from '../../model/objects/metadata.ts';
import type { Service, ServicePort } from '../../model/objects/service.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { formatAddress } from '../../net/address.ts';
import { limits } from '../limits.ts';
import type { RouteReport } from '../routes/route-report.ts';
import type { LiveNodes } from '../sessions/live-view.ts';

/** ready: it gets new connections. draining: it terminates and still serves. absent: no EndpointSlice has it any more. */
type EndpointState = 'ready' | 'draining' | 'not ready' | 'terminating' | 'absent';

/** Connections that one node translates to an endpoint. */
export interface NodeConnections extends Pick<LiveEndpointConnections, 'active' | 'inactive' | 'packets' | 'atLeast'> {
  readonly node: string;
}

/** An endpoint of one port of a Service. Plain data. */
export interface EndpointRow {
  readonly service: string;
  /** "80/TCP" */
  readonly port: string;
  /** How the port chooses an endpoint: at ClusterIPs, and at addresses for clients outside where that differs. */
  readonly scheduler: string;
  /** "10.244.1.10:8080", "[2001:db8::1]:80". */
  readonly endpoint: string;
  /** The node that runs it, if it is known. */
  readonly on?: string;
  readonly state: EndpointState;
  /** 0: it gets no new connections. */
  readonly weight: number;
  /** Sums over `nodes`. Absent: no node was queried that counts. */
  readonly active?: number;
  readonly inactive?: number;
  /** Absent: no kernel counts packets of these connections. */
  readonly packets?: { readonly in: number; readonly out: number };
  /** True: the sums are the least that there are. */
  readonly atLeast?: true;
  /** The nodes that translate connections to it. */
  readonly nodes: readonly NodeConnections[];
}

export interface EndpointReport {
  /** Sorted by Service, port and endpoint. */
  readonly endpoints: readonly EndpointRow[];
  /** The number of rows that `endpoints` leaves out. */
  readonly more: number;
  /** The nodes whose connections are in the sums. */
  readonly counted: readonly string[];
  /** Agents that could not be queried, or do not count connections. */
  readonly unasked: NonNullable<RouteReport['unasked']>;
  /** HeraldConfig leaves these frontends to another program, whose connections are not counted. */
  readonly uncounted?: 'ClusterIPs' | 'all';
}

interface Asked {
  readonly services: readonly ServiceKey[];
  readonly live: LiveNodes;
  readonly unasked: EndpointReport['unasked'];
}

/** Puts the endpoints of Services, as the objects have them, beside the connections that nodes count. */
export function endpointReport(snapshot: Snapshot, { services, live, unasked }: Asked): EndpointReport {
  const nodes = [...live].flatMap(([node, { connections }]) => (connections === undefined ? [] : [{ node, connections }]));
  const older = [...live].flatMap(([node, { connections }]) =>
    connections === undefined
      ? [{ who: `the agent of ${node}`, node, why: 'its version does not count connections', fix: 'update it' }]
      : [],
  );
  const counts = new Map<string, NodeConnections[]>();
  for (const { node, connections } of nodes)
    for (const { service, protocol, port, endpoint, ...count } of connections) {
      const key = rowKey(service, `${port}/${protocol}`, endpoint);
      counts.set(key, [...(counts.get(key) ?? []), { node, ...count }]);
    }
  const rows = services.flatMap((key) => {
    const service = snapshot.services.get(key);
    return service === undefined ? [] : rowsOf(snapshot, service, counts, nodes.length > 0);
  });
  const { services: scope } = snapshot.config;
  return {
    endpoints: rows.slice(0, limits.endpointRows),
    more: Math.max(0, rows.length - limits.endpointRows),
    counted: nodes.map(({ node }) => node).toSorted(),
    unasked: [...unasked, ...older],
    ...defined({ uncounted: scope === 'all' ? undefined : scope === 'external' ? ('ClusterIPs' as const) : ('all' as const) }),
  };
}

const rowKey = (service: string, port: string, endpoint: string): string => `${service} ${port} ${endpoint}`;

function rowsOf(
  snapshot: Snapshot,
  service: Service,
  counts: ReadonlyMap<string, readonly NodeConnections[]>,
  isCounted: boolean,
): EndpointRow[] {
  const key = serviceKey(service.metadata);
  return service.ports.flatMap((port) => {
    const name = `${port.port}/${port.protocol}`;
    const row = (endpoint: string, known: Pick<EndpointRow, 'on' | 'state' | 'weight'>): EndpointRow => ({
      service: key,
      port: name,
      scheduler: schedulerOf(snapshot, service),
      endpoint,
      ...known,
      ...sumOf(counts.get(rowKey(key, name, endpoint)) ?? [], isCounted),
    });
    const present = service.ipFamilies.flatMap((family) => targetRows(snapshot, service, port, family));
    const names = new Set(present.map(({ endpoint }) => endpoint));
    const prefix = rowKey(key, name, '');
    const gone = [...counts.keys()].filter((one) => one.startsWith(prefix)).map((one) => one.slice(prefix.length));
    return [
      ...present.map(({ endpoint, ...known }) => row(endpoint, known)),
      ...gone.filter((one) => !names.has(one)).map((endpoint) => row(endpoint, { state: 'absent', weight: 0 })),
    ];
  });
}

type TargetRow = Pick<EndpointRow, 'endpoint' | 'on' | 'state' | 'weight'>;

function targetRows(snapshot: Snapshot, service: Service, port: ServicePort, family: 4 | 6): TargetRow[] {
  const targets = targetsOf(snapshot, service, port, family);
  const { everywhere } = chooseEndpoints(targets, topologyOf(snapshot, ''));
  return targets.map((target): TargetRow => {
    const { address, port: number, nodeName, weight = 1 } = target;
    const text = formatAddress(address);
    return {
      endpoint: `${family === 6 ? `[${text}]` : text}:${number}`,
      ...defined({ on: nodeName }),
      state: stateOf(target),
      weight: everywhere.includes(target) ? weight : 0,
    };
  });
}

function stateOf({ ready, serving, terminating }: Target): EndpointState {
  if (ready) return 'ready';
  if (!terminating) return 'not ready';
  return serving ? 'draining' : 'terminating';
}

function schedulerOf({ config }: Snapshot, service: Service): string {
  const [inside, outside] = [algorithmOf(config, service, 'elsewhere'), algorithmOf(config, service, 'external address')];
  return inside === outside ? inside : `${inside}, ${outside} from outside`;
}

function sumOf(
  nodes: readonly NodeConnections[],
  isCounted: boolean,
): Omit<EndpointRow, 'service' | 'port' | 'scheduler' | 'endpoint' | 'state' | 'weight'> {
  if (!isCounted) return { nodes };
  const packets = nodes.flatMap((one) => one.packets ?? []);
  return {
    active: nodes.reduce((sum, { active }) => sum + active, 0),
    inactive: nodes.reduce((sum, { inactive }) => sum + inactive, 0),
    ...(packets.length === 0
      ? {}
      : {
          packets: {
            in: packets.reduce((sum, one) => sum + one.in, 0),
            out: packets.reduce((sum, one) => sum + one.out, 0),
          },
        }),
    ...(nodes.some(({ atLeast }) => atLeast === true) ? { atLeast: true as const } : {}),
    nodes: nodes.toSorted((a, b) => (a.node < b.node ? -1 : 1)),
  };
}
