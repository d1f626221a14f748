import { Command } from 'commander';
import { hint, type CommandContext } from '../context/command-context.ts';
import { readClusterName } from '../options/aws-options.ts';
import { iamPolicy } from './iam-policy.ts';

export function awsCommand(context: CommandContext): Command {
  const policy = new Command('iam-policy')
    .description('print the IAM policy of the controller, whose conditions contain the name of the cluster; nothing is called')
    .requiredOption('--cluster <name>', "the controller's --aws-cluster-name", readClusterName)
    .addHelpText(
      'after',
      '\nExample:\n  herald aws iam-policy --cluster production > policy.json\n  aws iam create-policy --policy-name herald-production --policy-document file://policy.json\n\nThe security groups of nodes need the tag kubernetes.io/cluster/NAME.',
    )
    .action(({ cluster }: { readonly cluster: string }) => context.print(JSON.stringify(iamPolicy(cluster), undefined, 2)));
  return new Command('aws')
    .description('what AWS needs for Herald')
    .addCommand(policy.exitOverride().showHelpAfterError(hint))
    .addHelpText('after', '\nExample:\n  herald aws iam-policy --cluster production > policy.json');
}
