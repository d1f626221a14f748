import { beforeEach, describe, expect, test } from 'vitest';
import type { Service } from '../../../../src/model/objects/service.ts';
import { ControllerFixture } from '../support/controller-fixture.ts';
import { acmCertificate, awsMember, node } from '../support/stack-fixture.ts';

const asks = (annotations: Readonly<Record<string, string>>): Service =>
  awsMember('nlb', { name: 'web', ports: ['http:80/TCP@30080'], loadBalancerClass: 'herald.dev/aws', annotations }).service;

let cluster: ControllerFixture;
beforeEach(async () => {
  cluster = new ControllerFixture(asks({}));
  await cluster.start();
  await cluster.run(400);
  cluster.events.length = 0;
});

/** Reasons and notes, in order. */
const told = (): string[] => cluster.events.splice(0).map(({ reason, note }) => `${reason}: ${note}`);
const lead = 'Its load balancer exists, but not as it asks';
const message = (): string => cluster.statuses.get('default/web')?.conditions[0]?.message ?? '';

async function apply(annotations: Readonly<Record<string, string>>): Promise<void> {
  cluster.apply(asks(annotations));
  await cluster.run(10);
}

const scheme = 'annotation service.beta.kubernetes.io/aws-load-balancer-scheme is not one of internal, internet-facing';
const interval = 'annotation service.beta.kubernetes.io/aws-load-balancer-healthcheck-interval is not a whole number';
const remove = (name: string): string =>
  `orrect or remove service.beta.kubernetes.io/aws-load-balancer-${name}; docs/reference/aws-annotations.md has what it takes`;

test('an error that replaces one of the same code is one line in an Event and in the condition', async () => {
  await apply({ scheme: 'public' });
  expect(message()).toBe(`${lead}: ${scheme}. C${remove('scheme')}.`);
  expect(told()).toEqual([`AwsAnnotationInvalid: ${message()}`]);
  await apply({ 'healthcheck-interval': 'x' });
  expect(message()).toBe(`${lead}: ${interval}. C${remove('healthcheck-interval')}.`);
  expect(told()).toEqual([`AwsAnnotationInvalid: ${message()}`]);
});

test('several errors are reported together, each with its fix, and again when their set changes', async () => {
  await apply({ scheme: 'public', 'healthcheck-interval': 'x', 'ssl-cert': acmCertificate, 'ssl-ports': 'none' });
  const port =
    'annotation service.beta.kubernetes.io/aws-load-balancer-ssl-ports names "none", which is not a port of the Service that it can apply to';
  const fixes = `C${remove('healthcheck-interval')}; c${remove('scheme')}`;
  expect(message()).toBe(`${lead}: ${interval}; ${scheme}; ${port}. ${fixes}; write names or numbers of TCP ports of the Service, or "*".`);
  expect(told()).toEqual([`AwsSeveral: ${message()}`]);
  await apply({ scheme: 'public', 'healthcheck-interval': 'x' });
  expect(message()).toBe(`${lead}: ${interval}; ${scheme}. ${fixes}.`);
  expect(told()).toEqual([`AwsSeveral: ${message()}`]);
});

test('unchanged errors are reported once, whatever else changes, and not again after a restart', async () => {
  const mistakes = { scheme: 'public', 'healthcheck-interval': 'x' };
  await apply(mistakes);
  expect(told()).toHaveLength(1);
  const written = cluster.statuses.get('default/web');
  cluster.source.put(node(2));
  await apply({ ...mistakes, 'ip-address-type': 'ipv4' });
  await cluster.run(900);
  await cluster.start();
  await cluster.run(900);
  expect(told()).toEqual([]);
  expect(cluster.statuses.get('default/web')).toEqual(written);
});

describe('a call that fails again and again, each time with another request id, is reported by one line', () => {
  const refused = 'AWS refuses elbv2:ModifyLoadBalancerAttributes (denied): Fake.denied: denied. Give the controller the IAM policy';
  test.each([
    ['denied', `AwsRefused: ${lead}: ${refused}`],
    ['throttled', 'AwsThrottled: Not known whether its load balancer is as it asks: AWS throttles calls of the controller. Herald retries'],
    [
      'unreachable',
      'AwsCallFailed: Not known whether its load balancer is as it asks: calls to AWS fail (Fake.unreachable); the controller',
    ],
    ['credentials', 'AwsCredentials: Not known whether its load balancer is as it asks: AWS was not called, or rejected the credentials: '],
  ] as const)('%s', async (code, line) => {
    cluster.cloud.fault = ({ operation }) => (operation === 'elbv2:ModifyLoadBalancerAttributes' ? { kind: 'error', code } : undefined);
    await apply({ attributes: 'load_balancing.cross_zone.enabled=true' });
    const first = message();
    await cluster.run(900);
    expect(told()).toEqual([`${line.slice(0, line.indexOf(':'))}: ${message()}`]);
    expect(`${line.slice(0, line.indexOf(':'))}: ${message()}`).toContain(line);
    expect(message()).toBe(first);
  });
});

test("an annotation's text does not make the condition longer than its limit", async () => {
  await apply({ attributes: 'x'.repeat(5000) });
  expect(message()).toHaveLength(2048);
});
