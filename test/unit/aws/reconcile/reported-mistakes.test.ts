import { beforeEach, expect, test } from 'vitest';
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
const message = (): string => cluster.statuses.get('default/web')?.conditions[0]?.message ?? '';

async function apply(annotations: Readonly<Record<string, string>>): Promise<void> {
  cluster.apply(asks(annotations));
  await cluster.run(10);
}

const scheme = 'annotation service.beta.kubernetes.io/aws-load-balancer-scheme is not one of internal, internet-facing';
const interval = 'annotation service.beta.kubernetes.io/aws-load-balancer-healthcheck-interval is not a whole number';

test('an error that replaces another one of the same code is reported in an Event and the condition', async () => {
  await apply({ scheme: 'public' });
  expect(told()).toEqual([expect.stringContaining(`AwsAnnotationInvalid: ${scheme}; correct or remove`)]);
  expect(message()).toBe(scheme);
  await apply({ 'healthcheck-interval': 'x' });
  expect(told()).toEqual([expect.stringContaining(`AwsAnnotationInvalid: ${interval}; correct or remove`)]);
  expect(message()).toBe(interval);
});

test('several errors are reported together, each with its fix, and again when their set changes', async () => {
  await apply({ scheme: 'public', 'healthcheck-interval': 'x', 'ssl-cert': acmCertificate, 'ssl-ports': 'none' });
  const [first = '', ...others] = told();
  const port =
    'annotation service.beta.kubernetes.io/aws-load-balancer-ssl-ports names "none", which is not a port of the Service that it can apply to';
  expect(others).toEqual([]);
  expect(first).toContain(`AwsSeveral: ${interval}; ${scheme}; ${port}; correct or remove`);
  expect(first).toContain('write names or numbers of TCP ports of the Service, or "*"');
  expect(message()).toBe([interval, scheme, port].join('; '));
  await apply({ scheme: 'public', 'healthcheck-interval': 'x' });
  expect(told()).toEqual([expect.stringContaining(`AwsSeveral: ${interval}; ${scheme}; correct`)]);
  expect(message()).toBe([interval, scheme].join('; '));
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

test('a refused call is reported without its request id', async () => {
  cluster.cloud.fault = ({ operation }) =>
    operation === 'elbv2:ModifyLoadBalancerAttributes' ? { kind: 'error', code: 'denied' } : undefined;
  await apply({ attributes: 'load_balancing.cross_zone.enabled=true' });
  await cluster.run(900);
  expect(told()).toEqual([expect.stringMatching(/^AwsRefused: elbv2:ModifyLoadBalancerAttributes was refused/)]);
  expect(message()).toMatch(/^AWS refuses elbv2:ModifyLoadBalancerAttributes \(denied\): \S+$/);
});

test("an annotation's text does not make the condition longer than its limit", async () => {
  await apply({ attributes: 'x'.repeat(5000) });
  expect(message()).toHaveLength(2048);
});
