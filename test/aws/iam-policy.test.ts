import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { VirtualClock } from '../../src/system/virtual-clock.ts';
import { silentLog } from '../../src/system/log.ts';
import type { Account, Credentials } from './account.ts';
import { Moto } from './moto.ts';
import { makeAccount } from './moto-account.ts';
import { motoCloud } from './moto-cloud.ts';
import { ScenarioFixture, onVirtualTime } from './scenarios/scenario-fixture.ts';
import { scenarios } from './scenarios/scenarios.ts';

const policy = readFileSync(join(import.meta.dirname, '../../docs/reference/aws-iam-policy.json'), 'utf8');

let moto: Moto;
let account: Account;
beforeEach(async () => {
  moto = await Moto.start();
  account = await makeAccount(moto);
});
afterEach(() => moto.stop());

const Version = '2010-05-08';

/** A user who may do what the policy says, and nothing else, from now on. */
async function userWith(PolicyDocument: string): Promise<Credentials> {
  const UserName = 'herald';
  await moto.query('iam', { Action: 'CreateUser', Version, UserName });
  await moto.query('iam', { Action: 'PutUserPolicy', Version, UserName, PolicyName: 'herald', PolicyDocument });
  const answer = await moto.query('iam', { Action: 'CreateAccessKey', Version, UserName });
  const field = (name: string): string => new RegExp(`<${name}>([^<]+)</${name}>`).exec(answer)?.[1] ?? expect.unreachable(`no ${name}`);
  await moto.checkAccess(true);
  return { accessKeyId: field('AccessKeyId'), secretAccessKey: field('SecretAccessKey') };
}

const benchAs = (as: Credentials): ScenarioFixture =>
  new ScenarioFixture({ cloud: motoCloud(moto, silentLog, as), account, ...onVirtualTime(new VirtualClock()) });

/** moto checks actions and resources, and looks at no condition. */
describe('who may do only what the IAM policy says', () => {
  const shown = scenarios.filter(({ name }) => /leaves nothing|by hand is put right|two certificates|HTTPS that speaks http/.test(name));

  test.each(shown.map(({ name, run }) => [name, run] as const))('can: %s', async (_, run) => {
    expect(shown).toHaveLength(4);
    await run(benchAs(await userWith(policy)));
  });

  test('is refused what it does not say, and that is told by its name', async () => {
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
