import type { KeptInPool, PoolUsage } from '../../decisions/allocation/allocator.ts';
import type { Condition } from '../../model/objects/condition.ts';
import type { ServiceKey } from '../../model/objects/metadata.ts';
import { isCurrent, isRunning } from '../../model/objects/node-state.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import type { ControllerObserver, QueueFigures, QueueName } from '../controller-observer.ts';
import { limits } from '../limits.ts';
import { keptInPools, poolUsage } from '../complete-provider.ts';
import type { Provider, Reconciliation } from '../provider.ts';
import { ServiceCounts } from './service-counts.ts';

/** Metrics of a controller, its Services and its pools. */
export class ControllerMetrics implements ControllerObserver {
  readonly #metrics: Metrics;
  readonly #conditions = new ServiceCounts<{ readonly condition: string; readonly status: string; readonly reason: string }>({
    dropsEmpty: false,
  });
  /** By the pool that refused the Service and its reason. Pools can be deleted. */
  readonly #refusals = new ServiceCounts<{ readonly pool: string; readonly reason: string }>({ dropsEmpty: true });
  readonly #ends: (() => void)[] = [];

  constructor(metrics: Metrics) {
    this.#metrics = metrics;
    this.#ends.push(
      metrics.addCollector('services', ['herald_service_conditions', 'herald_pending_services'], (put) => {
        for (const { labels, services } of this.#conditions.values()) {
          put('herald_service_conditions', labels, services);
          if (labels.condition === 'AddressAssigned' && labels.status === 'False')
            put('herald_pending_services', { reason: labels.reason }, services);
        }
      }),
      metrics.addCollector('refusals', ['herald_pending_services_by_pool'], (put) => {
        for (const { labels, services } of this.#refusals.values()) put('herald_pending_services_by_pool', labels, services);
      }),
    );
  }

  /** Exposes the queues of the controller and the pools of its providers. */
  expose(controller: { readonly figures: () => Readonly<Record<QueueName, QueueFigures>> }, providers: readonly Provider[]): void {
    this.#ends.push(
      this.#metrics.addCollector(
        'queues',
        ['herald_queue_depth', 'herald_queue_waiting_retries', 'herald_queue_longest_work_seconds'],
        (put) => {
          for (const [queue, { depth, retries, longestMilliseconds }] of Object.entries(controller.figures())) {
            put('herald_queue_depth', { queue }, depth);
            put('herald_queue_waiting_retries', { queue }, retries);
            put('herald_queue_longest_work_seconds', { queue }, longestMilliseconds / 1000);
          }
        },
      ),
      this.#metrics.addCollector('pools', ['herald_pool_addresses', 'herald_pool_size_addresses'], (put) => {
        const kept = keptByPool(keptInPools(providers));
        for (const { pool, family: version, total, free, assigned } of firstPools(poolUsage(providers))) {
          const family = `ipv${version}`;
          put('herald_pool_size_addresses', { pool, family }, Number(total));
          put('herald_pool_addresses', { pool, family, state: 'free' }, Number(free));
          put('herald_pool_addresses', { pool, family, state: 'assigned' }, assigned);
          put('herald_pool_addresses', { pool, family, state: 'kept' }, kept.get(`${pool} ${version}`) ?? 0);
        }
      }),
    );
  }

  /** Exposes how many Nodes have no current report. `now` is in milliseconds since the epoch. */
  exposeNodes(snapshot: () => Pick<Snapshot, 'nodes' | 'nodeStates'>, now: () => number): void {
    this.#ends.push(
      this.#metrics.addCollector('nodes', ['herald_nodes_without_report'], (put) => {
        for (const [last, nodes] of Object.entries(nodesWithoutReport(snapshot(), now())))
          put('herald_nodes_without_report', { last }, nodes);
      }),
    );
  }

  reconciled(provider: string, outcome: Reconciliation | undefined, milliseconds: number): void {
    const result = outcome === undefined ? 'failed' : outcome.reason === undefined ? 'met' : 'unmet';
    this.#metrics.observe('herald_reconcile_duration_seconds', { provider, result }, milliseconds / 1000);
  }

  conditionsWritten(key: ServiceKey, conditions: readonly Condition[], details: NonNullable<Reconciliation['details']>): void {
    const judged = conditions.map(({ type, status, reason }) => ({ condition: type.replace('herald.dev/', ''), status, reason }));
    const refused = details.slice(0, limits.measuredRefusals).map(({ of: pool, code: reason }) => ({ pool, reason }));
    this.#conditions.replace(key, judged);
    this.#refusals.replace(key, refused);
  }

  serviceRemoved(key: ServiceKey): void {
    this.#conditions.replace(key, []);
    this.#refusals.replace(key, []);
  }

  reconcileFinished(queue: QueueName, result: 'done' | 'retried' | 'failed'): void {
    this.#metrics.add('herald_queue_work_total', { queue, result });
  }

  stop(): void {
    for (const end of this.#ends.splice(0)) end();
  }
}

/** Counts the Nodes without a current report of a running agent, by their last report. */
function nodesWithoutReport({ nodes, nodeStates }: Pick<Snapshot, 'nodes' | 'nodeStates'>, now: number) {
  const counts = { stopped: 0, silent: 0, none: 0 };
  for (const node of nodes.keys()) {
    const last = nodeStates.get(node);
    if (last === undefined) counts.none += 1;
    else if (!isRunning(last)) counts.stopped += 1;
    else if (!isCurrent(last, now)) counts.silent += 1;
  }
  return counts;
}

function keptByPool(kept: readonly KeptInPool[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { pool, address } of kept) {
    const key = `${pool} ${address.family}`;
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return counts;
}

/** Usage has one entry per family of a pool. */
function firstPools(usage: readonly PoolUsage[]): readonly PoolUsage[] {
  return usage.slice(0, 2 * limits.measuredPools);
}
