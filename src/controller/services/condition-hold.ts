import { defined } from '../../lang/defined.ts';
import { limits } from '../limits.ts';
import type { Condition } from '../status-writer.ts';

/** One condition of a Service: its recorded value, and what Events have reported of it. All times are milliseconds. */
export interface ConditionHold {
  readonly recorded: Condition;
  /** Since when the recorded value holds. */
  readonly since: number;
  /** Since when the actual value has differed from the recorded one without interruption. Absent when they agree. */
  readonly otherSince?: number;
  /** The reason in the last Event. Absent before the first. */
  readonly reportedReason?: string;
}

interface HeldCondition {
  readonly hold: ConditionHold;
  /** True when the recorded value needs an Event that was not sent yet. */
  readonly isReportDue: boolean;
  /** When the Service must be requeued even if nothing changes. */
  readonly requeueAt?: number;
}

/**
 * Decides what a condition of a Service says when its actual value is `wanted`. Good news is recorded at once, bad news only after it has
 * lasted for `conditionHoldMilliseconds`: a flapping session or a restarting node must not rewrite ten thousand Services a second.
 * `isChanged`: the Service itself changed, so the recorded value is about an older Service and is replaced at once. A value that no Event
 * reported is also replaced at once, and is never reported.
 */
export function holdCondition(before: ConditionHold | undefined, wanted: Condition, now: number, isChanged: boolean): HeldCondition {
  const next = nextRecorded(before, wanted, now, isChanged);
  const { since, reportedReason } = next;
  const hasLasted = next.recorded.status === 'True' || now - since >= limits.conditionHoldMilliseconds;
  const isReportDue = hasLasted && isSameNews(next.recorded, wanted) && reportedReason !== wanted.reason;
  // An Event has the present text.
  const recorded = isReportDue ? wanted : next.recorded;
  const otherSince = isSame(recorded, wanted) ? undefined : (before?.otherSince ?? now);
  const from = otherSince ?? (hasLasted ? undefined : since);
  return {
    hold: { ...next, recorded, ...defined({ otherSince }), ...(isReportDue ? { reportedReason: recorded.reason } : {}) },
    isReportDue,
    ...(from === undefined ? {} : { requeueAt: from + limits.conditionHoldMilliseconds }),
  };
}

/** Returns the hold of a condition that another controller, or an earlier process, recorded. That writer also sent the Event. */
export function conditionHoldOf(recorded: Condition): ConditionHold {
  return { recorded, since: Number.NEGATIVE_INFINITY, reportedReason: recorded.reason };
}

function nextRecorded(
  before: ConditionHold | undefined,
  wanted: Condition,
  now: number,
  isChanged: boolean,
): Pick<ConditionHold, 'recorded' | 'since' | 'reportedReason'> {
  if (before === undefined) return { recorded: wanted, since: now };
  const { recorded, since, otherSince = now, reportedReason } = before;
  const reported = defined({ reportedReason });
  const hasLasted = now - otherSince >= limits.conditionHoldMilliseconds;
  if (isSameNews(recorded, wanted)) {
    // A session that fails in turns in two ways must not rewrite ten thousand Services each time.
    const isDue = isChanged || hasLasted || isSame(recorded, wanted) || recorded.status === 'True';
    return { recorded: isDue ? wanted : recorded, since, ...reported };
  }
  // For example the first report of an agent, after a Service was written without one. The time of the first value counts, so that the
  // Event is not late.
  if (reportedReason === undefined && recorded.status === wanted.status) return { recorded: wanted, since };
  // Replacing Unknown loses no information.
  if (wanted.status === 'True' || recorded.status === 'Unknown' || isChanged) return { recorded: wanted, since: now, ...reported };
  return hasLasted ? { recorded: wanted, since: otherSince, ...reported } : { recorded, since, ...reported };
}

/** As `holdCondition`, for a condition of which only a new text under the same reason is held back, and no Event is due. */
export function holdText(before: ConditionHold | undefined, wanted: Condition, now: number, isChanged: boolean): HeldCondition {
  const isNews = before === undefined || !isSameNews(before.recorded, wanted);
  if (isNews) return { hold: { recorded: wanted, since: now }, isReportDue: false };
  const { hold, requeueAt } = holdCondition(before, wanted, now, isChanged);
  return { hold, isReportDue: false, ...(hold.otherSince === undefined ? {} : defined({ requeueAt })) };
}

function isSame(a: Condition, b: Condition): boolean {
  return isSameNews(a, b) && a.message === b.message;
}

function isSameNews(a: Condition, b: Condition): boolean {
  return a.status === b.status && a.reason === b.reason;
}
