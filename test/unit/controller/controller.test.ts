import { beforeEach, describe, expect, test } from 'vitest';
import { BareMetalProvider } from '../../../providers/bare-metal/provider.ts';
import { Controller } from '../../../src/controller/controller.ts';
import type { Condition, ServiceStatus, StatusWriter } from '../../../src/controller/status-writer.ts';
import type { ServiceKey } from '../../../src/model/metadata.ts';
import { address, formatAddress, type Address } from '../../../src/net/address.ts';
import { silentLog } from '../../../src/system/log.ts';
import { VirtualClock } from '../../../src/system/virtual-clock.ts';
import { advertisement, metadata, node, peer, pool, service, slice } from '../decisions/fixtures.ts';
import { TestSource } from '../test-source.ts';

/** Keeps records as a directory does, and tells the source of them. */
class TestWriter implements StatusWriter {
  readonly services = new Map<ServiceKey, ServiceStatus>();
  readonly objects = new Map<string, readonly Condition[]>();
  readonly #source: TestSource;
  failing = false;

  constructor(source: TestSource) {
    this.#source = source;
  }

  async recorded(): Promise<ReadonlyMap<ServiceKey, readonly Address[]>> {
    return new Map([...this.services].map(([key, { ingress }]) => [key, ingress.flatMap((entry) => entry.address ?? [])]));
  }

  async writeService(key: ServiceKey, status: ServiceStatus): Promise<void> {
    if (this.failing) throw new Error('disk full');
    this.services.set(key, status);
    this.#source.record(key, status.ingress);
  }

  async removeService(key: ServiceKey): Promise<void> {
    this.services.delete(key);
    this.#source.record(key, undefined);
  }

  async writeObject(kind: string, name: string, conditions: readonly Condition[]): Promise<void> {
    this.objects.set(`${kind}/${name}`, conditions);
  }

  addresses(key: ServiceKey): string[] {
    return (this.services.get(key)?.ingress ?? []).map(({ address }) => (address === undefined ? '' : formatAddress(address)));
  }

  condition(key: ServiceKey, type: string): string {
    const found = this.services.get(key)?.conditions.find((condition) => condition.type === `herald.dev/${type}`);
    return found === undefined ? 'absent' : `${found.status} ${found.reason}`;
  }
}

let source: TestSource;
let writer: TestWriter;

async function startController(): Promise<Controller> {
  const clock = new VirtualClock();
  const controller = new Controller({ source, providers: [new BareMetalProvider()], writer, clock, random: () => 0, log: silentLog });
  await controller.start();
  await controller.settled();
  return controller;
}

beforeEach(() => {
  source = new TestSource(pool({ name: 'main', addresses: ['192.0.2.1-192.0.2.2'] }));
  writer = new TestWriter(source);
});

describe('the controller', () => {
  test('assigns an address and says so', async () => {
    source.put(service({ name: 'shop/web' }));
    await startController();
    expect(writer.addresses('shop/web')).toEqual(['192.0.2.1']);
    expect(writer.condition('shop/web', 'AddressAssigned')).toBe('True Assigned');
    expect(writer.condition('shop/web', 'Programmed')).toBe('Unknown NoAgentReports');
  });

  test('keeps every assigned address when it starts anew, whatever else waits', async () => {
    source.put(service({ name: 'shop/b' }));
    await (await startController()).stop();
    source.put(service({ name: 'shop/a' }), service({ name: 'shop/c' }));
    await startController();
    expect(writer.addresses('shop/b')).toEqual(['192.0.2.1']);
    expect([...writer.addresses('shop/a'), ...writer.addresses('shop/c')]).toEqual(['192.0.2.2']);
  });

  test('gives a freed address to the one that has waited longest', async () => {
    const controller = await startController();
    for (const name of ['shop/one', 'shop/two', 'shop/z-first', 'shop/a-second']) {
      source.put(service({ name }));
      await controller.settled();
    }
    expect(writer.condition('shop/z-first', 'AddressAssigned')).toMatch(/^False /);
    source.remove(service({ name: 'shop/one' }));
    await controller.settled();
    expect(writer.addresses('shop/z-first')).toEqual(['192.0.2.1']);
    expect(writer.addresses('shop/a-second')).toEqual([]);
    expect(writer.services.has('shop/one')).toBe(false);
  });

  test('a Service that stops being of type LoadBalancer gives its address back, and its record goes', async () => {
    source.put(service({ name: 'shop/web' }));
    const controller = await startController();
    source.put(service({ name: 'shop/web', type: 'ClusterIP' }));
    await controller.settled();
    expect(writer.services.has('shop/web')).toBe(false);
    source.put(service({ name: 'shop/other' }));
    await controller.settled();
    expect(writer.addresses('shop/other')).toEqual(['192.0.2.1']);
  });

  test('an added pool serves those that wait', async () => {
    source.remove(pool({ name: 'main', addresses: ['192.0.2.1-192.0.2.2'] }));
    source.put(service({ name: 'shop/web' }));
    const controller = await startController();
    expect(writer.condition('shop/web', 'AddressAssigned')).toBe('False NoPools');
    source.put(pool({ name: 'late', addresses: ['198.51.100.0/28'] }));
    await controller.settled();
    expect(writer.addresses('shop/web')).toEqual(['198.51.100.0']);
  });

  test('a deleted pool takes no address away', async () => {
    source.put(service({ name: 'shop/web' }));
    const controller = await startController();
    source.remove(pool({ name: 'main', addresses: ['192.0.2.1-192.0.2.2'] }));
    await controller.settled();
    expect(writer.addresses('shop/web')).toEqual(['192.0.2.1']);
  });

  test('addresses of a Service whose manifest is broken at start stay reserved until it is mended or gone', async () => {
    writer.services.set('shop/broken', { ingress: [{ address: address('192.0.2.1'), ipMode: 'VIP' }], conditions: [] });
    source.breakSomething({ severity: 'error', file: 'broken.yaml', message: 'no YAML', fix: '' });
    source.put(service({ name: 'shop/new' }));
    const controller = await startController();
    expect(writer.addresses('shop/new')).toEqual(['192.0.2.2']);
    expect(writer.services.has('shop/broken')).toBe(true);
    source.breakSomething();
    source.put(service({ name: 'shop/another' }));
    await controller.settled();
    await controller.settled();
    expect(writer.addresses('shop/another')).toEqual(['192.0.2.1']);
    expect(writer.services.has('shop/broken')).toBe(false);
  });

  test('records of Services that are gone are removed at start', async () => {
    writer.services.set('shop/gone', { ingress: [{ address: address('192.0.2.1'), ipMode: 'VIP' }], conditions: [] });
    await startController();
    expect(writer.services.has('shop/gone')).toBe(false);
  });

  test('a pool that overlaps another is told so, and only it is left out', async () => {
    source.put(pool({ name: 'other', addresses: ['192.0.2.0/30'] }), service({ name: 'shop/web' }));
    await startController();
    expect(writer.objects.get('IPAddressPool/main')?.[0]).toMatchObject({ type: 'Accepted', status: 'True' });
    expect(writer.objects.get('IPAddressPool/other')?.[0]).toMatchObject({ type: 'Accepted', status: 'False', reason: 'PoolOverlaps' });
    expect(writer.addresses('shop/web')).toEqual(['192.0.2.1']);
  });

  test('an agent that falls silent takes its word back from the conditions, without any change to hear of', async () => {
    const clock = new VirtualClock();
    const session = {
      peer: 'tor1',
      address: '10.1.0.1',
      state: 'Established',
      since: '',
      localASN: 64512,
      peerASN: 65101,
      prefixesSent: 1,
    } as const;
    source.put(
      node({ name: 'n1' }),
      peer({ name: 'tor1' }),
      advertisement({ name: 'all' }),
      service({ name: 'shop/web' }),
      slice({ service: 'shop/web', endpoints: ['10.244.1.10@n1'] }),
      {
        kind: 'NodeState',
        metadata: metadata('n1'),
        updated: clock.date().toISOString(),
        consumed: { Service: '1' },
        sessions: [session],
        differing: [],
      },
    );
    const controller = new Controller({ source, providers: [new BareMetalProvider()], writer, clock, random: () => 0, log: silentLog });
    await controller.start();
    await controller.settled();
    expect(writer.condition('shop/web', 'Announced')).toBe('True Announced');
    clock.advance(90_000);
    await controller.settled();
    expect(writer.condition('shop/web', 'Announced')).toBe('True Announced');
    clock.advance(10_000);
    await controller.settled();
    expect(writer.condition('shop/web', 'Announced')).toBe('False AgentSilent');
    expect(writer.condition('shop/web', 'Programmed')).toBe('Unknown NoAgentReports');
    await controller.stop();
    expect(clock.pending).toBe(0);
  });
});
