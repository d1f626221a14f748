import { defined } from '../../../lang/defined.ts';
import { overviewOf, type Overview } from '../../../explain/overview/overview.ts';
import type { Problem } from '../../../explain/overview/problem.ts';
import { problemsOf } from '../../../explain/overview/problems.ts';
import type { LiveNodes } from '../../../explain/sessions/live-view.ts';
import { statusRefusal } from '../../../explain/service/refused-status.ts';
import { sessionReport } from '../../../explain/sessions/session-report.ts';
import type { Allocator } from '../../../decisions/allocation/allocator.ts';
import type { ServiceKey } from '../../../model/objects/metadata.ts';
import { reason } from '../../../model/reasons.ts';
import { problemText } from '../../../sources/source.ts';
import { defaultNamespace, type ElectionOptions } from '../../options/shared-options.ts';
import type { LiveClient } from '../../live/live-client.ts';
import type { Reading } from '../../reading/reading.ts';
import type { CurrentState, currentConditions } from './current-conditions.ts';
import { unhealthyObjects } from './unhealthy-objects.ts';

/** Answers of processes. */
interface Known extends Pick<Overview, 'unwritten' | 'refused'> {
  /** The Services to show. */
  readonly selected?: ReadonlySet<ServiceKey>;
  readonly live: LiveNodes;
  /** With the addresses of the snapshot. Absent: one is made. */
  readonly allocator?: Allocator;
}

/** Returns the processes that say that they cannot write their records. Undefined: none says so. */
export function unwrittenBy(processes: readonly Pick<LiveClient, 'who' | 'process'>[]): Overview['unwritten'] {
  const found = processes.flatMap(({ who, process: { unwritten } }) =>
    unwritten === undefined ? [] : [{ process: who, reason: reason('RecordsUnwritten', { process: who, ...unwritten }) }],
  );
  return found.length === 0 ? undefined : found;
}

/** Returns the controllers that say that the API server refuses the status of Services. Undefined: none says so. */
export function refusedBy(processes: readonly Pick<LiveClient, 'who' | 'process'>[]): Overview['refused'] {
  const found = processes.flatMap(({ who, process: { refused } }) =>
    refused === undefined ? [] : [{ process: who, reason: statusRefusal(who, refused) }],
  );
  return found.length === 0 ? undefined : found;
}

export async function readOverview(
  reading: Pick<Reading, 'snapshot' | 'now' | 'clockSkewSeconds' | 'leadership'>,
  { leaderElectNamespace: namespace = defaultNamespace }: Pick<ElectionOptions, 'leaderElectNamespace'>,
  conditions: Awaited<ReturnType<typeof currentConditions>>,
  known: Known,
): Promise<Overview> {
  const { snapshot, now, clockSkewSeconds } = reading;
  const controller = await reading.leadership(namespace);
  return overviewOf({
    ...known,
    snapshot,
    now,
    conditions,
    objects: unhealthyObjects(reading),
    ...defined({ controller, clockSkewSeconds }),
  });
}

/** Lists the problems of an overview, and of the objects, Services and sessions behind it. */
export function readProblems(
  reading: Pick<Reading, 'snapshot' | 'now' | 'problems'>,
  states: ReadonlyMap<ServiceKey, CurrentState>,
  overview: Overview,
  { live }: Pick<Known, 'live'>,
): Problem[] {
  return problemsOf({
    unusable: reading.problems
      .filter(({ severity }) => severity === 'error')
      .map((problem) => ({ object: problem.object ?? problem.file ?? 'input', line: problemText(problem) })),
    services: new Map([...states].flatMap(([key, { problem }]) => (problem === undefined ? [] : [[key, problem] as const]))),
    overview,
    sessions: sessionReport(reading.snapshot, reading.now, {}, live).sessions,
  });
}
