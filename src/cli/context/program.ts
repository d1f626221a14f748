import { Command } from 'commander';
import { addColourOption } from './colour.ts';
import { hint, type CommandContext, type MakeCommand } from './command-context.ts';

/** Makes the program of some commands, with the settings that every command shares. */
export function makeProgram(
  context: CommandContext,
  makers: readonly MakeCommand[],
  about: { readonly version: string; readonly example: string },
): Command {
  const program = new Command('herald')
    .description('Gives Kubernetes Services of type LoadBalancer an address and makes it work.')
    .version(about.version)
    .exitOverride()
    .showHelpAfterError(hint)
    .addHelpText('after', `\nExample:\n  ${about.example}\n`);
  for (const make of makers) program.addCommand(make(context).exitOverride().showHelpAfterError(hint));
  addColourOption(program);
  return program;
}
