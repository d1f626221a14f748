import { describe, expect, test } from 'vitest';
import { limits } from '../../../../providers/aws/model/limits.ts';
import { NodeRules } from '../../../../providers/aws/node-rules/node-rules.ts';
import { AwsAccount } from '../../../../providers/aws/stacks/aws-account.ts';
import { DepartedServices } from '../../../../providers/aws/stacks/departed-services.ts';
import { silentLog } from '../../../../src/system/log.ts';
import { StackRegistry } from '../../../../providers/aws/stacks/stack-registry.ts';
import { Store } from '../../../../src/model/store/store.ts';
import { FakeCloud } from '../moto/fake/cloud.ts';
import { populate } from '../moto/fake/world.ts';
import { service } from '../../../../test/unit/decisions/fixtures.ts';
import { ControllerFixture } from '../support/controller-fixture.ts';
import { settings } from '../support/stack-fixture.ts';
import { ProviderFixture } from '../support/provider-fixture.ts';

const web = { name: 'web', ports: ['http:80/TCP@30080'] };
const nodeGroup = 'sg-00000aaa';

describe('a Service of another controller', () => {
  test('it keeps each status that the other controller writes', async () => {
    const theirs = service({ ...web, loadBalancerClass: 'service.k8s.aws/nlb' });
    const cluster = new ControllerFixture({ ...theirs, metadata: { ...theirs.metadata, finalizers: ['service.k8s.aws/resources'] } });
    await cluster.start();
    await cluster.run(60);
    expect(cluster.condition('default/web')).toBe('False AwsOtherController');
    for (const hostname of ['first.example.com', 'second.example.com']) {
      cluster.source.record('default/web', [{ hostname, ipMode: 'VIP' }]);
      await cluster.run(60);
      expect(cluster.service('default/web')?.ingress).toMatchObject([{ hostname }]);
    }
    expect(cluster.cloud.writes).toEqual([]);
  });
});

const ports = ({ cloud }: ProviderFixture): string[] | undefined =>
  cloud.world.securityGroups.get(nodeGroup)?.IpPermissions.map(({ FromPort, ToPort }) => `${FromPort}-${ToPort}`);

describe('node rules', () => {
  test('rules that a disowned load balancer needs stay, even after a restart', async () => {
    const fixture = new ProviderFixture();
    fixture.apply({ name: 'other', ports: ['a:443/TCP@30443'] });
    fixture.apply(web);
    await fixture.run(300);
    fixture.apply({ ...web, annotations: { 'herald.dev/aws-disown': 'true' } });
    await fixture.run(300);
    expect(ports(fixture)).toEqual(['30080-30443']);
    fixture.restart();
    await fixture.run(900);
    expect(ports(fixture)).toEqual(['30080-30443']);
  });

  test('a failed read of the rules is retried without a further request', async () => {
    const cloud = new FakeCloud();
    populate(cloud.world);
    const now = (): number => cloud.world.clock.date().getTime();
    const account = new AwsAccount({ connect: () => Promise.resolve({ cloud, settings }), clock: cloud.world.clock, log: silentLog });
    const registry = new StackRegistry();
    const rules = new NodeRules({ account, registry, departed: new DepartedServices(), random: () => 0, now, log: silentLog });
    const pass = () => rules.reconcile(new Store());
    cloud.fault = () => ({ kind: 'error', code: 'unreachable' });
    await expect(pass()).rejects.toMatchObject({ code: 'unreachable' });
    expect(rules.isDue(now())).toBe(false);
    cloud.world.clock.advance(limits.transientRetrySeconds * 1000);
    expect(rules.isDue(now())).toBe(true);
    cloud.fault = () => undefined;
    await rules.retryDue(new Store());
    expect(rules.isDue(now())).toBe(false);
  });
});
