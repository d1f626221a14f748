import { describe, expect, test } from 'vitest';
import { reasonText } from '../../../../src/model/reasons.ts';
import { stackOf, type Member } from '../../desire/stack.ts';
import type { SubnetMapping } from '../../cloud/elbv2.ts';
import { refusals } from '../moto/fake/refusals.ts';
import { awsMember, type StackFixture } from '../support/stack-fixture.ts';
import { accountFor, servingZones, zoneMember, zoneTexts } from '../support/zone-edits.ts';

const stack = stackOf(awsMember('nlb', { name: 'web', ports: ['http:80/TCP@30080'] }));
const zones = [0, 1, 2];
const eips = (...numbers: number[]): Member => zoneMember('internet-facing', 'ids', { zones, addresses: 'fixed', numbers });
const before = eips(1, 2, 3);
const after = eips(1, 4, 3);
const [zoneA, zoneB, zoneC] = ['subnet-public-0 eipalloc-1', 'subnet-public-1 eipalloc-2', 'subnet-public-2 eipalloc-3'];

/** Makes AWS refuse each mapping with the Elastic IP. */
function refuseElasticIp(account: StackFixture, id: string, awsCode = 'AllocationIdNotFound'): void {
  const refusal = refusals.find((one) => one.operation === 'elbv2:SetSubnets' && one.awsCode === awsCode);
  account.cloud.fault = ({ operation, input }) => {
    const mappings = (input as { readonly SubnetMappings?: readonly SubnetMapping[] }).SubnetMappings ?? [];
    const isMeant = operation === 'elbv2:SetSubnets' && mappings.some(({ AllocationId }) => AllocationId === id);
    return isMeant && refusal !== undefined ? { kind: 'refused', refusal } : undefined;
  };
}

const zonesIn = (input: unknown): number | undefined =>
  (input as { readonly SubnetMappings?: readonly SubnetMapping[] }).SubnetMappings?.length;

async function reconcileTimes(account: StackFixture, member: Member, times: number): Promise<string[]> {
  let texts: string[] = [];
  for (let pass = 0; pass < times; pass++) {
    const result = await account.reconcile(stack, [member]);
    texts = [...result.errors.values()].flat().map(reasonText);
    account.advance(Math.min(60, result.requeueSeconds));
  }
  return texts;
}

describe('a zone whose new Elastic IP AWS refuses', () => {
  const ofSubnets = refusals.filter(({ operation }) => operation === 'elbv2:SetSubnets').map(({ awsCode }) => awsCode);

  test.each(ofSubnets)('is served again as it was, and the condition names it (%s)', async (awsCode) => {
    const account = accountFor('ids');
    await account.settle(stack, [before]);
    refuseElasticIp(account, 'eipalloc-4', awsCode);
    const texts = await reconcileTimes(account, after, 40);
    expect(zoneTexts(account)).toEqual([zoneA, zoneB, zoneC]);
    expect(servingZones(account)).toBe(3);
    expect(texts.join()).toMatch(new RegExp(`subnet subnet-public-1 with eipalloc-4: ${awsCode}: .*${awsCode}`));
  });

  test('is left for it at most once an hour, and then ever less often', async () => {
    const account = accountFor('ids');
    await account.settle(stack, [before]);
    refuseElasticIp(account, 'eipalloc-4');
    const start = account.cloud.calls.length;
    for (let minute = 0; minute < 48 * 60; minute++) {
      await account.reconcile(stack, [after]);
      account.advance(60);
    }
    const left = account.cloud.calls
      .slice(start)
      .filter(({ operation, input }) => operation === 'elbv2:SetSubnets' && zonesIn(input) === 2);
    // At once, and 1, 3, 7, 15 and 31 hours later.
    expect(left).toHaveLength(6);
  });

  test('gets it when the refusal has ended, or when the Service has changed', async () => {
    for (const isEdited of [true, false]) {
      const account = accountFor('ids');
      await account.settle(stack, [before]);
      refuseElasticIp(account, 'eipalloc-4');
      await reconcileTimes(account, after, 40);
      account.cloud.fault = () => undefined;
      if (isEdited) account.refused.forget();
      else account.advance(3600);
      await account.settle(stack, [after]);
      expect(zoneTexts(account)).toContain('subnet-public-1 eipalloc-4');
    }
  });

  test('is served again as it was by a controller that starts while the zone is out', async () => {
    const account = accountFor('ids');
    await account.settle(stack, [before]);
    refuseElasticIp(account, 'eipalloc-4');
    await account.reconcile(stack, [after]);
    expect(zoneTexts(account)).toEqual([zoneA, zoneC]);
    await account.restart(stack);
    await reconcileTimes(account, after, 40);
    expect(zoneTexts(account)).toEqual([zoneA, zoneB, zoneC]);
  });

  test('is served again as it was when the Service becomes invalid meanwhile, also because the address is taken', async () => {
    const invalid = zoneMember('internet-facing', 'ids', { zones, addresses: 'fixed', numbers: [1, 2] });
    for (const next of [invalid, after]) {
      const account = accountFor('ids');
      await account.settle(stack, [before]);
      await account.reconcile(stack, [after]);
      expect(zoneTexts(account)).toEqual([zoneA, zoneC]);
      account.world.associated.set('eipalloc-4', 'eni-1');
      await account.restart(stack);
      const texts = await reconcileTimes(account, next, 10);
      expect(zoneTexts(account)).toEqual([zoneA, zoneB, zoneC]);
      expect(texts).toHaveLength(1);
    }
  });
});

test('new zones that AWS accepts are added when it refuses another new zone in the same call', async () => {
  const account = accountFor('ids');
  const one = zoneMember('internet-facing', 'ids', { zones: [0], addresses: 'fixed', numbers: [1] });
  await account.settle(stack, [one]);
  refuseElasticIp(account, 'eipalloc-2');
  const texts = await reconcileTimes(account, before, 40);
  expect(zoneTexts(account)).toEqual([zoneA, 'subnet-public-1', zoneC]);
  expect(texts.join()).toContain('subnet subnet-public-1 with eipalloc-2');
});
