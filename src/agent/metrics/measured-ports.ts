import type { ConntrackCleaner } from '../../dataplane/conntrack/conntrack-cleaner.ts';
import type { NftExecutor } from '../../dataplane/nftables/executor.ts';
import { defined } from '../../lang/defined.ts';
import type { NodeState } from '../../model/objects/node-state.ts';
import type { Clock } from '../../system/clock.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import { ipFamilies } from './no-local-endpoints.ts';

/** Counts the transactions of nf_tables. A refused transaction is retried in parts, which count as well. */
export function measuredExecutor(inner: NftExecutor, metrics: Metrics): NftExecutor {
  for (const result of ['committed', 'refused']) metrics.add('herald_dataplane_transactions_total', { result }, 0);
  const generation = inner.generation?.bind(inner);
  return {
    async run(transaction) {
      let result = 'refused';
      try {
        await inner.run(transaction);
        result = 'committed';
      } finally {
        metrics.add('herald_dataplane_transactions_total', { result });
      }
    },
    ...defined({ generation }),
    removeTables: () => inner.removeTables(),
    readTable: (skeleton, wanted) => inner.readTable(skeleton, wanted),
    monitor: (events) => inner.monitor(events),
    close: () => inner.close(),
  };
}

/** Counts the flows that the cleaner deletes and its time, separately for each address family as kube-proxy does. */
export function measuredConntrack(inner: ConntrackCleaner, metrics: Metrics, clock: Clock): ConntrackCleaner {
  for (const ip_family of ipFamilies) metrics.add('kubeproxy_conntrack_reconciler_deleted_entries_total', { ip_family }, 0);
  return {
    async delete(stale) {
      let all = 0;
      for (const [family, flows] of Map.groupBy(stale, ({ replySource }) => replySource.family)) {
        const ip_family = `IPv${family}`;
        const began = clock.now();
        const deleted = await inner.delete(flows);
        metrics.observe('kubeproxy_conntrack_reconciler_sync_duration_seconds', { ip_family }, (clock.now() - began) / 1000);
        metrics.add('kubeproxy_conntrack_reconciler_deleted_entries_total', { ip_family }, deleted);
        all += deleted;
      }
      return all;
    },
    each: (see) => inner.each(see),
    close: () => inner.close(),
  };
}

/** Counts the writes of the NodeState. */
export function countedReports(write: (state: NodeState) => Promise<void>, metrics: Metrics): (state: NodeState) => Promise<void> {
  return async (state) => {
    let result = 'failed';
    try {
      await write(state);
      result = 'done';
    } finally {
      metrics.add('herald_node_report_writes_total', { result });
    }
  };
}
