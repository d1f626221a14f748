import { Command } from 'commander';
import { hint, type CommandContext } from '../../context/command-context.ts';
import { checkNodeCommand } from './check-node.ts';
import { checkServiceCommand } from './check-service.ts';

export function checkCommand(context: CommandContext): Command {
  const check = new Command('check')
    .description(
      'open connections to see whether packets arrive: from every node to every endpoint, to the addresses of a Service, and from here',
    )
    .addHelpText(
      'after',
      '\nExample:\n  herald check service shop/web                          from the nodes of the cluster of $KUBECONFIG, and from here\n  herald check service shop/web --source /etc/herald     from this host, whose agent reads the directory\n  herald check service --all',
    );
  for (const command of [checkServiceCommand(context), checkNodeCommand(context)])
    check.addCommand(command.exitOverride().showHelpAfterError(hint));
  return check;
}
