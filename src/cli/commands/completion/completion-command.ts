import { Argument, Command } from 'commander';
import type { CommandContext } from '../../context/command-context.ts';
import { scripts } from './scripts.ts';

export function completionCommand(context: CommandContext): Command {
  return new Command('completion')
    .description('print a script that completes commands, options and names of objects in a shell')
    .addArgument(
      new Argument('<shell>', 'the shell; kubectl: the program that kubectl runs for kubectl herald').choices(Object.keys(scripts)),
    )
    .addHelpText(
      'after',
      '\nExample:\n  source <(herald completion bash)               in ~/.bashrc\n  source <(herald completion zsh)                in ~/.zshrc, after compinit\n  herald completion fish > ~/.config/fish/completions/herald.fish\n  kubectl herald completion kubectl > ~/bin/kubectl_complete-herald && chmod +x ~/bin/kubectl_complete-herald',
    )
    .action((shell: keyof typeof scripts) => context.print(scripts[shell].trimEnd()));
}
