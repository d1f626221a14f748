import type { ProviderCommand } from '../../../../src/controller/provider-definition.ts';
import { readClusterName } from '../options.ts';
import { iamPolicy } from './iam-policy.ts';

const example = '\nExample:\n  herald aws iam-policy --cluster production > policy.json';

/** `herald aws`. */
export const awsCommand: ProviderCommand = {
  name: 'aws',
  description: 'what AWS needs for Herald',
  help: example,
  commands: [
    {
      name: 'iam-policy',
      description: 'print the IAM policy of the controller, whose conditions contain the name of the cluster; nothing is called',
      options: [{ flags: '--cluster <name>', description: "the controller's --aws-cluster-name", parse: readClusterName, required: true }],
      help: `${example}\n  aws iam create-policy --policy-name herald-production --policy-document file://policy.json\n\nThe security groups of nodes need the tag kubernetes.io/cluster/NAME.`,
      run: ({ cluster }, { print }) => print(JSON.stringify(iamPolicy(cluster as string), undefined, 2)),
    },
  ],
};
