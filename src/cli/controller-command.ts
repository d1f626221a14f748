import { Command } from 'commander';
import { untilStopped, type Environment } from './environment.ts';
import { openSource } from './open-source.ts';
import { logLevelOption, sourceOption, type LogOptions } from './options.ts';
import { startController } from './start-controller.ts';

interface Options extends LogOptions {
  readonly source: string;
}

export function controllerCommand(environment: Environment): Command {
  return new Command('controller')
    .description('assign addresses and write the status of Services')
    .addOption(sourceOption().makeOptionMandatory())
    .addOption(logLevelOption())
    .addHelpText('after', '\nExample:\n  herald controller --source /etc/herald\n\nOne controller works on a directory at a time. SIGTERM stops it; addresses stay.')
    .action(async ({ source: directory, logLevel }: Options) => {
      const log = environment.log(logLevel);
      const source = await openSource(environment, directory, log);
      const controller = await startController(environment, source, directory, log);
      await untilStopped(environment);
      log.info({ signal: environment.stopped.reason as string }, 'stopping');
      await controller.stop();
      await source.close();
    });
}
