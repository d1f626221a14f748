import { defined } from '../../lang/defined.ts';
import { InitialConfig } from '../../controller/configuration/initial-config.ts';
import { Controller } from '../../controller/controller.ts';
import { EventHistory } from '../../controller/events/event-history.ts';
import { ControllerMetrics } from '../../controller/metrics/controller-metrics.ts';
import { countedEvents, countedWriter } from '../../controller/metrics/counted-writer.ts';
import type { Log } from '../../system/log.ts';
import type { AwsFlags } from '../options/aws-options.ts';
import type { Environment } from '../environment/environment.ts';
import type { InitialConfigFlag } from '../options/initial-config-option.ts';
import type { ProviderFlag } from '../options/provider-option.ts';
import type { Running } from './run-until-stopped.ts';
import type { Telemetry } from './telemetry/telemetry.ts';
import type { Workplace } from '../environment/storage.ts';

export interface ControllerFlags extends InitialConfigFlag, ProviderFlag {
  readonly aws?: AwsFlags;
}

export async function startController(
  environment: Environment,
  workplace: Workplace,
  log: Log,
  { metrics, history }: Telemetry,
  { aws, initialConfig: wanted, provider: modules = [] }: ControllerFlags = {},
): Promise<Running | undefined> {
  const { clock, random } = environment;
  const { source } = workplace;
  let leads = (): boolean => false;
  metrics.addCollector('leader', ['herald_leader'], (put) => put('herald_leader', {}, leads() ? 1 : 0));
  const post = await workplace.takeServices();
  if (post === undefined) return undefined;
  const { writer, events, release, lost, mayWrite = () => true, makeConfig } = post;
  leads = mayWrite;
  const providers = await environment.providers({ log, post, metrics, modules, ...defined({ aws }) }).catch(async (error: unknown) => {
    await release();
    throw error;
  });
  const observer = new ControllerMetrics(metrics);
  const told = new EventHistory({ history, source, clock, events: events && countedEvents(events, metrics) });
  const controller = new Controller({
    source,
    providers,
    writer: countedWriter(writer, metrics),
    events: told,
    observer,
    clock,
    random,
    log,
  });
  observer.follow(controller, providers);
  const initialConfig =
    makeConfig === undefined || wanted === undefined
      ? undefined
      : new InitialConfig({ snapshot: source.snapshot, make: makeConfig, clock, random, log }, wanted);
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
