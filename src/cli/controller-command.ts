import { Command } from 'commander';
import { addAwsOptions, type AwsFlags } from './aws-options.ts';
import type { Environment } from './environment.ts';
import type { WorkplaceOptions } from './open-workplace.ts';
import { addClusterOptions, addElectionOptions, logLevelOption, sourceOption, type LogOptions } from './options.ts';
import { runUntilStopped } from './run-until-stopped.ts';
import { startController } from './start-controller.ts';

type Options = LogOptions & WorkplaceOptions & AwsFlags;

export function controllerCommand(environment: Environment): Command {
  const command = new Command('controller')
    .description('assign addresses and write the status of Services')
    .addOption(sourceOption())
    .addOption(logLevelOption())
    .addHelpText(
      'after',
      '\nExample:\n  herald controller                                in a pod of the cluster\n  herald controller --source /etc/herald\n  herald controller --aws-cluster-name production      and Services of class herald.dev/aws get an NLB\n\nOne controller works on a cluster or a directory at a time: in a cluster any number may run, and one of\nthem leads. SIGTERM stops it; addresses stay.',
    )
    .action((options: Options) =>
      runUntilStopped(environment, options, async function* (workplace, log) {
        yield await startController(environment, workplace, log, options);
      }),
    );
  return addAwsOptions(addElectionOptions(addClusterOptions(command)));
}
