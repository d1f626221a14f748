import type { Dataplane } from '../dataplane/dataplane.ts';
import type { OwnState } from '../decisions/announcement/node-drain.ts';
import { l2DecisionsOf } from '../decisions/l2/decisions-of.ts';
import { defined } from '../lang/defined.ts';
import type { History } from '../live/history.ts';
import type { AgentPodName } from '../model/objects/agent-pod.ts';
import type { NodeState } from '../model/objects/node-state.ts';
import { formatAddress, type Address } from '../net/address.ts';
import { formatPrefix } from '../net/prefix.ts';
import type { Snapshot } from '../model/store/snapshot.ts';
import type { Source } from '../sources/source.ts';
import type { SocketAddress, ListenHttp } from '../system/http/http-listener.ts';
import type { AgentEvents } from './agent-events.ts';
import type { AgentObserver } from './agent-observer.ts';
import { answersCountFrom } from './checks/renewed-routes.ts';
import { ConnectionChecks, type ConnectionChecksComponents } from './checks/connection-checks.ts';
import { UplinkConnections, type UplinkConnectionsComponents } from './checks/uplink-connections.ts';
import type { FindHostPaths } from './host-readings.ts';
import { findDroppingBridges } from './host/bridge-check.ts';
import { DirectReturnCheck } from './host/direct-return-check.ts';
import { HoldBack } from './host/hold-back.ts';
import { HostCheck, type HostCheckComponents } from './host/host-check.ts';
import { hostFacts } from './host/host-facts.ts';
import { HostIdentity } from './host/host-identity.ts';
import { checkNetworks } from './host/network-check.ts';
import { entryInterfaces } from './host/pod-path-check.ts';
import { NodeHealth } from './host/node-health.ts';
import { KernelAnswersCheck, type KernelAnswersComponents } from './l2/kernel-answers-check.ts';
import { L2Announcer, type L2AnnouncerComponents } from './l2/l2-announcer.ts';
import { NodeLinks, type NodeLinksComponents } from './l2/node-links.ts';
import { OwnLinksView } from './l2/own-links.ts';
import { AgentHistory } from './live/agent-history.ts';
import type { EndpointConnectionsComponents } from './live/endpoint-connections.ts';
import { L2History } from './live/l2-history.ts';
import { ReceivedRoutes, type ReceivedRoutesComponents } from './received/received-routes.ts';
import { AskedNodes } from './reconcile/asked-nodes.ts';
import { AnnouncedRoutes } from './reconcile/announced-routes.ts';
import { Announcer } from './reconcile/announcer.ts';
import { DataplaneSync } from './reconcile/dataplane-sync.ts';
import { ForeignFrontends, type ForeignFrontendsComponents } from './reconcile/foreign-frontends.ts';
import { NodeDraining, type NodeDrainingComponents } from './reconcile/node-draining.ts';
import { Plans } from './reconcile/plans.ts';
import type { RandomSurroundings } from '../system/random.ts';
import { BgpSessions, type BgpSessionsComponents, type BgpSessionsOptions } from './sessions/bgp-sessions.ts';

export interface AgentComponents
  extends
    Pick<
      HostCheckComponents,
      'host' | 'hostFilters' | 'trafficFilters' | 'changeAllowances' | 'hostNats' | 'unservedLocalhost' | 'followSettings'
    >,
    Pick<ForeignFrontendsComponents, 'foreign'>,
    Pick<NodeDrainingComponents, 'countConnections'>,
    Omit<BgpSessionsComponents, 'sessionHistory' | 'installedRoutes' | 'host'>,
    Pick<KernelAnswersComponents, 'neighborProxies'>,
    Pick<NodeLinksComponents, 'hostLinks' | 'followLinks'>,
    Pick<ReceivedRoutesComponents, 'receivedTable'>,
    Pick<ConnectionChecksComponents, 'watchConnections' | 'ways' | 'probe'>,
    Pick<EndpointConnectionsComponents, 'tallyConnections'>,
    Pick<UplinkConnectionsComponents, 'enteredConnections'>,
    Partial<Pick<L2AnnouncerComponents, 'startL2'>>,
    RandomSurroundings {
  readonly source: Source;
  readonly dataplane: Dataplane;
  readonly writeNodeState: (state: NodeState) => Promise<void>;
  readonly listenHttp: ListenHttp;
  /** Absent: the sizes of the interfaces to pods are not checked. */
  readonly hostPaths?: FindHostPaths;
  /** Absent: nothing is measured. */
  readonly observer?: AgentObserver;
  /** Absent: the agent keeps no history; the log still has its events. */
  readonly history?: History;
}

export interface AgentOptions extends BgpSessionsOptions {
  readonly node: string;
  /** Addresses and ports that serve /healthz and /livez. Default: none. */
  readonly healthz?: readonly SocketAddress[];
  /** Address and port that answers as kube-proxy's metrics port. Default: none. */
  readonly proxyStatus?: SocketAddress;
  /** `set`: the agent corrects kernel settings that are wrong for forwarding. `report`: it only reports them. Default: `set`. */
  readonly kernelSettings?: 'set' | 'report';
  readonly filters?: 'allow' | 'report';
  /** The Pod of this process, by which its kubelet shows that it lives. Absent: it runs in none. */
  readonly pod?: AgentPodName;
}

export type AgentParts = ReturnType<typeof buildAgentParts>;

/** Builds the agent's parts, each from the parts above it. `events` carries what a part tells the parts that are built later. */
export function buildAgentParts(components: AgentComponents, options: AgentOptions, events: AgentEvents) {
  const { source, clock, host } = components;
  const { node, kernelSettings = 'set', filters = 'report', healthz = [], proxyStatus } = options;
  const snapshot = (): Snapshot => source.snapshot;
  const [requeue, onStatusChanged] = [events.requeue.emit, events.statusChanged.emit];
  const place = { node, snapshot, onStatusChanged };

  const history = components.history === undefined ? undefined : new AgentHistory(components.history, clock, node);
  const routes = new AnnouncedRoutes(history?.routesChanged);
  const sessions = new BgpSessions(
    { ...components, ...defined({ sessionHistory: history }), installedRoutes: (peer) => received.installed(peer) },
    routes,
    events.sessionsChanged.emit,
    options,
  );
  const received: ReceivedRoutes = new ReceivedRoutes(components, { node, snapshot, peers: () => sessions.peers, onStatusChanged });
  /** Sends the changes of `routes` to the sessions. */
  const flushRoutes = (): void => void [sessions.applyRouteChanges(routes.takeChanges(clock.now())), l2.flush()];

  const foreignFrontends = new ForeignFrontends(components, {
    config: () => source.snapshot.config,
    onForwardingChanged: events.foreignForwardingChanged.emit,
    onStatusChanged,
  });
  const links = new NodeLinks(components, {
    ...place,
    onChanged: () => [void kernelAnswers.check(), events.requeueAll.emit()],
  });
  const l2: L2Announcer = new L2Announcer(
    { ...components, startL2: components.startL2 ?? refuseL2 },
    {
      ...place,
      links: () => links.links,
      hostLinks: () => links.hostLinks,
      requeue,
      onEvent: (event) => l2History?.take(event),
    },
  );
  const l2History =
    components.history === undefined ? undefined : new L2History(components.history, node, (address) => l2.servicesAt(address));
  const ownLinks = new OwnLinksView(node, { links: () => links.links, heldBack: () => holdBack.view(), claims: () => l2.claims });
  const plans = new Plans(
    {
      clock,
      routes,
      foreignFrontends,
      ...defined({ onPlanned: history?.servicePlanned }),
      l2: { decisions: () => l2DecisionsOf(source.snapshot, ownLinks.current()), announcer: l2 },
    },
    node,
    (service) => requeue([service]),
  );
  const nodeDraining = new NodeDraining(components, {
    ...place,
    progress: () => plans.drainProgress(),
    ...defined({ onPhaseChanged: history?.drainChanged }),
    requeueAll: events.requeueAll.emit,
  });
  const dataplaneSync = new DataplaneSync(components, node, requeue);
  const announcer = new Announcer(components, routes, {
    plan: (service) => plans.byService.get(service),
    quarantined: () => dataplaneSync.quarantined,
    isForwarded: (frontend) => foreignFrontends.isForwarded(frontend),
    flushRoutes,
    linkForwarded: (service, isForwarded) => l2.forwarded(service, isForwarded),
    requeue,
  });

  const health = new NodeHealth(components, {
    ...place,
    healthz,
    ...defined({ proxyStatus }),
    addresses: () => host.interfaces().map(({ address }) => address),
  });
  const hostCheck = new HostCheck(components, {
    node,
    kernelSettings,
    filters,
    facts: () => ({ ...hostFacts(source.snapshot, node, plans.byService), linkInterfaces: l2.interfaces(), ...foreignFrontends.facts() }),
    services: () => source.snapshot.config.services,
    plans: () => plans.byService,
    networks: () => checkNetworks(components, source.snapshot, node),
    endpointInterfaces: () => checks.endpointInterfaces(),
    onDroppingChanged: () => checks.droppingChanged(),
    onDoubtful: () => checks.sessionsChanged(),
    servedPorts: () => new Map([...health.ports(), ...sessions.passivePorts()]),
    onForwardingChecked: () => [holdBack.check(), void identity.check()],
    onChecked: () => [health.onNodeChanged(), sessions.hostChecked(source.snapshot, node)],
    onStatusChanged,
  });
  const identity: HostIdentity = new HostIdentity(components, { node, snapshot, requeueAll: events.requeueAll.emit, onStatusChanged });
  const holdBack: HoldBack = new HoldBack(components, {
    ...place,
    blocked: () => hostCheck.blocked(),
    requeueAll: events.requeueAll.emit,
  });
  const kernelAnswers: KernelAnswersCheck = new KernelAnswersCheck(components, {
    node,
    links: () => links.links,
    addresses: () => l2.addresses(),
    interfacesOf: (address) => l2.interfaces(address),
    interfaces: () => l2.interfaces(),
    onInterfacesChanged: () => hostCheck.start(),
    servicesAt: (address) => l2.servicesAt(address),
    onStatusChanged,
  });
  const checks: ConnectionChecks = buildChecks(components, { ...place, plans, sessions, routes, l2, hostCheck });
  return {
    node,
    ...defined({ history }),
    routes,
    sessions,
    received,
    flushRoutes,
    foreignFrontends,
    plans,
    nodeDraining,
    askedNodes: new AskedNodes(components, { ...place, plans: () => plans.byService, requeue }),
    dataplaneSync,
    announcer,
    health,
    hostCheck,
    holdBack,
    identity,
    /** Returns what the announcement decision knows of this node beyond the snapshot. */
    view: (): OwnState => ({ ...nodeDraining.view(), heldBack: holdBack.view(), refusal: identity.refusal ?? null, awaitsReports: true }),
    directReturn: new DirectReturnCheck(components, { node, snapshot, kernelSettings, onStatusChanged }),
    links,
    l2,
    kernelAnswers,
    checks,
    uplinks: buildUplinks(components, { ...place, sessions, routes }),
  };
}

interface CheckedParts {
  readonly node: string;
  readonly snapshot: () => Snapshot;
  readonly onStatusChanged: () => void;
  readonly plans: Plans;
  readonly sessions: BgpSessions;
  readonly routes: AnnouncedRoutes;
  readonly l2: L2Announcer;
  readonly hostCheck: HostCheck;
}

function buildChecks(components: AgentComponents, { sessions, routes, l2, hostCheck, ...place }: CheckedParts): ConnectionChecks {
  const { node, snapshot } = place;
  const isOnLink = (address: Address): boolean => l2.interfaces(formatAddress(address)).length > 0;
  return new ConnectionChecks(components, {
    ...place,
    dropping: async () => [...hostCheck.dropping(), ...(await findDroppingBridges(components, snapshot(), node, l2.interfaces()))],
    isOwn: (address) => components.host.addresses().includes(formatAddress(address)),
    uplinks: () => entryInterfaces(components.hostPaths, snapshot(), node, l2.interfaces()),
    countsFrom() {
      const renewed = answersCountFrom({ sessions: () => sessions.status(), routes, isOnLink, clock: components.clock });
      return (service, frontend) => Math.max(renewed(service, frontend), hostCheck.doubtfulSince);
    },
  });
}

function buildUplinks(
  components: AgentComponents,
  { snapshot, sessions, routes, onStatusChanged }: Pick<CheckedParts, 'snapshot' | 'sessions' | 'routes' | 'onStatusChanged'>,
): UplinkConnections {
  return new UplinkConnections(components, {
    isWanted: () => snapshot().config.checks !== 'off' && snapshot().config.services !== 'none',
    sessions: () => sessions.status(),
    prefixOf(peer, family) {
      const route = routes.allRoutes(peer).find(({ prefix }) => prefix.address.family === family);
      return route === undefined ? undefined : formatPrefix(route.prefix);
    },
    onStatusChanged,
  });
}

function refuseL2(): never {
  throw new Error('this process announces nothing by ARP and NDP');
}
