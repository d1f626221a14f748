import { expect, test } from 'vitest';
import { AwsProvider } from '../../../../providers/aws/provider.ts';
import { finalizer } from '../../../../providers/aws/model/service-metadata.ts';
import { Store } from '../../../../src/model/store/store.ts';
import { KubernetesServiceMetadata } from '../../../../src/sources/kubernetes/records/service-metadata.ts';
import { silentLog } from '../../../../src/system/log.ts';
import { FakeCloud } from '../moto/fake/cloud.ts';
import { populate } from '../moto/fake/world.ts';
import { config } from '../../../../test/unit/decisions/fixtures.ts';
import { FakeServices } from '../../../../test/unit/sources/kubernetes/fake-services.ts';
import { awsMember, node, settings } from '../support/stack-fixture.ts';

const { service: web } = awsMember('nlb', { name: 'web', ports: ['http:80/TCP@30080'], loadBalancerClass: 'herald.dev/aws' });

test('nothing is created for a Service that is gone before the watch reports it', async () => {
  const cloud = new FakeCloud();
  populate(cloud.world);
  const snapshot = new Store(config({ defaultClass: false }));
  for (const object of [node(0), web]) snapshot.upsert(object);
  // The API server no longer has the Service.
  const metadata = new KubernetesServiceMetadata({ client: new FakeServices(), snapshot }, finalizer);
  const connect = () => Promise.resolve({ cloud, settings });
  const provider = new AwsProvider({
    classless: 'off',
    connect,
    metadata,
    clock: cloud.world.clock,
    random: () => 0,
    log: silentLog,
  });
  provider.adopt(snapshot, new Map());
  await expect(provider.reconcile(web, snapshot)).rejects.toMatchObject({ code: 'conflict' });
  expect(cloud.writes).toEqual([]);
  snapshot.services.delete('default/web');
  await expect(metadata.addFinalizer('default/web')).rejects.toMatchObject({ code: 'conflict' });
});

test('removing the finalizer of a Service that is gone succeeds', async () => {
  const snapshot = new Store(config({ defaultClass: false }));
  snapshot.upsert({ ...web, metadata: { ...web.metadata, finalizers: [finalizer] } });
  const metadata = new KubernetesServiceMetadata({ client: new FakeServices(), snapshot }, finalizer);
  await metadata.removeFinalizer('default/web');
  expect(await metadata.annotate('default/web', { 'herald.dev/new': 'late' })).toBe(true);
});
