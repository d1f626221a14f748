import type { PerFamily } from '../bgp/index.ts';
import type { DataplaneError } from '../dataplane/dataplane.ts';
import { defined } from '../lang/defined.ts';
import type { Node } from '../model/objects/cluster.ts';
import type { ServiceKey } from '../model/objects/metadata.ts';
import type { HeldBackFamily, ServiceDifference, SessionStatus } from '../model/objects/node-state.ts';
import type { Reason } from '../model/reasons.ts';
import { AgentEvents } from './agent-events.ts';
import type { AgentStatus } from './agent-observer.ts';
import { buildAgentParts, type AgentComponents, type AgentOptions, type AgentParts } from './agent-parts.ts';
import type { CheckFigures } from './checks/connection-checks.ts';
import type { L2Announcer } from './l2/l2-announcer.ts';
import { limits } from './limits.ts';
import type { AgentLiveQueries } from './live/live-queries.ts';
import { EndpointConnections } from './live/endpoint-connections.ts';
import { liveChecks } from './live/live-checks.ts';
import { liveAddresses, liveLinks } from './live/live-l2.ts';
import { liveReceived } from './live/live-received.ts';
import { liveRoutes } from './live/live-routes.ts';
import { ReconcilePass } from './reconcile-pass.ts';
import { ReconcileLoop } from './reconcile/reconcile-loop.ts';
import { NodeReport } from './report/node-report.ts';
import { agentHostProblems, dataplaneReason, differingServices, reportContent } from './report/report-content.ts';

/**
 * Runs one node: it has the kernel forward Services and announces them over BGP. The reconcile loop runs one pass at a time over everything
 * that changed; changes during a pass are for the next one.
 */
export class Agent {
  readonly #components: AgentComponents;
  readonly #parts: AgentParts;
  readonly #loop: ReconcileLoop;
  readonly #report: NodeReport;
  #unsubscribe: (() => void) | undefined;

  constructor(components: AgentComponents, options: AgentOptions) {
    const events = new AgentEvents();
    const parts = buildAgentParts(components, options, events);
    const pass = new ReconcilePass(components, parts);
    const loop = new ReconcileLoop(components, options.node, {
      reconcile: (work) => pass.reconcile(work),
      withdraw: (...work) => pass.withdraw(...work),
      onQueued: () => parts.health.dataplane.changeQueued(),
      onStatusChanged: events.statusChanged.emit,
    });
    const report = new NodeReport(components, {
      node: options.node,
      content: () => reportContent(parts, loop),
      mayWrite: (writer) => parts.identity.mayReport(writer),
      nodes: () => components.source.snapshot.nodes.size,
      kubeletReports: () => kubeletReports(components.source.snapshot.nodes.get(options.node)),
      ...defined({ pod: options.pod }),
    });

    events.statusChanged.subscribe(() => report.scheduleWrite());
    events.sessionsChanged.subscribe(() => parts.checks.sessionsChanged());
    events.sessionsChanged.subscribe(events.statusChanged.emit);
    events.requeue.subscribe((services) => loop.requeue(services));
    events.requeueAll.subscribe(() => loop.requeueAll());
    events.foreignForwardingChanged.subscribe((services) => this.#onForeignForwardingChanged(services));

    this.#components = components;
    this.#parts = parts;
    this.#loop = loop;
    this.#report = report;
  }

  /**
   * Makes the kernel match the snapshot, adopting the rules that are already there, then opens the sessions. Resolves after the first pass,
   * also when that failed: the agent retries it. The source must have started.
   */
  async start(): Promise<void> {
    const { source, dataplane, log } = this.#components;
    const { history, nodeDraining, askedNodes, health, identity, hostCheck, foreignFrontends, plans, uplinks, node } = this.#parts;
    history?.startFrom(source.snapshot);
    this.#unsubscribe = source.onChange((changes) => {
      history?.recordChanges(changes, source.snapshot);
      this.#loop.onChanges(changes);
      askedNodes.onChanges(changes);
    });
    askedNodes.start();
    dataplane.onFailure((error) => this.#onDataplaneLost(error));
    this.#loop.markAll();
    nodeDraining.reconcile(source.snapshot);
    health.applyScope(source.snapshot.config.services);
    identity.reconcile(source.snapshot);
    await Promise.all([identity.check(), hostCheck.checkForwarding(), foreignFrontends.start()]);
    await this.#loop.start();
    // Checks the settings a second time: the kernel has those of connection tracking only since the rules exist.
    hostCheck.start();
    uplinks.start();
    log.info({ node, services: plans.byService.size }, 'agent started');
  }

  /** Returns the agent's state for metrics and health checks. The getters compute their values on each access. */
  status(): AgentStatus {
    const parts = this.#parts;
    const { waiting, runningSince: passSince, hasSynced, error: dataplaneError } = this.#loop;
    return {
      waiting,
      ...defined({ passSince }),
      hasSynced,
      keepsUp: parts.health.dataplane.healthy,
      ...defined({ dataplaneError: dataplaneError?.message }),
      quarantined: parts.dataplaneSync.quarantined,
      get differing(): ServiceDifference[] {
        return differingServices(parts);
      },
      get host(): Reason[] {
        return agentHostProblems(parts);
      },
      get heldBack(): readonly HeldBackFamily[] {
        return parts.holdBack.report().heldBack ?? [];
      },
      get heldBackLastNextHops(): number {
        return parts.plans.heldBackLastNextHops();
      },
      get sessions(): SessionStatus[] {
        return parts.sessions.status();
      },
      get checks(): CheckFigures {
        return parts.checks.figures;
      },
    };
  }

  /** Returns the number of routes of a peer that are in the kernel. */
  installedRoutes(peer: string): PerFamily {
    return this.#parts.received.installed(peer);
  }

  /** Returns what is measured of the announcements by ARP and NDP. */
  get l2(): Pick<L2Announcer, 'changes' | 'status'> {
    return this.#parts.l2;
  }

  /** Returns the queries that the live API of this process answers. */
  live(): AgentLiveQueries {
    const { sessions, routes, received, l2, checks, plans } = this.#parts;
    const { clock, source } = this.#components;
    const connections = new EndpointConnections(this.#components, {
      snapshot: () => source.snapshot,
      frontendsOf: (service) => plans.byService.get(service)?.forwarding.frontends ?? [],
    });
    return {
      sessions: () => sessions.live(),
      routes: (query) => liveRoutes(sessions.senders, routes, query),
      received: (query) => liveReceived(received, query),
      links: (query) => liveLinks(l2, query),
      addresses: (query) => liveAddresses(l2, query),
      checks: (query) => liveChecks(checks.evidence, clock, query),
      endpoints: (query) => connections.list(query),
    };
  }

  /** Resolves when no pass runs and none is pending. Draining frontends do not count as pending. */
  settled(): Promise<void> {
    return this.#loop.settled();
  }

  /**
   * Prepares a permanent stop: announces every route as the routers' last resort (RFC 8326), then waits while they choose other paths. The
   * agent works on meanwhile. `onHurry` registers a callback that ends the wait early.
   */
  async gracefulShutdown(onHurry: (hurry: () => void) => () => void): Promise<void> {
    if (!this.#parts.sessions.startGracefulShutdown()) return;
    const { clock, log } = this.#components;
    const { promise, resolve } = Promise.withResolvers<void>();
    const cancel = clock.after(limits.gracefulShutdownMilliseconds, resolve);
    const unregister = onHurry(resolve);
    log.info({ milliseconds: limits.gracefulShutdownMilliseconds }, 'routers are asked to prefer other nodes before the sessions end');
    await promise;
    cancel();
    unregister();
  }

  /**
   * Ends the sessions, stops the parts and writes the last report. Mode `shutdown` sends Cease (administrative shutdown) to all peers, so
   * that routers stop sending at once. Mode `restart` sends it only to peers without graceful restart; the others continue to send until
   * the next process starts. The rules stay in both modes: they forward until then, and packets on their way still arrive.
   */
  async stop(message: string, mode: 'restart' | 'shutdown' = 'restart'): Promise<void> {
    const { sessions, received, health, hostCheck, directReturn, foreignFrontends, l2 } = this.#parts;
    const { dataplaneSync, plans, announcer, nodeDraining, askedNodes, links, kernelAnswers, checks, uplinks } = this.#parts;
    this.#unsubscribe?.();
    const first = [this.#loop, dataplaneSync, plans, announcer, nodeDraining, askedNodes, links, kernelAnswers, checks, uplinks];
    for (const part of first) part.stop();
    // Before the running pass ends: a slow data plane must not keep routers sending.
    // Received routes stay in the kernel: the end of the sessions must not remove them.
    await received.stop();
    await Promise.all([sessions.stop({ message, mode }), l2.stop(), health.close()]);
    await this.#loop.settled();
    await Promise.all([hostCheck.stop(), directReturn.stop(), foreignFrontends.stop()]);
    await this.#report.close();
    await this.#components.dataplane.close();
  }

  /** Withdraws all routes until a pass over everything has been committed. */
  #onDataplaneLost(error: DataplaneError): void {
    if (this.#loop.isStopped) return;
    const { announcer, plans, node } = this.#parts;
    announcer.withdraw(plans.byService.keys(), dataplaneReason(node, error));
    this.#loop.onDataplaneLost(error);
    this.#report.scheduleWrite();
  }

  /** Withdraws at once the routes that are no longer forwarded, even while the kernel is busy; the next pass announces the others. */
  #onForeignForwardingChanged(services: ReadonlySet<ServiceKey>): void {
    if (this.#loop.isStopped) return;
    const { plans, flushRoutes } = this.#parts;
    for (const key of services) plans.withdrawUnplanned(key);
    flushRoutes();
    this.#loop.requeue(services);
  }
}

/** A Node without a kubelet, as in a directory, has no condition Ready, and nobody answers for its agent. */
function kubeletReports(node: Node | undefined): boolean {
  return node !== undefined && node.kubeletSilent !== true;
}
