import { beforeEach, describe, expect, test } from 'vitest';
import { KubeError } from '../../../../src/kube/error.ts';
import { ProtobufError } from '../../../../src/kube/format/protobuf/protobuf-error.ts';
import { parseObject } from '../../../../src/model/parse.ts';
import type { ServiceKey } from '../../../../src/model/objects/metadata.ts';
import { Store } from '../../../../src/model/store/store.ts';
import type { ObjectVersion } from '../../../../src/sources/kubernetes/records/own-writes.ts';
import { address } from '../../../../src/net/address.ts';
import { limits } from '../../../../src/sources/kubernetes/limits.ts';
import { KubernetesStatusWriter } from '../../../../src/sources/kubernetes/records/status-writer.ts';
import { silentLog } from '../../../../src/system/log.ts';
import { VirtualClock } from '../../../../src/system/virtual-clock.ts';
import { FakeServices } from './fake-services.ts';

const assigned = { type: 'herald.dev/AddressAssigned', status: 'True', reason: 'Assigned', message: '' } as const;
const announced = { ...assigned, type: 'herald.dev/Announced', reason: 'Announced' };
const status = { ingress: [{ address: address('192.0.2.7'), ipMode: 'VIP' as const }], conditions: [assigned] };
const foreign = { type: 'example.net/Checked', status: 'True', reason: 'Ok', message: '', lastTransitionTime: '2026-01-01T00:00:00Z' };
const elsewhere = { loadBalancer: { ingress: [{ ip: '198.51.100.1' }] } };

let server: FakeServices;
let store: Store;
let clock: VirtualClock;
let records: KubernetesStatusWriter;

beforeEach(() => {
  server = new FakeServices();
  store = new Store();
  clock = new VirtualClock();
  server.put('shop/web');
  see();
  begin();
});

/** Starts another process, which knows only what it reads. */
function begin(): void {
  records = new KubernetesStatusWriter({ client: server, snapshot: store, clock, log: silentLog });
}

/** Lets the watch catch up. */
function see(): void {
  for (const object of server.objects.values()) {
    const parsed = parseObject(object).object;
    if (parsed !== undefined) store.upsert(parsed);
  }
}

/** Returns the version in the snapshot. */
function seen(): ObjectVersion {
  const service = store.services.get('shop/web');
  if (service === undefined) throw new Error('there is no Service');
  return service.metadata;
}

const statusOf = (): unknown => server.objects.get('shop/web')?.['status'];

test('a written status is not written again, whether the watch has shown it or not', async () => {
  await records.writeService('shop/web', status, seen());
  await records.writeService('shop/web', status, seen());
  see();
  await records.writeService('shop/web', status, seen());
  expect(server.writes).toHaveLength(1);
  expect(server.reads).toBe(0);
});

test('the writer is busy while many statuses are being written', async () => {
  const keys = Array.from({ length: limits.busyStatusWrites }, (_, index): ServiceKey => `shop/${index}`);
  for (const key of keys) server.put(key);
  see();
  const writes = keys.map((key) => {
    const isBusyBefore = records.isBusy;
    const write = records.writeService(key, status, store.services.get(key)?.metadata ?? seen());
    return { isBusyBefore, write };
  });
  expect(writes.some(({ isBusyBefore }) => isBusyBefore)).toBe(false);
  expect(records.isBusy).toBe(true);
  await Promise.all(writes.map(({ write }) => write));
  expect(records.isBusy).toBe(false);
});

test('a status that another program overwrote is written again', async () => {
  await records.writeService('shop/web', status, seen());
  server.put('shop/web', { status: elsewhere });
  see();
  await records.writeService('shop/web', status, seen());
  expect(server.writes).toHaveLength(2);
  expect(statusOf()).toMatchObject({ loadBalancer: { ingress: [{ ip: '192.0.2.7' }] } });
});

test('conditions of other programs stay, known to us or not', async () => {
  server.put('shop/web', { status: { conditions: [foreign] } });
  see();
  await records.writeService('shop/web', status, seen());
  expect(statusOf()).toMatchObject({ conditions: [foreign, assigned] });
  await records.releaseService('shop/web', seen());
  expect(statusOf()).toEqual({ loadBalancer: {}, conditions: [foreign] });
});

describe('a write of a decision that was taken from another version', () => {
  test('a write based on another version is refused until the watch has shown that version', async () => {
    const before = seen();
    server.put('shop/web', { status: elsewhere });
    for (let attempt = 0; attempt < 3; attempt++)
      await expect(records.writeService('shop/web', status, before)).rejects.toMatchObject({ code: 'conflict' });
    expect(statusOf()).toEqual(elsewhere);
    see();
    await records.writeService('shop/web', status, seen());
    expect(server.conflicts).toBe(3);
    expect(statusOf()).toMatchObject({ loadBalancer: { ingress: [{ ip: '192.0.2.7' }] } });
  });

  test('a write based on an older version works when only our own writes came between', async () => {
    const before = seen();
    for (let write = 0; write < 10; write++) {
      const conditions = write % 2 === 0 ? [assigned] : [assigned, announced];
      await records.writeService('shop/web', { ...status, conditions }, before);
    }
    expect([server.writes.length, server.conflicts]).toEqual([10, 0]);
    server.put('shop/web', {});
    await expect(records.writeService('shop/web', status, before)).rejects.toMatchObject({ code: 'conflict' });
  });

  test('a write is refused when another Service has the name', async () => {
    const before = seen();
    server.put('shop/web', {}, 'another');
    await expect(records.writeService('shop/web', status, before)).rejects.toMatchObject({ code: 'conflict' });
    expect(server.writes).toEqual([]);
    see();
    await records.writeService('shop/web', status, seen());
    expect(server.writes).toHaveLength(1);
  });

  test('a write whose response was lost is repeated after the watch has shown the outcome', async () => {
    const before = seen();
    server.losesAnswers = true;
    await expect(records.writeService('shop/web', status, before)).rejects.toMatchObject({ code: 'unreachable' });
    server.losesAnswers = false;
    await expect(records.writeService('shop/web', status, before)).rejects.toMatchObject({ code: 'conflict' });
    see();
    await records.writeService('shop/web', status, seen());
    expect(statusOf()).toMatchObject({ conditions: [assigned] });
  });
});

test('conditions that may have been written before a lost response are removed', async () => {
  const less = { ...status, conditions: [assigned, { ...announced, status: 'False' as const }] };
  const more = { ...status, conditions: [assigned, announced] };
  await records.writeService('shop/web', less, seen());
  see();
  server.losesAnswers = true;
  await expect(records.writeService('shop/web', more, seen())).rejects.toMatchObject({ code: 'unreachable' });
  server.losesAnswers = false;
  see();
  await records.writeService('shop/web', less, seen());
  expect(statusOf()).toMatchObject({ conditions: [{ status: 'True' }, { status: 'False' }] });
});

test('conditions of a first write with a lost response are removed too', async () => {
  server.losesAnswers = true;
  await expect(records.writeService('shop/web', { ...status, conditions: [assigned, announced] }, seen())).rejects.toMatchObject({
    code: 'unreachable',
  });
  server.losesAnswers = false;
  see();
  await records.writeService('shop/web', status, seen());
  expect(statusOf()).toMatchObject({ conditions: [{ type: 'herald.dev/AddressAssigned' }] });
});

test('a deleted Service needs no status', async () => {
  const before = seen();
  server.remove('shop/web');
  await records.writeService('shop/web', status, before);
  await records.releaseService('shop/web', undefined);
  expect(server.writes).toEqual([]);
});

test('releaseService removes nothing that Herald did not write', async () => {
  server.put('shop/web', { status: elsewhere });
  see();
  await records.releaseService('shop/web', seen());
  expect(statusOf()).toEqual(elsewhere);
});

describe('a controller that begins', () => {
  beforeEach(async () => {
    await records.writeService('shop/web', { ...status, conditions: [assigned, announced] }, seen());
    server.put('shop/waits');
    see();
    const { metadata } = store.services.get('shop/waits') ?? {};
    if (metadata === undefined) throw new Error('there is no Service');
    await records.writeService('shop/waits', { ingress: [], conditions: [{ ...assigned, status: 'False', reason: 'PoolFull' }] }, metadata);
    begin();
  });

  test('a new leader reads the records in JSON when it cannot read them in protobuf', async () => {
    see();
    server.page = () => Promise.reject(new ProtobufError('it ends too early'));
    expect([...(await records.recorded()).addresses.keys()]).toEqual(['shop/web', 'shop/waits']);
    server.page = () => Promise.reject(new KubeError('failing', 'etcd is away'));
    await expect(records.recorded()).rejects.toMatchObject({ code: 'failing' });
  });

  test("a new leader reads every Service's addresses and waiting time", async () => {
    see();
    const { addresses, uids, unreadable, waitingSince } = await records.recorded();
    expect(uids?.get('shop/web')).toBe('u1');
    expect(addresses).toEqual(
      new Map([
        ['shop/web', [address('192.0.2.7')]],
        ['shop/waits', []],
      ]),
    );
    expect(unreadable.size).toBe(0);
    expect(waitingSince).toEqual(new Map([['shop/waits', '2026-01-01T00:00:00Z']]));
  });

  test('a new leader writes nothing when every status is right', async () => {
    see();
    await records.recorded();
    clock.advance(60_000);
    await records.writeService('shop/web', { ...status, conditions: [announced, assigned] }, seen());
    expect(server.writes).toHaveLength(2);
  });

  test('a new leader waits until the watch reaches the recorded versions', async () => {
    let known = false;
    const reading = records.recorded().then(() => (known = true));
    for (let time = 0; time < 500; time += 20) {
      clock.advance(20);
      for (let turn = 0; turn < 10; turn++) await Promise.resolve();
    }
    expect(known).toBe(false);
    see();
    clock.advance(20);
    await reading;
    expect(server.reads).toBe(1);
  });

  test('a new leader does not wait for deleted or unreadable Services', async () => {
    server.put('shop/broken', {
      spec: { type: 'Nonsense' },
      status: { conditions: [{ ...assigned, lastTransitionTime: '2026-01-01T00:00:00Z' }] },
    });
    const reading = records.recorded();
    for (let turn = 0; turn < 20; turn++) await Promise.resolve();
    server.remove('shop/waits');
    store.remove('Service', 'shop/waits');
    see();
    for (let time = 0; time < 2000; time += 20) {
      clock.advance(20);
      for (let turn = 0; turn < 10; turn++) await Promise.resolve();
    }
    expect([...(await reading).addresses.keys()]).toEqual(['shop/web', 'shop/broken']);
  });

  test('a new leader stops waiting when the watch shows nothing', async () => {
    const reading = records.recorded().catch((error: unknown) => error);
    for (let time = 0; time < 12_000; time += 20) {
      clock.advance(20);
      for (let turn = 0; turn < 20; turn++) await Promise.resolve();
    }
    expect(await reading).toMatchObject({ code: 'stalled' });
  });
});
