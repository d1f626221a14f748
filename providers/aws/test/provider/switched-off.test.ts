import { beforeEach, expect, test } from 'vitest';
import { SwitchedOffAws } from '../../../../providers/aws/switched-off.ts';
import { config, service } from '../../../../test/unit/decisions/fixtures.ts';
import { ControllerFixture } from '../support/controller-fixture.ts';
import { awsMember } from '../support/stack-fixture.ts';

const web = { name: 'web', ports: ['http:80/TCP@30080'] };
const classless = awsMember('nlb', { ...web, annotations: { type: 'nlb' } }).service;

let cluster: ControllerFixture;
/** A Service that AWS served, in a controller that does not serve AWS any more. */
beforeEach(async () => {
  cluster = new ControllerFixture(classless);
  await cluster.start();
  await cluster.run(400);
  cluster.servesAws = false;
  cluster.events.length = 0;
  await cluster.start();
  await cluster.run(60);
});

const warnings = (): string[] => cluster.events.filter(({ type }) => type === 'Warning').map(({ reason, note }) => `${reason}: ${note}`);
const cause = 'the controller runs without --aws-cluster-name, so no load balancer is created, changed or deleted for the Service';
const kept = `${cause}, which cannot be deleted as long as it has the finalizer herald.dev/aws. Start the controller with the --aws-cluster-name that it had;`;
const told = expect.stringContaining(`AwsSwitchedOff: Not known whether its load balancer is as it asks: ${kept}`);

test('a Service that AWS served gets one warning and keeps its address', async () => {
  expect([cluster.condition('default/web'), cluster.ingress('default/web')]).toEqual(['False AwsSwitchedOff', ['k8s']]);
  await cluster.run(900);
  expect(warnings()).toEqual([told]);
});

test('a deleted Service reports what it waits for and goes when the controller serves AWS again', async () => {
  cluster.delete('default/web');
  await cluster.run(60);
  expect([cluster.service('default/web')?.metadata.deleting, cluster.condition('default/web')]).toEqual([true, 'False AwsSwitchedOff']);
  cluster.servesAws = true;
  await cluster.start();
  await cluster.run(900);
  expect([cluster.service('default/web'), cluster.cloud.world.loadBalancers.size]).toEqual([undefined, 0]);
});

test('a Service that moved to a pool or is no LoadBalancer any more is warned as well', async () => {
  cluster.apply(service({ ...web, type: 'ClusterIP' }));
  await cluster.run(10);
  expect([warnings(), cluster.condition('default/web')]).toEqual([
    [told, expect.stringContaining(`AwsSwitchedOff: T${kept.slice(1)}`)],
    'False AwsSwitchedOff',
  ]);
  cluster.apply(classless);
  cluster.source.put(config({ defaultClass: true }));
  await cluster.run(60);
  expect([cluster.condition('default/web'), cluster.ingress('default/web')]).toEqual(['True Assigned', ['192.0.2.1']]);
});

test("a new Service of an AWS class is warned, one of the AWS Load Balancer Controller's class is not", async () => {
  cluster.apply(service({ ...web, name: 'new', loadBalancerClass: 'herald.dev/aws-classic' }));
  cluster.apply(service({ ...web, name: 'theirs', loadBalancerClass: 'service.k8s.aws/nlb' }));
  await cluster.run(10);
  expect(['default/new', 'default/theirs'].map((key) => cluster.condition(key as 'default/new'))).toEqual([
    'False AwsSwitchedOff',
    'absent',
  ]);
  expect(warnings().at(-1)).toBe(
    `AwsSwitchedOff: Not served: ${cause}. Start the controller with --aws-cluster-name, or recreate the Service with another loadBalancerClass.`,
  );
  cluster.delete('default/new');
  await cluster.run(10);
  expect([cluster.service('default/new'), cluster.statuses.has('default/new')]).toEqual([undefined, false]);
});

test('it has the name of the provider that it replaces, by which metrics and explanations know both', () => {
  expect(new SwitchedOffAws().name).toBe('aws');
});
