import { describe, expect, test } from 'vitest';
import { Town } from '../support/provider-fixture.ts';

const web = { name: 'web', ports: ['http:80/TCP@30080'] };
const ranges = (count: number): string[] => Array.from({ length: count }, (_, index) => `10.${index}.0.0/16`);
const rules = ({ cloud }: Town): (string | undefined)[] =>
  [...cloud.world.securityGroups.values()]
    .filter(({ GroupName }) => GroupName.startsWith('k8s-'))
    .flatMap(({ IpPermissions }) => IpPermissions.flatMap(({ IpRanges = [] }) => IpRanges.map(({ CidrIp }) => CidrIp)));

describe('more rules than AWS allows at first', () => {
  test('are made where AWS has raised the quota, with a warning', async () => {
    const town = new Town();
    Object.assign(town.cloud.world.quotas, { rules: 200 });
    const key = town.apply({ ...web, sourceRanges: ranges(70) });
    await town.run(300);
    expect(town.said.get(key)).toMatchObject({ ingress: [{}], warnings: [{ code: 'AwsAboveQuota' }] });
    expect(town.said.get(key)?.reason).toBeUndefined();
    expect(rules(town).length).toBe(70);
  });

  test('are told in the words of AWS where it has not, and whoever could connect before still can', async () => {
    const town = new Town();
    const key = town.apply(web);
    await town.run(300);
    expect(rules(town)).toEqual(['0.0.0.0/0']);
    const { ingress = [] } = town.said.get(key) ?? {};
    town.apply({ ...web, sourceRanges: ranges(70), ingress });
    await town.run(300);
    expect(town.said.get(key)?.reason).toMatchObject({
      code: 'AwsRefused',
      details: { operation: 'ec2:AuthorizeSecurityGroupIngress', kind: 'quota', awsCode: 'RulesPerSecurityGroupLimitExceeded' },
    });
    expect(rules(town)).toEqual(['0.0.0.0/0']);
    // Fewer are taken at once.
    town.apply({ ...web, sourceRanges: ranges(60), ingress });
    await town.run(60);
    expect(town.said.get(key)?.reason).toBeUndefined();
    expect(rules(town).length).toBe(60);
  });
});
