import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { discard, heraldProcess, scratch } from '../program.ts';

let directory: string;

beforeAll(async () => {
  directory = await scratch();
  const spec =
    'clusterIP: 10.96.0.5, type: LoadBalancer, loadBalancerClass: herald.dev/aws, ports: [{ port: 80, nodePort: 30080, targetPort: 80 }]';
  const service = (name: string): string =>
    `---\napiVersion: v1\nkind: Service\nmetadata: { name: ${name}, namespace: default }\nspec: { ${spec.replace('0.5', name === 'a' ? '0.5' : '0.6')} }\n`;
  const namespace = '---\napiVersion: v1\nkind: Namespace\nmetadata: { name: default }\n';
  await writeFile(join(directory, 'services.yaml'), namespace + service('a') + service('b').replace('30080', '30081'));
  // Hides the credentials of this machine and makes no network request.
  vi.stubEnv('HOME', directory);
  vi.stubEnv('AWS_EC2_METADATA_DISABLED', 'true');
  for (const name of ['AWS_REGION', 'AWS_DEFAULT_REGION', 'AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY', 'AWS_PROFILE'])
    vi.stubEnv(name, undefined);
});

afterAll(async () => {
  vi.unstubAllEnvs();
  await discard(directory);
});

test.each([
  ['does not know where the cluster is', [], 'which region?', 'set --aws-region'],
  ['has no credentials', ['--aws-region', 'eu-west-1', '--aws-vpc-id', 'vpc-1'], 'Could not load credentials', 'set AWS_PROFILE'],
])('plan for AWS that %s reports that once, with the fix', async (_, options, what, fix) => {
  const { code, stdout, stderr } = await heraldProcess(
    'plan',
    '-f',
    directory,
    '--source',
    'none',
    '--aws-cluster-name',
    'test',
    ...options,
  );
  expect([code, stderr]).toEqual([1, '']);
  expect(stdout.split(what)).toHaveLength(2);
  expect(stdout).toContain(fix);
  expect(stdout).not.toContain('    at ');
});
