import { expect, test } from 'vitest';
import { awsCommand } from '../../../../src/cli/aws/aws-command.ts';
import { iamPolicy } from '../../../../src/cli/aws/iam-policy.ts';
import { inProcess } from '../in-process.ts';

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
