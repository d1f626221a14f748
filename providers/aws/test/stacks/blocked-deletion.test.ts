import { expect, test } from 'vitest';
import type { Call } from '../moto/fake/cloud.ts';
import { ProviderFixture } from '../support/provider-fixture.ts';

const message = 'AWS refuses to delete a resource because something else still uses it';

/** A rule outside Herald refers to the security group with this name, so AWS does not delete it. */
async function held(prefix: string): Promise<{ readonly fixture: ProviderFixture; readonly group: string }> {
  const fixture = new ProviderFixture();
  fixture.apply({ name: 'web', ports: ['http:80/TCP@30080'] });
  await fixture.run(400);
  const group = [...fixture.cloud.world.securityGroups.values()].find(({ GroupName }) => GroupName.startsWith(prefix))?.GroupId ?? 'none';
  fixture.cloud.fault = (call) => (deletes(call, group) ? { kind: 'error', code: 'inUse' } : undefined);
  return { fixture, group };
}

function deletes({ operation, input }: Call, group: string): boolean {
  return operation === 'ec2:DeleteSecurityGroup' && (input as { readonly GroupId: string }).GroupId === group;
}

const attempts = ({ cloud }: ProviderFixture, group: string): number => cloud.calls.filter((call) => deletes(call, group)).length;

test('the shared security group that something else uses is reported once and retried rarely', async () => {
  const { fixture, group } = await held('herald-backend');
  fixture.delete('default/web');
  await fixture.run(200);
  expect([fixture.services.has('default/web'), fixture.warnings]).toEqual([false, []]);
  await fixture.run(3600);
  expect(fixture.warnings).toEqual([expect.objectContaining({ message, reason: expect.stringContaining(`${group}: delete`) })]);
  expect(attempts(fixture, group)).toBeLessThan(30);
  fixture.cloud.fault = () => undefined;
  await fixture.run(600);
  expect(fixture.cloud.world.securityGroups.has(group)).toBe(false);
});

test('a security group that something else uses is reported on the Service until it is deleted', async () => {
  const { fixture, group } = await held('k8s-');
  fixture.delete('default/web');
  await fixture.run(100);
  expect([fixture.results.get('default/web')?.reason?.code, fixture.warnings]).toEqual(['AwsProvisioning', []]);
  await fixture.run(3600);
  expect(fixture.results.get('default/web')?.reason).toMatchObject({
    code: 'AwsRefused',
    details: { message: expect.stringContaining(group) },
  });
  expect(fixture.warnings).toEqual([expect.objectContaining({ message, stack: 'default/web' })]);
  expect(attempts(fixture, group)).toBeLessThan(30);
  fixture.cloud.fault = () => undefined;
  await fixture.run(900);
  expect([fixture.services.has('default/web'), fixture.cloud.world.securityGroups.has(group)]).toEqual([false, false]);
});
