import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Service } from '../../../../src/model/objects/service.ts';
import { ProviderFixture } from '../support/provider-fixture.ts';
import { runs } from '../../../../test/support/property.ts';

const nodeGroup = 'sg-00000aaa';

test('two concurrent Services that share a load balancer create one', async () => {
  const fixture = new ProviderFixture();
  const annotations = { 'herald.dev/aws-shared-load-balancer': 'edge' };
  const keys = [
    fixture.apply({ name: 'a', ports: ['a:80/TCP@30080'], annotations }),
    fixture.apply({ name: 'b', ports: ['b:443/TCP@30443'], annotations }),
  ];
  const services = [...fixture.services.values()];
  expect(services).toHaveLength(keys.length);
  await Promise.all(services.map((service) => fixture.provider.reconcile(service, fixture.snapshot)));
  const made = fixture.cloud.writes.filter(({ operation }) => operation === 'elbv2:CreateLoadBalancer');
  expect(made).toHaveLength(1);
});

/** The node rules as ranges: "tcp 30000-30010". */
function nodeRules({ cloud }: ProviderFixture): string[] {
  const permissions = cloud.world.securityGroups.get(nodeGroup)?.IpPermissions ?? [];
  return permissions.map(({ IpProtocol, FromPort, ToPort }) => `${IpProtocol} ${FromPort}-${ToPort}`);
}

describe('concurrent reconciles', () => {
  /** Reconciles Services concurrently. The test chooses when each call is sent and answered; only the order is random. */
  async function atOnce(fixture: ProviderFixture, scheduler: fc.Scheduler, services: readonly Service[]): Promise<void> {
    fixture.cloud.latency = () => scheduler.schedule(Promise.resolve());
    const all = Promise.all(
      services.map(async (service) => {
        const said = await fixture.provider.reconcile(service, fixture.snapshot);
        expect([said.reason?.code ?? 'AwsProvisioning', said.warnings ?? []]).toEqual(['AwsProvisioning', []]);
      }),
    );
    await scheduler.waitFor(all);
    // The rules for new load balancers.
    await scheduler.waitIdle();
    fixture.cloud.latency = () => Promise.resolve();
  }

  const ports = [30_100, 30_200, 30_300];
  const literal = (port: number): { name: string; ports: string[] } => ({ name: `s${port}`, ports: [`p:${port}/TCP@${port}`] });

  test('node rules admit all Services, in whatever order AWS answers', async () => {
    await fc.assert(
      fc.asyncProperty(fc.scheduler(), async (scheduler) => {
        const fixture = new ProviderFixture();
        for (const port of ports) fixture.apply(literal(port));
        await atOnce(fixture, scheduler, [...fixture.services.values()]);
        expect(nodeRules(fixture)).toContain('tcp 30100-30300');
        // Rules for only some of the Services are removed after the survey.
        await fixture.run(30);
        expect(nodeRules(fixture)).toEqual(['tcp 30100-30300']);
        expect(fixture.warnings).toEqual([]);
      }),
      { numRuns: runs(30), seed: 7 },
    );
  });

  test('concurrent deletions remove exactly the rules that no Service needs', async () => {
    await fc.assert(
      fc.asyncProperty(fc.scheduler(), fc.constantFrom(...ports), async (scheduler, gone) => {
        const fixture = new ProviderFixture();
        for (const port of ports) fixture.apply(literal(port));
        await fixture.run(300);
        fixture.delete(`default/s${gone}`);
        fixture.apply(literal(30_400));
        await atOnce(fixture, scheduler, [...fixture.services.values()]);
        await fixture.run(120);
        const left = [...ports.filter((port) => port !== gone), 30_400];
        expect(nodeRules(fixture)).toEqual([`tcp ${Math.min(...left)}-${Math.max(...left)}`]);
        // A call refused as duplicate or missing was made twice.
        expect(fixture.warnings).toEqual([]);
      }),
      { numRuns: runs(20), seed: 7 },
    );
  });
});

describe('the security group of the cluster', () => {
  test('is created once when eight Services need it at the same time', async () => {
    const fixture = new ProviderFixture();
    for (let index = 0; index < 8; index++) fixture.apply({ name: `s${index}`, ports: [`p:80/TCP@${30_100 + index}`] });
    fixture.cloud.latency = () => new Promise(setImmediate);
    await Promise.all([...fixture.services.values()].map((service) => fixture.provider.reconcile(service, fixture.snapshot)));
    const made = fixture.cloud.calls.filter(({ operation, input }) => {
      return operation === 'ec2:CreateSecurityGroup' && JSON.stringify(input).includes('herald-backend-');
    });
    expect(made).toHaveLength(1);
    fixture.cloud.latency = () => Promise.resolve();
    await fixture.run(300);
    expect(fixture.warnings).toEqual([]);
  });

  const literal = { name: 'web', ports: ['http:80/TCP@30080'] };
  const groupsOf = ({ cloud }: ProviderFixture): string[] => [...cloud.world.securityGroups.values()].map(({ GroupName }) => GroupName);

  test('is adopted when another controller creates it first', async () => {
    const fixture = new ProviderFixture();
    const other = new ProviderFixture();
    other.apply(literal);
    await other.run(30);
    const backend = [...other.cloud.world.securityGroups.values()].find(({ GroupName }) => GroupName.startsWith('herald-backend-'));
    const key = fixture.apply(literal);
    fixture.cloud.fault = ({ operation }) => {
      const { world } = fixture.cloud;
      if (operation !== 'ec2:CreateSecurityGroup' || backend === undefined || world.securityGroups.has(backend.GroupId)) return undefined;
      world.securityGroups.set(backend.GroupId, backend);
      world.recordCreated(backend.GroupId, other.cloud.world.tagsOf(backend.GroupId));
      return undefined;
    };
    await fixture.run(300);
    expect([fixture.results.get(key)?.reason, groupsOf(fixture).filter((name) => name.startsWith('herald-backend-'))]).toEqual([
      undefined,
      [backend?.GroupName],
    ]);
  });

  test('causes no error when its creation succeeded without an answer and AWS does not list it yet', async () => {
    const fixture = new ProviderFixture();
    fixture.cloud.world.describeDelaySeconds = 20;
    let isLost = false;
    fixture.cloud.fault = ({ operation }) => {
      if (isLost || operation !== 'ec2:CreateSecurityGroup') return undefined;
      isLost = true;
      return { kind: 'lost' };
    };
    const key = fixture.apply(literal);
    await fixture.run(5);
    expect(fixture.results.get(key)?.reason?.code).toBe('AwsCallFailed');
    await fixture.run(10);
    expect(fixture.results.get(key)?.reason?.code).not.toBe('AwsCallFailed');
    await fixture.run(300);
    expect(fixture.results.get(key)?.reason).toBe(undefined);
  });

  test('is left alone, and the refusal reported, when a group of its name belongs to another owner', async () => {
    const fixture = new ProviderFixture();
    const other = new ProviderFixture();
    other.apply(literal);
    await other.run(30);
    for (const [id, group] of other.cloud.world.securityGroups)
      if (group.GroupName.startsWith('herald-backend-')) fixture.cloud.world.securityGroups.set(id, { ...group, Tags: [] });
    const key = fixture.apply(literal);
    await fixture.run(30);
    expect(fixture.results.get(key)?.reason).toMatchObject({
      details: { operation: 'ec2:CreateSecurityGroup', awsCode: 'InvalidGroup.Duplicate' },
    });
  });
});
