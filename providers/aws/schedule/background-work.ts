import type { Log } from '../../../src/system/log.ts';
import { limits } from '../model/limits.ts';

interface BackgroundTasks {
  /** Looks for what has no Service any more, and finishes the rules of nodes. */
  readonly sweepOrphans: () => Promise<void>;
  /** Tells what serves Services that wait for another provider of nodes and pods. Resolves to the seconds after which there is more to tell. */
  readonly refreshTargets: () => Promise<number>;
  /** Absent: there is nothing left to do about them now. */
  readonly retryNodeRules?: () => Promise<void>;
}

/** What no Service waits for, in the background: one round at a time. */
export class BackgroundWork {
  readonly #log: Log;
  #sweptAt: number | undefined;
  #tendAt = 0;
  #running = false;

  constructor(log: Log) {
    this.#log = log;
  }

  /** Nodes or pods have changed. */
  refreshTargetsSoon(): void {
    this.#tendAt = 0;
  }

  /** Begins what is due, if a round does not go on still. `now`: milliseconds since the epoch. */
  start(
    now: number,
    driftSeconds: number,
    { sweepOrphans: sweep, refreshTargets: tend, retryNodeRules: finishRules }: BackgroundTasks,
  ): void {
    if (this.#running) return;
    // What has no Service has time: a controller that starts has other things to ask of AWS.
    this.#sweptAt ??= now;
    const sweeps = now - this.#sweptAt >= limits.sweepSeconds * 1000;
    const tends = now >= this.#tendAt;
    if (!sweeps && !tends && finishRules === undefined) return;
    if (sweeps) this.#sweptAt = now;
    if (tends) this.#tendAt = now + driftSeconds * 1000;
    this.#running = true;
    const round = async (): Promise<void> => {
      // No Service is told of it, and facts are not read anew sooner.
      const seconds = tends ? Math.max(limits.factsSeconds, await tend()) : driftSeconds;
      this.#tendAt = Math.min(this.#tendAt, now + seconds * 1000);
      await (sweeps ? sweep : finishRules)?.();
    };
    round()
      .catch((error: unknown) => this.#log.warn({ error }, 'AWS was not tidied up'))
      .finally(() => (this.#running = false))
      .catch(() => undefined);
  }
}
