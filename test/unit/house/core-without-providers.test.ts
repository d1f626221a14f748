import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '../../..');

/** The composition root names the providers that ship with Herald. */
const compositionRoot = 'src/cli/main.ts';

/** The words of AWS, whole or as a part of a name: "aws-region", "AwsFlags", "openAws". OpenELB is another product. */
const ofAws =
  /\b(?:aws|nlb|elb|elbv2|ec2|iam|eks)\b|\b(?:aws|nlb|elb|ec2)(?=[-_A-Z])|(?:Aws|Nlb|Elb|Ec2)(?![a-z])|AWS|NLB|(?<!Open)ELB|EC2/;

test('the search finds the words of AWS and nothing else', () => {
  for (const text of ['to AWS', "'herald.dev/aws'", '--aws-region', 'awsFlags', 'openAws()', 'AwsRefused', 'an NLB', 'elbv2:Create', 'ec2'])
    expect(ofAws.test(text), text).toBe(true);
  for (const text of ['lawsuit', 'draws', 'itselb', 'OpenELB', 'withdraws a route', 'Awsome']) expect(ofAws.test(text), text).toBe(false);
});

test('no file of the core mentions AWS, except the composition root', () => {
  const files = globSync('src/**/*.ts', { cwd: root });
  expect(files.length).toBeGreaterThan(400);
  const lines = files.flatMap((file) =>
    file === compositionRoot
      ? []
      : readFileSync(join(root, file), 'utf8')
          .split('\n')
          .flatMap((line, index) => (ofAws.test(line) ? [`${file}:${index + 1}: ${line.trim()}`] : [])),
  );
  expect(lines).toEqual([]);
});
