import type { Clock } from '../system/clock.ts';
import type { Log } from '../system/log.ts';
import { limits } from './limits.ts';

/** Whether work for a scrape is done within its bound; what fails is logged once, as each scrape would say it again. */
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
