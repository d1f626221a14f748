import { beforeEach, describe, expect, test } from 'vitest';
import { BareMetalProvider } from '../../../providers/bare-metal/provider.ts';
import { Controller } from '../../../src/controller/controller.ts';
import { noControllerObserver } from '../../../src/controller/controller-observer.ts';
import { limits } from '../../../src/controller/limits.ts';
import type { Condition, ObjectRecord, RecordedStatus, ServiceStatus, StatusWriter } from '../../../src/controller/status-writer.ts';
import type { ObjectReference } from '../../../src/model/objects/object-event.ts';
import type { NodeState } from '../../../src/model/objects/node-state.ts';
import { reason } from '../../../src/model/reasons.ts';
import { readReleased, type ReleasedAddress } from '../../../src/model/parse/released-address.ts';
import type { ServiceKey } from '../../../src/model/objects/metadata.ts';
import type { Service } from '../../../src/model/objects/service.ts';
import type { HeraldObject } from '../../../src/model/store/snapshot.ts';
import { address, formatAddress } from '../../../src/net/address.ts';
import { silentLog } from '../../../src/system/log.ts';
import { VirtualClock } from '../../../src/system/virtual-clock.ts';
import { advertisement, config, metadata, node, peer, pool, service, slice, type ServiceLiteral } from '../decisions/fixtures.ts';
import { TestSource } from '../test-source.ts';

/** Stores records as a directory does, and reports them to the source. */
class TestWriter implements StatusWriter {
  readonly services = new Map<ServiceKey, ServiceStatus>();
  readonly unreadable = new Map<ServiceKey, string>();
  readonly objects = new Map<string, readonly Condition[]>();
  readonly #source: TestSource;
  readonly waitingSince = new Map<ServiceKey, string>();
  readonly released = new Map<string, readonly ReleasedAddress[]>();
  failing = false;
  writes = 0;

  constructor(source: TestSource) {
    this.#source = source;
  }

  async recorded(): Promise<RecordedStatus> {
    const addresses = [...this.services].map(([key, { ingress }]) => [key, ingress.flatMap((entry) => entry.address ?? [])] as const);
    return {
      addresses: new Map(addresses.filter(([key]) => !this.unreadable.has(key))),
      unreadable: new Map(this.unreadable),
      waitingSince: this.waitingSince,
      released: [...this.released.values()].flat(),
      conditions: new Map([...this.services].map(([key, { conditions }]) => [key, conditions])),
    };
  }

  async writeService(key: ServiceKey, status: ServiceStatus): Promise<void> {
    this.writes++;
    if (this.failing) throw new Error('disk full');
    this.services.set(key, status);
    this.#source.record(key, status.ingress);
  }

  async releaseService(key: ServiceKey): Promise<void> {
    this.services.delete(key);
    this.#source.record(key, undefined);
  }

  async writeObject({ kind, name }: ObjectReference, { conditions, fields }: ObjectRecord): Promise<readonly Condition[]> {
    const before = this.objects.get(`${kind}/${name}`) ?? [];
    this.objects.set(`${kind}/${name}`, conditions);
    this.released.set(name, readReleased(fields));
    return before;
  }

  async removeObject(kind: string, name: string): Promise<void> {
    this.objects.delete(`${kind}/${name}`);
  }

  addresses(key: ServiceKey): string[] {
    return (this.services.get(key)?.ingress ?? []).map(({ address }) => (address === undefined ? '' : formatAddress(address)));
  }

  message(key: ServiceKey): string | undefined {
    return this.services.get(key)?.conditions[0]?.message;
  }

  condition(key: ServiceKey, type: string): string {
    const found = this.services.get(key)?.conditions.find((condition) => condition.type === `herald.dev/${type}`);
    return found === undefined ? 'absent' : `${found.status} ${found.reason}`;
  }
}

let source: TestSource;
let logged: [string, object][];
let writer: TestWriter;

/** The Services whose conditions were written, in order. */
let judged: ServiceKey[];

function newController(clock = new VirtualClock()): Controller {
  const log = { ...silentLog, info: (fields: object, message: string) => void logged.push([message, fields]) };
  const observer = { ...noControllerObserver, conditionsWritten: (key: ServiceKey) => void judged.push(key) };
  return new Controller({ source, providers: [new BareMetalProvider()], writer, observer, clock, random: () => 0, log });
}

async function startController(clock = new VirtualClock()): Promise<Controller> {
  const controller = newController(clock);
  await controller.start();
  await controller.settled();
  return controller;
}

beforeEach(() => {
  source = new TestSource(pool({ name: 'main', addresses: ['192.0.2.1-192.0.2.2'] }));
  writer = new TestWriter(source);
  logged = [];
  judged = [];
});

const released = (): object[] => logged.flatMap(([message, fields]) => (message === 'address released' ? [fields] : []));

function report(name: string, change: Partial<NodeState> = {}): NodeState {
  const updated = new VirtualClock().date().toISOString();
  return { kind: 'NodeState', metadata: metadata(name), updated, consumed: { Service: '1' }, sessions: [], differing: [], ...change };
}

function announcedOverOneSession(): HeraldObject[] {
  const [state, localASN, peerASN] = ['Established', 64_512, 65_101] as const;
  return [
    node({ name: 'n1' }),
    peer({ name: 'tor1' }),
    advertisement({ name: 'all' }),
    service({ name: 'shop/web' }),
    slice({ service: 'shop/web', endpoints: ['10.244.1.10@n1'] }),
    report('n1', { sessions: [{ peer: 'tor1', address: '10.1.0.1', state, since: '', localASN, peerASN, prefixesSent: 1 }] }),
  ];
}

describe('the controller', () => {
  test('a Service is assigned an address, and its condition says so', async () => {
    source.put(service({ name: 'shop/web' }));
    await startController();
    expect(writer.addresses('shop/web')).toEqual(['192.0.2.1']);
    expect(writer.condition('shop/web', 'AddressAssigned')).toBe('True Assigned');
    expect(writer.condition('shop/web', 'Programmed')).toBe('Unknown NoAgentReports');
  });

  test('a health-check node port that a node cannot serve leaves its Service programmed', async () => {
    const because = reason('HealthCheckNotServed', { port: 32_000, family: 'IPv4', why: 'the port is in use' });
    source.put(
      service({ name: 'shop/web' }),
      report('n1', { differing: [{ service: 'shop/web', aspect: 'HealthCheck', reason: because }] }),
    );
    await startController();
    expect(writer.condition('shop/web', 'Programmed')).toBe('True Programmed');
  });

  test('adding or removing a hostname does not move the address of its Service', async () => {
    const record = () => writer.services.get('shop/web')?.ingress;
    source.put(service({ name: 'shop/web', hostname: 'web.example.com' }));
    const controller = await startController();
    expect(record()).toEqual([{ address: address('192.0.2.1'), hostname: 'web.example.com', ipMode: 'VIP' }]);
    source.put(service({ name: 'shop/web', hostname: 'www.example.com' }));
    await controller.settled();
    expect(record()).toEqual([{ address: address('192.0.2.1'), hostname: 'www.example.com', ipMode: 'VIP' }]);
    source.put(service({ name: 'shop/web' }));
    await controller.settled();
    expect(record()).toEqual([{ address: address('192.0.2.1'), ipMode: 'VIP' }]);
  });

  test('a Service that is drained keeps its address and says why it is not announced', async () => {
    source.put(service({ name: 'shop/web', drain: true }), node({ name: 'n1' }), advertisement({ name: 'all' }));
    await startController();
    expect(writer.addresses('shop/web')).toEqual(['192.0.2.1']);
    expect(writer.condition('shop/web', 'Announced')).toBe('False ServiceDrained');
  });

  test('draining an announced Service changes its condition at once', async () => {
    source.put(...announcedOverOneSession());
    const controller = await startController();
    expect(writer.condition('shop/web', 'Announced')).toBe('True Announced');
    source.put(service({ name: 'shop/web', drain: true }));
    await controller.settled();
    expect(writer.condition('shop/web', 'Announced')).toBe('False ServiceDrained');
  });

  test('a Service that only a draining node announces is announced, and its condition says so', async () => {
    source.put(...announcedOverOneSession());
    const controller = await startController();
    source.put(node({ name: 'n1', drain: 'keepLast' }));
    await controller.settled();
    expect(writer.condition('shop/web', 'Announced')).toBe('True NodeDraining');
    const { nodeStates } = source.snapshot;
    const settled = { phase: 'Settled', since: '2026-01-01T00:00:00Z', kept: 1 } as const;
    source.put(report('n1', { ...nodeStates.get('n1'), drain: settled }));
    await controller.settled();
    expect(writer.condition('shop/web', 'Announced')).toBe('True LastNextHop');
    source.put(node({ name: 'n1' }));
    await controller.settled();
    expect(writer.condition('shop/web', 'Announced')).toBe('True Announced');
  });

  test('a restarted controller keeps every assigned address, whatever else waits', async () => {
    source.put(service({ name: 'shop/b' }));
    await (await startController()).stop();
    source.put(service({ name: 'shop/a' }), service({ name: 'shop/c' }));
    await startController();
    expect(writer.addresses('shop/b')).toEqual(['192.0.2.1']);
    expect([...writer.addresses('shop/a'), ...writer.addresses('shop/c')]).toEqual(['192.0.2.2']);
  });

  test('a freed address goes to the Service that has waited longest', async () => {
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

  test('waiting Services go before newcomers, whichever change the source reports first', async () => {
    const controller = await startController();
    for (const name of ['shop/one', 'shop/two', 'shop/waiting', 'shop/second']) {
      source.put(service({ name }));
      await controller.settled();
    }

    source.atOnce(() => {
      source.put(service({ name: 'shop/a-new' }));
      source.remove(service({ name: 'shop/one' }));
    });
    await controller.settled();
    expect(writer.addresses('shop/waiting')).toEqual(['192.0.2.1']);
    source.put(service({ name: 'shop/a-newer' }));
    source.put(pool({ name: 'more', addresses: ['198.51.100.1-198.51.100.1'] }));
    await controller.settled();
    expect(writer.addresses('shop/second')).toEqual(['198.51.100.1']);
    expect([...writer.addresses('shop/a-new'), ...writer.addresses('shop/a-newer')]).toEqual([]);
  });

  test.each([
    ['one order', (names: ServiceKey[]) => names],
    ['the other', (names: ServiceKey[]) => names.toReversed()],
  ])('a start serves the longest waiting, then the oldest Services, in any listing order: %s', async (_, order) => {
    const created = { 'shop/young': '2026-01-03T00:00:00Z', 'shop/old': '2026-01-01T00:00:00Z', 'shop/b': '', 'shop/waits': '' } as const;
    writer.waitingSince.set('shop/waits', '2026-01-02T00:00:00Z');
    for (const name of order(['shop/young', 'shop/old', 'shop/b', 'shop/waits'])) {
      const made = service({ name });
      source.put({ ...made, metadata: { ...made.metadata, creationTimestamp: created[name as keyof typeof created] } });
    }
    await startController();
    expect([writer.addresses('shop/waits'), writer.addresses('shop/old')]).toEqual([['192.0.2.1'], ['192.0.2.2']]);
    expect([...writer.addresses('shop/young'), ...writer.addresses('shop/b')]).toEqual([]);
  });

  test('the condition of a waiting Service names the nearest pool, its reason and the fix', async () => {
    source.put(
      pool({ name: 'main', addresses: ['192.0.2.1-192.0.2.1'] }),
      pool({ name: 'six', addresses: ['2001:db8::/64'] }),
      pool({ name: 'team', addresses: ['198.51.100.0/24'], serviceAllocation: { namespaces: ['team'] } }),
      pool({ name: 'zz-old', addresses: ['203.0.113.0/24'], draining: true }),
    );
    source.put(service({ name: 'shop/one' }));
    const controller = await startController();
    source.put(service({ name: 'shop/two' }));
    await controller.settled();
    expect(writer.condition('shop/two', 'AddressAssigned')).toBe('False NoPoolFits');
    expect(writer.message('shop/two')).toBe(
      'Not served: pool main is full (1 of 1 IPv4 addresses), and no other pool fits. Add addresses to IPAddressPool main, or release shop/one.',
    );
  });

  test('a waiting Service names another holder of its namespace when the named one releases its address', async () => {
    const clock = new VirtualClock();
    for (const name of ['shop/old', 'other/foreign', 'shop/next', 'shop/waits', 'team/alone']) source.put(service({ name }));
    source.put(pool({ name: 'main', addresses: ['192.0.2.1-192.0.2.2'] }));
    const controller = await startController(clock);
    const full = 'Not served: pool main is full (2 of 2 IPv4 addresses). Add addresses to IPAddressPool main, or ';
    expect(writer.message('shop/waits')).toBe(`${full}release shop/old.`);
    // No Service of its namespace holds an address, and those of other namespaces are not its owner's business.
    expect(writer.message('team/alone')).toBe(`${full}delete a Service that holds one.`);
    source.remove(service({ name: 'shop/old' }));
    await controller.settled();
    expect(writer.addresses('shop/next')).toEqual(['192.0.2.1']);
    clock.advance(limits.conditionHoldMilliseconds);
    await controller.settled();
    expect(writer.message('shop/waits')).toBe(`${full}release shop/next.`);
    expect(writer.message('team/alone')).toBe(`${full}delete a Service that holds one.`);
  });

  test('a Service that stops being of type LoadBalancer releases its address and loses its record', async () => {
    source.put(service({ name: 'shop/web' }));
    const controller = await startController();
    source.put(service({ name: 'shop/web', type: 'ClusterIP' }));
    await controller.settled();
    expect(writer.services.has('shop/web')).toBe(false);
    source.put(service({ name: 'shop/other' }));
    await controller.settled();
    expect(writer.addresses('shop/other')).toEqual(['192.0.2.1']);
  });

  test('the address of a deleted Service is kept as long as its pool says, then given to a waiting one', async () => {
    source.put(pool({ name: 'main', addresses: ['192.0.2.1-192.0.2.1'], keepReleasedSeconds: 60 }));
    source.put(service({ name: 'shop/web' }));
    const clock = new VirtualClock();
    const controller = await startController(clock);
    source.remove(service({ name: 'shop/web' }));
    source.put(service({ name: 'shop/other' }));
    await controller.settled();
    expect(writer.condition('shop/other', 'AddressAssigned')).toBe('False PoolFull');
    source.put(service({ name: 'shop/web' }));
    await controller.settled();
    expect(writer.addresses('shop/web')).toEqual(['192.0.2.1']);
    source.remove(service({ name: 'shop/web' }));
    await controller.settled();
    clock.advance(59_000);
    await controller.settled();
    expect(writer.addresses('shop/other')).toEqual([]);
    clock.advance(11_000);
    await controller.settled();
    expect(writer.addresses('shop/other')).toEqual(['192.0.2.1']);
  });

  describe('addresses kept for deleted Services, after a restart', () => {
    const keeping = pool({ name: 'main', addresses: ['192.0.2.1-192.0.2.1'], keepReleasedSeconds: 60 });
    let clock: VirtualClock;

    beforeEach(async () => {
      clock = new VirtualClock();
      source.put(keeping, service({ name: 'shop/web' }));
      const controller = await startController(clock);
      source.remove(service({ name: 'shop/web' }));
      await controller.settled();
      clock.advance(7000);
      await controller.settled();
      await controller.stop();
    });

    test('an address stays kept for a Service of the same name', async () => {
      source.put(service({ name: 'shop/other' }));
      const controller = await startController(clock);
      expect(writer.condition('shop/other', 'AddressAssigned')).toBe('False PoolFull');
      source.put(service({ name: 'shop/web' }));
      await controller.settled();
      expect(writer.addresses('shop/web')).toEqual(['192.0.2.1']);
      clock.advance(7000);
      await controller.settled();
      expect(writer.released.get('main')).toEqual([]);
    });

    test('an address stays kept for the time that it would have been kept without a restart', async () => {
      source.put(service({ name: 'shop/other' }));
      const controller = await startController(clock);
      clock.advance(50_000);
      await controller.settled();
      expect(writer.addresses('shop/other')).toEqual([]);
      clock.advance(15_000);
      await controller.settled();
      expect(writer.addresses('shop/other')).toEqual(['192.0.2.1']);
    });

    test('an address is free when its pool no longer keeps any', async () => {
      source.put({ ...keeping, keepReleasedSeconds: 0 }, service({ name: 'shop/other' }));
      await startController(clock);
      expect(writer.addresses('shop/other')).toEqual(['192.0.2.1']);
    });
  });

  test('a freed address is given to no Service before the change is recorded', async () => {
    const controller = await startController();
    for (const name of ['shop/one', 'shop/two', 'shop/waiting']) source.put(service({ name }));
    await controller.settled();
    source.put(pool({ name: 'more', addresses: ['198.51.100.1-198.51.100.1'], autoAssign: false }));
    await controller.settled();
    writer.failing = true;
    source.put(service({ name: 'shop/one', requestedPool: 'more' }));
    await controller.settled();
    writer.failing = false;
    source.put(service({ name: 'shop/newcomer' }));
    await controller.settled();
    expect(writer.addresses('shop/one')).toEqual(['192.0.2.1']);
    expect([...writer.addresses('shop/waiting'), ...writer.addresses('shop/newcomer')]).toEqual([]);
    source.put(service({ name: 'shop/one', requestedPool: 'more', labels: { again: '' } }));
    await controller.settled();
    expect(writer.addresses('shop/one')).toEqual(['198.51.100.1']);
    expect(writer.addresses('shop/waiting')).toEqual(['192.0.2.1']);
  });

  describe('a Service with the name of one that is gone', () => {
    const sharing = { sharingKey: 'k', ports: ['443'] };
    const impossible = { requested: ['2001:db8::1'] };

    test('a Service recreated while the old record still exists does not inherit a shared address', async () => {
      source.put(service({ name: 'shop/one', sharingKey: 'k' }), service({ name: 'shop/two', ...sharing }));
      const controller = await startController();
      expect([writer.addresses('shop/one'), writer.addresses('shop/two')]).toEqual([['192.0.2.1'], ['192.0.2.1']]);
      const remove = writer.releaseService.bind(writer);
      writer.releaseService = () => Promise.reject(new Error('the answer is lost'));
      source.remove(service({ name: 'shop/one' }));
      await controller.settled();
      writer.releaseService = remove;
      source.put(service({ name: 'shop/one', ...impossible }), service({ name: 'shop/newcomer' }));
      await controller.settled();
      expect(writer.addresses('shop/one')).toEqual([]);
      expect(writer.condition('shop/one', 'AddressAssigned')).toBe('False RequestedFamilyMismatch');
      expect(writer.addresses('shop/newcomer')).toEqual(['192.0.2.2']);
    });

    test('a Service recreated under the same name does not inherit the address', async () => {
      const named = (uid: string, literal: Omit<ServiceLiteral, 'name'> = {}): Service => {
        const { metadata, ...rest } = service({ name: 'shop/one', ...literal });
        return { metadata: { ...metadata, uid }, ...rest };
      };
      source.put(named('first', { sharingKey: 'k' }), service({ name: 'shop/two', ...sharing }));
      const controller = await startController();
      source.put(named('second', { sharingKey: 'k' }));
      await controller.settled();
      expect(writer.addresses('shop/one')).toEqual(['192.0.2.1']);
      source.put(named('third', impossible));
      await controller.settled();
      expect(writer.addresses('shop/one')).toEqual([]);
    });
  });

  describe('a controller whose source lags behind the records', () => {
    const stale = service({ name: 'shop/web' });

    beforeEach(() => {
      source.put(stale, service({ name: 'shop/a-newcomer', requested: ['192.0.2.1'] }));
      const ingress = [{ address: address('192.0.2.1'), ipMode: 'VIP' as const }];
      // As another process would: the source has not reported it yet.
      writer.services.set('shop/web', { ingress, conditions: [] });
    });

    test('the controller adopts the recorded address, whatever the source shows', async () => {
      await startController();
      expect(writer.addresses('shop/web')).toEqual(['192.0.2.1']);
      expect(writer.addresses('shop/a-newcomer')).toEqual([]);
    });

    test('the controller keeps the address of a Service that HeraldConfig gives to another controller', async () => {
      source.put(config({ defaultClass: false }));
      await startController();
      expect(writer.addresses('shop/web')).toEqual(['192.0.2.1']);
    });

    test('the controller does not adopt the address for another Service of the same name', async () => {
      const uids = new Map([['shop/web', 'the one that is gone']] as const);
      const recorded = writer.recorded.bind(writer);
      writer.recorded = async () => ({ ...(await recorded()), uids });
      source.put(pool({ name: 'main', addresses: ['192.0.2.1-192.0.2.2'], draining: true }));
      await startController();
      expect(writer.addresses('shop/web')).toEqual([]);
      expect(writer.condition('shop/web', 'AddressAssigned')).toBe('False PoolDraining');
    });
  });

  test("the recorded address of a Service that became another's is not reused while the record exists", async () => {
    source.put(service({ name: 'shop/one' }));
    await (await startController()).stop();
    source.put(service({ name: 'shop/one', type: 'ClusterIP' }), service({ name: 'shop/two', requested: ['192.0.2.1'] }));
    const given: string[] = [];
    const remove = writer.releaseService.bind(writer);
    writer.releaseService = async (key) => {
      if (writer.services.has(key)) given.push(...writer.addresses('shop/two'));
      await remove(key);
    };
    await startController();
    expect(given).toEqual([]);
    expect(writer.addresses('shop/two')).toEqual(['192.0.2.1']);
  });

  test('an added pool serves waiting Services', async () => {
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

  test('a Service with a broken manifest at start keeps its address until it is repaired or gone', async () => {
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

  test('reserved addresses are freed once nothing is unreadable, without any other change', async () => {
    writer.services.set('shop/broken', { ingress: [{ address: address('192.0.2.1'), ipMode: 'VIP' }], conditions: [] });
    source.breakSomething({ severity: 'error', file: 'broken.yaml', message: 'no YAML', fix: '' });
    source.put(service({ name: 'shop/one' }), service({ name: 'shop/two' }));
    const controller = await startController();
    expect(writer.addresses('shop/two')).toEqual([]);
    source.breakSomething();
    await new Promise(setImmediate);
    await controller.settled();
    expect(writer.addresses('shop/two')).toEqual(['192.0.2.1']);
    expect(released()).toMatchObject([{ service: 'shop/broken', addresses: ['192.0.2.1'] }]);
  });

  describe('an unreadable record at start', () => {
    const file = '.herald/status/services/shop/a.yaml';

    beforeEach(async () => {
      source.put(service({ name: 'shop/a' }), service({ name: 'shop/b' }));
      await (await startController()).stop();
      expect([writer.addresses('shop/a'), writer.addresses('shop/b')]).toEqual([['192.0.2.1'], ['192.0.2.2']]);
      writer.unreadable.set('shop/a', file);
      source.record('shop/a', undefined);
      source.breakSomething({ severity: 'error', file, message: 'no YAML', fix: '' });
      source.put(service({ name: 'shop/new' }), pool({ name: 'more', addresses: ['198.51.100.1-198.51.100.9'] }));
    });

    test('an unreadable record stops allocation and takes nothing away; after repair all keep their own', async () => {
      const controller = await startController();
      expect(writer.condition('shop/new', 'AddressAssigned')).toBe('False RecordUnreadable');
      expect(writer.addresses('shop/new')).toEqual([]);
      expect(writer.addresses('shop/b')).toEqual(['192.0.2.2']);
      expect(writer.condition('shop/b', 'AddressAssigned')).toBe('True Assigned');
      // The broken record was not overwritten.
      expect(writer.addresses('shop/a')).toEqual(['192.0.2.1']);
      writer.unreadable.clear();
      writer.services.set('shop/a', { ingress: [{ address: address('198.51.100.5'), ipMode: 'VIP' }], conditions: [] });
      source.breakSomething();
      await new Promise(setImmediate);
      await controller.settled();
      expect(writer.addresses('shop/a')).toEqual(['198.51.100.5']);
      expect(writer.addresses('shop/new')).toEqual(['192.0.2.1']);
    });

    test('a deleted record makes its Service get a new address', async () => {
      const controller = await startController();
      writer.unreadable.clear();
      writer.services.delete('shop/a');
      source.breakSomething();
      await new Promise(setImmediate);
      await controller.settled();
      expect(writer.addresses('shop/a')).toHaveLength(1);
      expect(writer.addresses('shop/new')).toHaveLength(1);
    });

    test('a deleted Service takes its unreadable record with it', async () => {
      const controller = await startController();
      source.remove(service({ name: 'shop/a' }));
      await controller.settled();
      expect(writer.services.has('shop/a')).toBe(false);
      expect(writer.condition('shop/new', 'AddressAssigned')).toBe('True Assigned');
    });
  });

  test.each([
    ['the default class is given up', service({ name: 'shop/web' }), { defaultClass: false }],
    ['the class is renamed', service({ name: 'shop/web', loadBalancerClass: 'herald.dev/herald' }), { loadBalancerClass: 'example.com/x' }],
  ])('when %s in HeraldConfig, all addresses stay, also over a restart, until the Service changes', async (_, web, change) => {
    source.put(web);
    let controller = await startController();
    source.put(
      config(change),
      service({ name: 'shop/other', loadBalancerClass: 'loadBalancerClass' in change ? change.loadBalancerClass : 'herald.dev/herald' }),
    );
    await controller.settled();
    const code = 'defaultClass' in change ? 'ClassNotSet' : 'OtherLoadBalancerClass';
    expect(writer.condition('shop/web', 'AddressAssigned')).toBe(`False ${code}`);
    expect(writer.addresses('shop/web')).toEqual(['192.0.2.1']);
    expect(writer.addresses('shop/other')).toEqual(['192.0.2.2']);
    await controller.stop();
    source.put(
      service({ name: 'shop/third', loadBalancerClass: 'loadBalancerClass' in change ? change.loadBalancerClass : 'herald.dev/herald' }),
    );
    controller = await startController();
    expect(writer.addresses('shop/web')).toEqual(['192.0.2.1']);
    expect(writer.addresses('shop/third')).toEqual([]);
    expect(released()).toEqual([]);
    source.put(config());
    await controller.settled();
    expect(writer.condition('shop/web', 'AddressAssigned')).toBe('True Assigned');
    source.put(config(change));
    await controller.settled();
    source.put({ ...web, loadBalancerClass: 'example.com/theirs' });
    await controller.settled();
    expect(writer.services.has('shop/web')).toBe(false);
    expect(released()).toMatchObject([{ service: 'shop/web', addresses: ['192.0.2.1'] }]);
  });

  test('a waiting Service that HeraldConfig gave to another controller takes no turn of a waiting one', async () => {
    const loadBalancerClass = 'herald.dev/herald';
    const holders = ['shop/a', 'shop/b'].map((name) => service({ name, loadBalancerClass }));
    source.put(...holders, service({ name: 'shop/first' }), service({ name: 'shop/second', loadBalancerClass }));
    const controller = await startController();
    expect([writer.addresses('shop/first'), writer.addresses('shop/second')]).toEqual([[], []]);
    source.put(config({ defaultClass: false }));
    await controller.settled();
    // The Service holds nothing, so it has no status.
    expect(writer.services.has('shop/first')).toBe(false);
    source.remove(service({ name: 'shop/a' }));
    await controller.settled();
    expect(writer.addresses('shop/second')).toEqual(['192.0.2.1']);
  });

  test('an address that is exchanged for another is logged as released', async () => {
    source.put(service({ name: 'shop/web' }));
    const controller = await startController();
    source.put(service({ name: 'shop/web', requested: ['192.0.2.2'] }));
    await controller.settled();
    expect(writer.addresses('shop/web')).toEqual(['192.0.2.2']);
    expect(released()).toMatchObject([{ service: 'shop/web', addresses: ['192.0.2.1'] }]);
  });

  test.each<[string, Partial<NodeState>, string]>([
    ['says nothing of it', {}, 'True Programmed'],
    ['says that the data plane failed', { problem: reason('DataPlaneFailed', { error: 'no' }) }, 'False DataPlaneFailed'],
    ['is cut', { truncated: true }, 'Unknown ReportCut'],
    ['says that the agent was stopped', { problem: reason('AgentStopped', { node: 'n1' }) }, 'Unknown NoAgentReports'],
  ])('Programmed follows when the report of the node %s', async (_, change, expected) => {
    source.put(service({ name: 'shop/web' }), node({ name: 'n1' }), report('n1'));
    const clock = new VirtualClock();
    const controller = await startController(clock);
    // The first report always counts; the test is about the second one.
    source.put(report('n1', { updated: new VirtualClock().date().toISOString().replace('.000Z', 'Z') }));
    await controller.settled();
    source.put(report('n1', change));
    await controller.settled();
    clock.advance(limits.conditionHoldMilliseconds);
    await controller.settled();
    expect(writer.condition('shop/web', 'Programmed')).toBe(expected);
  });

  test("Programmed is Unknown while another program's forwarding cannot be seen, and follows the report", async () => {
    const unseen = { host: [reason('ForwardingNotSeen', { scope: 'none', why: '' })] };
    source.put(service({ name: 'shop/web' }), node({ name: 'n1' }), config({ services: 'none' }), report('n1'));
    const clock = new VirtualClock();
    const controller = await startController(clock);
    expect(writer.condition('shop/web', 'Programmed')).toBe('True Programmed');
    source.put(report('n1', unseen));
    await controller.settled();
    clock.advance(limits.conditionHoldMilliseconds);
    await controller.settled();
    expect(writer.condition('shop/web', 'Programmed')).toBe('Unknown ForwardingNotSeen');
    // Beside kube-proxy, Herald forwards the load balancer addresses.
    source.put(config({ services: 'external' }));
    await controller.settled();
    expect(writer.condition('shop/web', 'Programmed')).toBe('True Programmed');
  });

  test('a report of a node that does not exist does not count', async () => {
    source.put(service({ name: 'shop/web' }), node({ name: 'n1' }), report('n1'));
    source.put(report('gone', { problem: reason('DataPlaneFailed', { error: 'no' }) }));
    await startController();
    expect(writer.condition('shop/web', 'Programmed')).toBe('True Programmed');
  });

  test('a report that only says that its agent lives, or has acted on newer versions, requeues no Service', async () => {
    const web = service({ name: 'shop/web' });
    source.put({ ...web, metadata: { ...web.metadata, resourceVersion: '5' } }, node({ name: 'n1' }), node({ name: 'n2' }));
    source.put(report('n1'), report('n2'));
    const controller = await startController();
    const heartbeat = async (consumed: string): Promise<number> => {
      const before = writer.writes;
      source.put(report('n1', { consumed: { Service: consumed, Node: String(before) } }));
      await controller.settled();
      return writer.writes - before;
    };
    expect(await heartbeat('2')).toBe(0);
    expect(await heartbeat('5')).toBe(0);
  });

  test('records of Services that are gone are removed at start', async () => {
    writer.services.set('shop/gone', { ingress: [{ address: address('192.0.2.1'), ipMode: 'VIP' }], conditions: [] });
    await startController();
    expect(writer.services.has('shop/gone')).toBe(false);
  });

  test('only a pool that overlaps an earlier one is refused, and says so', async () => {
    source.put(pool({ name: 'other', addresses: ['192.0.2.0/30'] }), service({ name: 'shop/web' }));
    await startController();
    expect(writer.objects.get('IPAddressPool/main')?.[0]).toMatchObject({ type: 'Accepted', status: 'True' });
    expect(writer.objects.get('IPAddressPool/other')?.[0]).toMatchObject({ type: 'Accepted', status: 'False', reason: 'PoolOverlaps' });
    expect(writer.addresses('shop/web')).toEqual(['192.0.2.1']);
  });

  test('an agent that falls silent no longer counts in conditions, without any other change', async () => {
    const clock = new VirtualClock();
    source.put(...announcedOverOneSession());
    const controller = new Controller({ source, providers: [new BareMetalProvider()], writer, clock, random: () => 0, log: silentLog });
    await controller.start();
    await controller.settled();
    expect(writer.condition('shop/web', 'Announced')).toBe('True Announced');
    clock.advance(90_000);
    await controller.settled();
    expect(writer.condition('shop/web', 'Announced')).toBe('True Announced');
    clock.advance(10_000);
    await controller.settled();
    clock.advance(limits.conditionHoldMilliseconds);
    await controller.settled();
    expect(writer.condition('shop/web', 'Announced')).toBe('False AgentSilent');
    expect(writer.condition('shop/web', 'Programmed')).toBe('Unknown NoAgentReports');
    await controller.stop();
    expect(clock.pending).toBe(0);
  });
});

describe('an address that two records contain', () => {
  const aged = (name: ServiceKey, day: number): Service => {
    const made = service({ name });
    return { ...made, metadata: { ...made.metadata, creationTimestamp: `2026-01-0${day}T00:00:00Z` } };
  };
  const ingress = (text: string): ServiceStatus['ingress'] => [{ address: address(text), ipMode: 'VIP' }];
  const why = (): unknown => (released()[0] as { readonly why: string } | undefined)?.why;

  test('the older Service keeps the address at start; the other one gets another, with an Event', async () => {
    source.put(aged('shop/a-young', 2), aged('shop/old', 1));
    for (const key of ['shop/a-young', 'shop/old'] as const) {
      writer.services.set(key, { ingress: ingress('192.0.2.1'), conditions: [] });
      source.record(key, ingress('192.0.2.1'));
    }
    await startController();
    expect([writer.addresses('shop/old'), writer.addresses('shop/a-young')]).toEqual([['192.0.2.1'], ['192.0.2.2']]);
    expect(released()).toEqual([
      { service: 'shop/a-young', addresses: ['192.0.2.1'], why: expect.stringContaining('on record for shop/old') },
    ]);
  });

  test('the Service that must move gets the last free address at start, and not one that waits', async () => {
    source.put(aged('shop/a-young', 2), aged('shop/old', 1), aged('shop/waits', 3));
    const conditions = [{ type: 'herald.dev/AddressAssigned', status: 'True', reason: 'Assigned', message: '' }] as const;
    for (const key of ['shop/a-young', 'shop/old'] as const) {
      writer.services.set(key, { ingress: ingress('192.0.2.1'), conditions });
      source.record(key, ingress('192.0.2.1'));
    }
    writer.waitingSince.set('shop/waits', '2026-01-01T00:00:00Z');
    await startController();
    expect([writer.addresses('shop/a-young'), writer.addresses('shop/waits')]).toEqual([['192.0.2.2'], []]);
  });

  test('a Service keeps its address when another program writes the same one to another Service', async () => {
    source.put(aged('shop/a', 2), aged('shop/b', 1));
    const controller = await startController();
    const [a, b] = [writer.addresses('shop/a'), writer.addresses('shop/b')];
    source.record('shop/b', ingress(a[0] ?? ''));
    await controller.settled();
    expect([writer.addresses('shop/a'), writer.addresses('shop/b')]).toEqual([a, b]);
    expect(source.store.services.get('shop/b')?.ingress).toEqual(ingress(b[0] ?? ''));
    expect(why()).toBeUndefined();
  });

  test('a Service that arrives with an address of another Service loses it', async () => {
    source.put(aged('shop/a', 2));
    const controller = await startController();
    source.put({ ...aged('shop/b', 1), ingress: ingress('192.0.2.1') });
    await controller.settled();
    expect([writer.addresses('shop/a'), writer.addresses('shop/b')]).toEqual([['192.0.2.1'], ['192.0.2.2']]);
  });

  test('an unshared address stays with a Service to which an earlier controller wrote it late', async () => {
    const controller = await startController();
    source.atOnce(() => {
      source.put(aged('shop/a', 1));
      source.put({ ...aged('shop/b', 2), ingress: ingress('192.0.2.1') });
    });
    await controller.settled();
    expect([writer.addresses('shop/a'), writer.addresses('shop/b')]).toEqual([['192.0.2.2'], ['192.0.2.1']]);
  });
});

describe('a controller that starts in a cluster whose Services have their addresses', () => {
  const keys = Array.from({ length: 20 }, (_, index): ServiceKey => `shop/${index + 10}`);

  beforeEach(async () => {
    source = new TestSource(pool({ name: 'main', addresses: ['192.0.2.0/24'] }));
    writer = new TestWriter(source);
    for (const name of keys) source.put(service({ name }));
    await (await startController()).stop();
    judged = [];
  });

  test('it gives a new Service its address before it judges the conditions of the others', async () => {
    source.put(service({ name: 'shop/new' }));
    await startController();
    expect([...new Set(judged)]).toEqual(['shop/new', ...keys]);
    expect(writer.addresses('shop/new')).toEqual(['192.0.2.20']);
  });

  test('it judges a Service that changes meanwhile before the others', async () => {
    const controller = newController();
    await controller.start();
    source.put(service({ name: 'shop/25', externalTrafficPolicy: 'Local' }));
    await controller.settled();
    expect(judged.slice(0, 2)).toContain('shop/25');
    expect(new Set(judged).size).toBe(keys.length);
  });

  test('it tells a Service at once that its record no longer fits', async () => {
    source.record('shop/25', [{ address: address('192.0.2.200'), ipMode: 'Proxy' }]);
    await startController();
    expect(judged[0]).toBe('shop/25');
  });
});
