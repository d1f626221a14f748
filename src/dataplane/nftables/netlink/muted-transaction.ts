import type { MonitorEvents } from '../executor.ts';
import type { Events } from '../../../system/netlink/events.ts';

/** A monitor and its event handlers. */
export interface MutableMonitor {
  readonly follower: Pick<Events, 'setSubscribed'>;
  readonly events: Pick<MonitorEvents, 'onChange' | 'onLoss'>;
}

/**
 * Runs a large transaction with the monitor unsubscribed: receiving its events would cost the kernel and us more time than the transaction
 * itself. The kernel numbers transactions, so the numbers show whether another program committed one meanwhile, which is reported as a
 * loss. `work` resolves to undefined when the kernel committed.
 */
export async function runMuted<Refusal>(
  { follower, events }: MutableMonitor,
  generation: () => Promise<number>,
  revision: number,
  work: () => Promise<Refusal | undefined>,
): Promise<Refusal | undefined> {
  follower.setSubscribed(false);
  try {
    const before = await generation();
    const refusal = await work();
    follower.setSubscribed(true);
    const own = refusal === undefined ? next(before) : before;
    if (own === (await generation())) events.onChange({ revisions: [revision], what: 'a large transaction' });
    else events.onLoss('another program changed nf_tables during a large transaction');
    return refusal;
  } catch (error) {
    follower.setSubscribed(true);
    events.onLoss('a large transaction ended without a reply');
    throw error;
  }
}

/** Generations have 32 bits and are never zero. */
const next = (generation: number): number => (generation + 1) >>> 0 || 1;
