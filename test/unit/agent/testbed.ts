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

/** Node n1, a pool of both families, one router for both, and everything of the pool advertised to it. */
export const basics: readonly HeraldObject[] = [
  node({ name: 'n1', internalIPs: ['10.0.0.1', 'fd00::1'] }),
  pool({ name: 'main', addresses: ['192.0.2.0/24', '2001:db8:1::/120'] }),
  advertisement({ name: 'all' }),
  peer({ name: 'tor1', dualStackAddressFamily: true }),
];

/** A Service and its endpoints, of the families of its addresses; ClusterIPs are outside of what is advertised. */
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
  /** What the kernel committed and the peers heard, in this order. Taking it empties it. */
  readonly takeLog: () => string[];
  readonly source: TestSource;
  readonly dataplane: FakeDataplane;
  readonly http: FakeHttp;
  readonly host: FakeHost;
  readonly foreign: FakeForeign;
  readonly bfd: FakeBfd;
  /** How many connections the kernel says that there are, and of which frontends it was asked last. */
  readonly connections: { left: number | undefined | Error; asked: readonly string[] };
  readonly clock: VirtualClock;
  readonly agent: Agent;
  readonly observer: AgentMetrics | undefined;
  readonly peers: RecordingSpeaker;
  readonly states: NodeState[];
  /** Until nobody has anything to do at this moment. */
  readonly settle: () => Promise<void>;
  readonly advance: (milliseconds: number) => Promise<void>;
}

export interface TestbedOptions {
  /** What the agent reads instead of `Testbed.source`. */
  readonly reads?: Source;
  readonly speaker?: (clock: VirtualClock) => Speaker;
  readonly writeNodeState?: (state: NodeState) => Promise<void>;
  /** What the agent reports comes back to it as an object of the source, as it does in earnest. */
  readonly reportsComeBack?: true;
  /** Where the health of the node is told; default: everywhere over IPv4. */
  readonly healthz?: readonly SocketAddress[];
  /** Who measures the agent. */
  readonly observer?: (components: { readonly source: TestSource; readonly clock: VirtualClock }) => AgentMetrics;
  /** What the agent tells of what happens, in place of nothing. */
  readonly history?: (clock: VirtualClock) => History;
  /** Called whenever something may be on its way. */
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
    hostFilters: async () => host.filters,
    unservedLocalhost: () => host.unserved,
    clock,
    random: () => 1,
    log: silentLog,
  };
  const observer = options.observer?.({ source, clock });
  const history = options.history?.(clock);
  const agent = new Agent(
    { ...components, ...defined({ observer, history }) },
    { node: 'n1', healthz: options.healthz ?? [{ address: '0.0.0.0', port: 10_256 }] },
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

/** A Service like another, its other fields the same. */
export function changed(object: HeraldObject | undefined, change: Partial<Service>): HeraldObject {
  if (object?.kind !== 'Service') throw new Error('not a Service');
  return { ...object, ...change };
}

/** A lock that holds back whoever waits, until it is opened. */
export function gate(): { readonly wait: () => Promise<void>; readonly open: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { wait: () => promise, open: () => resolve() };
}
