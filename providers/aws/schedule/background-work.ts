import { StoppedError } from '../cloud/error.ts';
import type { Log } from '../../../src/system/log.ts';
import { limits } from '../model/limits.ts';

interface BackgroundTasks {
  /** Deletes orphans and retries node rules. Resolves to true if the account was as at the last sweep, and nothing had to be done. */
  readonly sweepOrphans: () => Promise<boolean>;
  /** Refreshes the targets of Services that wait for another provider. Resolves to the seconds until the next refresh. */
  readonly refreshTargets: () => Promise<number>;
  /** Absent when no retry is due. */
  readonly retryNodeRules?: () => Promise<void>;
}

interface Intervals {
  readonly driftSeconds: number;
  readonly sweepMaximumSeconds: number;
}

/** Schedules the work that no Service waits for: one round at a time. */
export class BackgroundWork {
  readonly #log: Log;
  #sweepAt: number | undefined;
  /** Doubles with each sweep that finds nothing. */
  #sweepSeconds: number = limits.sweepSeconds;
  #refreshAt = 0;
  #running = false;

  constructor(log: Log) {
    this.#log = log;
  }

  /** Nodes or pods have changed. */
  refreshTargetsSoon(): void {
    this.#refreshAt = 0;
  }

  /** There may be a new orphan: sweeps after the shortest interval. `now`: milliseconds since the epoch. */
  sweepSoon(now: number): void {
    this.#sweepSeconds = limits.sweepSeconds;
    this.#sweepAt = Math.min(this.#sweepAt ?? Number.POSITIVE_INFINITY, now + limits.sweepSeconds * 1000);
  }

  /**
   * Starts a round with the work that is due, unless a round is running. `now`: milliseconds since the epoch. The intervals: how often
   * targets are refreshed, and at least how often the account is swept, both in seconds.
   */
  start(now: number, intervals: Intervals, { sweepOrphans, refreshTargets, retryNodeRules }: BackgroundTasks): void {
    if (this.#running) return;
    // The first sweep comes one interval after the start, when the controller has few other requests for AWS.
    this.#sweepAt ??= now + limits.sweepSeconds * 1000;
    const isSweepDue = now >= this.#sweepAt;
    const isRefreshDue = now >= this.#refreshAt;
    if (!isSweepDue && !isRefreshDue && retryNodeRules === undefined) return;
    if (isSweepDue) this.#sweepAt = now + limits.sweepSeconds * 1000;
    if (isRefreshDue) this.#refreshAt = now + intervals.driftSeconds * 1000;
    this.#running = true;
    const round = async (): Promise<void> => {
      // No Service waits for this, and facts are not read more often either.
      const seconds = isRefreshDue ? Math.max(limits.factsSeconds, await refreshTargets()) : intervals.driftSeconds;
      this.#refreshAt = Math.min(this.#refreshAt, now + seconds * 1000);
      if (!isSweepDue) return retryNodeRules?.();
      const longest = Math.max(limits.sweepSeconds, intervals.sweepMaximumSeconds);
      this.#sweepSeconds = (await sweepOrphans()) ? Math.min(longest, this.#sweepSeconds * 2) : limits.sweepSeconds;
      this.#sweepAt = now + this.#sweepSeconds * 1000;
    };
    round()
      .catch((error: unknown) => {
        if (!(error instanceof StoppedError)) this.#log.warn({ error }, 'background work for AWS failed');
      })
      .finally(() => (this.#running = false))
      .catch(() => undefined);
  }
}
