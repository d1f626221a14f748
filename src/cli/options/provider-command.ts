import { Command } from 'commander';
import type { OptionValues, ProviderCommand } from '../../controller/provider-definition.ts';
import { providerOption, providersOption } from './provider-option.ts';
import { hint, type MakeCommand } from '../context/command-context.ts';

/** Makes a command from the description that a provider brings. `isOfModule`: its command line names the module. */
export function commandOf(described: ProviderCommand, isOfModule = false): MakeCommand {
  const { name, description, help, options = [], commands = [], run } = described;
  return (context) => {
    const command = new Command(name).description(description);
    for (const option of options) command.addOption(providersOption(option));
    for (const inner of commands) command.addCommand(commandOf(inner, isOfModule)(context).exitOverride().showHelpAfterError(hint));
    if (help !== undefined) command.addHelpText('after', help);
    if (run !== undefined && isOfModule) command.addOption(providerOption());
    if (run !== undefined) command.action(async (values: OptionValues) => run(values, context));
    return command;
  };
}
