import { defined } from '../../lang/defined.ts';
import { InitialConfig } from '../../controller/configuration/initial-config.ts';
import { Controller } from '../../controller/controller.ts';
import { EventHistory } from '../../controller/events/event-history.ts';
import { ControllerMetrics } from '../../controller/metrics/controller-metrics.ts';
import { RefusedStatuses } from '../../controller/services/refused-statuses.ts';
import { countedEvents, countedWriter } from '../../controller/metrics/counted-writer.ts';
import { otherLoadBalancers } from '../../decisions/configuration/other-load-balancers.ts';
import type { Log } from '../../system/log.ts';
import type { OptionValues } from '../../controller/provider-definition.ts';
import { enabledDefinitions } from '../context/definitions.ts';
import type { CommandContext } from '../context/command-context.ts';
import type { InitialConfigFlag } from '../options/initial-config-option.ts';
import type { ProviderFlag } from '../options/provider-option.ts';
import type { RunningComponent } from './run-until-stopped.ts';
import type { ProcessEndpoints } from './endpoints/process-endpoints.ts';
import type { LeaderContext, StorageBackend } from '../context/storage.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import type { RandomSurroundings } from '../../system/random.ts';

export interface ControllerFlags extends InitialConfigFlag, ProviderFlag {
  /** The options of providers. */
  readonly options?: OptionValues;
}

export async function startController(
  context: CommandContext,
  storage: StorageBackend,
  log: Log,
  endpoints: ProcessEndpoints,
  { options, initialConfig: wanted, provider: modules = [] }: ControllerFlags = {},
): Promise<RunningComponent | undefined> {
  const { clock, random } = context;
  const { metrics, history } = endpoints;
  const { source } = storage;
  let leads = (): boolean => false;
  metrics.addCollector('leader', ['herald_leader'], (put) => put('herald_leader', {}, leads() ? 1 : 0));
  const leader = await storage.acquireLeadership();
  if (leader === undefined) return undefined;
  const { writer, events, release, lost, mayWrite = () => true } = leader;
  leads = mayWrite;
  const providers = await context.providers({ log, leader, metrics, modules, ...defined({ options }) }).catch(async (error: unknown) => {
    await release();
    throw error;
  });
  const observer = new ControllerMetrics(metrics);
  const told = new EventHistory({ history, source, clock, events: events && countedEvents(events, metrics) });
  const refused = exposed(new RefusedStatuses({ source, events: told, log }), endpoints);
  const controller = new Controller({
    source,
    providers,
    writer: refused.statuses.watched(countedWriter(writer, metrics)),
    events: told,
    observer,
    clock,
    random,
    log,
  });
  observer.expose(controller, providers);
  observer.exposeNodes(
    () => source.snapshot,
    () => clock.date().getTime(),
  );
  const around = { clock, random, log, snapshot: source.snapshot };
  const initialConfig = initialConfigOf(around, leader, defined({ options, initialConfig: wanted }));
  const stop = async (): Promise<void> => {
    await initialConfig?.stop();
    refused.end();
    observer.stop();
    await controller.stop();
    told.stop();
    await events?.stop();
    await release();
  };
  try {
    await controller.start();
    initialConfig?.start();
  } catch (error) {
    await stop();
    throw error;
  }
  return { stop, ...defined({ lost }) };
}

/** Undefined: none is asked for, or the directory's author writes it. */
function initialConfigOf(
  { snapshot, ...surroundings }: RandomSurroundings & { readonly snapshot: Snapshot },
  { makeConfig, apiGroups }: LeaderContext,
  { options = {}, initialConfig: wanted }: Pick<ControllerFlags, 'options' | 'initialConfig'>,
): InitialConfig | undefined {
  if (makeConfig === undefined || wanted === undefined) return undefined;
  const others = async (signal: AbortSignal): Promise<string[]> => [
    ...otherLoadBalancers({ snapshot, groups: (await apiGroups?.(signal)) ?? [] }),
    ...enabledDefinitions(options).flatMap(({ wording }) => wording?.serves ?? []),
  ];
  return new InitialConfig({ snapshot, make: makeConfig, otherLoadBalancers: others, ...surroundings }, wanted);
}

/** Returns the refused statuses, and a function that removes their health check. */
function exposed(statuses: RefusedStatuses, { metrics, live, health }: ProcessEndpoints) {
  live.followRefusals(() => statuses.present());
  metrics.addCollector('refusals', ['herald_refused_statuses'], (put) => put('herald_refused_statuses', {}, statuses.size));
  return { statuses, end: health.addCheck({ name: 'statuses', ready: () => statuses.problem() }) };
}
