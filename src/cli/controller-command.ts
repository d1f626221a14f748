import { Command } from 'commander';
import type { Environment } from './environment.ts';
import { logLevelOption, sourceOption, type LogOptions } from './options.ts';
import { runUntilStopped } from './run-until-stopped.ts';
import { startController } from './start-controller.ts';

interface Options extends LogOptions {
  readonly source: string;
}

export function controllerCommand(environment: Environment): Command {
  return new Command('controller')
    .description('assign addresses and write the status of Services')
    .addOption(sourceOption().makeOptionMandatory())
    .addOption(logLevelOption())
    .addHelpText(
      'after',
      '\nExample:\n  herald controller --source /etc/herald\n\nOne controller works on a directory at a time. SIGTERM stops it; addresses stay.',
    )
    .action(({ source: directory, logLevel }: Options) =>
      runUntilStopped(environment, { directory, logLevel }, async function* (source, log) {
        yield await startController(environment, source, directory, log);
      }),
    );
}
