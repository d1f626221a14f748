import { Controller } from '../controller/controller.ts';
import type { Log } from '../system/log.ts';
import type { AwsFlags } from './aws-options.ts';
import type { Environment } from './environment.ts';
import type { Running } from './run-until-stopped.ts';
import type { Workplace } from './workplace.ts';

export async function startController(
  environment: Environment,
  workplace: Workplace,
  log: Log,
  aws?: AwsFlags,
): Promise<Running | undefined> {
  const { clock, random } = environment;
  const { source } = workplace;
  const post = await workplace.takeServices();
  if (post === undefined) return undefined;
  const { writer, events, release, lost } = post;
  const providers = await environment.providers({ log, post, ...(aws === undefined ? {} : { aws }) }).catch(async (error: unknown) => {
    await release();
    throw error;
  });
  const controller = new Controller({ source, providers, writer, ...(events === undefined ? {} : { events }), clock, random, log });
  const stop = async (): Promise<void> => {
    await controller.stop();
    await events?.stop();
    await release();
  };
  try {
    await controller.start();
  } catch (error) {
    await stop();
    throw error;
  }
  return { stop, ...(lost === undefined ? {} : { lost }) };
}
