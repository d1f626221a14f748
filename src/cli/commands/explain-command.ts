import { Command } from 'commander';
import { hint, type Environment } from '../environment/environment.ts';
import { explainObjectCommand, nodeSubject, peerSubject, poolSubject } from './explain-object.ts';
import { explainServiceCommand } from './explain-service.ts';

export function explainCommand(environment: Environment): Command {
  const explain = new Command('explain')
    .description('say why something is as it is')
    .addHelpText(
      'after',
      '\nExample:\n  herald explain service shop/web                          in the cluster of $KUBECONFIG\n  herald explain service shop/web --source /etc/herald     a directory\n  herald explain pool public\n  herald explain peer tor1 --node node1\n  herald explain node node1',
    );
  const objects = [poolSubject, peerSubject, nodeSubject].map((subject) => explainObjectCommand(environment, subject));
  for (const command of [explainServiceCommand(environment), ...objects])
    explain.addCommand(command.exitOverride().showHelpAfterError(hint));
  return explain;
}
