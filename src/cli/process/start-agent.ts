import { begunConnections, listEntered } from '../../dataplane/nftables/netlink/begun-connections.ts';
import { defined } from '../../lang/defined.ts';
import { Agent } from '../../agent/agent.ts';
import { registerAgentQueries } from '../../agent/live/live-queries.ts';
import { traceEndpoint } from '../../agent/live/bgp-trace-endpoint.ts';
import { checkEndpoint } from '../../agent/live/check/check-endpoint.ts';
import type { FindHostPaths } from '../../agent/host-readings.ts';
import { agentHealth } from '../../agent/metrics/agent-health.ts';
import { AgentMetrics } from '../../agent/metrics/agent-metrics.ts';
import { exposeBgp } from '../../agent/metrics/bgp-metrics.ts';
import { exposeL2 } from '../../agent/metrics/l2-metrics.ts';
import { countedReports, measuredConntrack, measuredExecutor } from '../../agent/metrics/measured-ports.ts';
import { MeasuredDataplane } from '../../agent/metrics/measured-dataplane.ts';
import { measuredListener } from '../../agent/metrics/measured-listener.ts';
import { SharedBfd } from '../../agent/sessions/shared-bfd.ts';
import { Bfd } from '../../bfd/index.ts';
import { Speaker } from '../../bgp/index.ts';
import { connectionCounter } from '../../dataplane/conntrack/connection-count.ts';
import { connectionTally } from '../../dataplane/conntrack/connection-tally.ts';
import { watchConnections } from '../../dataplane/conntrack/connection-watch.ts';
import { followHostLinks, followHostSettings } from '../../dataplane/host/link-events.ts';
import { readHostLinks } from '../../dataplane/host/host-links.ts';
import { iptablesTables } from '../../dataplane/host/filters/legacy-filters.ts';
import { readNeighborProxies } from '../../dataplane/host/neighbor-proxies.ts';
import { listChangedRules, readIptablesGeneration, type LegacyTables } from '../../dataplane/host/ruleset-generation.ts';
import { findHostPaths } from '../../dataplane/host/host-paths.ts';
import { changeAllowances } from '../../dataplane/host/filter-allowances.ts';
import { listHostFilters, listHostNats } from '../../dataplane/host/filter-commands.ts';
import { KubeProxyForwarding } from '../../dataplane/kube-proxy/kube-proxy.ts';
import { limits as localhostLimits } from '../../dataplane/localhost/limits.ts';
import { LocalhostDataplane } from '../../dataplane/localhost/localhost-dataplane.ts';
import { RulesetLookup } from '../../dataplane/nftables/netlink/ruleset-lookup.ts';
import { activeConnections } from '../../dataplane/conntrack/active-connections.ts';
import { CountingDataplane } from '../../dataplane/nftables/counting/counting-dataplane.ts';
import { turnsTaken } from '../../dataplane/nftables/netlink/turn-counters.ts';
import { NftablesDataplane, type NftablesPorts } from '../../dataplane/nftables/nftables.ts';
import { machinePorts } from '../../dataplane/nftables/ports.ts';
import { receivedNetlink } from '../../dataplane/received-routes/received-netlink.ts';
import { L2 } from '../../l2/index.ts';
import { debugPaths } from '../../live/contract.ts';
import { isSubdomainName } from '../../model/reading/metadata.ts';
import { reason, reasonText } from '../../model/reasons.ts';
import { systemHost, type Host } from '../../system/host.ts';
import { tcpForwarding } from '../../system/http/tcp-forwarder.ts';
import { readTrafficFilters } from '../../dataplane/host/traffic-filters.ts';
import { wayReader, type WayReader } from '../../dataplane/host/ways/endpoint-ways.ts';
import type { Entered } from '../../agent/checks/uplink-connections.ts';
import { netfilterProtocol, openNetlink } from '../../system/netlink/socket.ts';
import { tcpProber } from '../../system/http/tcp-probe.ts';
import { limits as agentLimits } from '../../agent/limits.ts';
import { systemProber } from '../../system/probe/prober.ts';
import { processorMilliseconds, type Clock } from '../../system/clock.ts';
import type { HostTarget } from '../../net/host-path.ts';
import type { Source } from '../../sources/source.ts';
import type { Log } from '../../system/log.ts';
import { UsageError, type CommandContext } from '../context/command-context.ts';
import { exitStatus } from '../context/exit-status.ts';
import type { AgentProcessOptions } from '../options/agent-options.ts';
import type { RunningComponent } from './run-until-stopped.ts';
import { cleanKernel } from './cleanup.ts';
import type { ProcessEndpoints } from './endpoints/process-endpoints.ts';
import type { StorageBackend } from '../context/storage.ts';

/** kube-proxy's default --metrics-bind-address. Some programs read there how Services are forwarded. */
const proxyStatus = { address: '127.0.0.1', port: 10_249 };

export async function startAgent(
  context: CommandContext,
  storage: StorageBackend,
  options: AgentProcessOptions & { readonly node: string },
  log: Log,
  endpoints: ProcessEndpoints,
): Promise<RunningComponent> {
  const { node, bgpListen, healthzBindAddress, kernelSettings, filters, procSys, onStop, bfdPriority, daemonset } = options;
  const { clock, random } = context;
  const { metrics, health } = endpoints;
  const { source } = storage;
  // The name becomes part of a path.
  if (!isSubdomainName(node))
    throw new UsageError(`"${node}" is not a valid Node name: it must be an RFC 1123 subdomain, such as node-1`, exitStatus.usage);
  if (!source.snapshot.nodes.has(node)) log.warn({ node, reason: reasonText(reason('NodeUnknown', { node })) }, 'unknown node');
  const { writeNodeState, release, pod } = await storage.acquireNode(node);
  const host = systemHost(procSys === undefined ? {} : { settings: procSys });
  const ports = machinePorts(clock, log, { own: true });
  const dataplane = new LocalhostDataplane(
    countingDataplane({
      ...ports,
      executor: measuredExecutor(ports.executor, metrics),
      conntrack: measuredConntrack(ports.conntrack, metrics, clock),
    }),
    { forwardTcp: tcpForwarding(localhostLimits.connections), clock, log },
    () => host.interfaces().map(({ address }) => address),
  );
  const legacyTables: LegacyTables = (family) => host.legacyTables(family);
  const foreign = new KubeProxyForwarding(clock, { legacyTables });
  const ruleset = new RulesetLookup(clock);
  const generation = (): Promise<number | undefined> => ruleset.generation();
  // `restarted` below is called when a session begins, which is after the data plane has read the kernel.
  const foreignKept = (): boolean => source.snapshot.config.services !== 'all' && foreign.view.seen;
  const speaker = new Speaker({
    clock,
    random,
    log,
    ...defined({ listen: bgpListen }),
    restarted: () => dataplane.adopted || foreignKept(),
  });
  const observer = new AgentMetrics({ metrics, source, clock });
  let bfd: Bfd | undefined;
  const sharedBfd = new SharedBfd(() => (bfd = startBfd(bfdPriority, log)));
  const agent = new Agent(
    {
      source,
      dataplane: new MeasuredDataplane(dataplane, metrics, clock),
      countConnections: connectionCounter(clock, (path) => host.readSetting(path)),
      observer,
      history: endpoints.history,
      unservedLocalhost: () => dataplane.unserved(),
      speaker,
      startBfd: () => sharedBfd.open(''),
      startL2: () => ({ responder: new L2({ realTime: bfdPriority === 'real-time' }), bfd: sharedBfd.open('l2/') }),
      writeNodeState: countedReports(writeNodeState, metrics),
      listenHttp: measuredListener(endpoints.listenHttp, metrics, { healthz: healthzBindAddress, proxyStatus }),
      host,
      foreign,
      ...defined({ receivedTable: receivedNetlink(clock) }),
      ...checkComponents(clock, host),
      hostNats: listChangedRules(listHostNats, generation),
      ...hostReadings(clock),
      changeAllowances: (changes) => changeAllowances(changes),
      hostFilters: listChangedRules(
        () => listHostFilters(legacyTables),
        () => readIptablesGeneration({ legacyTables, tables: iptablesTables, generation }),
      ),
      clock,
      random,
      log,
    },
    {
      node,
      listenForPassivePeers: bgpListen === undefined,
      healthz: healthzBindAddress,
      ...(healthzBindAddress.length === 0 ? {} : { proxyStatus }),
      kernelSettings,
      filters,
      ...defined({ pod }),
    },
  );
  observer.expose(() => agent.status());
  const ends = [
    exposeBgp(metrics, {
      speaker,
      sessions: () => agent.status().sessions,
      installedRoutes: (peer) => agent.installedRoutes(peer),
      bfd: () => bfd?.status(),
    }),
    exposeL2(metrics, { status: () => agent.l2.status([]), changes: agent.l2.changes }),
    health.addCheck(agentHealth(() => agent.status(), clock)),
    endpoints.followNode(source, node),
    registerAgentQueries(endpoints.live, agent.live()),
    ...serveDebug(endpoints.local, { source, clock, speaker, node }),
  ];
  endpoints.live.setProcess({ node });
  const installation = daemonset === undefined ? undefined : storage.followInstallation?.(daemonset);
  await agent.start();
  return {
    stop: async () => {
      const isRemoved = installation?.removed === true;
      if (onStop === 'shutdown') await agent.gracefulShutdown(context.onHurry);
      for (const end of ends.toReversed()) end();
      observer.stop();
      await agent.stop(isRemoved ? 'Herald is removed from the node' : 'agent stopped', isRemoved ? 'shutdown' : onStop);
      await ruleset.close();
      await installation?.close();
      await release();
      // No later agent adopts the rules, and without routes nothing arrives from outside any more.
      if (isRemoved) await cleanKernel(clock, log);
      if (isRemoved) log.info({ ...daemonset }, 'the DaemonSet was deleted, so everything was removed from the kernel of this node');
    },
  };
}

/** What the agent reads of the host by netlink. */
function hostReadings(clock: Clock) {
  return {
    hostPaths: (targets: readonly HostTarget[]) => findHostPaths(targets, clock),
    hostLinks: () => readHostLinks(clock),
    trafficFilters: (interfaces: readonly string[]) => readTrafficFilters(interfaces, clock),
    neighborProxies: () => readNeighborProxies(clock),
    followLinks: (changed: () => void) => followHostLinks(clock, changed),
    followSettings: (changed: () => void) => followHostSettings(clock, changed),
  };
}

function countingDataplane(ports: NftablesPorts): CountingDataplane {
  const { clock, log } = ports;
  const components = { clock, log, tally: activeConnections(clock), turnsTaken: turnsTaken(clock), processorMilliseconds };
  return new CountingDataplane(new NftablesDataplane(ports), components);
}

/** What the agent looks at connections and endpoints with. */
function checkComponents(clock: Clock, host: Host) {
  const { probeAnswerMilliseconds: answerMilliseconds, probeCloseMilliseconds: closeMilliseconds } = agentLimits;
  const ways = wayReader(clock);
  return {
    ...defined({ ways }),
    tallyConnections: connectionTally(clock),
    ...(ways === undefined ? {} : { enteredConnections: () => enteredConnections(clock, ways) }),
    probe: tcpProber(clock, { answerMilliseconds, closeMilliseconds }),
    watchConnections: watchConnections({
      clock,
      listBegun: begunConnections(clock),
      readSetting: (path) => host.readSetting(path),
      processorMilliseconds,
    }),
  };
}

async function enteredConnections(clock: Clock, ways: Pick<WayReader, 'interfaces'>): Promise<Entered[]> {
  const socket = openNetlink({ protocol: netfilterProtocol });
  if (socket === undefined) return [];
  try {
    const found = await listEntered(socket, clock);
    const names = found.length === 0 ? new Map<number, string>() : await ways.interfaces();
    return found.flatMap(({ family, index, count }) => {
      const name = names.get(index);
      return name === undefined ? [] : [{ family, interface: name, count }];
    });
  } finally {
    socket.close();
  }
}

/** Serves what only the Unix socket has. Returns functions that end it. */
function serveDebug(
  local: ProcessEndpoints['local'],
  { source, clock, speaker, node }: { readonly source: Source; readonly clock: Clock; readonly speaker: Speaker; readonly node: string },
): readonly (() => void)[] {
  const hostPaths: FindHostPaths = (targets) => findHostPaths(targets, clock);
  return [
    local.handle(debugPaths.bgpTrace, traceEndpoint(speaker)),
    local.handle(debugPaths.check, checkEndpoint({ snapshot: () => source.snapshot, node, prober: systemProber(clock), hostPaths, clock })),
  ];
}

function startBfd(priority: AgentProcessOptions['bfdPriority'], log: Log): Bfd {
  const bfd = new Bfd({ realTime: priority === 'real-time' });
  void tellPriority(bfd, log);
  return bfd;
}

/** Logs whether BFD runs with real-time priority, which short intervals need, before the first session flaps. */
async function tellPriority(bfd: Bfd, log: Log): Promise<void> {
  log.info({ realTime: await bfd.started() }, 'BFD runs');
}
