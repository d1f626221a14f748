import { defined } from '../../lang/defined.ts';
import { InitialConfig } from '../../controller/configuration/initial-config.ts';
import { Controller } from '../../controller/controller.ts';
import { EventHistory } from '../../controller/events/event-history.ts';
import { ControllerMetrics } from '../../controller/metrics/controller-metrics.ts';
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
import type { StorageBackend } from '../context/storage.ts';

export interface ControllerFlags extends InitialConfigFlag, ProviderFlag {
  /** The options of providers. */
  readonly options?: OptionValues;
}

export async function startController(
  context: CommandContext,
  storage: StorageBackend,
  log: Log,
  { metrics, history }: ProcessEndpoints,
  { options, initialConfig: wanted, provider: modules = [] }: ControllerFlags = {},
): Promise<RunningComponent | undefined> {
  const { clock, random } = context;
  const { source } = storage;
  let leads = (): boolean => false;
  metrics.addCollector('leader', ['herald_leader'], (put) => put('herald_leader', {}, leads() ? 1 : 0));
  const leader = await storage.acquireLeadership();
  if (leader === undefined) return undefined;
  const { writer, events, release, lost, mayWrite = () => true, makeConfig, apiGroups } = leader;
  leads = mayWrite;
  const providers = await context.providers({ log, leader, metrics, modules, ...defined({ options }) }).catch(async (error: unknown) => {
    await release();
    throw error;
  });
  const observer = new ControllerMetrics(metrics);
  const told = new EventHistory({ history, source, clock, events: events && countedEvents(events, metrics) });
  const surroundings = { clock, random, log };
  const controller = new Controller({ source, providers, writer: countedWriter(writer, metrics), events: told, observer, ...surroundings });
  observer.expose(controller, providers);
  observer.exposeNodes(
    () => source.snapshot,
    () => clock.date().getTime(),
  );
  const others = async (signal: AbortSignal): Promise<string[]> => [
    ...otherLoadBalancers({ snapshot: source.snapshot, groups: (await apiGroups?.(signal)) ?? [] }),
    ...enabledDefinitions(options ?? {}).flatMap(({ wording }) => wording?.serves ?? []),
  ];
  const initialConfig =
    makeConfig === undefined || wanted === undefined
      ? undefined
      : new InitialConfig({ snapshot: source.snapshot, make: makeConfig, otherLoadBalancers: others, ...surroundings }, wanted);
  const stop = async (): Promise<void> => {
    await initialConfig?.stop();
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
