import { defined } from '../../lang/defined.ts';
import { limits } from '../limits.ts';
import type { Condition } from '../status-writer.ts';

/** Where a condition stands: what is on record of it, and what has been said of it in Events. */
export interface Standing {
  readonly on: Condition;
  /** When what is on record began to be so. Milliseconds, as all times here. */
  readonly since: number;
  /** Since when something else has been so without a break. */
  readonly otherSince?: number;
  /** The reason that the last Event had. */
  readonly said?: string;
}

interface Settled {
  readonly standing: Standing;
  /** What is on record is worth an Event, which was not given yet. */
  readonly tell: boolean;
  /** When to look again, even if nothing changes. */
  readonly again?: number;
}

/**
 * What a condition of a Service should say, where `wanted` is so at this moment. Good news are written at once, bad ones when they have
 * lasted: a session that flaps must not rewrite ten thousand Services each second, nor must a node that restarts. `anew`: the Service
 * itself has changed, so that nothing on record is about it. What nobody was told of gives way at once to what is so now, and only what is so is told.
 */
export function settle(before: Standing | undefined, wanted: Condition, now: number, anew: boolean): Settled {
  const { on, since, said } = taken(before, wanted, now, anew);
  const otherSince = sameSaying(on, wanted) ? undefined : (before?.otherSince ?? now);
  const lasted = on.status === 'True' || now - since >= limits.conditionHoldMilliseconds;
  const tell = lasted && otherSince === undefined && said !== on.reason;
  const from = otherSince ?? (lasted ? undefined : since);
  return {
    standing: {
      on,
      since,
      ...defined({ otherSince }),
      ...(tell ? { said: on.reason } : said === undefined ? {} : { said }),
    },
    tell,
    ...(from === undefined ? {} : { again: from + limits.conditionHoldMilliseconds }),
  };
}

/** What another controller, or this one before it started anew, has written. It was told of then. */
export function standingOf(recorded: Condition): Standing {
  return { on: recorded, since: Number.NEGATIVE_INFINITY, said: recorded.reason };
}

function taken(before: Standing | undefined, wanted: Condition, now: number, anew: boolean): Pick<Standing, 'on' | 'since' | 'said'> {
  if (before === undefined) return { on: wanted, since: now };
  const { on, since, otherSince = now, said } = before;
  const kept = said === undefined ? {} : { said };
  if (sameSaying(on, wanted)) return { on: wanted, since, ...kept };
  // The first report of an agent, say, after a Service was written without one. It counts from when the first was written, so that it is told in time.
  if (said === undefined && on.status === wanted.status) return { on: wanted, since };
  // Unknown is no news that anybody could lose.
  if (wanted.status === 'True' || on.status === 'Unknown' || anew) return { on: wanted, since: now, ...kept };
  return now - otherSince >= limits.conditionHoldMilliseconds ? { on: wanted, since: otherSince, ...kept } : { on, since, ...kept };
}

function sameSaying(a: Condition, b: Condition): boolean {
  return a.status === b.status && a.reason === b.reason;
}
