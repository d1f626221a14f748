import { expect, test } from 'vitest';
import type { Call } from '../../../aws/fake/cloud.ts';
import { ProviderFixture } from '../support/provider-fixture.ts';

const message = 'AWS refuses to delete a resource because something else still uses it';

/** Somebody's rule refers to the group with this name. */
async function held(prefix: string): Promise<{ readonly town: ProviderFixture; readonly group: string }> {
  const town = new ProviderFixture();
  town.apply({ name: 'web', ports: ['http:80/TCP@30080'] });
  await town.run(400);
  const group = [...town.cloud.world.securityGroups.values()].find(({ GroupName }) => GroupName.startsWith(prefix))?.GroupId ?? 'none';
  town.cloud.fault = (call) => (deletes(call, group) ? { kind: 'error', code: 'inUse' } : undefined);
  return { town, group };
}

function deletes({ operation, input }: Call, group: string): boolean {
  return operation === 'ec2:DeleteSecurityGroup' && (input as { readonly GroupId: string }).GroupId === group;
}

const attempts = ({ cloud }: ProviderFixture, group: string): number => cloud.calls.filter((call) => deletes(call, group)).length;

test('the security group of the cluster, which somebody uses, is told once, and asked for seldom', async () => {
  const { town, group } = await held('herald-backend');
  town.delete('default/web');
  await town.run(200);
  expect([town.services.has('default/web'), town.warnings]).toEqual([false, []]);
  await town.run(3600);
  expect(town.warnings).toEqual([expect.objectContaining({ message, reason: expect.stringContaining(`${group}: delete`) })]);
  expect(attempts(town, group)).toBeLessThan(30);
  town.cloud.fault = () => undefined;
  await town.run(600);
  expect(town.cloud.world.securityGroups.has(group)).toBe(false);
});

test('that of a load balancer is told to its Service, which stays until it is gone', async () => {
  const { town, group } = await held('k8s-');
  town.delete('default/web');
  await town.run(100);
  expect([town.results.get('default/web')?.reason?.code, town.warnings]).toEqual(['AwsProvisioning', []]);
  await town.run(3600);
  expect(town.results.get('default/web')?.reason).toMatchObject({
    code: 'AwsRefused',
    details: { message: expect.stringContaining(group) },
  });
  expect(town.warnings).toEqual([expect.objectContaining({ message, stack: 'default/web' })]);
  expect(attempts(town, group)).toBeLessThan(30);
  town.cloud.fault = () => undefined;
  await town.run(900);
  expect([town.services.has('default/web'), town.cloud.world.securityGroups.has(group)]).toEqual([false, false]);
});
