import { describe, expect, test } from 'vitest';
import { ProviderFixture } from '../support/provider-fixture.ts';

const web = { name: 'web', ports: ['http:80/TCP@30080'] };
const ranges = (count: number): string[] => Array.from({ length: count }, (_, index) => `10.${index}.0.0/16`);
const rules = ({ cloud }: ProviderFixture): (string | undefined)[] =>
  [...cloud.world.securityGroups.values()]
    .filter(({ GroupName }) => GroupName.startsWith('k8s-'))
    .flatMap(({ IpPermissions }) => IpPermissions.flatMap(({ IpRanges = [] }) => IpRanges.map(({ CidrIp }) => CidrIp)));

describe("more rules than AWS' default quota", () => {
  test('all rules are created with a warning when AWS has raised the quota', async () => {
    const town = new ProviderFixture();
    Object.assign(town.cloud.world.quotas, { rules: 200 });
    const key = town.apply({ ...web, sourceRanges: ranges(70) });
    await town.run(300);
    expect(town.results.get(key)).toMatchObject({ ingress: [{}], warnings: [{ code: 'AwsAboveQuota' }] });
    expect(town.results.get(key)?.reason).toBeUndefined();
    expect(rules(town).length).toBe(70);
  });

  test("a refusal is reported in AWS' words, and previous clients can still connect", async () => {
    const town = new ProviderFixture();
    const key = town.apply(web);
    await town.run(300);
    expect(rules(town)).toEqual(['0.0.0.0/0']);
    const { ingress = [] } = town.results.get(key) ?? {};
    town.apply({ ...web, sourceRanges: ranges(70), ingress });
    await town.run(300);
    expect(town.results.get(key)?.reason).toMatchObject({
      code: 'AwsRefused',
      details: { operation: 'ec2:AuthorizeSecurityGroupIngress', kind: 'quota', awsCode: 'RulesPerSecurityGroupLimitExceeded' },
    });
    expect(rules(town)).toEqual(['0.0.0.0/0']);
    // A smaller number of rules is accepted at once.
    town.apply({ ...web, sourceRanges: ranges(60), ingress });
    await town.run(60);
    expect(town.results.get(key)?.reason).toBeUndefined();
    expect(rules(town).length).toBe(60);
  });
});
