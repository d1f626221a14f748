import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Service } from '../../../../src/model/objects/service.ts';
import { ProviderFixture } from '../support/provider-fixture.ts';

const nodeGroup = 'sg-00000aaa';

test('two Services that share a load balancer and are reconciled at once make one', async () => {
  const town = new ProviderFixture();
  const annotations = { 'herald.dev/aws-shared-load-balancer': 'edge' };
  const keys = [
    town.apply({ name: 'a', ports: ['a:80/TCP@30080'], annotations }),
    town.apply({ name: 'b', ports: ['b:443/TCP@30443'], annotations }),
  ];
  const services = [...town.services.values()];
  expect(services).toHaveLength(keys.length);
  await Promise.all(services.map((service) => town.provider.reconcile(service, town.snapshot)));
  const made = town.cloud.writes.filter(({ operation }) => operation === 'elbv2:CreateLoadBalancer');
  expect(made).toHaveLength(1);
});

/** The rules of nodes, as ranges: "tcp 30000-30010". */
function nodeRules({ cloud }: ProviderFixture): string[] {
  const permissions = cloud.world.securityGroups.get(nodeGroup)?.IpPermissions ?? [];
  return permissions.map(({ IpProtocol, FromPort, ToPort }) => `${IpProtocol} ${FromPort}-${ToPort}`);
}

describe('Services that are reconciled at once', () => {
  /** Every call, there and back, at a time that the test chooses; nothing but the order is at random. */
  async function atOnce(town: ProviderFixture, scheduler: fc.Scheduler, services: readonly Service[]): Promise<void> {
    town.cloud.latency = () => scheduler.schedule(Promise.resolve());
    const all = Promise.all(
      services.map(async (service) => {
        const said = await town.provider.reconcile(service, town.snapshot);
        expect([said.reason?.code ?? 'AwsProvisioning', said.warnings ?? []]).toEqual(['AwsProvisioning', []]);
      }),
    );
    await scheduler.waitFor(all);
    town.cloud.latency = () => Promise.resolve();
  }

  const ports = [30_100, 30_200, 30_300];
  const literal = (port: number): { name: string; ports: string[] } => ({ name: `s${port}`, ports: [`p:${port}/TCP@${port}`] });

  test('open the nodes for all of them, in whatever order AWS answers', async () => {
    await fc.assert(
      fc.asyncProperty(fc.scheduler(), async (scheduler) => {
        const town = new ProviderFixture();
        for (const port of ports) town.apply(literal(port));
        await atOnce(town, scheduler, [...town.services.values()]);
        expect(nodeRules(town)).toContain('tcp 30100-30300');
        // What was opened for fewer of them goes when the account was looked at.
        await town.run(30);
        expect(nodeRules(town)).toEqual(['tcp 30100-30300']);
        expect(town.warnings).toEqual([]);
      }),
      { numRuns: 30, seed: 7 },
    );
  });

  test('and those that go at once close what none needs any more, and nothing else', async () => {
    await fc.assert(
      fc.asyncProperty(fc.scheduler(), fc.constantFrom(...ports), async (scheduler, gone) => {
        const town = new ProviderFixture();
        for (const port of ports) town.apply(literal(port));
        await town.run(300);
        town.delete(`default/s${gone}`);
        town.apply(literal(30_400));
        await atOnce(town, scheduler, [...town.services.values()]);
        await town.run(120);
        const left = [...ports.filter((port) => port !== gone), 30_400];
        expect(nodeRules(town)).toEqual([`tcp ${Math.min(...left)}-${Math.max(...left)}`]);
        // What was refused as a duplicate, or as missing, was asked for twice.
        expect(town.warnings).toEqual([]);
      }),
      { numRuns: 20, seed: 7 },
    );
  });
});
