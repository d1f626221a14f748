import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { VirtualClock } from '../../../../src/system/virtual-clock.ts';
import { silentLog } from '../../../../src/system/log.ts';
import type { Account, Credentials } from './account.ts';
import { Moto } from './moto.ts';
import { makeAccount } from './moto-account.ts';
import { motoCloud } from './moto-cloud.ts';
import { ScenarioFixture, onVirtualTime } from './scenarios/scenario-fixture.ts';
import { scenarios } from './scenarios/scenarios.ts';

const policy = readFileSync(join(import.meta.dirname, '../../../../docs/reference/aws-iam-policy.json'), 'utf8');

let moto: Moto;
let account: Account;
beforeEach(async () => {
  moto = await Moto.start();
  account = await makeAccount(moto);
});
afterEach(() => moto.stop());

const Version = '2010-05-08';

/** Creates a user with this policy only, and switches the access check on. */
async function userWith(PolicyDocument: string): Promise<Credentials> {
  const UserName = 'herald';
  await moto.query('iam', { Action: 'CreateUser', Version, UserName });
  await moto.query('iam', { Action: 'PutUserPolicy', Version, UserName, PolicyName: 'herald', PolicyDocument });
  const answer = await moto.query('iam', { Action: 'CreateAccessKey', Version, UserName });
  const field = (name: string): string => new RegExp(`<${name}>([^<]+)</${name}>`).exec(answer)?.[1] ?? expect.unreachable(`no ${name}`);
  await moto.checkAccess(true);
  return { accessKeyId: field('AccessKeyId'), secretAccessKey: field('SecretAccessKey') };
}

const fixtureAs = (as: Credentials): ScenarioFixture =>
  new ScenarioFixture({ cloud: motoCloud(moto, silentLog, as), account, ...onVirtualTime(new VirtualClock()) });

/** moto checks actions and resources but ignores conditions. */
describe('a user with only the documented IAM policy', () => {
  const shown = scenarios.filter(({ name }) => /leaves no NLB|by hand are repaired|two certificates|terminates HTTPS/.test(name));

  test.each(shown.map(({ name, run }) => [name, run] as const))('the scenario passes: %s', async (_, run) => {
    expect(shown).toHaveLength(4);
    await run(fixtureAs(await userWith(policy)));
  });

  test('an action that the policy does not grant is denied', async () => {
    const cloud = motoCloud(moto, silentLog, await userWith(policy.replace('"elasticloadbalancing:CreateListener",', '')));
    await cloud.call('elbv2:DescribeLoadBalancers', {});
    const input = {
      LoadBalancerArn: 'arn:aws:elasticloadbalancing:us-east-1:123456789012:loadbalancer/net/a/1',
      Port: 80,
      Protocol: 'TCP',
    } as const;
    await expect(cloud.call('elbv2:CreateListener', { ...input, DefaultActions: [], Tags: [] })).rejects.toMatchObject({ code: 'denied' });
  });
});
