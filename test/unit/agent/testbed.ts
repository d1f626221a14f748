import { setImmediate } from 'node:timers/promises';
import { defined } from '../../../src/lang/defined.ts';
import { Agent } from '../../../src/agent/agent.ts';
import type { AgentMetrics } from '../../../src/agent/metrics/agent-metrics.ts';
import type { Speaker } from '../../../src/bgp/index.ts';
import type { History } from '../../../src/live/history.ts';
import type { NodeState } from '../../../src/model/objects/node-state.ts';
import type { Service } from '../../../src/model/objects/service.ts';
import type { HeraldObject } from '../../../src/model/store/snapshot.ts';
import { silentLog } from '../../../src/system/log.ts';
import type { SocketAddress } from '../../../src/system/http/http-listener.ts';
import { VirtualClock } from '../../../src/system/virtual-clock.ts';
import { advertisement, node, peer, pool, service, slice, type ServiceLiteral } from '../decisions/fixtures.ts';
import type { Source } from '../../../src/sources/source.ts';
import { TestSource } from '../test-source.ts';
import { FakeBfd } from './fakes/fake-bfd.ts';
import { FakeDataplane } from './fakes/fake-dataplane.ts';
import { FakeForeign } from './fakes/fake-foreign-forwarding.ts';
import { FakeHost } from './fakes/fake-host.ts';
import { FakeHttp } from './fakes/fake-http.ts';
import { RecordingSpeaker } from './fakes/recording-speaker.ts';

/** Node n1, a pool with both families, one router for both families, and an advertisement of the whole pool. */
export const basics: readonly HeraldObject[] = [
  node({ name: 'n1', internalIPs: ['10.0.0.1', 'fd00::1'] }),
  pool({ name: 'main', addresses: ['192.0.2.0/24', '2001:db8:1::/120'] }),
  advertisement({ name: 'all' }),
  peer({ name: 'tor1', dualStackAddressFamily: true }),
];

/** A Service with endpoints in the families of its addresses. Its ClusterIPs are not advertised. */
export function web(name: string, assigned: readonly string[], more: Omit<ServiceLiteral, 'name' | 'assigned'> = {}): HeraldObject[] {
  const families = [4, 6].filter((family) => assigned.some((text) => text.includes(':') === (family === 6)));
  const clusterIPs = families.map((family) => (family === 4 ? '10.96.0.1' : 'fd96::1'));
  const ports = (more.ports ?? ['80']).map((text) => text.replace(/@\d+/, ''));
  return [
    service({ name, assigned, clusterIPs: [], ipFamilies: families as (4 | 6)[], ...more }),
    ...clusterIPs.map((ip) =>
      slice({ service: name, name: `${name}-${ip.includes(':') ? 6 : 4}`, ports, endpoints: [ip.includes(':') ? 'fd10::1' : '10.1.0.1'] }),
    ),
  ];
}

export interface Testbed {
  /** Returns the commits of the kernel and the messages to peers in order, and empties the log. */
  readonly takeLog: () => string[];
  readonly source: TestSource;
  readonly dataplane: FakeDataplane;
  readonly http: FakeHttp;
  readonly host: FakeHost;
  readonly foreign: FakeForeign;
  readonly bfd: FakeBfd;
  /** The number of connections in the kernel, and the frontends of the last count. */
  readonly connections: { left: number | undefined | Error; asked: readonly string[] };
  readonly clock: VirtualClock;
  readonly agent: Agent;
  readonly observer: AgentMetrics | undefined;
  readonly peers: RecordingSpeaker;
  readonly states: NodeState[];
  /** Resolves when nothing is left to do at this moment. */
  readonly settle: () => Promise<void>;
  readonly advance: (milliseconds: number) => Promise<void>;
}

export interface TestbedOptions {
  /** The source of the agent in place of `Testbed.source`. */
  readonly reads?: Source;
  readonly speaker?: (clock: VirtualClock) => Speaker;
  readonly writeNodeState?: (state: NodeState) => Promise<void>;
  /** The agent's reports come back as objects of the source, as in a cluster. */
  readonly reportsComeBack?: true;
  /** Addresses that serve the node's health. Default: all over IPv4. */
  readonly healthz?: readonly SocketAddress[];
  readonly proxyStatus?: SocketAddress;
  /** Makes an observer of the agent. */
  readonly observer?: (components: { readonly source: TestSource; readonly clock: VirtualClock }) => AgentMetrics;
  /** Default: report. */
  readonly filters?: 'allow' | 'report';
  /** Makes a history for the agent. Default: none. */
  readonly history?: (clock: VirtualClock) => History;
  /** Called whenever data may be in transit. */
  readonly deliver?: () => void;
}

export function testbed(objects: readonly HeraldObject[], options: TestbedOptions = {}): Testbed {
  const log: string[] = [];
  const clock = new VirtualClock();
  const source = new TestSource(...objects);
  const dataplane = new FakeDataplane(log);
  const peers = new RecordingSpeaker(log);
  const states: NodeState[] = [];
  const report = async (state: NodeState): Promise<void> => {
    states.push(state);
    if (options.reportsComeBack === true) source.put(state);
  };
  const writeNodeState = options.writeNodeState ?? report;
  const speaker = options.speaker?.(clock) ?? peers.speaker;
  const http = new FakeHttp();
  const host = new FakeHost();
  const foreign = new FakeForeign();
  const bfd = new FakeBfd(log);
  const connections: Testbed['connections'] = { left: 0, asked: [] };
  const components = {
    source: options.reads ?? source,
    dataplane,
    speaker,
    startBfd: () => bfd,
    countConnections: async (frontends: ReadonlySet<string>) => {
      connections.asked = [...frontends].toSorted();
      if (connections.left instanceof Error) throw connections.left;
      return connections.left;
    },
    writeNodeState,
    listenHttp: http.listen,
    host,
    foreign,
    hostFilters: async () => {
      if (host.filtersError !== undefined) throw host.filtersError;
      return host.filters;
    },
    changeAllowances: host.changeAllowances,
    unservedLocalhost: () => host.unserved,
    followSettings: host.followSettings,
    clock,
    random: () => 1,
    log: silentLog,
  };
  const observer = options.observer?.({ source, clock });
  const history = options.history?.(clock);
  const agent = new Agent(
    { ...components, ...defined({ observer, history }) },
    {
      node: 'n1',
      healthz: options.healthz ?? [{ address: '0.0.0.0', port: 10_256 }],
      ...defined({ proxyStatus: options.proxyStatus, filters: options.filters }),
    },
  );
  const settle = async (): Promise<void> => {
    for (let i = 0; i < 4; i++) {
      await setImmediate();
      clock.advance(0);
      options.deliver?.();
    }
  };
  const advance = async (milliseconds: number): Promise<void> => {
    await settle();
    clock.advance(milliseconds);
    await settle();
  };
  return {
    takeLog: () => log.splice(0),
    source,
    dataplane,
    http,
    host,
    foreign,
    bfd,
    connections,
    clock,
    agent,
    peers,
    states,
    observer,
    settle,
    advance,
  };
}

/** A copy of a Service with changed fields. */
export function changed(object: HeraldObject | undefined, change: Partial<Service>): HeraldObject {
  if (object?.kind !== 'Service') throw new Error('not a Service');
  return { ...object, ...change };
}

/** A gate that holds back callers of `wait` until it is opened. */
export function gate(): { readonly wait: () => Promise<void>; readonly open: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { wait: () => promise, open: () => resolve() };
}
