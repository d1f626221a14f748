import { defined } from '../../lang/defined.ts';
import type { NftExecutor } from '../../dataplane/nftables/executor.ts';
import type { Metrics } from '../../telemetry/metrics.ts';

/** Counts the transactions of nf_tables. What the kernel refuses is tried again in parts, which count as well. */
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
    readTable: (skeleton, likely) => inner.readTable(skeleton, likely),
    monitor: (events) => inner.monitor(events),
    close: () => inner.close(),
  };
}
