import { DataplaneError, type ApplyResult, type Dataplane } from '../dataplane/dataplane.ts';
import { livingBackends } from '../decisions/forwarding/living.ts';
import { nodeForwarding } from '../decisions/forwarding/node.ts';
import type { ServiceKey } from '../model/metadata.ts';
import type { NodeState } from '../model/node-state.ts';
import { reason, type Reason } from '../model/reasons.ts';
import type { Change, Snapshot } from '../model/snapshot.ts';
import type { ServiceForwarding } from '../net/frontend.ts';
import { formatPrefix } from '../net/prefix.ts';
import type { Source } from '../sources/source.ts';
import type { Clock } from '../system/clock.ts';
import type { HttpPlace, ListenHttp } from '../system/http-listener.ts';
import type { Log } from '../system/log.ts';
import type { Random } from '../system/random.ts';
import { Turn } from '../system/turn.ts';
import { Aggregates } from './aggregates.ts';
import { BackOff } from './back-off.ts';
import { Drain } from './drain.ts';
import { differences } from './differences.ts';
import { Elsewhere, type ElsewhereComponents } from './elsewhere.ts';
import { limits } from './limits.ts';
import { DirectReturnCheck } from './direct-return-check.ts';
import { HostCheck, hostFacts, type HostCheckComponents } from './host-check.ts';
import { NodeHealth } from './node-health.ts';
import { NodeReport, type ReportContent } from './node-report.ts';
import { Quarantine } from './quarantine.ts';
import { RouteTable, type RoutesByPeer } from './route-table.ts';
import { nothing, passBarrier, planService, removedRouted, routesOfPlan, type ServicePlan } from './service-plan.ts';
import { Sessions, type SessionsComponents, type SessionsOptions } from './sessions.ts';
import { WorkToDo } from './work-to-do.ts';

export interface AgentComponents
  extends
    Pick<HostCheckComponents, 'host' | 'hostFilters' | 'unservedLocalhost'>,
    Pick<ElsewhereComponents, 'foreign'>,
    SessionsComponents {
  readonly source: Source;
  readonly dataplane: Dataplane;
  readonly writeNodeState: (state: NodeState) => Promise<void>;
  readonly listenHttp: ListenHttp;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

export interface AgentOptions extends SessionsOptions {
  readonly node: string;
  /** Where the health of the node is told; default: nowhere. */
  readonly healthz?: readonly HttpPlace[];
  /** Whether settings of the kernel that are wrong for forwarding are set; default: yes. */
  readonly kernelSettings?: 'set' | 'report';
}

/**
 * What one node does: it forwards, and it announces what it forwards. One pass at a time; each withdraws first, then has the
 * kernel commit, then announces (the commit barrier). What changed meanwhile is the next pass.
 */
export class Agent {
  readonly #components: AgentComponents;
  readonly #node: string;
  readonly #routes = new RouteTable();
  readonly #sessions: Sessions;
  readonly #drain: Drain;
  readonly #report: NodeReport;
  readonly #health: NodeHealth;
  readonly #host: HostCheck;
  readonly #direct: DirectReturnCheck;
  readonly #elsewhere: Elsewhere;
  readonly #plans = new Map<ServiceKey, ServicePlan>();
  readonly #work: WorkToDo;
  /** Services whose routes may differ from what their plan and the data plane's latest answer allow. */
  readonly #toAnnounce = new Set<ServiceKey>();
  readonly #quarantine: Quarantine;
  readonly #held = new Map<ServiceKey, readonly Reason[]>();
  #dataplaneError: string | undefined;
  readonly #aggregates: Aggregates;
  readonly #retry: BackOff;
  /** The data plane has what the Services want, and takes changes of it. */
  #programs = false;
  /** How often the data plane has lost what was committed. */
  #losses = 0;
  #unsubscribe: (() => void) | undefined;
  #pass: Promise<void> | undefined;
  #stopped = false;

  constructor(components: AgentComponents, options: AgentOptions) {
    this.#components = components;
    this.#node = options.node;
    this.#work = new WorkToDo(options.node);
    this.#sessions = new Sessions(components, this.#routes, () => this.#report.news(), options);
    this.#drain = new Drain(components.clock, (service) => this.#lookAgain([service]));
    this.#elsewhere = new Elsewhere(components, {
      config: () => components.source.snapshot.config,
      again: (services) => this.#changedElsewhere(services),
      news: () => this.#report.news(),
    });
    this.#aggregates = new Aggregates(components, (services) => this.#lookAgain(services));
    this.#retry = new BackOff(components, () => this.#run());
    this.#quarantine = new Quarantine(components, (services) => this.#lookAgain(services));
    this.#report = new NodeReport(components, options.node, () => this.#content());
    this.#health = new NodeHealth(components, {
      node: options.node,
      healthz: options.healthz ?? [],
      snapshot: () => components.source.snapshot,
      addresses: () => components.host.interfaces().map(({ address }) => address),
      news: () => this.#report.news(),
    });
    this.#host = new HostCheck(components, {
      kernelSettings: options.kernelSettings ?? 'set',
      facts: () => hostFacts(components.source.snapshot, options.node, this.#plans),
      services: () => components.source.snapshot.config.services,
      servedPorts: () => new Map([...this.#health.ports(), ...this.#sessions.passivePorts()]),
      looked: () => this.#health.nodeChanged(),
      news: () => this.#report.news(),
    });
    this.#direct = new DirectReturnCheck(components, {
      node: options.node,
      snapshot: () => components.source.snapshot,
      kernelSettings: options.kernelSettings ?? 'set',
      news: () => this.#report.news(),
    });
  }

  /**
   * Brings the kernel to what the snapshot says, adopting what is there, then opens the sessions. Resolves after the first pass,
   * also when that failed (it is retried). The source must have started.
   */
  async start(): Promise<void> {
    const { source, dataplane, log } = this.#components;
    this.#unsubscribe = source.onChange((changes) => this.#changed(changes));
    dataplane.onRepair((what) => log.warn({ what }, 'another program changed our rules: repaired'));
    dataplane.onFailure((error) => this.#lostKernel(error));
    this.#work.addEverything(source.snapshot);
    this.#health.follow(source.snapshot.config.services);
    await Promise.all([this.#host.checkSettings(), this.#elsewhere.start()]);
    this.#run();
    await this.#pass;
    // Again: the kernel has settings of connection tracking since the rules are there.
    this.#host.start();
    log.info({ node: this.#node, services: this.#plans.size }, 'agent started');
  }

  /** Resolves when no pass is running or wanted; draining frontends do not count. */
  async settled(): Promise<void> {
    while (this.#pass !== undefined) await this.#pass;
  }

  /**
   * Says goodbye to the peers (Cease, administrative shutdown), so that routers stop sending at once; with mode `restart` to
   * those without graceful restart, while the others go on sending until the next process is there. The rules stay in any case:
   * they forward until then, and what is already on its way still arrives.
   */
  async stop(message: string, mode: 'restart' | 'shutdown' = 'restart'): Promise<void> {
    this.#stopped = true;
    this.#unsubscribe?.();
    this.#retry.stop();
    this.#quarantine.stop();
    this.#drain.stop();
    this.#aggregates.stop();
    // Before the pass has ended: a data plane that takes its time must not keep routers sending.
    await Promise.all([this.#sessions.stop({ message, mode }), this.#health.close()]);
    await this.#pass;
    await Promise.all([this.#host.stop(), this.#direct.stop(), this.#elsewhere.stop()]);
    await this.#report.close();
    await this.#components.dataplane.close();
  }

  #changed(changes: readonly Change[]): void {
    this.#work.add(changes, this.#components.source.snapshot);
    this.#run();
  }

  #lookAgain(services: Iterable<ServiceKey>): void {
    for (const service of services) this.#work.addService(service);
    this.#run();
  }

  #run(): void {
    if (this.#stopped || this.#work.empty) return;
    this.#health.sync.queued();
    if (this.#pass !== undefined) return;
    if (this.#retry.waiting) {
      this.#withdrawOnly();
      return;
    }
    this.#pass = this.#onePass().finally(() => {
      this.#pass = undefined;
      this.#run();
    });
  }

  /** While the data plane is left alone after a failure, routes that are no longer wanted go all the same. */
  #withdrawOnly(): void {
    const work = this.#work.takeNew();
    if (work.node) this.#sessions.change(this.#components.source.snapshot, this.#node);
    for (const key of work.services) this.#plan(this.#components.source.snapshot, key);
    this.#sessions.tell(this.#routes.takeChanges());
    this.#work.putBack(work);
    this.#report.news();
  }

  /** What the kernel has is unknown: nothing is announced until a pass over everything has been committed. */
  #lostKernel(error: DataplaneError): void {
    if (this.#stopped) return;
    this.#losses++;
    for (const key of this.#plans.keys()) {
      this.#routes.set(key, new Map());
      this.#toAnnounce.add(key);
    }
    this.#sessions.tell(this.#routes.takeChanges());
    this.#dataplaneError = error.message;
    this.#work.addEverything(this.#components.source.snapshot);
    if (!this.#retry.waiting) this.#retryLater(error);
    this.#report.news();
  }

  async #onePass(): Promise<void> {
    const work = this.#work.take();
    const planned = new Set(work.services);
    const losses = this.#losses;
    try {
      await this.#carryOut(this.#components.source.snapshot, planned, work.node);
      this.#work.done(work);
      if (losses === this.#losses) {
        this.#retry.succeeded();
        this.#dataplaneError = undefined;
      }
    } catch (error) {
      if (!(error instanceof DataplaneError)) throw error;
      this.#work.putBack({ ...work, services: [...planned] });
      this.#dataplaneError = error.message;
      if (!this.#stopped) this.#retryLater(error);
    }
    this.#report.news();
  }

  #retryLater(error: DataplaneError): void {
    const retryInMilliseconds = this.#retry.failed();
    this.#components.log.error({ error, retryInMilliseconds }, 'the data plane took no change');
  }

  /** Adds to `services` those that are planned with them: if the pass fails, all are work again. */
  async #carryOut(snapshot: Snapshot, services: Set<ServiceKey>, node: boolean): Promise<void> {
    if (node) {
      this.#sessions.change(snapshot, this.#node);
      this.#health.follow(snapshot.config.services);
      this.#host.follow(snapshot.config.services);
    }
    const forwarding = new Map<string, ServiceForwarding | undefined>();
    const turn = new Turn(this.#components.clock);
    for (const key of services) {
      forwarding.set(key, this.#plan(snapshot, key));
      this.#toAnnounce.add(key);
      // What changes meanwhile is the next pass.
      if (turn.isOver) await turn.end();
    }
    if (this.#stopped) return;
    for (const key of new Set([...services, ...this.#quarantine.waitingFor(services)])) {
      const plan = this.#plans.get(key);
      if (plan === undefined) continue;
      for (const other of this.#drain.giveWay(key, plan.forwarding)) {
        forwarding.set(other, this.#plan(snapshot, other));
        services.add(other);
      }
    }
    this.#sessions.tell(this.#routes.takeChanges()); // nothing that is not out yet: see #plan
    const losses = this.#losses;
    await this.#commit(snapshot, forwarding, node);
    // What was lost meanwhile is work again.
    if (this.#stopped || losses !== this.#losses) return;
    if (node) this.#health.nodeChanged();
    this.#health.committed(services);
    this.#direct.follow(services);
    await this.#announce();
    // Sessions come after the routes, so that a session that opens has them all.
    if (node && !this.#stopped) this.#sessions.start(snapshot, this.#node);
  }

  /** Takes the new plan for a Service, withdraws what is not in it, and returns what the kernel should do for it. */
  #plan(snapshot: Snapshot, key: ServiceKey): ServiceForwarding | undefined {
    const before = this.#plans.get(key);
    const plan = planService(snapshot, key, this.#node);
    this.#drainRemoved(key, before, plan, snapshot.config.drainSeconds);
    if (plan.forwarding.frontends.length === 0 && plan.routes.length === 0) this.#plans.delete(key);
    else this.#plans.set(key, plan);
    this.#elsewhere.plan(key, plan.elsewhere);
    this.#narrow(key, plan);
    const kept = this.#drain.keep(key, plan.forwarding, livingBackends(snapshot, key));
    return kept.frontends.length === 0 ? undefined : kept;
  }

  /** Withdraws what is not in the plan, and what leads to frontends that another program has not. */
  #narrow(key: ServiceKey, plan: ServicePlan): void {
    const wanted = routesOfPlan(plan, (frontend) => this.#elsewhere.permits(frontend));
    this.#routes.narrow(key, wanted);
  }

  /** Routes go at once, whatever the kernel is busy with; others come with the next pass. */
  #changedElsewhere(services: ReadonlySet<ServiceKey>): void {
    if (this.#stopped) return;
    for (const key of services) this.#narrow(key, this.#plans.get(key) ?? nothing);
    this.#sessions.tell(this.#routes.takeChanges());
    this.#lookAgain(services);
  }

  /** Frontends whose address is announced at this moment drain; others (NodePorts, ClusterIPs of this cluster) go at once. */
  #drainRemoved(key: ServiceKey, before: ServicePlan | undefined, plan: ServicePlan, seconds: number): void {
    if (before === undefined || seconds === 0 || this.#routes.routesOf(key).size === 0) return;
    const removed = removedRouted(before, plan);
    if (removed.length > 0) this.#drain.leave(key, removed, seconds);
  }

  async #commit(snapshot: Snapshot, changes: ReadonlyMap<string, ServiceForwarding | undefined>, node: boolean): Promise<void> {
    const { dataplane } = this.#components;
    let result: ApplyResult;
    if (snapshot.config.services === 'none' && this.#drain.empty) {
      this.#programs = false;
      await dataplane.clear();
      result = { quarantined: new Map() };
    } else if (!this.#programs) {
      const all = new Map([...changes].flatMap(([key, forwarding]) => (forwarding === undefined ? [] : [[key, forwarding] as const])));
      result = await dataplane.replace(nodeForwarding(snapshot, this.#node), all);
      this.#programs = true;
    } else {
      if (node) await dataplane.setNode(nodeForwarding(snapshot, this.#node));
      result = await dataplane.apply(changes);
    }
    // What it refuses, or refuses no longer, changes what Services may announce.
    for (const service of this.#quarantine.update(result.quarantined)) this.#toAnnounce.add(service);
  }

  /** What fails here is done again in the next pass; until then nothing is in the route table that is not out. */
  async #announce(): Promise<void> {
    const passed = new Map([...this.#toAnnounce].map((key) => [key, this.#passBarrier(key)]));
    // Routes whose frontends the kernel refused go first, whatever becomes of the rest.
    for (const [key, routes] of passed) this.#routes.narrow(key, routes);
    this.#sessions.tell(this.#routes.takeChanges());
    const aggregates = [...passed.values()].flatMap((routes) => [...routes.values()].flat()).filter(({ aggregate }) => aggregate);
    const losses = this.#losses;
    await this.#aggregates.add(aggregates.map(({ prefix }) => prefix));
    if (this.#stopped || losses !== this.#losses) return;
    const announced = new Set(this.#routes.aggregates().map(formatPrefix));
    for (const [key, wanted] of passed) {
      const { routes, held } = this.#aggregates.permit(key, wanted, announced);
      if (held.length > 0) this.#held.set(key, [...(this.#held.get(key) ?? []), ...held]);
      this.#routes.set(key, routes);
    }
    this.#sessions.tell(this.#routes.takeChanges());
    this.#toAnnounce.clear();
    await this.#aggregates.keepOnly(this.#routes.aggregates());
  }

  #passBarrier(key: ServiceKey): RoutesByPeer {
    const plan = this.#plans.get(key);
    const { routes, held } =
      plan === undefined
        ? { routes: new Map(), held: [] }
        : passBarrier(key, plan, this.#quarantine.frontends, (frontend) => this.#elsewhere.permits(frontend));
    if (held.length === 0) this.#held.delete(key);
    else this.#held.set(key, held);
    return routes;
  }

  #content(): ReportContent {
    const differing = differences({
      quarantined: this.#quarantine.frontends,
      missing: this.#elsewhere.missing(),
      held: this.#held,
      notPossible: this.#sessions.notPossible(),
      wantedBy: (peer, prefix) => this.#routes.wantedBy(peer, prefix),
      healthChecks: this.#health.serviceProblems(),
    });
    const problem = this.#problem();
    const parts = [this.#elsewhere, this.#health, this.#host, this.#direct];
    const host = parts.flatMap((part) => part.problems()).slice(0, limits.hostReasons);
    return {
      sessions: this.#sessions.status(),
      differing: differing.slice(0, limits.differingServices),
      ...(differing.length > limits.differingServices ? { truncated: true } : {}),
      ...(problem === undefined ? {} : { problem }),
      ...(host.length === 0 ? {} : { host }),
      ...this.#direct.content(),
      consumed: this.#work.consumed,
    };
  }

  #problem(): Reason | undefined {
    if (this.#stopped) return reason('AgentStopped', { node: this.#node });
    return this.#dataplaneError === undefined ? undefined : reason('DataPlaneFailed', { error: this.#dataplaneError });
  }
}
