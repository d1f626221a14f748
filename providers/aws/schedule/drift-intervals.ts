import type { ServiceKey } from '../../../src/model/objects/metadata.ts';
import { limits } from '../model/limits.ts';

/**
 * The time between two checks of a Service with which nothing is wrong. It doubles with each check that finds nothing, because a load
 * balancer that nobody has touched for long is rarely touched soon. It starts again when something was found.
 */
export class DriftIntervals {
  readonly #seconds = new Map<ServiceKey, number>();

  /** Returns the seconds until the next check. `isQuiet`: this check found nothing to do and nothing to report. `shortest`: seconds. */
  next(key: ServiceKey, isQuiet: boolean, shortest: number): number {
    const before = this.#seconds.get(key);
    const doubled = isQuiet && before !== undefined ? before * 2 : shortest;
    const seconds = Math.max(shortest, Math.min(limits.driftMaximumSeconds, doubled));
    if (isQuiet) this.#seconds.set(key, seconds);
    else this.#seconds.delete(key);
    return seconds;
  }

  forgetService(key: ServiceKey): void {
    this.#seconds.delete(key);
  }
}
