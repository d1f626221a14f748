import { expect, test } from 'vitest';
import { ProviderFixture } from '../support/provider-fixture.ts';

test.each(['herald.dev/aws', 'herald.dev/aws-classic'])(
  'another name for an existing load balancer of %s causes a warning, because AWS cannot rename it',
  async (loadBalancerClass) => {
    const fixture = new ProviderFixture();
    const web = { name: 'web', ports: ['http:80/TCP@30080'], loadBalancerClass };
    const key = fixture.apply({ ...web, annotations: { name: 'first' } });
    await fixture.run(300);
    expect(fixture.results.get(key)?.warnings).toEqual([]);
    const { ingress = [] } = fixture.results.get(key) ?? {};
    const writes = fixture.cloud.writes.length;
    fixture.apply({ ...web, annotations: { name: 'second' }, ingress });
    await fixture.run(300);
    expect(fixture.results.get(key)).toMatchObject({
      ingress,
      warnings: [{ code: 'AwsNameFixed', details: { name: 'first', wanted: 'second' } }],
    });
    expect(fixture.results.get(key)?.reason).toBeUndefined();
    expect(fixture.cloud.writes.length).toBe(writes);
  },
);
