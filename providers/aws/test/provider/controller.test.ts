import { addBuiltInProviders } from '../../../../test/support/built-in-providers.ts';
import { describe, expect, test } from 'vitest';
import { AwsProvider } from '../../../../providers/aws/provider.ts';
import { BareMetalProvider } from '../../../../providers/bare-metal/provider.ts';
import { Controller } from '../../../../src/controller/controller.ts';
import type { RecordedStatus, ServiceStatus, StatusWriter } from '../../../../src/controller/status-writer.ts';
import type { ServiceKey } from '../../../../src/model/objects/metadata.ts';
import type { ObjectEvent } from '../../../../src/model/objects/object-event.ts';
import type { HeraldObject } from '../../../../src/model/store/snapshot.ts';
import { silentLog } from '../../../../src/system/log.ts';
import { FakeCloud } from '../moto/fake/cloud.ts';
import { populate } from '../moto/fake/world.ts';
import { metadata, pool, service } from '../../../../test/unit/decisions/fixtures.ts';
import { TestSource } from '../../../../test/unit/test-source.ts';
import { configWith, policy } from '../support/policies.ts';
import { awsMember, node, settings } from '../support/stack-fixture.ts';

addBuiltInProviders();

/** Reads return what was written, as with an API server. */
class Records implements StatusWriter {
  readonly statuses = new Map<ServiceKey, ServiceStatus>();
  readonly source: TestSource;

  constructor(source: TestSource) {
    this.source = source;
  }

  async recorded(): Promise<RecordedStatus> {
    return { addresses: new Map(), unreadable: new Map() };
  }

  async writeService(key: ServiceKey, status: ServiceStatus): Promise<void> {
    this.statuses.set(key, status);
    this.source.record(key, status.ingress);
  }

  async releaseService(key: ServiceKey): Promise<void> {
    this.statuses.delete(key);
    this.source.record(key, undefined);
  }

  async writeObject(): Promise<undefined> {
    return undefined;
  }

  async removeObject(): Promise<void> {
    // Not used here.
  }
}

async function start(...objects: readonly HeraldObject[]): Promise<{
  source: TestSource;
  cloud: FakeCloud;
  records: Records;
  events: ObjectEvent[];
  pass: (seconds: number) => Promise<void>;
}> {
  const source = new TestSource(...objects, node(0), node(1), pool({ name: 'main', addresses: ['192.0.2.1-192.0.2.9'] }));
  const cloud = new FakeCloud();
  populate(cloud.world);
  const { clock } = cloud.world;
  const records = new Records(source);
  const events: ObjectEvent[] = [];
  const aws = new AwsProvider({
    classless: 'off',
    connect: () => Promise.resolve({ cloud, settings }),
    clock,
    random: () => 0,
    log: silentLog,
  });
  const sink = { record: (event: ObjectEvent): void => void events.push(event) };
  const controller = new Controller({
    source,
    providers: [new BareMetalProvider(), aws],
    writer: records,
    events: sink,
    clock,
    random: () => 0,
    log: silentLog,
  });
  await controller.start();
  await controller.settled();
  const pass = async (seconds: number): Promise<void> => {
    for (let passed = 0; passed < seconds; passed += 10) {
      clock.advance(10_000);
      for (let turn = 0; turn < 100; turn++) await Promise.resolve();
      await controller.settled();
    }
  };
  return { source, cloud, records, events, pass };
}

describe('the controller with both providers', () => {
  const annotations = { 'backend-protocol': 'http' };
  const { service: onAws } = awsMember('nlb', {
    name: 'web',
    ports: ['http:80/TCP@30080'],
    loadBalancerClass: 'herald.dev/aws',
    annotations,
  });

  test("it writes the load balancer's name, the one condition that applies, and each warning once", async () => {
    const { records, events, pass, cloud } = await start(onAws, service({ name: 'local' }));
    expect(records.statuses.get('default/web')?.conditions).toMatchObject([{ status: 'False', reason: 'AwsProvisioning' }]);
    await pass(900);
    const { ingress, conditions } = records.statuses.get('default/web') ?? {};
    expect(ingress).toMatchObject([{ hostname: expect.stringContaining('k8s-default-web-') as string }]);
    expect(conditions).toMatchObject([{ type: 'herald.dev/AddressAssigned', status: 'True' }]);
    expect(records.statuses.get('default/local')?.ingress.length).toBe(1);
    expect(cloud.world.loadBalancers.size).toBe(1);
    const codes = events.filter(({ regarding }) => regarding.name === 'web').map(({ type, reason }) => `${type} ${reason}`);
    expect(codes).toEqual(['Warning AwsProvisioning', 'Warning AwsBackendHttpOnNlb', 'Normal AddressAssigned']);
  });

  test('it reports repairs', async () => {
    const { events, pass, cloud } = await start(onAws);
    await pass(900);
    cloud.world.listeners.clear();
    await pass(600);
    const repaired = events.filter(({ reason }) => reason === 'LoadBalancerRepaired');
    expect(repaired.map(({ note }) => note)).toEqual(['listener 80: create: nothing listens on port 80']);
  });

  test('it announces a PrivateLink endpoint service with one Event', async () => {
    const annotations = { 'herald.dev/aws-endpoint-service': 'true' };
    const linked = awsMember('nlb', { name: 'web', ports: ['http:80/TCP@30080'], loadBalancerClass: 'herald.dev/aws', annotations });
    const { events, pass, cloud } = await start(linked.service);
    await pass(4 * 3600);
    const [made] = cloud.world.endpointServices.values();
    const announced = events.filter(({ reason }) => reason === 'EndpointServiceAvailable');
    expect(announced).toMatchObject([
      { type: 'Normal', note: `clients in other VPCs reach it by the PrivateLink endpoint service ${made?.value.ServiceName}` },
    ]);
  });

  test('it deletes the load balancer of a Service that is gone', async () => {
    const { source, pass, cloud } = await start(onAws);
    await pass(300);
    source.remove(onAws);
    await pass(300);
    expect([cloud.world.loadBalancers.size, cloud.world.targetGroups.size, cloud.world.securityGroups.size]).toEqual([0, 0, 1]);
  });

  test('it registers new nodes without a change of the Service', async () => {
    const { source, pass, cloud } = await start(onAws);
    await pass(300);
    source.put(node(2));
    await pass(60);
    const [group] = cloud.world.targetGroups.values();
    expect([...(group?.targets.keys() ?? [])]).toEqual(['i-00000000 30080', 'i-00000001 30080', 'i-00000002 30080']);
  });

  test('it reports once that another cluster has the same name, and writes nothing', async () => {
    const { source, records, events, pass, cloud } = await start();
    cloud.world.setTags('sg-00000aaa', [
      { Key: 'herald.dev/cluster', Value: 'test' },
      { Key: 'herald.dev/cluster-uid', Value: 'theirs' },
    ]);
    source.put({ kind: 'Namespace', metadata: { ...metadata('kube-system'), uid: 'ours' } }, onAws);
    await pass(3600);
    const text = 'the cluster with UID theirs has the same --aws-cluster-name test as this one with UID ours, so nothing is changed in AWS';
    expect(records.statuses.get('default/web')?.conditions).toMatchObject([
      { status: 'False', reason: 'AwsClusterNameTaken', message: expect.stringContaining(text) as string },
    ]);
    expect(events.map(({ type, reason }) => `${type} ${reason}`)).toEqual(['Warning AwsClusterNameTaken']);
    expect(cloud.writes).toEqual([]);
  });

  test('it reports once that a policy refuses a Service that is served, and serves it on', async () => {
    const { source, records, events, pass } = await start(onAws, { kind: 'Namespace', metadata: metadata('default') });
    await pass(900);
    const { ingress } = records.statuses.get('default/web') ?? {};
    source.put(configWith(policy({ name: 'closed', schemes: ['internet-facing'] })));
    await pass(900);
    expect(records.statuses.get('default/web')).toMatchObject({ ingress, conditions: [{ status: 'False', reason: 'AwsNotAllowed' }] });
    expect(events.slice(3).map(({ type, reason }) => `${type} ${reason}`)).toEqual(['Warning AwsNotAllowed']);
  });
});
