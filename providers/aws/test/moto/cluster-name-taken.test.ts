import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Cloud } from '../../cloud/cloud.ts';
import { isWrite, type Input, type Operation, type Output } from '../../cloud/operations.ts';
import { defaultSettings } from '../../model/settings.ts';
import { AwsProvider } from '../../provider.ts';
import type { Reconciliation } from '../../../../src/controller/provider.ts';
import { parseObject } from '../../../../src/model/parse.ts';
import { Store } from '../../../../src/model/store/store.ts';
import { silentLog } from '../../../../src/system/log.ts';
import { VirtualClock } from '../../../../src/system/virtual-clock.ts';
import { clusterName, region, type Account } from './account.ts';
import { makeAccount } from './moto-account.ts';
import { motoCloud } from './moto-cloud.ts';
import { Moto } from './moto.ts';

const first = '11111111-1111-1111-1111-111111111111';
const second = '22222222-2222-2222-2222-222222222222';

let moto: Moto;
let account: Account;
beforeAll(async () => {
  moto = await Moto.start();
  account = await makeAccount(moto);
});
afterAll(() => moto.stop());

/** A cluster with one Service, whose provider calls the emulator. */
class Cluster {
  readonly writes: Operation[] = [];
  readonly #store = new Store();
  readonly #clock = new VirtualClock();
  readonly #provider: AwsProvider;

  constructor(uid: string, takeOver: readonly string[] = []) {
    const settings = { ...defaultSettings, clusterName, takeOver, region, vpcId: account.vpcId };
    this.#put({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'kube-system', uid } });
    for (const [index, { instance, zone }] of account.nodes.entries())
      this.#put({
        apiVersion: 'v1',
        kind: 'Node',
        metadata: { name: `node-${index}`, uid: `n${index}` },
        spec: { providerID: `aws:///${zone}/${instance}` },
      });
    const ports = [{ port: 80, protocol: 'TCP', targetPort: 8080, nodePort: 30_080 }];
    const spec = { type: 'LoadBalancer', loadBalancerClass: 'herald.dev/aws', clusterIP: '10.96.0.9', ipFamilies: ['IPv4'], ports };
    this.#put({ apiVersion: 'v1', kind: 'Service', metadata: { name: 'web', namespace: 'default', uid: 'web' }, spec });
    const cloud = this.#watched(motoCloud(moto));
    const components = { clock: this.#clock, random: () => 0, log: silentLog };
    this.#provider = new AwsProvider({ classless: 'off', connect: async () => ({ cloud, settings }), ...components });
    this.#provider.adopt(this.#store, new Map());
  }

  /** Reconciles the Service until nothing is left to do. */
  async settle(): Promise<Reconciliation> {
    for (let pass = 0; ; pass++) {
      const service = this.#store.services.get('default/web');
      if (service === undefined) throw new Error('there is no Service');
      const result = await this.#provider.reconcile(service, this.#store);
      if (pass === 5) return result;
      this.#store.upsert({ ...service, ingress: result.ingress });
      this.#clock.advance(result.againAfterMilliseconds ?? 0);
    }
  }

  #put(manifest: object): void {
    const { object, problems } = parseObject(manifest);
    if (object === undefined) throw new Error(JSON.stringify(problems));
    this.#store.upsert(object);
  }

  #watched(cloud: Cloud): Cloud {
    const call = <O extends Operation>(operation: O, input: Input<O>): Promise<Output<O>> => {
      if (isWrite(operation)) this.writes.push(operation);
      return cloud.call(operation, input);
    };
    return { call };
  }
}

/** The UIDs on load balancers, target groups and Herald's security groups. */
async function uids(): Promise<(string | undefined)[]> {
  const cloud = motoCloud(moto);
  const { LoadBalancers } = await cloud.call('elbv2:DescribeLoadBalancers', {});
  const { TargetGroups } = await cloud.call('elbv2:DescribeTargetGroups', {});
  const ResourceArns = [...LoadBalancers.map((one) => one.LoadBalancerArn), ...TargetGroups.map((one) => one.TargetGroupArn)];
  const { TagDescriptions } = await cloud.call('elbv2:DescribeTags', { ResourceArns });
  const Filters = [{ Name: 'tag:herald.dev/cluster', Values: [clusterName] }];
  const { SecurityGroups } = await cloud.call('ec2:DescribeSecurityGroups', { Filters });
  const all = [...TagDescriptions, ...SecurityGroups].map(({ Tags }) => Tags.find(({ Key }) => Key === 'herald.dev/cluster-uid')?.Value);
  expect(all).toHaveLength(4);
  return [...new Set(all)];
}

test('of two clusters with one name the second writes nothing, until it takes over', async () => {
  const one = new Cluster(first);
  const served = await one.settle();
  expect([served.reason, served.ingress, await uids()]).toEqual([undefined, [{ hostname: expect.any(String), ipMode: 'VIP' }], [first]]);

  const other = new Cluster(second);
  expect(await other.settle()).toMatchObject({
    ingress: [],
    reason: { code: 'AwsClusterNameTaken', details: { own: second, other: first } },
  });
  expect([other.writes, await uids()]).toEqual([[], [first]]);

  const successor = new Cluster(second, [first]);
  const taken = await successor.settle();
  expect([taken.reason, taken.ingress, await uids()]).toEqual([undefined, served.ingress, [second]]);
  expect(new Set(successor.writes)).toEqual(new Set(['elbv2:AddTags', 'ec2:CreateTags']));

  const former = new Cluster(first);
  expect(await former.settle()).toMatchObject({ reason: { code: 'AwsClusterNameTaken', details: { own: first, other: second } } });
  expect(former.writes).toEqual([]);
});
