import { Command } from 'commander';
import { hint, type CommandContext } from '../context/command-context.ts';
import { explainObjectCommand, nodeSubject, peerSubject, poolSubject } from './explain-object.ts';
import { explainServiceCommand } from './explain-service.ts';

export function explainCommand(context: CommandContext): Command {
  const explain = new Command('explain')
    .description('explain why an object is as it is')
    .addHelpText(
      'after',
      '\nExample:\n  herald explain service shop/web                          in the cluster of $KUBECONFIG\n  herald explain service shop/web --source /etc/herald     a directory\n  herald explain pool public\n  herald explain peer tor1 --node node1\n  herald explain node node1',
    );
  const objects = [poolSubject, peerSubject, nodeSubject].map((subject) => explainObjectCommand(context, subject));
  for (const command of [explainServiceCommand(context), ...objects]) explain.addCommand(command.exitOverride().showHelpAfterError(hint));
  return explain;
}
