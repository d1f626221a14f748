import { beforeEach, describe, expect, test } from 'vitest';
import { BareMetalProvider } from '../../../../providers/bare-metal/provider.ts';
import { Controller } from '../../../../src/controller/controller.ts';
import { limits } from '../../../../src/controller/limits.ts';
import type { RecordedStatus, ServiceStatus, StatusWriter } from '../../../../src/controller/status-writer.ts';
import { reason } from '../../../../src/model/reasons.ts';
import type { ServiceKey } from '../../../../src/model/objects/metadata.ts';
import type { NodeState } from '../../../../src/model/objects/node-state.ts';
import type { ObjectEvent } from '../../../../src/model/objects/object-event.ts';
import type { HeraldObject } from '../../../../src/model/store/snapshot.ts';
import { address, formatAddress } from '../../../../src/net/address.ts';
import { silentLog } from '../../../../src/system/log.ts';
import { VirtualClock } from '../../../../src/system/virtual-clock.ts';
import { advertisement, metadata, node, peer, pool, service, slice, type ServiceLiteral } from '../../decisions/fixtures.ts';
import { TestSource } from '../../test-source.ts';

/** Records that survive a restart of the controller, as in an API server. */
class Records implements StatusWriter {
  readonly statuses = new Map<ServiceKey, ServiceStatus>();
  readonly source: TestSource;
  writes = 0;

  constructor(source: TestSource) {
    this.source = source;
  }

  async recorded(): Promise<RecordedStatus> {
    const all = [...this.statuses];
    return {
      addresses: new Map(all.map(([key, { ingress }]) => [key, ingress.flatMap((entry) => entry.address ?? [])])),
      conditions: new Map(all.map(([key, { conditions }]) => [key, conditions])),
      unreadable: new Map(),
    };
  }

  async writeService(key: ServiceKey, status: ServiceStatus): Promise<void> {
    if (JSON.stringify(this.statuses.get(key)?.conditions) !== JSON.stringify(status.conditions)) this.writes++;
    this.statuses.set(key, status);
    this.source.record(key, status.ingress, status.conditions);
  }

  async releaseService(key: ServiceKey): Promise<void> {
    this.statuses.delete(key);
    this.source.record(key, undefined);
  }

  /** Events of Services only. */
  async writeObject(): Promise<undefined> {
    return undefined;
  }

  async removeObject(): Promise<void> {}
}

let clock: VirtualClock;
let source: TestSource;
let records: Records;
let controller: Controller;
let events: ObjectEvent[];

beforeEach(() => {
  clock = new VirtualClock();
  source = new TestSource(pool({ name: 'main', addresses: ['192.0.2.1-192.0.2.2'] }));
  records = new Records(source);
});

async function start(): Promise<void> {
  events = [];
  const sink = { record: (event: ObjectEvent): void => void events.push(event) };
  const providers = [new BareMetalProvider()];
  controller = new Controller({ source, providers, writer: records, events: sink, clock, random: () => 0, log: silentLog });
  await controller.start();
  await controller.settled();
}

async function pass(milliseconds: number): Promise<void> {
  clock.advance(milliseconds);
  await controller.settled();
}

async function put(...objects: readonly HeraldObject[]): Promise<void> {
  source.put(...objects);
  await controller.settled();
}

const told = (): string[] =>
  events.map(({ type, reason, regarding, note }) => `${type} ${reason} ${regarding.namespace}/${regarding.name}: ${note}`);
const codes = (): string[] => events.map(({ reason }) => reason);

/** The report of an agent whose session with tor1 is established, or not. */
function report(state: 'Established' | 'Idle'): NodeState {
  const session = { peer: 'tor1', address: '10.1.0.1', state, since: '', localASN: 64_512, peerASN: 65_101, prefixesSent: 1 };
  return {
    kind: 'NodeState',
    metadata: metadata('n1'),
    updated: clock.date().toISOString(),
    consumed: { Service: '1' },
    sessions: [session],
    differing: [],
  };
}

const announced = [
  node({ name: 'n1' }),
  peer({ name: 'tor1' }),
  advertisement({ name: 'all' }),
  service({ name: 'shop/web' }),
  slice({ service: 'shop/web', endpoints: ['10.244.1.10@n1'] }),
] as const;

describe('Events of addresses', () => {
  test('Events say which addresses were assigned, changed and released, and of which object', async () => {
    await start();
    const web = service({ name: 'shop/web' });
    await put(web);
    expect(events[0]).toEqual({
      regarding: { apiVersion: 'v1', kind: 'Service', namespace: 'shop', name: 'web', uid: 'shop/web', resourceVersion: '1' },
      type: 'Normal',
      reason: 'AddressAssigned',
      action: 'AssignAddress',
      note: 'The Service has 192.0.2.1',
    });
    await put(service({ name: 'shop/web', requested: ['192.0.2.2'] }));
    source.remove(web);
    await controller.settled();
    expect(told().slice(1)).toEqual([
      'Normal AddressChanged shop/web: The Service has 192.0.2.2 and had 192.0.2.1',
      'Normal AddressReleased shop/web: 192.0.2.2: the Service is gone',
    ]);
  });

  test('a Service that gets another address because two records had its own gets a warning', async () => {
    const twice = { ingress: [{ address: address('192.0.2.1'), ipMode: 'VIP' as const }], conditions: [] };
    source.put(service({ name: 'shop/a' }), service({ name: 'shop/b' }));
    for (const key of ['shop/a', 'shop/b'] as const) await records.writeService(key, twice);
    await start();
    expect(told()).toEqual([
      'Warning AddressHeldTwice shop/b: 192.0.2.1 is on record for shop/a as well, which keeps it: this Service is neither announced nor forwarded at that address; it has 192.0.2.2 now',
    ]);
  });

  describe.each([
    ['IPv4', '192.0.2', '.', '10.96.0.1'],
    ['IPv6', '2001:db8:', ':', 'fd96::1'],
  ])('two Services that share an %s address', (_, net, dot, clusterIP) => {
    const [first, second] = [`${net}${dot}1`, `${net}${dot}2`];
    const sharer = (name: string, ports: readonly string[], rest: Partial<ServiceLiteral> = {}): HeraldObject =>
      service({ name, ports, sharingKey: 'k', clusterIPs: [clusterIP], ...rest });
    const heldBy = (key: ServiceKey): string[] =>
      (records.statuses.get(key)?.ingress ?? []).map((entry) => (entry.address === undefined ? '' : formatAddress(entry.address)));
    const held = (): string[][] => [heldBy('shop/a'), heldBy('shop/b')];

    beforeEach(async () => {
      await put(pool({ name: 'main', addresses: [`${first}-${second}`] }));
      await start();
      await put(sharer('shop/a', ['443']), sharer('shop/b', ['80']));
      expect(held()).toEqual([[first], [first]]);
      events.splice(0);
    });

    test('the one that takes the port of the other gets another address, and an Event names Service and port', async () => {
      await put(sharer('shop/a', ['80']));
      expect(held()).toEqual([[second], [first]]);
      expect(told()).toEqual([
        `Warning AddressHeldTwice shop/a: ${first} is on record for shop/b as well, which keeps it (both have port 80/TCP): this Service is neither announced nor forwarded at that address; it has ${second} now`,
      ]);
    });

    test('the one that takes the port of the other loses the address that it requests', async () => {
      await put(sharer('shop/a', ['443'], { requested: [first] }));
      await put(sharer('shop/a', ['80'], { requested: [first] }));
      expect(held()).toEqual([[], [first]]);
      expect(records.statuses.get('shop/a')?.conditions[0]).toMatchObject({ status: 'False', reason: 'AddressTaken' });
      await put(sharer('shop/a', ['443'], { requested: [first] }));
      expect(held()).toEqual([[first], [first]]);
    });

    test.each([
      ['the port', ['80'], {}],
      ['the key', ['443'], { sharingKey: 'other' }],
    ] as const)('the one whose owner changes %s while no controller runs loses the address, not the other', async (__, ports, change) => {
      await put(pool({ name: 'main', addresses: [`${first}-${first}`] }));
      await controller.stop();
      source.put(sharer('shop/a', ports, change));
      await start();
      expect(held()).toEqual([[], [first]]);
      await controller.stop();
      await start();
      expect(held()).toEqual([[], [first]]);
    });
  });

  test("an Event about a missing address has the reason's code and the line of the condition", async () => {
    source.put(pool({ name: 'other', addresses: ['198.51.100.0/30'], autoAssign: false }));
    await start();
    await put(service({ name: 'shop/a' }), service({ name: 'shop/b' }), service({ name: 'shop/c' }));
    const warning = events.find(({ type }) => type === 'Warning');
    expect(warning).toMatchObject({ reason: 'PoolFull', action: 'AssignAddress', regarding: { name: 'c' } });
    expect(warning?.note).toContain('pool main is full (2 of 2 IPv4 addresses)');
    const [condition] = records.statuses.get('shop/c')?.conditions ?? [];
    expect(condition?.reason).toBe('PoolFull');
    expect(warning?.note).toBe(condition?.message);
    await put(pool({ name: 'more', addresses: ['203.0.113.0/30'] }));
    expect(codes()).toEqual(['AddressAssigned', 'AddressAssigned', 'PoolFull', 'AddressAssigned']);
  });

  test.each([
    ['ExternalName', { type: 'ExternalName' }, 'the Service is an alias in DNS'],
    ['ClusterIP', { type: 'ClusterIP' }, 'the Service is of type ClusterIP'],
    ['headless', { headless: true }, 'the Service is headless'],
  ] as const)('a Service that becomes %s is left alone, and an Event says why its address went', async (_, change, why) => {
    await start();
    await put(service({ name: 'shop/web' }));
    await put(service({ name: 'shop/web', ...change }));
    expect(records.statuses.has('shop/web')).toBe(false);
    expect(events.at(-1)).toMatchObject({ reason: 'AddressReleased', note: expect.stringContaining(`192.0.2.1: ${why}`) });
    await put(service({ name: 'shop/other', ...change }));
    expect(codes()).toEqual(['AddressAssigned', 'AddressReleased']);
  });

  test('Events come once, and not again after a restart', async () => {
    source.put(service({ name: 'shop/a' }), service({ name: 'shop/b' }), service({ name: 'shop/c' }));
    await start();
    expect(codes()).toEqual(['AddressAssigned', 'AddressAssigned', 'PoolFull']);
    await controller.stop();
    await start();
    await pass(limits.conditionHoldMilliseconds);
    // By now the condition of missing agent reports has lasted.
    expect(new Set(codes())).toEqual(new Set());
  });
});

test('a mistake in a Service is reported once, in the version that has it', async () => {
  await start();
  const about = { apiVersion: 'v1', kind: 'Service', namespace: 'shop', name: 'web', uid: 'u', resourceVersion: '9' };
  const problem = {
    severity: 'warning',
    object: 'Service/shop/web',
    about,
    field: 'metadata.annotations["herald.dev/adress-pool"]',
  } as const;
  const unknown = { ...problem, message: 'is not an annotation', fix: 'did you mean herald.dev/address-pool?' };
  source.breakSomething(unknown);
  source.breakSomething(unknown, { severity: 'error', object: 'IPAddressPool/main', message: 'is no Service', fix: '' });
  expect(events).toMatchObject([
    {
      type: 'Warning',
      reason: 'InvalidService',
      regarding: about,
      note: 'metadata.annotations["herald.dev/adress-pool"] is not an annotation (did you mean herald.dev/address-pool?)',
    },
  ]);
  source.breakSomething();
  source.breakSomething(unknown);
  expect(events).toHaveLength(2);
});

test("a mistake in a Service that is not Herald's is not reported", async () => {
  await start();
  source.put(service({ name: 'shop/theirs', loadBalancerClass: 'example.com/other' }));
  const about = { apiVersion: 'v1', kind: 'Service', namespace: 'shop', name: 'theirs', uid: 'u', resourceVersion: '9' };
  source.breakSomething({ severity: 'warning', object: 'Service/shop/theirs', about, message: 'is odd', fix: '' });
  expect(events).toEqual([]);
});

describe('Events and conditions of announcement', () => {
  test('a Warning comes when only nodes that cannot forward announce the Service', async () => {
    source.put(...announced, report('Established'));
    await start();
    const wrong = { setting: 'net.ipv4.ip_forward', value: '0', wanted: '1', why: 'nothing passes', error: '' };
    const since = clock.date().toISOString();
    const heldBack = [{ family: 'IPv4' as const, since, settled: true, reason: reason('KernelSettingWrong', wrong) }];
    await put({ ...report('Established'), heldBack });
    await pass(limits.conditionHoldMilliseconds);
    await put({ ...report('Established'), heldBack });
    const [last = ''] = told().slice(-1);
    expect(last).toMatch(/^Warning HeldBackLastNextHop shop\/web: Not served: node "n1" does not forward IPv4 .* Run on the node: sysctl/);
  });

  test('Events come when a Service is announced and when it has not been for a while', async () => {
    source.put(...announced, report('Established'));
    await start();
    expect(codes()).toEqual(['AddressAssigned', 'Programmed', 'Announced']);
    await put(report('Idle'));
    await pass(limits.conditionHoldMilliseconds - 1);
    expect(codes()).toHaveLength(3);
    await pass(1);
    expect(events.slice(3)).toMatchObject([{ type: 'Warning', reason: 'SessionDown', action: 'Announce' }]);
    await put(report('Established'));
    expect(events.at(-1)).toMatchObject({ type: 'Normal', reason: 'Announced' });
  });

  test('a flapping session writes no status and causes no Event', async () => {
    source.put(...announced, report('Established'));
    await start();
    const before = { writes: records.writes, events: events.length };
    for (let second = 0; second < 60; second++) {
      await put(report(second % 2 === 0 ? 'Idle' : 'Established'));
      await pass(1000);
    }
    expect({ writes: records.writes, events: events.length }).toEqual(before);
  });

  test('an edit of the Service changes conditions at once, an edit of another object after a hold', async () => {
    source.put(...announced, report('Established'));
    await start();
    const condition = () => records.statuses.get('shop/web')?.conditions[2]?.status;
    await put(advertisement({ name: 'all', serviceSelectors: [{ matchLabels: { announce: 'me' }, matchExpressions: [] }] }));
    expect(condition()).toBe('True');
    await put(service({ name: 'shop/web', labels: { announce: 'not me' } }));
    expect(condition()).toBe('False');
  });

  test('conditions name the generation of the Service when it has one', async () => {
    const web = service({ name: 'shop/web' });
    source.put(...announced, report('Established'), { ...web, metadata: { ...web.metadata, generation: 3 } });
    await start();
    expect(records.statuses.get('shop/web')?.conditions.map(({ observedGeneration }) => observedGeneration)).toEqual([3, 3, 3]);
  });
});
