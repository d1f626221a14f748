import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { until } from '../../../../test/lab/until.ts';
import { DirectoryFixture } from './directory-fixture.ts';
import { motoCloud } from './moto-cloud.ts';
import type { AccountState } from './scenarios/account-state.ts';

interface Port {
  readonly name: string;
  readonly port: number;
  readonly nodePort: number;
}

const http: Port = { name: 'http', port: 80, nodePort: 31_080 };

function web(annotations: Readonly<Record<string, string>>, ...ports: readonly Port[]): object {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'web', namespace: 'default', annotations },
    spec: { clusterIP: '10.96.0.20', type: 'LoadBalancer', loadBalancerClass: 'herald.dev/aws', ports },
  };
}

let fixture: DirectoryFixture;
beforeAll(async () => {
  fixture = await DirectoryFixture.start();
  fixture.write('service.yaml', [web({}, http)]);
});
afterAll(() => fixture?.stop());

const explain = async (): Promise<string> => {
  const { code, stdout, stderr } = await fixture.herald('explain', 'service', 'default/web', '--source', fixture.directory);
  expect([code, stderr]).toEqual([0, '']);
  return stdout;
};

/** The AWS calls that the text lists. */
const calls = (text: string): string[] => [...text.matchAll(/^ +((?:elbv2|elb|ec2):\w+) {2}/gm)].map(([, call = '']) => call);

/** Runs herald plan with the present manifests, in which `service` replaces the Service. */
async function plan(service: object): Promise<{ readonly code: number; readonly stdout: string }> {
  const proposed = mkdtempSync(join(tmpdir(), 'herald-proposed-'));
  try {
    cpSync(join(fixture.directory, 'cluster.yaml'), join(proposed, 'cluster.yaml'));
    writeFileSync(join(proposed, 'service.yaml'), stringify(service));
    const { code, stdout, stderr } = await fixture.herald('plan', '-f', proposed, '--source', fixture.directory);
    expect(stderr).toBe('');
    return { code, stdout };
  } finally {
    rmSync(proposed, { recursive: true });
  }
}

async function expectUnchanged(before: AccountState): Promise<void> {
  expect(await fixture.accountState()).toEqual(before);
}

// These tests run in order, as a user would: each starts from the state that the one before leaves.
test('explain shows the planned calls before anything exists, and makes none', async () => {
  const before = await fixture.accountState();
  const text = await explain();
  expect(text).toContain('Provider   aws: spec.loadBalancerClass is herald.dev/aws\n');
  expect(text).toMatch(
    /\n {2}observed\n {4}nothing\n {2}desired\n {4}NLB k8s-default-web-\w+, internal, ipv4, in subnet-\w+, subnet-\w+\n/,
  );
  expect(text).toMatch(/\n {4}listener TCP 80.* 3 targets of type instance/);
  expect(calls(text)).toEqual(
    expect.arrayContaining([
      'ec2:CreateSecurityGroup',
      'elbv2:CreateTargetGroup',
      'elbv2:RegisterTargets',
      'elbv2:CreateLoadBalancer',
      'elbv2:CreateListener',
      'ec2:AuthorizeSecurityGroupIngress',
    ]),
  );
  await expectUnchanged(before);
});

test('explain shows the existing load balancer without difference, and plan shows no call', { timeout: 400_000 }, async () => {
  await fixture.startController();
  await until('the Service has its host name', (note) => note(fixture.hostname('default/web')) !== '', 60_000);
  const [nlb] = (await fixture.accountState()).nlbs;
  await until('nothing is left to do', async (note) => note(await explain()).includes('difference: none, no call would be made'), 120_000);
  await fixture.stopController();
  const text = await explain();
  expect(text).toContain(`NLB ${nlb?.name}, internal, ipv4, active, ${nlb?.dnsName}`);
  expect(text).toMatch(/\n {4}listener TCP 80\n {4}target group k8s-default-web-\w+, TCP 31080, instance: 3 healthy\n/);
  const { code, stdout } = await plan(web({}, http));
  expect(code).toBe(0);
  expect(stdout).toContain('No call to AWS would be made.');
});

test('plan shows the calls for a further port, and makes none', async () => {
  const before = await fixture.accountState();
  const { code, stdout } = await plan(web({}, http, { name: 'alt', port: 8080, nodePort: 31_081 }));
  expect(code).toBe(2);
  expect(stdout).toContain('Calls to AWS\n  default/web\n');
  expect(calls(stdout)).toEqual(expect.arrayContaining(['elbv2:CreateTargetGroup', 'elbv2:RegisterTargets', 'elbv2:CreateListener']));
  expect(calls(stdout)).not.toContain('elbv2:CreateLoadBalancer');
  expect(stdout).toMatch(/elbv2:CreateListener {2}.*8080/);
  await expectUnchanged(before);
});

test('plan shows the deletions for a removed Service', async () => {
  const before = await fixture.accountState();
  const { code, stdout } = await plan({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'other' } });
  expect(code).toBe(2);
  expect(calls(stdout)).toEqual(expect.arrayContaining(['elbv2:DeleteLoadBalancer', 'elbv2:DeleteTargetGroup']));
  await expectUnchanged(before);
});

test('plan reports a wrong annotation with its fix, and changes nothing', async () => {
  const before = await fixture.accountState();
  const { stdout } = await plan(web({ 'service.beta.kubernetes.io/aws-load-balancer-scheme': 'public' }, http));
  expect(stdout).toContain('! annotation service.beta.kubernetes.io/aws-load-balancer-scheme is not one of internal, internet-facing');
  expect(calls(stdout)).toEqual([]);
  await expectUnchanged(before);
});

test('explain shows the resources that remain of a former LoadBalancer Service, and why', async () => {
  const [nlb] = (await fixture.accountState()).nlbs;
  await motoCloud(fixture.moto).call('elbv2:ModifyLoadBalancerAttributes', {
    LoadBalancerArn: nlb?.arn ?? '',
    Attributes: [{ Key: 'deletion_protection.enabled', Value: 'true' }],
  });
  const metadata = { name: 'web', namespace: 'default', finalizers: ['herald.dev/aws'] };
  fixture.write('service.yaml', [
    { apiVersion: 'v1', kind: 'Service', metadata, spec: { clusterIP: '10.96.0.20', ports: [{ name: 'http', port: 80 }] } },
  ]);
  const text = await explain();
  expect(text).not.toContain('Provider ');
  expect(text).toContain('Held by    aws: resources that it created for the Service and has not released yet\n');
  expect(text).toContain(`! load balancer ${nlb?.name} has deletion protection, which Herald respects`);
  expect(text).toContain(`NLB ${nlb?.name}, internal, ipv4, active, ${nlb?.dnsName}`);
});
