import { describe, expect, test } from 'vitest';
import { isWrite } from '../../../../providers/aws/cloud/operations.ts';
import type { Call } from '../moto/fake/cloud.ts';
import { ProviderFixture } from '../support/provider-fixture.ts';

const day = 24 * 3600;

/** Returns how many requests of AWS a call of the fake stands for. AWS describes the tags of 20 resources in one request. */
function requestsOf({ operation, input }: Call): number {
  const { ResourceArns: arns = [''] } = input as { readonly ResourceArns?: readonly string[] };
  return operation === 'elbv2:DescribeTags' ? Math.ceil(arns.length / 20) : 1;
}

describe('load balancers with which nothing happens', () => {
  test.each([
    [1, 2, 8],
    [20, 1, 1],
    [100, 1, 1],
    [200, 1, 1],
  ])(
    '%i cost at most one read each per hour, with the scans of the account',
    async (count, settled, days) => {
      const fixture = new ProviderFixture();
      // More than a new account may have.
      Object.assign(fixture.cloud.world.quotas, { loadBalancers: 1000 });
      // With one NodePort for all, nodes need one rule, and the fake has less to copy.
      for (let index = 0; index < count; index++) fixture.apply({ name: `web-${index}`, ports: ['http:80/TCP@30000'] });
      await fixture.run(settled * day);
      const before = fixture.cloud.calls.length;
      await fixture.run(days * day);
      const calls = fixture.cloud.calls.slice(before);
      expect(calls.filter(({ operation }) => isWrite(operation))).toEqual([]);
      const scans = calls.filter(({ operation }) => operation === 'elb:DescribeLoadBalancers');
      expect(scans.length).toBeGreaterThan(0);
      const requests = calls.reduce((total, call) => total + requestsOf(call), 0);
      expect(requests / count / days / 24).toBeLessThanOrEqual(1);
    },
    300_000,
  );
});
