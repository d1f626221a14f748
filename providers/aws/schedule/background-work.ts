import { StoppedError } from '../cloud/error.ts';
import type { Log } from '../../../src/system/log.ts';
import { limits } from '../model/limits.ts';

interface BackgroundTasks {
  /** Deletes orphans and retries node rules. */
  readonly sweepOrphans: () => Promise<void>;
  /** Refreshes the targets of Services that wait for another provider. Resolves to the seconds until the next refresh. */
  readonly refreshTargets: () => Promise<number>;
  /** Absent when no retry is due. */
  readonly retryNodeRules?: () => Promise<void>;
}

/** Schedules the work that no Service waits for: one round at a time. */
export class BackgroundWork {
  readonly #log: Log;
  #sweptAt: number | undefined;
  #refreshAt = 0;
  #running = false;

  constructor(log: Log) {
    this.#log = log;
  }

  /** Nodes or pods have changed. */
  refreshTargetsSoon(): void {
    this.#refreshAt = 0;
  }

  /** Starts a round with the work that is due, unless a round is running. `now`: milliseconds since the epoch. */
  start(now: number, driftSeconds: number, { sweepOrphans, refreshTargets, retryNodeRules }: BackgroundTasks): void {
    if (this.#running) return;
    // The first sweep comes one interval after the start, when the controller has few other requests for AWS.
    this.#sweptAt ??= now;
    const isSweepDue = now - this.#sweptAt >= limits.sweepSeconds * 1000;
    const isRefreshDue = now >= this.#refreshAt;
    if (!isSweepDue && !isRefreshDue && retryNodeRules === undefined) return;
    if (isSweepDue) this.#sweptAt = now;
    if (isRefreshDue) this.#refreshAt = now + driftSeconds * 1000;
    this.#running = true;
    const round = async (): Promise<void> => {
      // No Service waits for this, and facts are not read more often either.
      const seconds = isRefreshDue ? Math.max(limits.factsSeconds, await refreshTargets()) : driftSeconds;
      this.#refreshAt = Math.min(this.#refreshAt, now + seconds * 1000);
      await (isSweepDue ? sweepOrphans : retryNodeRules)?.();
    };
    round()
      .catch((error: unknown) => {
        if (!(error instanceof StoppedError)) this.#log.warn({ error }, 'background work for AWS failed');
      })
      .finally(() => (this.#running = false))
      .catch(() => undefined);
  }
}
