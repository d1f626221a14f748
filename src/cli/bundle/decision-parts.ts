import { defined } from '../../lang/defined.ts';
import { overviewOf } from '../../explain/overview/overview.ts';
import { poolReport } from '../../explain/pools/pool-report.ts';
import { renderOverview } from '../../explain/overview/render-overview.ts';
import { renderPools } from '../../explain/pools/render-pools.ts';
import { renderRoutes } from '../../explain/routes/render-routes.ts';
import { renderService } from '../../explain/service/render-service.ts';
import { renderSessions } from '../../explain/sessions/render-sessions.ts';
import { routeReport } from '../../explain/routes/route-report.ts';
import { sessionReport } from '../../explain/sessions/session-report.ts';
import { unreadLines } from '../../explain/unread-objects.ts';
import type { ServiceKey } from '../../model/objects/metadata.ts';
import { defaultNamespace } from '../options/shared-options.ts';
import type { CommandContext } from '../context/command-context.ts';
import { serviceExplanation } from '../commands/explain-service.ts';
import { limits } from '../limits.ts';
import { problemLines } from '../reading/problem-lines.ts';
import { currentConditions } from '../commands/tables/current-conditions.ts';
import type { Reading } from '../reading/reading.ts';
import { unhealthyObjects } from '../commands/tables/unhealthy-objects.ts';
import type { Bundle } from './bundle.ts';

/** Adds the current output of `herald status`, `peers`, `routes` and `pools`. */
export async function addTables(bundle: Bundle, reading: Reading): Promise<void> {
  const { snapshot, now } = reading;
  const conditions = await currentConditions(reading);
  const controller = await reading.leadership(defaultNamespace);
  const objects = unhealthyObjects(reading);
  const overview = overviewOf({ snapshot, now, conditions, objects, ...defined({ controller }) });
  const status = renderOverview(overview, true);
  const beside = [...problemLines(reading.problems), ...unreadLines(reading.unread)];
  bundle.addText('tables/status.txt', [...status, ...(beside.length === 0 ? [] : ['', ...beside])].join('\n'));
  bundle.addText('tables/peers.txt', renderSessions(sessionReport(snapshot, now), true).join('\n'));
  bundle.addText('tables/routes.txt', renderRoutes(routeReport(snapshot, now), true).join('\n'));
  bundle.addText('tables/pools.txt', renderPools(poolReport(snapshot), true).join('\n'));
  bundle.addJson('tables/conditions.json', Object.fromEntries(conditions));
}

/** Adds the output of `herald explain service` for each Service with a problem. */
export async function addExplanations(bundle: Bundle, context: CommandContext, reading: Reading): Promise<void> {
  const troubled = await troubledServices(reading);
  for (const key of troubled.slice(0, limits.bundleServices)) {
    const explanation = await serviceExplanation(context, reading, key);
    if (explanation !== undefined) bundle.addText(`explain/${key}.txt`, renderService(explanation).join('\n'));
  }
  const more = troubled.length - limits.bundleServices;
  if (more > 0) throw new Error(`${more} more Services have a problem: the first ${limits.bundleServices} are explained`);
}

/** Returns Services with a condition that is not True, or for which a node reports a difference from what was decided. */
async function troubledServices(reading: Reading): Promise<ServiceKey[]> {
  const { snapshot } = reading;
  const unmet = [...(await currentConditions(reading))].flatMap(([key, list]) =>
    list.some(({ status }) => status !== 'True') ? [key] : [],
  );
  const differing = [...snapshot.nodeStates.values()].flatMap(({ differing }) => differing.map(({ service }) => service));
  return [...new Set([...unmet, ...differing])].filter((key) => snapshot.services.has(key)).toSorted();
}
