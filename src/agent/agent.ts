import { defined } from '../lang/defined.ts';
import type { DataplaneError, Dataplane } from '../dataplane/dataplane.ts';
import type { DrainView } from '../decisions/announcement/node-drain.ts';
import type { History } from '../live/history.ts';
import type { ServiceKey } from '../model/objects/metadata.ts';
import type { NodeState, ServiceDifference, SessionStatus } from '../model/objects/node-state.ts';
import { reason, type Reason } from '../model/reasons.ts';
import type { Snapshot } from '../model/store/snapshot.ts';
import type { ServiceForwarding } from '../net/frontend.ts';
import type { Source } from '../sources/source.ts';
import type { Clock } from '../system/clock.ts';
import type { HttpPlace, ListenHttp } from '../system/http/http-listener.ts';
import type { Log } from '../system/log.ts';
import type { Random } from '../system/random.ts';
import { Turn } from '../system/time-slice.ts';
import { noPassObserver, type AgentStatus, type AgentObserver, type PassObserver } from './agent-observer.ts';
import { Announcer } from './reconcile/announcer.ts';
import { DataplaneSync } from './reconcile/commits.ts';
import { serviceDifferences } from './report/service-differences.ts';
import { DirectReturnCheck } from './host/direct-return-check.ts';
import { ForeignFrontends, type ForeignFrontendsComponents } from './reconcile/foreign-frontends.ts';
import { HostCheck, hostFacts, type HostCheckComponents } from './host/host-check.ts';
import { limits } from './limits.ts';
import { AgentHistory } from './live/agent-history.ts';
import type { AgentLiveQueries } from './live/live-queries.ts';
import { liveRoutes } from './live/live-routes.ts';
import { NodeDraining, type NodeDrainingComponents } from './reconcile/node-draining.ts';
import { NodeHealth } from './host/node-health.ts';
import { NodeReport, type ReportContent } from './report/node-report.ts';
import { ReconcileLoop, type ReconcileHandlers } from './reconcile/reconcile-loop.ts';
import { Plans, type PlansComponents } from './reconcile/plans.ts';
import { AnnouncedRoutes } from './reconcile/announced-routes.ts';
import { BgpSessions, type BgpSessionsComponents, type BgpSessionsOptions } from './sessions/bgp-sessions.ts';

interface AgentComponents
  extends
    Pick<HostCheckComponents, 'host' | 'hostFilters' | 'unservedLocalhost'>,
    Pick<ForeignFrontendsComponents, 'foreign'>,
    Pick<NodeDrainingComponents, 'countConnections'>,
    Omit<BgpSessionsComponents, 'sessionHistory'> {
  readonly source: Source;
  readonly dataplane: Dataplane;
  readonly writeNodeState: (state: NodeState) => Promise<void>;
  readonly listenHttp: ListenHttp;
  /** Absent: nothing is measured. */
  readonly observer?: AgentObserver;
  /** Absent: what happens is in the log only. */
  readonly history?: History;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

interface AgentOptions extends BgpSessionsOptions {
  readonly node: string;
  /** Where the health of the node is told; default: nowhere. */
  readonly healthz?: readonly HttpPlace[];
  /** Whether settings of the kernel that are wrong for forwarding are set; default: yes. */
  readonly kernelSettings?: 'set' | 'report';
}

/**
 * What one node does: it forwards, and it announces what it forwards. Each pass withdraws first, then has the kernel commit, then
 * announces (the commit barrier). What changed meanwhile is the next pass.
 */
export class Agent {
  readonly #components: AgentComponents;
  readonly #node: string;
  readonly #history: AgentHistory | undefined;
  readonly #routes: AnnouncedRoutes;
  readonly #sessions: BgpSessions;
  readonly #passes: ReconcileLoop;
  readonly #plans: Plans;
  readonly #commits: DataplaneSync;
  readonly #announcer: Announcer;
  readonly #draining: NodeDraining;
  readonly #report: NodeReport;
  readonly #health: NodeHealth;
  readonly #host: HostCheck;
  readonly #direct: DirectReturnCheck;
  readonly #elsewhere: ForeignFrontends;
  #unsubscribe: (() => void) | undefined;
  #stopped = false;

  constructor(components: AgentComponents, options: AgentOptions) {
    const { source, clock } = components;
    const { node, kernelSettings = 'set' } = options;
    const history = components.history === undefined ? undefined : new AgentHistory(components.history, clock);
    this.#history = history;
    const routes = new AnnouncedRoutes(history?.routesChanged);
    this.#routes = routes;
    const snapshot = (): Snapshot => source.snapshot;
    const news = (): void => this.#report.scheduleWrite();
    const again = (services: Iterable<ServiceKey>): void => this.#passes.requeue(services);
    this.#components = components;
    this.#node = node;
    this.#report = new NodeReport(components, node, () => this.#content());
    this.#sessions = new BgpSessions({ ...components, ...defined({ sessionHistory: history }) }, routes, news, options);
    this.#elsewhere = new ForeignFrontends(components, {
      config: () => source.snapshot.config,
      onForwardingChanged: (services) => this.#changedElsewhere(services),
      onStatusChanged: news,
    });
    this.#draining = new NodeDraining(components, {
      node,
      snapshot,
      progress: () => this.#plans.drainProgress(),
      requeueAll: () => this.#passes.requeueAll(),
      onStatusChanged: news,
    });
    const view = (): DrainView => this.#draining.view();
    const planned: PlansComponents['onPlanned'] = (service, change) => history?.servicePlanned(service, change);
    this.#plans = new Plans({ clock, routes, foreignFrontends: this.#elsewhere, drainView: view, onPlanned: planned }, node, (service) =>
      again([service]),
    );
    this.#commits = new DataplaneSync(components, node, again);
    this.#announcer = new Announcer(components, routes, {
      plan: (service) => this.#plans.byService.get(service),
      quarantined: () => this.#commits.quarantined,
      isForwarded: (frontend) => this.#elsewhere.isForwarded(frontend),
      flushRoutes: () => this.#tell(),
      requeue: again,
    });
    this.#passes = new ReconcileLoop(components, node, {
      reconcile: (...work) => this.#observed(...work),
      withdraw: (...work) => this.#withdraw(...work),
      onQueued: () => this.#health.dataplane.changeQueued(),
      onStatusChanged: news,
    });
    this.#health = new NodeHealth(components, {
      node,
      healthz: options.healthz ?? [],
      snapshot,
      addresses: () => components.host.interfaces().map(({ address }) => address),
      onStatusChanged: news,
    });
    this.#host = new HostCheck(components, {
      kernelSettings,
      facts: () => hostFacts(source.snapshot, node, this.#plans.byService),
      services: () => source.snapshot.config.services,
      servedPorts: () => new Map([...this.#health.ports(), ...this.#sessions.passivePorts()]),
      onChecked: () => this.#health.onNodeChanged(),
      onStatusChanged: news,
    });
    this.#direct = new DirectReturnCheck(components, { node, snapshot, kernelSettings, onStatusChanged: news });
  }

  /**
   * Brings the kernel to what the snapshot says, adopting what is there, then opens the sessions. Resolves after the first pass,
   * also when that failed (it is retried). The source must have started.
   */
  async start(): Promise<void> {
    const { source, dataplane, log } = this.#components;
    this.#unsubscribe = source.onChange((changes) => {
      this.#history?.recordChanges(changes, source.snapshot);
      this.#passes.onChanges(changes);
    });
    dataplane.onFailure((error) => this.#lostKernel(error));
    this.#passes.markAll();
    this.#draining.reconcile(source.snapshot);
    this.#health.applyScope(source.snapshot.config.services);
    await Promise.all([this.#host.checkSettings(), this.#elsewhere.start()]);
    await this.#passes.start();
    // Again: the kernel has settings of connection tracking since the rules are there.
    this.#host.start();
    log.info({ node: this.#node, services: this.#plans.byService.size }, 'agent started');
  }

  /** Each figure costs what it takes to work it out, when it is asked for. */
  status(): AgentStatus {
    const { waiting, runningSince: passSince, hasSynced: begun, error: dataplaneError } = this.#passes;
    const differing = (): ServiceDifference[] => this.#differing();
    const host = (): Reason[] => this.#hostProblems();
    const sessions = (): SessionStatus[] => this.#sessions.status();
    return {
      waiting,
      ...defined({ passSince }),
      hasSynced: begun,
      keepsUp: this.#health.dataplane.healthy,
      ...defined({ dataplaneError }),
      quarantined: this.#commits.quarantined,
      get differing() {
        return differing();
      },
      get host() {
        return host();
      },
      get sessions() {
        return sessions();
      },
    };
  }

  /** What whoever asks this process is told. */
  live(): AgentLiveQueries {
    return {
      sessions: () => this.#sessions.live(),
      routes: (query) => liveRoutes(this.#sessions.peers, this.#routes, query),
    };
  }

  /** Resolves when no pass is running or wanted; draining frontends do not count. */
  settled(): Promise<void> {
    return this.#passes.settled();
  }

  /**
   * Before a stop for good: every route becomes the routers' last resort, and they are given the time to choose other ways. Meanwhile all goes
   * on. `onHurry` calls back when nobody wants to wait any longer.
   */
  async gracefulShutdown(onHurry: (hurry: () => void) => () => void): Promise<void> {
    if (!this.#sessions.startGracefulShutdown()) return;
    const { clock, log } = this.#components;
    const { promise, resolve } = Promise.withResolvers<void>();
    const cancel = clock.after(limits.gracefulShutdownMilliseconds, resolve);
    const calm = onHurry(resolve);
    log.info({ milliseconds: limits.gracefulShutdownMilliseconds }, 'routers are asked to prefer other nodes before the sessions end');
    await promise;
    cancel();
    calm();
  }

  /**
   * Says goodbye to the peers (Cease, administrative shutdown), so that routers stop sending at once; with mode `restart` to
   * those without graceful restart, while the others go on sending until the next process is there. The rules stay in any case:
   * they forward until then, and what is already on its way still arrives.
   */
  async stop(message: string, mode: 'restart' | 'shutdown' = 'restart'): Promise<void> {
    this.#stopped = true;
    this.#unsubscribe?.();
    for (const part of [this.#passes, this.#commits, this.#plans, this.#announcer, this.#draining]) part.stop();
    // Before the pass has ended: a data plane that takes its time must not keep routers sending.
    await Promise.all([this.#sessions.stop({ message, mode }), this.#health.close()]);
    await this.#passes.settled();
    await Promise.all([this.#host.stop(), this.#direct.stop(), this.#elsewhere.stop()]);
    await this.#report.close();
    await this.#components.dataplane.close();
  }

  async #observed(...work: Parameters<ReconcileHandlers['reconcile']>): Promise<void> {
    const observer = this.#components.observer?.pass(work[1], (service) => this.#routes.routesOf(service)) ?? noPassObserver;
    this.#history?.passStarted();
    let done: Set<ServiceKey> | undefined;
    try {
      await this.#carryOut(observer, ...work);
      done = work[1];
    } finally {
      this.#history?.passEnded(done, work[0]);
      observer.ended();
    }
  }

  async #carryOut(observer: PassObserver, snapshot: Snapshot, services: Set<ServiceKey>, node: boolean): Promise<void> {
    if (node) {
      this.#draining.reconcile(snapshot);
      this.#sessions.updateExisting(snapshot, this.#node);
      this.#health.applyScope(snapshot.config.services);
      this.#host.applyScope(snapshot.config.services);
    }
    const forwarding = new Map<string, ServiceForwarding | undefined>();
    const turn = new Turn(this.#components.clock);
    for (const key of services) {
      forwarding.set(key, this.#plans.plan(snapshot, key));
      this.#announcer.queue([key]);
      // What changes meanwhile is the next pass.
      if (turn.isOver) await turn.end();
    }
    if (this.#stopped) return;
    for (const key of new Set([...services, ...this.#commits.waitingFor(services)])) {
      for (const other of this.#plans.cancelDrainsOf(key)) {
        forwarding.set(other, this.#plans.plan(snapshot, other));
        services.add(other);
      }
    }
    this.#tell(); // nothing that is not out yet: see Plans
    observer.withdrawn();
    const isIntact = this.#passes.commitGuard();
    // What it refuses, or refuses no longer, changes what Services may announce.
    const refused = await this.#commits.commit(snapshot, forwarding, { node, drains: this.#plans.hasDrainingFrontends });
    this.#history?.forwardingCommitted(refused, this.#commits.quarantined);
    this.#announcer.queue(refused);
    // What was lost meanwhile is work again.
    if (!isIntact()) return;
    observer.committed();
    this.#draining.onPassCommitted();
    if (node) this.#health.onNodeChanged();
    this.#health.onCommitted(services);
    this.#direct.reconcile(services);
    await this.#announcer.announce(isIntact);
    if (isIntact()) observer.announced();
    // Sessions come after the routes, so that a session that opens has them all.
    if (node && !this.#stopped) this.#sessions.reconcile(snapshot, this.#node);
  }

  #withdraw(snapshot: Snapshot, services: readonly ServiceKey[], node: boolean): void {
    if (node) {
      this.#draining.reconcile(snapshot);
      this.#sessions.updateExisting(snapshot, this.#node);
    }
    for (const key of services) this.#plans.plan(snapshot, key);
    this.#tell();
  }

  /** Nothing is announced until a pass over everything has been committed. */
  #lostKernel(error: DataplaneError): void {
    if (this.#stopped) return;
    this.#announcer.withdraw(this.#plans.byService.keys(), reason('DataPlaneFailed', { error: error.message }));
    this.#passes.onDataplaneLost(error);
    this.#report.scheduleWrite();
  }

  /** Routes go at once, whatever the kernel is busy with; others come with the next pass. */
  #changedElsewhere(services: ReadonlySet<ServiceKey>): void {
    if (this.#stopped) return;
    for (const key of services) this.#plans.withdrawUnplanned(key);
    this.#tell();
    this.#passes.requeue(services);
  }

  #tell(): void {
    this.#sessions.applyRouteChanges(this.#routes.takeChanges());
  }

  #differing(): ServiceDifference[] {
    return serviceDifferences({
      quarantined: this.#commits.quarantined,
      missing: this.#elsewhere.missingByService(),
      held: this.#announcer.held,
      unsupportedRoutes: this.#sessions.unsupportedRoutes(),
      wantedBy: (peer, prefix) => this.#routes.wantedBy(peer, prefix),
      healthChecks: this.#health.serviceProblems(),
    });
  }

  #hostProblems(): Reason[] {
    const parts = [this.#elsewhere, this.#health, this.#host, this.#direct];
    return parts.flatMap((part) => part.problems()).slice(0, limits.hostReasons);
  }

  #content(): ReportContent {
    const differing = this.#differing();
    const problem = this.#problem();
    const host = this.#hostProblems();
    return {
      sessions: this.#sessions.status(),
      differing: differing.slice(0, limits.differingServices),
      ...(differing.length > limits.differingServices ? { truncated: true } : {}),
      ...defined({ problem }),
      ...(host.length === 0 ? {} : { host }),
      ...this.#direct.reportPart(),
      ...this.#draining.report(),
      consumed: this.#passes.consumed,
    };
  }

  #problem(): Reason | undefined {
    if (this.#stopped) return reason('AgentStopped', { node: this.#node });
    const { error } = this.#passes;
    return error === undefined ? undefined : reason('DataPlaneFailed', { error });
  }
}
