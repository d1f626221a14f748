import { expect, test } from 'vitest';
import { awsCommand as description } from '../../../../providers/aws/tables/command/command.ts';
import { commandOf } from '../../../../src/cli/options/provider-command.ts';
import { iamPolicy } from '../../../../providers/aws/tables/command/iam-policy.ts';
import { inProcess } from '../../../../test/unit/cli/in-process.ts';

const awsCommand = commandOf(description);

test('herald aws iam-policy prints the policy of the cluster as JSON', async () => {
  const { code, stdout } = await inProcess(awsCommand, ['iam-policy', '--cluster', 'production']);
  expect([code, JSON.parse(stdout)]).toEqual([0, iamPolicy('production')]);
  expect(stdout).toContain('"aws:ResourceTag/herald.dev/cluster": "production"');
  expect(stdout).toContain('"aws:ResourceTag/kubernetes.io/cluster/production": "false"');
});

test.each([[[]], [['--cluster', '']], [['--cluster', 'a*']], [['--cluster', '${aws:username}']]])(
  'herald aws iam-policy %j is refused, because IAM would read wildcards and variables',
  async (words) => {
    const { code, stdout } = await inProcess(awsCommand, ['iam-policy', ...words]);
    expect([code, stdout]).toEqual([64, '']);
  },
);
