import type { ServiceKey } from '../../../src/model/objects/metadata.ts';
import { reason, type Reason } from '../../../src/model/reasons.ts';
import { limits } from '../model/limits.ts';
import type { StackResult } from '../stacks/reconcile-stack.ts';
import type { Wait } from '../plan/steps/action.ts';

interface Waiting {
  readonly what: string;
  /** Milliseconds since the epoch. */
  readonly since: number;
}

/** What a Service waits for beside what the plan of its load balancer says. */
interface OtherWaits {
  /** Until it can go on with leaving those that served it before; undefined: there is nothing to leave. */
  readonly previousStackSeconds: number | undefined;
  /** What has to be written to it is written. */
  readonly isMetadataWritten: boolean;
}

/**
 * How often it is looked whether something has happened by itself. Most things take seconds or minutes, and some never happen before somebody
 * corrects a mistake: who has waited long for one and the same thing looks after another eighth of that time, and so comes no more than that too late.
 */
export class PollIntervals {
  readonly #waiting = new Map<ServiceKey, Waiting>();

  /** When to look again, and what takes so long that somebody should hear of it. `now`: milliseconds since the epoch. */
  nextPoll(
    key: ServiceKey,
    { plan, requeueSeconds, unsettled, errors }: Pick<StackResult, 'plan' | 'requeueSeconds' | 'unsettled' | 'errors'>,
    { previousStackSeconds: seconds, isMetadataWritten: isKept }: OtherWaits,
    now: number,
  ): { readonly seconds: number; readonly warnings: readonly Reason[] } {
    const successor = 'each port to have a healthy target in the new load balancer, before the former one goes';
    const waits: readonly Wait[] = [...plan.waits, ...(seconds === undefined ? [] : [{ for: successor, seconds }])];
    const soonest = Math.min(requeueSeconds, ...secondsOf(waits), isKept ? limits.driftSeconds : limits.pollSeconds);
    // A wait that has an end is no question of patience.
    if (soonest !== limits.pollSeconds) {
      this.forgetService(key);
      return { seconds: soonest, warnings: [] };
    }
    const polled = waits.filter(isPolled).map((interval) => interval.for);
    const what = JSON.stringify([polled, plan.actions.map(({ id }) => id), unsettled, isKept]);
    const timed = secondsOf(waits.filter((wait) => !isPolled(wait)));
    const next = Math.min(this.wait(key, what, now), ...timed);
    if (this.#waited(key, now) < limits.longWaitSeconds) return { seconds: next, warnings: [] };
    const all = [...errors.values()].flat();
    const told = new Set(all.flatMap((error) => (error.code === 'AwsProvisioning' ? error.details.waitsFor : [])));
    return {
      seconds: next,
      warnings: polled.filter((text) => !told.has(text)).map((waitsFor) => reason('AwsWaitsLong', { waitsFor })),
    };
  }

  /** Seconds until the next look. `what`: everything that is waited for, as text. */
  wait(key: ServiceKey, what: string, now: number): number {
    if (this.#waiting.get(key)?.what !== what) this.#waiting.set(key, { what, since: now });
    return Math.min(limits.driftSeconds, Math.max(limits.pollSeconds, this.#waited(key, now) / 8));
  }

  /** It waits for nothing, or is asked for something else. */
  forgetService(key: ServiceKey): void {
    this.#waiting.delete(key);
  }

  #waited(key: ServiceKey, now: number): number {
    return (now - (this.#waiting.get(key)?.since ?? now)) / 1000;
  }
}

/** Nobody can tell when it ends. */
function isPolled({ seconds }: Wait): boolean {
  return seconds === limits.pollSeconds;
}

function secondsOf(waits: readonly Wait[]): number[] {
  return waits.map(({ seconds }) => seconds);
}
