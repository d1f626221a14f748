import { beforeEach, describe, expect, test } from 'vitest';
import { BareMetalProvider } from '../../../../providers/bare-metal/provider.ts';
import { Controller } from '../../../../src/controller/controller.ts';
import { noControllerObserver } from '../../../../src/controller/controller-observer.ts';
import type { RecordedStatus, ServiceStatus, StatusWriter } from '../../../../src/controller/status-writer.ts';
import type { ServiceKey } from '../../../../src/model/objects/metadata.ts';
import { formatAddress } from '../../../../src/net/address.ts';
import { silentLog } from '../../../../src/system/log.ts';
import { VirtualClock } from '../../../../src/system/virtual-clock.ts';
import { advertisement, matching, pool, service } from '../../decisions/fixtures.ts';
import { TestSource } from '../../test-source.ts';

/** Stores the status of Services. The source learns of it at once, or later, as from an API server. */
class StatusStore implements StatusWriter {
  readonly services = new Map<ServiceKey, ServiceStatus>();
  isSlow = false;
  readonly #source: TestSource;

  constructor(source: TestSource) {
    this.#source = source;
  }

  async recorded(): Promise<RecordedStatus> {
    const addresses = [...this.services].map(([key, { ingress }]) => [key, ingress.flatMap(({ address }) => address ?? [])] as const);
    const conditions = new Map([...this.services].map(([key, status]) => [key, status.conditions]));
    return { addresses: new Map(addresses), unreadable: new Map(), waitingSince: new Map(), released: [], conditions };
  }

  async writeService(key: ServiceKey, status: ServiceStatus): Promise<void> {
    this.services.set(key, status);
    if (!this.isSlow) this.#source.record(key, status.ingress, status.conditions);
  }

  async releaseService(key: ServiceKey): Promise<void> {
    this.services.delete(key);
    this.#source.record(key, undefined);
  }

  writeObject = async (): Promise<[]> => [];
  removeObject = async (): Promise<void> => undefined;
}

let source: TestSource;
let store: StatusStore;

async function startController(): Promise<Controller> {
  const components = { source, writer: store, observer: noControllerObserver, clock: new VirtualClock(), random: () => 0, log: silentLog };
  const controller = new Controller({ ...components, providers: [new BareMetalProvider()] });
  await controller.start();
  await controller.settled();
  return controller;
}

/** "192.0.2.1 True Assigned: old", with the pools on record. */
function shown(name: string): string {
  const { ingress = [], conditions = [] } = store.services.get(`default/${name}`) ?? {};
  const [assigned] = conditions;
  const pools = / \(of pool (.*)\)$/.exec(assigned?.message ?? '')?.[1] ?? 'none';
  const addresses = ingress.map(({ address }) => (address === undefined ? '' : formatAddress(address)));
  return `${addresses.join()} ${assigned?.status} ${assigned?.reason}: ${pools}`;
}

const old = pool({ name: 'old', addresses: ['192.0.2.1-192.0.2.2'] });
const web = service({ name: 'web' });

beforeEach(() => {
  source = new TestSource(old, web, advertisement({ name: 'ad', ipAddressPools: ['old'] }));
  store = new StatusStore(source);
});

describe('the pools of a Service on record', () => {
  test('stay when the pool is deleted, and go back to True with it', async () => {
    const controller = await startController();
    expect(shown('web')).toBe('192.0.2.1 True Assigned: old: 192.0.2.1');
    source.remove(old);
    await controller.settled();
    expect(shown('web')).toBe('192.0.2.1 False HeldOutsidePools: old: 192.0.2.1');
    expect(store.services.get('default/web')?.conditions[0]?.message).toContain(
      'keeps 192.0.2.1, which is in no valid IPAddressPool any more; advertisements for pool "old", which contained it, still apply',
    );
    source.put(old);
    await controller.settled();
    expect(shown('web')).toBe('192.0.2.1 True Assigned: old: 192.0.2.1');
  });

  test('are known to a controller that has not seen its own record yet', async () => {
    store.isSlow = true;
    const controller = await startController();
    source.remove(old);
    await controller.settled();
    expect(shown('web')).toBe('192.0.2.1 False HeldOutsidePools: old: 192.0.2.1');
  });

  test.each([
    ['before the pool is deleted', 0],
    ['after it', 1],
  ])('survive a restart of the controller %s', async (_, edits) => {
    const first = await startController();
    if (edits === 1) source.remove(old);
    await first.settled();
    await first.stop();
    source.remove(old);
    const second = await startController();
    expect(shown('web')).toBe('192.0.2.1 False HeldOutsidePools: old: 192.0.2.1');
    source.put(pool({ name: 'new', addresses: ['192.0.2.0/30'] }), service({ name: 'later' }));
    await second.settled();
    expect([shown('web'), shown('later')]).toEqual(['192.0.2.1 True Assigned: old: 192.0.2.1', '192.0.2.0 True Assigned: new: 192.0.2.0']);
  });

  test('change when another pool that is announced takes the address over, which no other Service gets meanwhile', async () => {
    const controller = await startController();
    source.remove(old);
    source.put(pool({ name: 'new', addresses: ['192.0.2.1-192.0.2.1'] }), service({ name: 'later' }));
    await controller.settled();
    expect([shown('web'), shown('later')]).toEqual(['192.0.2.1 True Assigned: old: 192.0.2.1', ' False PoolFull: none']);
    source.put(advertisement({ name: 'more', ipAddressPools: ['new'] }), advertisement({ name: 'ad', ipAddressPools: ['none'] }));
    await controller.settled();
    expect(shown('web')).toBe('192.0.2.1 True Assigned: new: 192.0.2.1');
  });

  test('go when the owner asks for another address', async () => {
    const controller = await startController();
    source.remove(old);
    source.put(pool({ name: 'new', addresses: ['198.51.100.1-198.51.100.1'] }));
    await controller.settled();
    source.put({ ...web, requestedPool: 'new' });
    await controller.settled();
    expect(shown('web')).toBe('198.51.100.1 True Assigned: new: 198.51.100.1');
  });

  test('come with the labels that advertisements select, as these are now', async () => {
    const labelled = pool({ name: 'old', addresses: ['192.0.2.1-192.0.2.2'], labels: { tier: 'front', chart: '1' } });
    source.put(labelled);
    const controller = await startController();
    expect(shown('web')).toBe('192.0.2.1 True Assigned: old: 192.0.2.1');
    source.put(advertisement({ name: 'front', ipAddressPoolSelectors: [matching({ tier: 'front' })] }));
    await controller.settled();
    expect(shown('web')).toBe('192.0.2.1 True Assigned: old [tier=front]: 192.0.2.1');
    source.remove(labelled);
    await controller.settled();
    expect(shown('web')).toBe('192.0.2.1 False HeldOutsidePools: old [tier=front]: 192.0.2.1');
  });

  test('stay in the condition whatever it says', async () => {
    source.put(service({ name: 'web', requestedPool: 'old' }));
    const controller = await startController();
    source.remove(old);
    await controller.settled();
    expect(shown('web')).toBe('192.0.2.1 False PoolNotFound: old: 192.0.2.1');
  });
});
