import { ok as assert } from 'node:assert';
import type { Address } from '../../net/address.ts';
import type { Frontend, NodeForwarding, ServiceForwarding } from '../../net/frontend.ts';
import type { Prefix } from '../../net/prefix.ts';
import type { Cancel, Clock } from '../../system/clock.ts';
import type { Log } from '../../system/log.ts';
import { TimeSlice } from '../../system/time-slice.ts';
import type { ConntrackCleaner } from '../conntrack/conntrack-cleaner.ts';
import { FlowCleaning } from '../conntrack/flow-cleaning.ts';
import {
  DataplaneError,
  type ApplyResult,
  type Dataplane,
  type DirectReturnShortcomings,
  type ForwardingChanges,
  type OwnedFrontend,
  type QuarantinedFrontend,
} from '../dataplane.ts';
import { DirectReturn } from '../direct-return/direct-return.ts';
import type { IngressTable } from '../direct-return/ingress-set.ts';
import type { PathTable } from '../direct-return/paths.ts';
import type { UnreachableRouteTable } from '../routes/unreachable-routes.ts';
import { UnreachableSet } from '../routes/unreachable-set.ts';
import { DesiredFrontends } from './desired-frontends.ts';
import { frontendProblem, nodeElements } from '../ruleset/elements.ts';
import type { NftExecutor } from './executor.ts';
import { KernelTable, nodeOwner, type CommitResult } from './kernel-table.ts';
import { families, markerChain, type PodInterfaces } from '../ruleset/layout.ts';
import { partElement, type Part } from '../ruleset/parts.ts';
import { repairDelay, repairInterval, repairRetry, retriesPerBatch } from '../limits.ts';
import { skeleton } from '../ruleset/skeleton.ts';
import { targetFrontend, type Target } from './target.ts';
import { watchRuleset } from './ruleset-monitor.ts';
import { SerialQueue } from '../../lang/serial-queue.ts';

export interface NftablesPorts {
  readonly executor: NftExecutor;
  readonly routes: UnreachableRouteTable;
  readonly conntrack: ConntrackCleaner;
  readonly paths: PathTable;
  readonly ingress: IngressTable;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Forwarding by nftables (Linux 5.13 or later): tables `ip herald` and `ip6 herald`, see skeleton.ts. `replace` must be the first call. A
 * call that arrives while the kernel works on a batch joins the next batch.
 */
export class NftablesDataplane implements Dataplane {
  readonly #ports: NftablesPorts;
  readonly #kernel: KernelTable;
  readonly #unreachable: UnreachableSet;
  readonly #direct: DirectReturn;
  readonly #desired = new DesiredFrontends();
  readonly #flows: FlowCleaning;
  /** Changes received since the latest batch began. */
  #incoming = new Map<string, ServiceForwarding | undefined>();
  /** True: Services that are not in `#incoming` are removed. */
  #incomingIsAll = false;
  readonly #refused = new Map<string, string>();
  readonly #repairListeners: ((what: string) => void)[] = [];
  readonly #failureListeners: ((error: DataplaneError) => void)[] = [];
  #node: NodeForwarding | undefined;
  #nodeTouched = false;
  /** The paths of frontends with direct server return may have changed. */
  #pathsTouched = false;
  /** False: the kernel's state is unknown, and the next batch begins by reading it. */
  #synchronised = false;
  readonly #serial = new SerialQueue();
  #batch: Promise<ApplyResult> | undefined;
  #watch: { stop(): Promise<void> } | undefined;
  #cancelRepair: Cancel | undefined;
  #repairedAt = Number.NEGATIVE_INFINITY;
  #closed = false;
  /** True: the tables are removed, and no forwarding is desired. */
  #cleared = false;

  constructor(ports: NftablesPorts) {
    this.#ports = ports;
    this.#kernel = new KernelTable(ports.executor, ports.clock, ports.log);
    this.#flows = new FlowCleaning(ports, {
      frontendOf: (key) => this.#desired.effectiveFrontend(key)?.frontend,
      nodePortAddresses: () => this.#node?.nodePortAddresses ?? [],
    });
    this.#unreachable = new UnreachableSet(ports, (what) => this.#reportRepair(what));
    this.#direct = new DirectReturn(ports, { repaired: (what) => this.#reportRepair(what), changed: () => this.#pathsChanged() });
  }

  get adopted(): boolean {
    return this.#kernel.adopted;
  }

  replace(node: NodeForwarding, services: ReadonlyMap<string, ServiceForwarding>): Promise<ApplyResult> {
    this.#cleared = false;
    this.#setNode(node);
    this.#incoming = new Map(services);
    this.#incomingIsAll = true;
    this.#synchronised = false;
    const { executor, clock, log } = this.#ports;
    this.#watch ??= watchRuleset(executor, clock, log, {
      isOurs: (revision) => this.#kernel.takeOwnRevision(revision),
      onForeignChange: (what) => this.#scheduleRepair(what, repairDelay),
    });
    return this.#flush();
  }

  setNode(node: NodeForwarding): Promise<ApplyResult> {
    this.#setNode(node);
    return this.#flush();
  }

  apply(changes: ForwardingChanges): Promise<ApplyResult> {
    for (const [service, forwarding] of changes) this.#incoming.set(service, forwarding);
    return this.#flush();
  }

  frontend(key: string): OwnedFrontend | undefined {
    return this.#desired.effectiveFrontend(key);
  }

  async clear(): Promise<void> {
    if (this.#cleared) return;
    this.#incoming = new Map();
    this.#incomingIsAll = true;
    await this.#serial.run(async () => {
      await this.#stopWatching();
      const gone = await this.#takeIncoming();
      this.#refused.clear();
      this.#synchronised = false;
      await this.#kernel.remove();
      await this.#direct.setNode(undefined);
      await this.#direct.applyCommitted([...gone].map((key) => [key, undefined]));
      this.#cleared = true;
    });
  }

  setUnreachable(prefixes: readonly Prefix[]): Promise<ReadonlyMap<string, string>> {
    return this.#unreachable.setPrefixes(prefixes);
  }

  async probeDirectReturn(interfaces: readonly string[], tunnels: readonly Address[]): Promise<DirectReturnShortcomings> {
    if (tunnels.length === 0) return await this.#direct.probe(interfaces, tunnels);
    const hadTunnels = this.#direct.hasTunnels;
    const created = this.#direct.expectTunnels();
    try {
      // Before there is a tunnel, the tables restrict what it may receive.
      if (!hadTunnels) {
        this.#nodeTouched = true;
        if (this.#node !== undefined && !this.#cleared) await this.#flush();
      }
      return await this.#direct.probe(interfaces, tunnels);
    } finally {
      created();
    }
  }

  onFailure(listener: (error: DataplaneError) => void): void {
    this.#failureListeners.push(listener);
  }

  onRepair(listener: (what: string) => void): void {
    this.#repairListeners.push(listener);
  }

  async close(): Promise<void> {
    await this.#stop();
    this.#closePorts();
  }

  async cleanup(): Promise<void> {
    await this.#stop();
    await this.#kernel.remove();
    await this.#unreachable.remove();
    await this.#direct.remove();
    this.#closePorts();
    this.#synchronised = false;
  }

  #closePorts(): void {
    const { executor, routes, conntrack } = this.#ports;
    for (const port of [executor, routes, conntrack]) port.close();
  }

  async #stopWatching(): Promise<void> {
    this.#cancelRepair?.();
    this.#cancelRepair = undefined;
    const watch = this.#watch;
    this.#watch = undefined;
    await watch?.stop();
  }

  async #stop(): Promise<void> {
    this.#closed = true;
    await this.#stopWatching();
    await this.#serial.idle();
    await this.#unreachable.close();
    await this.#direct.close();
    await this.#flows.close();
  }

  #setNode(node: NodeForwarding): void {
    if (this.#node === undefined || markerOf(this.#node) !== markerOf(node)) this.#synchronised = false;
    this.#node = node;
    this.#nodeTouched = true;
  }

  /** Runs one batch for everything that was called before it begins. A batch begins when the previous one has ended. */
  #flush(): Promise<ApplyResult> {
    assert(this.#node !== undefined, 'replace comes first');
    assert(!this.#closed, 'the data plane is closed');
    this.#batch ??= this.#serial.run(async () => {
      await Promise.resolve();
      this.#batch = undefined;
      await this.#commit();
      return { quarantined: this.#quarantined() };
    });
    return this.#batch;
  }

  async #commit(): Promise<void> {
    const nodeTouched = this.#nodeTouched;
    this.#nodeTouched = false;
    const touched = await this.#takeIncoming();
    if (!this.#synchronised) {
      await this.#synchronise();
      return;
    }
    if (nodeTouched) await this.#direct.setNode(this.#node?.directReturn);
    const retries = [...this.#refused.keys()].filter((key) => !touched.has(key)).slice(0, retriesPerBatch);
    const targets = new Map<string, Target | undefined>();
    if (nodeTouched) targets.set(nodeOwner, this.#nodeTarget());
    await this.#addTargets(touched, targets);
    const retryTargets = new Map<string, Target | undefined>();
    await this.#addTargets(retries, retryTargets);
    try {
      this.#recordResult([...targets.keys()], await this.#kernel.commit(targets));
      if (retryTargets.size > 0) this.#recordResult([...retryTargets.keys()], await this.#kernel.commit(retryTargets));
      await this.#direct.applyCommitted(frontendsOf(targets));
    } catch (error) {
      // Even an empty transaction failed: another program removed our tables, or nothing works. Reading the tables shows which.
      this.#synchronised = false;
      if (!(error instanceof DataplaneError) || error.code !== 'failed') throw error;
      this.#ports.log.warn({ error: error.message }, 'nftables transaction failed, the tables are read again');
      await this.#synchronise();
    }
  }

  /** Returns the keys of the frontends whose form may have changed. */
  async #takeIncoming(): Promise<ReadonlySet<string>> {
    const [incoming, isAll] = [this.#incoming, this.#incomingIsAll];
    this.#incoming = new Map();
    this.#incomingIsAll = false;
    if (isAll) for (const service of this.#desired.services()) if (!incoming.has(service)) incoming.set(service, undefined);
    const touched = new Set<string>();
    const timeSlice = new TimeSlice(this.#ports.clock);
    for (const [service, forwarding] of incoming) {
      for (const key of this.#desired.setForwarding(service, forwarding)) touched.add(key);
      if (timeSlice.isUsedUp) await timeSlice.yield();
    }
    if (this.#pathsTouched)
      for (const key of this.#desired.keys()) if (this.#desired.effectiveFrontend(key)?.frontend.directReturn) touched.add(key);
    this.#pathsTouched = false;
    return touched;
  }

  async #synchronise(): Promise<CommitResult> {
    assert(this.#node !== undefined);
    // Set before the read, so that a request for another read during this one is not lost.
    this.#synchronised = true;
    try {
      await this.#direct.findTunnels();
      await this.#direct.setNode(this.#node.directReturn);
      const targets = new Map<string, Target>([[nodeOwner, this.#nodeTarget()]]);
      this.#refused.clear();
      await this.#addTargets(this.#desired.keys(), targets);
      const { masqueradeBit } = this.#node;
      const pods = podInterfacesOf(this.#node);
      const result = await this.#kernel.synchronise((family) => skeleton(family, masqueradeBit, pods), targets);
      this.#flows.requestFullScan();
      this.#recordResult([], result);
      await this.#direct.applyCommitted(frontendsOf(targets));
      return result;
    } catch (error) {
      this.#synchronised = false;
      throw error;
    }
  }

  /** Adds the targets of these frontends. A frontend that cannot be expressed is refused here, and the kernel keeps its previous form. */
  async #addTargets(keys: Iterable<string>, targets: Map<string, Target | undefined>): Promise<void> {
    const timeSlice = new TimeSlice(this.#ports.clock);
    for (const key of keys) {
      if (timeSlice.isUsedUp) await timeSlice.yield();
      const frontend = this.#desired.effectiveFrontend(key)?.frontend;
      if (frontend === undefined) {
        targets.set(key, undefined);
        continue;
      }
      const problem = frontendProblem(frontend);
      if (problem === undefined) targets.set(key, { frontend: this.#direct.withExistingPaths(frontend) });
      else this.#refused.set(key, problem);
    }
  }

  /**
   * Called when other nodes become reachable or unreachable: the backends whose packets are sent there unchanged are then different. Also
   * when the last tunnel is gone.
   */
  #pathsChanged(): void {
    this.#pathsTouched = true;
    this.#nodeTouched = true;
    if (this.#closed || this.#cleared || this.#node === undefined) return;
    this.#flush().catch((error: unknown) =>
      this.#ports.log.warn({ error: String(error) }, 'changed paths could not be written to the tables'),
    );
  }

  #nodeTarget(): Target {
    assert(this.#node !== undefined);
    const parts: Part[] = [
      ...(this.#direct.hasTunnels ? ['direct_return' as const] : []),
      ...(this.#node.notesBegun === true ? ['begun' as const] : []),
    ];
    return { elements: [...nodeElements(this.#node), ...parts.flatMap((part) => families.map((family) => partElement(family, part)))] };
  }

  #recordResult(attempted: readonly string[], result: CommitResult): void {
    for (const key of attempted) if (!result.refused.has(key)) this.#refused.delete(key);
    for (const [key, error] of result.refused) {
      if (this.#refused.get(key) !== error) this.#ports.log.warn({ frontend: key, error }, 'frontend is quarantined');
      this.#refused.set(key, error);
    }
    for (const { before, after } of result.committed) {
      const isHandedOver = before !== undefined && after === undefined && this.#node?.foreignScopes?.includes(before.scope) === true;
      if (!isHandedOver) this.#flows.onFrontendChange(before, after);
    }
    this.#flows.begin();
  }

  #quarantined(): ReadonlyMap<string, QuarantinedFrontend> {
    const quarantined = new Map<string, QuarantinedFrontend>();
    for (const { key, services, owner } of this.#desired.conflicts())
      quarantined.set(key, { services, error: `belongs to ${owner}`, owner });
    for (const [key, error] of this.#refused) {
      const service = this.#desired.effectiveFrontend(key)?.service;
      // A frontend that should be removed, but cannot be, has no Service any more.
      quarantined.set(key, { services: service === undefined ? [] : [service], error });
    }
    return quarantined;
  }

  /**
   * Schedules one repair for all events of a foreign transaction, and for a series of transactions of a program that fights for the table.
   */
  #scheduleRepair(what: string, delay: number): void {
    if (this.#closed || this.#cleared || this.#cancelRepair !== undefined) return;
    const { clock, log } = this.#ports;
    const wait = Math.max(delay, this.#repairedAt + repairInterval - clock.now());
    this.#cancelRepair = clock.after(wait, () => {
      this.#cancelRepair = undefined;
      this.#serial
        .run(() => this.#repair(what))
        .catch((error: unknown) => {
          log.error({ what, error: String(error) }, 'repair failed');
          const failure = error instanceof DataplaneError ? error : new DataplaneError('failed', String(error), { cause: error });
          for (const listener of this.#failureListeners) listener(failure);
          this.#scheduleRepair(what, repairRetry);
        });
    });
  }

  async #repair(what: string): Promise<void> {
    if (this.#closed || this.#cleared) return;
    this.#repairedAt = this.#ports.clock.now();
    const result = await this.#synchronise();
    if (result.transactions === 0) return;
    this.#reportRepair(what);
  }

  #reportRepair(what: string): void {
    this.#ports.log.warn({ what }, 'repaired what another program had changed');
    for (const listener of this.#repairListeners) listener(what);
  }
}

function* frontendsOf(targets: ReadonlyMap<string, Target | undefined>): Generator<[string, Frontend | undefined]> {
  for (const [key, target] of targets) if (key !== nodeOwner) yield [key, targetFrontend(target)];
}

function podInterfacesOf({ podInterfaces, masqueradeAll }: NodeForwarding): PodInterfaces {
  return { names: podInterfaces ?? [], masqueraded: masqueradeAll === true };
}

/** A text that is equal for equal skeletons. */
function markerOf(node: NodeForwarding): string {
  return markerChain(node.masqueradeBit, podInterfacesOf(node));
}
