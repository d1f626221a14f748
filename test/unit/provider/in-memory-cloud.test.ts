import { beforeEach, describe, expect, test } from 'vitest';
import { BareMetalProvider } from '../../../providers/bare-metal/provider.ts';
import { Controller } from '../../../src/controller/controller.ts';
import { providerChecks } from '../../../src/controller/provider-testing/index.ts';
import type { StatusWriter } from '../../../src/controller/status-writer.ts';
import { formatAddress } from '../../../src/net/address.ts';
import { silentLog } from '../../../src/system/log.ts';
import { VirtualClock } from '../../../src/system/virtual-clock.ts';
import { providerComponents } from '../cli/provider-components.ts';
import { pool, service } from '../decisions/fixtures.ts';
import { TestSource } from '../test-source.ts';
import { cloudSubject, InMemoryCloud, InMemoryCloudProvider } from './in-memory-cloud.ts';

describe('the in-memory cloud', () => {
  const checks = providerChecks(cloudSubject());
  test.each(checks.map(({ name, run }) => [name, run] as const))('%s', async (_, run) => {
    await expect(run()).resolves.toBeUndefined();
  });
  test('all checks of its parts are made', () => {
    expect(checks).toHaveLength(15);
  });
});

describe('the in-memory cloud beside pools in one controller', () => {
  const ofCloud = service({ name: 'web', loadBalancerClass: 'example.com/in-memory-cloud' });
  const ofPools = service({ name: 'web' });
  let source: TestSource;
  let cloud: InMemoryCloud;
  let clock: VirtualClock;
  let controller: Controller;

  const ingress = (): string[] =>
    source.store.services.get('default/web')?.ingress.flatMap(({ address }) => (address === undefined ? [] : formatAddress(address))) ?? [];
  /** As the owner of the Service writes it: the status stays. */
  async function apply(changed: typeof ofCloud): Promise<void> {
    source.put({ ...changed, ingress: source.store.services.get('default/web')?.ingress ?? [] });
    await controller.settled();
  }

  beforeEach(async () => {
    source = new TestSource(pool({ name: 'main', addresses: ['192.0.2.1-192.0.2.1'] }));
    cloud = new InMemoryCloud();
    clock = new VirtualClock();
    const writer: StatusWriter = {
      recorded: async () => ({ addresses: new Map(), unreadable: new Map() }),
      writeService: async (key, status) => source.record(key, status.ingress),
      releaseService: async (key) => source.record(key, undefined),
      writeObject: async () => undefined,
      removeObject: async () => undefined,
    };
    const providers = [new BareMetalProvider(), new InMemoryCloudProvider(cloud, providerComponents(true))];
    controller = new Controller({ source, providers, writer, clock, random: () => 0, log: silentLog });
    await controller.start();
    return () => controller.stop();
  });

  test('a Service that moves from pools to the cloud frees its pool address', async () => {
    await apply(ofPools);
    expect(ingress()).toEqual(['192.0.2.1']);
    await apply(ofCloud);
    expect(ingress()).toEqual(['203.0.113.1']);
    await apply(service({ name: 'web' }));
    expect(ingress()).toEqual(['192.0.2.1']);
  });

  test('a Service that moves from the cloud to pools leaves no load balancer behind', async () => {
    await apply(ofCloud);
    expect([ingress(), [...cloud.loadBalancers.keys()]]).toEqual([['203.0.113.1'], ['default/web']]);
    await apply(ofPools);
    expect([ingress(), [...cloud.loadBalancers.keys()]]).toEqual([['192.0.2.1'], []]);
  });

  test('a load balancer that the cloud cannot delete is deleted when the cloud answers again', async () => {
    await apply(ofCloud);
    cloud.isDown = true;
    await apply(ofPools);
    expect([ingress(), [...cloud.loadBalancers.keys()]]).toEqual([['192.0.2.1'], ['default/web']]);
    cloud.isDown = false;
    clock.advance(60_000);
    await controller.settled();
    expect([ingress(), [...cloud.loadBalancers.keys()]]).toEqual([['192.0.2.1'], []]);
  });

  test('a Service keeps its load balancer while the cloud does not answer', async () => {
    await apply(ofCloud);
    cloud.isDown = true;
    await apply(service({ name: 'web', loadBalancerClass: 'example.com/in-memory-cloud', ports: ['81'] }));
    expect(ingress()).toEqual(['203.0.113.1']);
  });
});
