import type { ServiceKey } from '../../../src/model/objects/metadata.ts';
import { reason, type Reason } from '../../../src/model/reasons.ts';
import { limits } from '../model/limits.ts';
import type { StackResult } from '../stacks/stack-result.ts';
import type { Wait } from '../plan/steps/action.ts';

interface Waiting {
  readonly what: string;
  /** Milliseconds since the epoch. */
  readonly since: number;
}

/** Waits of a Service that are not in the plan of its load balancer. */
interface OtherWaits {
  /** Seconds until the next step of moving away from its previous stacks. Undefined when there is none. */
  readonly previousStackSeconds: number | undefined;
  /** The annotation is written to the Service. */
  readonly isMetadataWritten: boolean;
}

/**
 * The time between two polls of something that AWS or a user has to finish. Most waits end within minutes, some only when a person corrects
 * a mistake. The interval is an eighth of the time waited so far, so a change is noticed at most that late.
 */
export class PollIntervals {
  readonly #waiting = new Map<ServiceKey, Waiting>();

  /** Returns the seconds until the next poll, and warnings about waits that take too long. `now`: milliseconds since the epoch. */
  nextPoll(
    key: ServiceKey,
    { plan, requeueSeconds, unsettled, errors }: Pick<StackResult, 'plan' | 'requeueSeconds' | 'unsettled' | 'errors'>,
    { previousStackSeconds: seconds, isMetadataWritten: isKept }: OtherWaits,
    now: number,
  ): { readonly seconds: number; readonly warnings: readonly Reason[] } {
    const successor = 'each port to have a healthy target in the new load balancer, before the previous one is deleted';
    const waits: readonly Wait[] = [...plan.waits, ...(seconds === undefined ? [] : [{ for: successor, seconds }])];
    const soonest = Math.min(requeueSeconds, ...secondsOf(waits), isKept ? limits.driftSeconds : limits.pollSeconds);
    // A wait with a known end is not polled.
    if (soonest !== limits.pollSeconds) {
      this.forgetService(key);
      return { seconds: soonest, warnings: [] };
    }
    const polled = waits.filter(isPolled).map((interval) => interval.for);
    const what = JSON.stringify([polled, plan.actions.map(({ id }) => id), unsettled, isKept]);
    const timed = secondsOf(waits.filter((wait) => !isPolled(wait)));
    const next = Math.min(this.intervalSeconds(key, what, now), ...timed);
    if (this.#waited(key, now) < limits.longWaitSeconds) return { seconds: next, warnings: [] };
    const all = [...errors.values()].flat();
    const told = new Set(all.flatMap((error) => (error.code === 'AwsProvisioning' ? error.details.waitsFor : [])));
    return {
      seconds: next,
      warnings: polled.filter((text) => !told.has(text)).map((waitsFor) => reason('AwsWaitsLong', { waitsFor })),
    };
  }

  /** Returns the seconds until the next poll. `what`: everything that is waited for, as text. */
  intervalSeconds(key: ServiceKey, what: string, now: number): number {
    if (this.#waiting.get(key)?.what !== what) this.#waiting.set(key, { what, since: now });
    const waited = this.#waited(key, now);
    // Some steps of AWS take no time.
    const shortest = waited < limits.firstPollSeconds ? limits.firstPollSeconds : limits.pollSeconds;
    return Math.min(limits.driftSeconds, Math.max(shortest, waited / 8));
  }

  /** The Service waits for nothing, or asks for something else. */
  forgetService(key: ServiceKey): void {
    this.#waiting.delete(key);
  }

  #waited(key: ServiceKey, now: number): number {
    return (now - (this.#waiting.get(key)?.since ?? now)) / 1000;
  }
}

/** True when the end of the wait is unknown. */
function isPolled({ seconds }: Wait): boolean {
  return seconds === limits.pollSeconds;
}

function secondsOf(waits: readonly Wait[]): number[] {
  return waits.map(({ seconds }) => seconds);
}
