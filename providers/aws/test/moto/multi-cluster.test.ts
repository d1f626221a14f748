import { afterAll, beforeAll, expect, test } from 'vitest';
import { slice } from '../../../../test/unit/decisions/fixtures.ts';
import { ProviderFixture } from '../support/provider-fixture.ts';
import { makeAccount } from './moto-account.ts';
import { motoCloud } from './moto-cloud.ts';
import { Moto } from './moto.ts';

let moto: Moto;
beforeAll(async () => {
  moto = await Moto.start();
});
afterAll(() => moto.stop());

/** A cluster of this name in the emulator. */
function cluster(clusterName: string, vpcId: string): ProviderFixture {
  const fixture = new ProviderFixture();
  fixture.connected = motoCloud(moto);
  fixture.settings = { ...fixture.settings, clusterName, vpcId };
  fixture.restart();
  return fixture;
}

function setPods(fixture: ProviderFixture, ...endpoints: string[]): void {
  fixture.snapshot.upsert(slice({ service: 'default/web', ports: ['http:8080'], endpoints }));
  fixture.provider.affected([{ kind: 'EndpointSlice', key: 'default/web-1', services: ['default/web'] } as never], fixture.snapshot);
}

test('two clusters on one target group never remove targets of each other, over HTTP', async () => {
  const { vpcId } = await makeAccount(moto);
  const cloud = motoCloud(moto);
  const [owner, guest] = [cluster('test', vpcId), cluster('other', vpcId)];
  const ports = ['http:80/TCP@30080'];
  setPods(owner, '10.0.10.5', '10.0.10.6');
  owner.apply({ name: 'web', ports, annotations: { 'multi-cluster-target-group': 'true', 'nlb-target-type': 'ip' } });
  await owner.run(60);
  const { TargetGroups } = await cloud.call('elbv2:DescribeTargetGroups', {});
  const TargetGroupArn = TargetGroups[0]?.TargetGroupArn ?? '';
  const targets = async (): Promise<string[]> => {
    const { TargetHealthDescriptions } = await cloud.call('elbv2:DescribeTargetHealth', { TargetGroupArn });
    return TargetHealthDescriptions.map(({ Target }) => Target.Id).toSorted();
  };
  const runBoth = async (): Promise<void> => {
    await owner.run(30);
    await guest.run(30);
  };
  expect([TargetGroups.length, await targets()]).toEqual([1, ['10.0.10.5', '10.0.10.6']]);

  setPods(guest, '10.0.11.8', '10.0.11.9');
  guest.apply({ name: 'web', ports, annotations: { 'herald.dev/aws-target-group': TargetGroupArn } });
  await runBoth();
  expect(await targets()).toEqual(['10.0.10.5', '10.0.10.6', '10.0.11.8', '10.0.11.9']);
  expect(guest.results.get('default/web')?.ingress).toEqual(owner.results.get('default/web')?.ingress);

  setPods(owner, '10.0.10.6');
  setPods(guest, '10.0.11.9');
  owner.restart();
  guest.restart();
  await runBoth();
  expect(await targets()).toEqual(['10.0.10.6', '10.0.11.9']);

  guest.delete('default/web');
  await runBoth();
  expect([await targets(), guest.services.size]).toEqual([['10.0.10.6'], 0]);
  expect((await cloud.call('elbv2:DescribeTargetGroups', {})).TargetGroups).toHaveLength(1);
});
