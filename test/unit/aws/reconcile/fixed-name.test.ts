import { expect, test } from 'vitest';
import { ProviderFixture } from '../support/provider-fixture.ts';

test.each(['herald.dev/aws', 'herald.dev/aws-classic'])(
  'another name for a load balancer of %s that is there is warned of, for AWS renames none',
  async (loadBalancerClass) => {
    const town = new ProviderFixture();
    const web = { name: 'web', ports: ['http:80/TCP@30080'], loadBalancerClass };
    const key = town.apply({ ...web, annotations: { name: 'first' } });
    await town.run(300);
    expect(town.results.get(key)?.warnings).toEqual([]);
    const { ingress = [] } = town.results.get(key) ?? {};
    const writes = town.cloud.writes.length;
    town.apply({ ...web, annotations: { name: 'second' }, ingress });
    await town.run(300);
    expect(town.results.get(key)).toMatchObject({
      ingress,
      warnings: [{ code: 'AwsNameFixed', details: { name: 'first', wanted: 'second' } }],
    });
    expect(town.results.get(key)?.reason).toBeUndefined();
    expect(town.cloud.writes.length).toBe(writes);
  },
);
