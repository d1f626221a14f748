import type { L2Status, LinkStatus } from '../../l2/index.ts';
import type { Metrics, Put } from '../../telemetry/metrics.ts';
import type { OwnerChanges } from '../l2/owner-changes.ts';

interface L2MetricsSources {
  /** Returns the counters and links, without addresses. Undefined: nothing is announced. */
  readonly status: () => Promise<L2Status | undefined>;
  readonly changes: Pick<OwnerChanges, 'owned' | 'counts'>;
}

const ofResponder = [
  'herald_l2_requests_received_total',
  'herald_l2_responses_sent_total',
  'herald_l2_gratuitous_sent_total',
  'herald_l2_probes_sent_total',
  'herald_l2_send_failures_total',
  'herald_l2_addresses_owned',
  'herald_l2_owner_changes_total',
  'herald_l2_conflicts_total',
  'herald_l2_stalls_total',
  'herald_l2_ignored_frames_total',
  'herald_l2_kernel_drops_total',
  'herald_l2_peers',
  'herald_l2_peers_without_liveness',
] as const;

type PutL2 = Put<(typeof ofResponder)[number]>;

/** Exposes the counters of the thread that answers ARP and NDP. Returns a function that ends this. */
export function exposeL2(metrics: Metrics, { status, changes }: L2MetricsSources): () => void {
  return metrics.addCollector('l2', ofResponder, async (put) => {
    const known = await status();
    if (known === undefined) return;
    putCounters(put, known);
    for (const link of known.links) putLink(put, link, changes.owned().get(link.interface) ?? 0);
    for (const { change, cause, count } of changes.counts()) put('herald_l2_owner_changes_total', { change, cause }, count);
  });
}

function putCounters(put: PutL2, { counters }: L2Status): void {
  put('herald_l2_requests_received_total', {}, counters.requests);
  put('herald_l2_responses_sent_total', {}, counters.answers);
  put('herald_l2_gratuitous_sent_total', {}, counters.announcements);
  put('herald_l2_probes_sent_total', {}, counters.probes);
  put('herald_l2_send_failures_total', {}, counters.sendFailures);
  put('herald_l2_conflicts_total', { by: 'foreign' }, counters.foreignConflicts);
  put('herald_l2_conflicts_total', { by: 'node' }, counters.nodeConflicts);
  put('herald_l2_stalls_total', {}, counters.stalls);
  for (const [reason, count] of Object.entries(counters.ignored)) put('herald_l2_ignored_frames_total', { reason }, count);
}

function putLink(put: PutL2, { interface: name, peers, drops }: LinkStatus, owned: number): void {
  put('herald_l2_addresses_owned', { interface: name }, owned);
  if (drops !== undefined) put('herald_l2_kernel_drops_total', { interface: name }, drops);
  for (const standing of ['in', 'suspect', 'out'] as const)
    put('herald_l2_peers', { interface: name, standing }, peers.filter((peer) => peer.standing === standing).length);
  const unwatched = peers.filter(({ watched, session }) => watched && session !== 'Up' && session !== 'AdminDown');
  put('herald_l2_peers_without_liveness', { interface: name }, unwatched.length);
}
