import type { Clock } from '../system/clock.ts';
import type { Log } from '../system/log.ts';
import { limits } from './limits.ts';

/**
 * Returns a function that resolves to true if the work of a collector ends in time and without error. Logs only the first error, because
 * every scrape would repeat it.
 */
export function collectWithTimeout({
  clock,
  log,
}: {
  readonly clock: Clock;
  readonly log: Log;
}): (work: Promise<void>) => Promise<boolean> {
  let said = false;
  return async (work) => {
    const late = Promise.withResolvers<false>();
    const cancel = clock.after(limits.partMilliseconds, () => late.resolve(false));
    try {
      return await Promise.race([work.then(() => true), late.promise]);
    } catch (error) {
      if (!said) log.error({ error }, 'a part of the metrics cannot be read');
      said = true;
      return false;
    } finally {
      cancel();
    }
  };
}
