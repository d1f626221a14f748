import type { MonitorEvents } from '../executor.ts';
import type { Follower } from './follow-events.ts';

/** A monitor, and whom it tells. */
export interface Listener {
  readonly follower: Pick<Follower, 'setSubscribed'>;
  readonly events: Pick<MonitorEvents, 'onChange' | 'onLoss'>;
}

/**
 * Runs a transaction of many elements without hearing of each: the events would take the kernel and us longer than the work. The
 * kernel numbers transactions, so it is known afterwards whether there was another one meanwhile, which counts as a loss.
 * `work` resolves to undefined when the kernel took it.
 */
export async function unheard<Refusal>(
  { follower, events }: Listener,
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
    else events.onLoss('another program changed nf_tables beside a large transaction');
    return refusal;
  } catch (error) {
    follower.setSubscribed(true);
    events.onLoss('a large transaction ended without an answer');
    throw error;
  }
}

/** Numbers have 32 bits and are never zero. */
const next = (generation: number): number => (generation + 1) >>> 0 || 1;
