import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { sourceFiles } from '../../../../scripts/source-files.ts';

const root = join(import.meta.dirname, '../../../..');
const edge = 'providers/aws/sdk';

interface Statement {
  readonly Sid: string;
  readonly Effect: string;
  readonly Action: string | readonly string[];
  readonly Resource: string;
  readonly Condition?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

const policy = JSON.parse(readFileSync(join(root, 'docs/reference/aws-iam-policy.json'), 'utf8')) as {
  readonly Statement: readonly Statement[];
};
const actionsOf = ({ Action }: Statement): readonly string[] => [Action].flat();
const granted = policy.Statement.flatMap(actionsOf);

/** Both generations of Elastic Load Balancing have one prefix in IAM. */
const servicesOfIam: Readonly<Record<string, string>> = {
  '@aws-sdk/client-elastic-load-balancing-v2': 'elasticloadbalancing',
  '@aws-sdk/client-elastic-load-balancing': 'elasticloadbalancing',
  './ec2-client/commands.ts': 'ec2',
  '@aws-sdk/client-acm': 'acm',
};

/** Further actions that AWS requires for an operation. */
const implied: Readonly<Record<string, string>> = {
  'iam:CreateServiceLinkedRole': 'made by AWS in our name with the first load balancer of an account',
  'ec2:DescribeAccountAttributes': 'CreateLoadBalancer asks it of the caller where the service-linked role is not there yet',
  'ec2:DescribeInternetGateways': 'CreateLoadBalancer asks it of the caller, likewise',
};

/** The commands that a file makes, as IAM actions. */
function actionsIn(file: string): string[] {
  const text = readFileSync(join(root, file), 'utf8');
  const imports = [...text.matchAll(/^import (?:\* as (\w+)|\{ (\w+) \}) from '(@aws-sdk\/[^']+|\.\/ec2-client\/commands\.ts)';$/gm)];
  return imports.flatMap(([, all, one, from = '']) =>
    [...text.matchAll(new RegExp(`new ${all ?? one}\\.(\\w+)Command\\b`, 'g'))].map(([, name]) => `${servicesOfIam[from] ?? from}:${name}`),
  );
}

const used = new Set(globSync(`${edge}/**/*.ts`, { cwd: root }).flatMap(actionsIn));

describe('the documented IAM policy', () => {
  test('the SDK edge imports commands of all its services', () => {
    expect(used.size).toBeGreaterThan(50);
    expect(new Set([...used].map((action) => action.split(':')[0]))).toEqual(new Set(['elasticloadbalancing', 'ec2', 'acm']));
  });

  test('only the SDK edge imports the SDK', () => {
    const others = sourceFiles()
      .filter((file) => !file.startsWith(edge))
      .filter((file) => readFileSync(join(root, file), 'utf8').includes('@aws-sdk/'));
    expect(others).toEqual([]);
  });

  test('the policy grants every action that the SDK edge can use', () => {
    expect([...used, ...Object.keys(implied)].filter((action) => !granted.includes(action)).toSorted()).toEqual([]);
  });

  test('the policy grants no unused action, and none by a wildcard', () => {
    expect(granted.filter((action) => !used.has(action) && implied[action] === undefined)).toEqual([]);
    expect(policy.Statement.every(({ Effect }) => Effect === 'Allow')).toBe(true);
  });

  test('the policy requires our tag on created and deleted resources', () => {
    // Actions that create or delete a resource with its own tags. A listener is part of a load balancer.
    const tagged = (pattern: RegExp): readonly unknown[] =>
      policy.Statement.filter((one) => actionsOf(one).some((action) => pattern.test(action))).map(({ Condition }) => Condition?.['Null']);
    expect(tagged(/:Create(?:LoadBalancer|TargetGroup|VpcEndpointServiceConfiguration)$/)).toEqual([
      { 'aws:RequestTag/herald.dev/cluster': 'false' },
    ]);
    const removing = tagged(/:(?:Delete(?:LoadBalancer|TargetGroup|SecurityGroup|Tags)|(?:Delete|Modify)VpcEndpointService\w+)$/);
    expect(removing).toEqual(Array.from({ length: 3 }, () => ({ 'aws:ResourceTag/herald.dev/cluster': 'false' })));
  });

  test('the policy fits into one managed policy', () => {
    // IAM allows 6,144 characters without white space.
    expect(JSON.stringify(policy).length).toBeLessThan(6144);
  });
});
