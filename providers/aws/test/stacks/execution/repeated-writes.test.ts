import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Output } from '../../../../../providers/aws/cloud/operations.ts';
import { stackOf, type Member } from '../../../../../providers/aws/desire/stack.ts';
import { reasonText, remedyText } from '../../../../../src/model/reasons.ts';
import type { Call } from '../../moto/fake/cloud.ts';
import { anyMember } from '../../support/arbitrary-services.ts';
import { awsMember, StackFixture } from '../../support/stack-fixture.ts';
import { runs } from '../../../../../test/support/property.ts';

const web = { name: 'web', ports: ['http:80/TCP@30080'] };
const stack = stackOf(awsMember('nlb', web));
const annotated = (annotations: Record<string, string>): Member => awsMember('nlb', { ...web, annotations });
const plain = annotated({});

/** Reconciles as often as asked for, and calls `after` each time. Returns all writes and the errors of the last reconcile. */
async function run(
  account: StackFixture,
  member: Member,
  after: () => void = () => undefined,
): Promise<{ writes: Call[]; errors: string[] }> {
  const start = account.cloud.writes.length;
  let errors: string[] = [];
  for (let pass = 0; pass < 40; pass++) {
    const result = await account.reconcile(stack, [member]);
    errors = [...result.errors.values()].flat().flatMap((one) => [one.code, reasonText(one), remedyText(one)]);
    after();
    account.advance(result.requeueSeconds);
  }
  return { writes: account.cloud.writes.slice(start), errors };
}

function mostRepeated(writes: readonly Call[]): number {
  return Math.max(0, ...[...Map.groupBy(writes, (call) => JSON.stringify(call)).values()].map((same) => same.length));
}

describe('the same write', () => {
  test('stops after three times when a target group has lost the tag of the cluster', async () => {
    const account = new StackFixture();
    await account.settle(stack, [plain]);
    const [arn = '', group] = [...account.world.targetGroups][0] ?? [];
    account.world.tags.get(arn)?.delete('herald.dev/cluster');
    const { writes, errors } = await run(account, plain);
    expect(mostRepeated(writes)).toBe(3);
    expect(errors[0]).toBe('AwsWithoutEffect');
    expect(errors[1]).toContain(`elbv2:CreateTargetGroup (target group default/web:80/TCP: create: ${group?.value.TargetGroupName})`);
    expect(errors[2]).toContain('restore the tag');
    account.world.setTags(arn, [{ Key: 'herald.dev/cluster', Value: 'test' }]);
    expect([...(await account.settle(stack, [plain])).errors]).toEqual([]);
  });

  test('stops after three times when AWS never shows a setting, until the Service asks for another', async () => {
    const account = new StackFixture();
    await account.settle(stack, [plain]);
    const [balancer] = account.world.loadBalancers.values();
    const undo = (): void => void balancer?.attributes.set('zonal_shift.config.enabled', 'false');
    const { writes, errors } = await run(account, annotated({ attributes: 'zonal_shift.config.enabled=true' }), undo);
    expect(writes.filter(({ operation }) => operation === 'elbv2:ModifyLoadBalancerAttributes')).toHaveLength(3);
    expect(errors.slice(0, 1)).toEqual(['AwsWithoutEffect']);
    const other = annotated({ attributes: 'load_balancing.cross_zone.enabled=true' });
    expect([...(await account.settle(stack, [other])).errors]).toEqual([]);
  });

  test('is made again when the observed state has changed', async () => {
    const account = new StackFixture();
    await account.settle(stack, [plain]);
    const wanted = annotated({ attributes: 'zonal_shift.config.enabled=true' });
    const [balancer] = account.world.loadBalancers.values();
    await run(account, wanted, () => void balancer?.attributes.set('zonal_shift.config.enabled', 'false'));
    balancer?.attributes.set('dns_record.client_routing_policy', 'availability_zone_affinity');
    await account.settle(stack, [wanted]);
    expect(balancer?.attributes.get('zonal_shift.config.enabled')).toBe('true');
  });

  test('of any kind, except a deletion, is made at most three times in a row while AWS shows no effect', async () => {
    await fc.assert(
      fc.asyncProperty(anyMember, anyMember, async (before, after) => {
        const account = new StackFixture();
        await account.settle(stack, [before]);
        account.cloud.ignoresWrites = true;
        const { writes, errors } = await run(account, after);
        expect(mostRepeated(writes)).toBeLessThanOrEqual(3);
        if (writes.length > 0) expect(errors).toContain('AwsWithoutEffect');
      }),
      { numRuns: runs(30) },
    );
  });
});

describe('a field that AWS does not show', () => {
  /** Hides the fields as moto does. */
  function hiding(): StackFixture {
    const account = new StackFixture();
    const call = account.cloud.call.bind(account.cloud);
    account.cloud.call = async (operation, input) => {
      const output = await call(operation, input);
      if (operation === 'elbv2:DescribeLoadBalancers')
        for (const one of (output as Output<'elbv2:DescribeLoadBalancers'>).LoadBalancers) {
          Reflect.deleteProperty(one, 'EnablePrefixForIpv6SourceNat');
          Reflect.deleteProperty(one, 'EnforceSecurityGroupInboundRulesOnPrivateLinkTraffic');
        }
      return output;
    };
    return account;
  }

  test.each([
    ['source NAT', { 'ip-address-type': 'dualstack', 'enable-prefix-for-ipv6-source-nat': 'on' }, 'elbv2:SetSubnets'],
    ['rules for PrivateLink', { 'inbound-sg-rules-on-private-link-traffic': 'off' }, 'elbv2:SetSecurityGroups'],
  ])('is unknown, so %s is written once and causes no error', async (_, annotations, operation) => {
    const account = hiding();
    await account.settle(stack, [
      annotated({ ...annotations, 'enable-prefix-for-ipv6-source-nat': 'off', 'inbound-sg-rules-on-private-link-traffic': 'on' }),
    ]);
    const { writes, errors } = await run(account, annotated(annotations));
    expect(writes.filter((one) => one.operation === operation)).toHaveLength(1);
    expect(errors).toEqual([]);
  });
});
