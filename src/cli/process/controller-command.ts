import { Command } from 'commander';
import type { OptionValues } from '../../controller/provider-definition.ts';
import type { CommandContext } from '../context/command-context.ts';
import { exampleLines } from '../context/definitions.ts';
import { addLiveOptions, type LiveOptions } from '../options/live-options.ts';
import { initialConfigOption, type InitialConfigFlag } from '../options/initial-config-option.ts';
import type { StorageOptions } from './open-storage.ts';
import { addClusterOptions, addElectionOptions, addLogOptions, sourceOption, type LogOptions } from '../options/shared-options.ts';
import { addProviderOptions, providerOption, type ProviderFlag } from '../options/provider-option.ts';
import { addTelemetryOptions, type TelemetryOptions } from '../options/telemetry-options.ts';

type Options = LogOptions & TelemetryOptions & LiveOptions & StorageOptions & OptionValues & InitialConfigFlag & ProviderFlag;

export function controllerCommand(context: CommandContext): Command {
  const command = new Command('controller')
    .description('assign addresses and write the status of Services')
    .addOption(sourceOption())
    .addOption(providerOption())
    .addOption(initialConfigOption())
    .addHelpText(
      'after',
      `\nExample:\n  herald controller                                in a pod of the cluster\n  herald controller --source /etc/herald\n${exampleLines('controller')}\nOne controller at a time works on a cluster or a directory. A cluster may run any number of controllers,\nand one of them leads. SIGTERM stops it; addresses stay.`,
    )
    .action(async (options: Options) => {
      const { runUntilStopped } = await import('./run-until-stopped.ts');
      const { startController } = await import('./start-controller.ts');
      return runUntilStopped(context, { ...options, command: 'controller' }, async function* (storage, log, endpoints) {
        yield await startController(context, storage, log, endpoints, { ...options, options });
      });
    });
  return addProviderOptions(
    addElectionOptions(addClusterOptions(addLiveOptions(addTelemetryOptions(addLogOptions(command), 'controller'), 'controller'))),
  );
}
