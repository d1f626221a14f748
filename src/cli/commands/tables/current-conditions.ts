import { withoutPoolRecord } from '../../../model/objects/pool-record.ts';
import { defined } from '../../../lang/defined.ts';
import { judgeOther, judgeService, type JudgedService } from '../../../controller/services/service-conditions.ts';
import type { Allocator } from '../../../decisions/allocation/allocator.ts';
import { decideAllocationClaim } from '../../../decisions/allocation/claim.ts';
import { allocationRequest } from '../../../decisions/allocation/request.ts';
import { allocatorOf } from '../../../explain/pools/allocation.ts';
import type { Condition } from '../../../model/objects/condition.ts';
import type { ServiceKey } from '../../../model/objects/metadata.ts';
import { reason, tellsUnserved } from '../../../model/reasons.ts';
import type { Verdict } from '../../../decisions/verdict/verdict.ts';
import type { ServiceProblem } from '../../../explain/overview/problem.ts';
import type { TimeSlice } from '../../../system/time-slice.ts';
import { keptNow, type Reading } from '../../reading/reading.ts';
import { whyAllocationSuspended } from '../../reading/suspended-allocation.ts';

/** The conditions of a Service, and its problem if it has one. */
export interface CurrentState {
  readonly conditions: readonly Condition[];
  /** Its first cause. */
  readonly problem?: ServiceProblem;
  /** Its verdict from the same objects. Absent: the conditions are the recorded ones. */
  readonly judged?: Pick<JudgedService, 'verdict' | 'judge'>;
}

interface StateOptions {
  /** Other work of the process goes on meanwhile. Absent: it waits. */
  readonly slice?: TimeSlice;
  /** With the addresses of the snapshot. Absent: one is made. */
  readonly allocator?: Allocator;
}

/** Returns the conditions of Services, as `currentStates` does. */
export async function currentConditions(
  reading: Reading,
  options: StateOptions = {},
): Promise<ReadonlyMap<ServiceKey, readonly Condition[]>> {
  return conditionsOf(await currentStates(reading, options));
}

export function conditionsOf(states: ReadonlyMap<ServiceKey, CurrentState>): ReadonlyMap<ServiceKey, readonly Condition[]> {
  return new Map([...states].flatMap(([key, { conditions }]) => (conditions.length === 0 ? [] : [[key, conditions] as const])));
}

/**
 * Returns the states of Services as they are now, before the controller's hold time. For pool Services they are computed by the
 * controller's own function. A Service whose clients get no answer, or perhaps none, has a problem, whatever its conditions. For other providers, and whenever objects could not be read, the recorded conditions are returned, because
 * computed ones would be wrong.
 */
export async function currentStates(
  reading: Reading,
  { slice, allocator: made }: StateOptions = {},
): Promise<ReadonlyMap<ServiceKey, CurrentState>> {
  const { snapshot, unread, now } = reading;
  // A record may outlive its Service.
  const known = [...(await reading.conditions())].filter(([key]) => snapshot.services.has(key));
  const recorded = new Map(known.map(([key, conditions]) => [key, recordedState(conditions)]));
  // Unreadable Secrets do no harm: placeholders stand in for them.
  if (unread.some(({ why, kind }) => why === 'forbidden' && kind !== 'Secret')) return recorded;
  const allocator = made ?? allocatorOf(snapshot, await keptNow(reading));
  const present = new Map(recorded);
  for (const [key, service] of snapshot.services) {
    if (slice?.isUsedUp === true) await slice.yield();
    if (!decideAllocationClaim(service, snapshot.config).mine) {
      const problem = problemOf(judgeOther(snapshot, service, now).verdict);
      const state = recorded.get(key) ?? { conditions: [] };
      if (problem !== undefined && state.problem === undefined) present.set(key, { ...state, problem });
      continue;
    }
    const { reason: refusal } = allocator.decide(allocationRequest(service, snapshot));
    // The Service would get an address, but the controller has not reconciled it yet.
    const isLate = refusal === undefined && service.ingress.length === 0;
    const suspended = await whyAllocationSuspended(reading, service, recorded.get(key)?.conditions ?? []);
    const unmet = suspended ?? (isLate ? reason('NoAddress', undefined) : refusal);
    const { conditions, ...judged } = judgeService(snapshot, service, { reason: unmet, details: [] }, now);
    present.set(key, { conditions, judged, ...defined({ problem: problemOf(judged.verdict) }) });
  }
  return present;
}

/** Undefined: the verdict names nothing that keeps clients from an answer, or perhaps does. */
function problemOf(verdict: Verdict | undefined): ServiceProblem | undefined {
  const { code = verdict?.doubt, line = '', outcome, object: cause } = verdict ?? {};
  return code === undefined ? undefined : { code, line, ...defined({ outcome, cause }) };
}

/** The first negative condition has the line of the verdict; so has one that is True although nobody answers clients. */
function recordedState(conditions: readonly Condition[]): CurrentState {
  const negative = conditions.find(({ status, reason: code }) => status === 'False' || tellsUnserved(code));
  return negative === undefined
    ? { conditions }
    : { conditions, problem: { code: negative.reason, line: withoutPoolRecord(negative.message) } };
}
