import type { ConntrackCleaner } from '../../dataplane/conntrack/conntrack-cleaner.ts';
import type { Clock } from '../../system/clock.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import { ipFamilies } from './ip-families.ts';

/** Counts the flows that the kernel is made to forget, and the time of it, for each address family by itself, as kube-proxy does. */
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
