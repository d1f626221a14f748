import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { Cloud } from '../../../cloud/cloud.ts';
import { observeFacts } from '../../../observe/account/facts.ts';
import { defaultSettings } from '../../../model/settings.ts';
import { SdkCloud } from '../../../sdk/sdk-cloud.ts';
import { systemClock } from '../../../../../src/system/clock.ts';
import { silentLog } from '../../../../../src/system/log.ts';
import { systemRandom } from '../../../../../src/system/random.ts';
import { clusterName, type Account } from '../account.ts';
import { ScenarioFixture } from '../scenarios/scenario-fixture.ts';
import { readAccountState } from '../scenarios/account-state.ts';
import { scenarios } from '../scenarios/scenarios.ts';

const said = (name: string): string => process.env[name] ?? expect.unreachable(`${name} is not set: see README.md beside this file`);

let cloud: Cloud;
let account: Account;

beforeAll(async () => {
  const components = { clock: systemClock, random: systemRandom, log: silentLog, stopped: new AbortController().signal };
  const region = said('AWS_REGION');
  cloud = new SdkCloud(components, { region, version: 'test' });
  account = await readAccount(said('HERALD_REAL_AWS'), region);
  const { nlbs, classic } = await readAccountState(cloud, account.vpcId);
  expect([...nlbs, ...classic], 'an account with load balancers in it is not for this').toEqual([]);
});

async function readAccount(vpcId: string, region: string): Promise<Account> {
  const { subnets } = await observeFacts(cloud, { ...defaultSettings, clusterName, region, vpcId });
  const [web = '', other = '', iam = ''] = said('HERALD_REAL_AWS_CERTIFICATES').split(',');
  const { Instances } = await cloud.call('ec2:DescribeInstances', { InstanceIds: said('HERALD_REAL_AWS_INSTANCES').split(',') });
  return {
    vpcId,
    publicSubnets: subnets.filter(({ tags }) => tags['kubernetes.io/role/elb'] !== undefined).map(({ id }) => id),
    privateSubnets: subnets.filter(({ tags }) => tags['kubernetes.io/role/internal-elb'] !== undefined).map(({ id }) => id),
    nodeGroup: Instances[0]?.SecurityGroups[0]?.GroupId ?? '',
    nodes: Instances.map(({ InstanceId, Placement }) => ({ instance: InstanceId, zone: Placement.AvailabilityZone, address: '' })),
    certificates: { web, other, iam },
    elasticIps: said('HERALD_REAL_AWS_ELASTIC_IPS').split(','),
    logBucket: said('HERALD_REAL_AWS_LOG_BUCKET'),
  };
}

describe('the real AWS', () => {
  let fixture: ScenarioFixture;

  afterEach(async () => {
    await fixture.removeAll();
  });

  test.each(scenarios.map(({ name, run }) => [name, run] as const))('%s', async (_, run) => {
    expect.hasAssertions();
    // AWS takes minutes to create an NLB, and reconciles are five seconds apart.
    fixture = new ScenarioFixture({ cloud, account, now: () => Date.now(), wait: (seconds) => sleep(seconds * 1000) }, 400);
    await run(fixture);
  });
});
