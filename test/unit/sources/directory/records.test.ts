import type { ObjectReference } from '../../../../src/model/objects/object-event.ts';
import { mkdir, readFile, readdir, stat, writeFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { currentReport, whyNoReport, type NodeState } from '../../../../src/model/objects/node-state.ts';
import { acquireLock } from '../../../../src/sources/directory/lock.ts';
import { reason, reasonText } from '../../../../src/model/reasons.ts';
import { address } from '../../../../src/net/address.ts';
import { releasedManifest } from '../../../../src/model/parse/released-address.ts';
import { DirectoryStatusWriter, type RecordedServiceStatus } from '../../../../src/sources/directory/records/status-writer.ts';
import { VirtualClock } from '../../../../src/system/virtual-clock.ts';
import { serviceYaml, Workbench } from './workbench.ts';

const assigned: RecordedServiceStatus = {
  ingress: [
    { address: address('192.0.2.1'), ipMode: 'VIP' },
    { address: address('2001:db8::1'), ipMode: 'VIP' },
  ],
  conditions: [{ type: 'herald.dev/AddressAssigned', status: 'True', reason: 'Assigned', message: 'from pool "main"' }],
};

const state = (name: string): NodeState => ({
  kind: 'NodeState',
  metadata: { namespace: '', name, uid: '', resourceVersion: '', labels: {}, annotations: {}, creationTimestamp: '', deleting: false },
  updated: '2026-01-01T00:00:00Z',
  consumed: {},
  sessions: [
    { peer: 'tor1', address: '192.0.2.1', state: 'Established', since: '2026-01-01T00:00:00Z', localASN: 1, peerASN: 2, prefixesSent: 3 },
  ],
  differing: [{ service: 'shop/web', aspect: 'Announced', reason: reason('SessionDown', { peer: 'tor1', state: 'Idle', lastError: 'x' }) }],
});

const file = '.herald/status/services/shop/web.yaml';

const object = (kind: string, name: string): ObjectReference => ({
  apiVersion: '',
  kind,
  namespace: '',
  name,
  uid: '',
  resourceVersion: '',
});

describe('records of a directory', () => {
  test('records are files that people can read', async () => {
    await using bench = await Workbench.over({});
    await new DirectoryStatusWriter(bench.path(''), { clock: new VirtualClock() }).writeService('shop/web', assigned);
    expect(await readFile(bench.path(file), 'utf8')).toBe(`apiVersion: v1
kind: Service
metadata:
  namespace: shop
  name: web
status:
  loadBalancer:
    ingress:
      - ip: 192.0.2.1
        ipMode: VIP
      - ip: 2001:db8::1
        ipMode: VIP
  conditions:
    - type: herald.dev/AddressAssigned
      status: "True"
      reason: Assigned
      message: from pool "main"
      lastTransitionTime: 2026-01-01T00:00:00Z
`);
    const { mode } = await stat(bench.path(file));
    expect(mode & 0o777).toBe(0o644);
    expect(await readdir(bench.path('.herald/status/services/shop'))).toEqual(['web.yaml']);
  });

  test('a record reaches the snapshot as one change, and writing it again changes nothing', async () => {
    await using bench = await Workbench.started({
      'web.yaml': serviceYaml('web', '10.96.0.1'),
      'api.yaml': serviceYaml('api', '10.96.0.2'),
    });
    const records = new DirectoryStatusWriter(bench.path(''), { clock: new VirtualClock() });
    const ingress = (): readonly unknown[] | undefined => bench.source.snapshot.services.get('shop/web')?.ingress;
    bench.batches.length = 0;
    await records.writeService('shop/web', assigned);
    await bench.until(() => ingress()?.length === 2);
    expect(bench.batches).toEqual([[{ kind: 'Service', key: 'shop/web' }]]);
    expect(ingress()).toEqual(assigned.ingress);
    expect((await records.recorded()).addresses).toEqual(new Map([['shop/web', [address('192.0.2.1'), address('2001:db8::1')]]]));

    bench.batches.length = 0;
    const before = await stat(bench.path(file), { bigint: true });
    await records.writeService('shop/web', assigned);
    expect((await stat(bench.path(file), { bigint: true })).ino).toBe(before.ino);
    // The snapshot holds no conditions, so only the other file's change is reported.
    await records.writeService('shop/web', { ...assigned, conditions: [] });
    await bench.write('api.yaml', serviceYaml('api', '10.96.0.3'));
    await bench.until(() => bench.batches.length > 0);
    expect(bench.batches).toEqual([[{ kind: 'Service', key: 'shop/api' }]]);

    await records.releaseService('shop/web');
    await records.releaseService('shop/web');
    await bench.until(() => ingress()?.length === 0);
  });

  test('records survive a restart, even when the manifest appears later', async () => {
    await using bench = await Workbench.over({});
    await new DirectoryStatusWriter(bench.path(''), { clock: new VirtualClock() }).writeService('shop/web', assigned);
    await bench.source.start();
    await bench.write('web.yaml', serviceYaml('web', '10.96.0.1'));
    await bench.until(() => bench.source.snapshot.services.has('shop/web'));
    expect(bench.source.snapshot.services.get('shop/web')?.ingress).toEqual(assigned.ingress);
  });

  test('a broken record keeps the last addresses in force and is reported', async () => {
    await using bench = await Workbench.over({ 'web.yaml': serviceYaml('web', '10.96.0.1') });
    await new DirectoryStatusWriter(bench.path(''), { clock: new VirtualClock() }).writeService('shop/web', assigned);
    await bench.source.start();
    await bench.write(file, 'status:\n  loadBalancer:\n    ingress:\n    - ip: 192.0.2\n');
    await bench.until(() => bench.problems.length > 0);
    expect(bench.source.problems()).toMatchObject([{ file, line: 4, fix: expect.stringContaining('stays in force') }]);
    expect(bench.source.snapshot.services.get('shop/web')?.ingress).toEqual(assigned.ingress);
  });

  test('a condition keeps its transition time while its status is the same', async () => {
    await using bench = await Workbench.over({});
    const clock = new VirtualClock();
    const records = new DirectoryStatusWriter(bench.path(''), { clock });
    const times = async (): Promise<string[]> => (await readFile(bench.path(file), 'utf8')).match(/(?<=lastTransitionTime: ).*/g) ?? [];
    const condition = { type: 'herald.dev/Announced', status: 'True', reason: 'A', message: '' } as const;
    await records.writeService('shop/web', { ingress: [], conditions: [condition] });
    clock.advance(60_000);
    await records.writeService('shop/web', { ingress: [], conditions: [{ ...condition, reason: 'B' }] });
    expect(await times()).toEqual(['2026-01-01T00:00:00Z']);
    await records.writeService('shop/web', { ingress: [], conditions: [{ ...condition, status: 'False' }] });
    expect(await times()).toEqual(['2026-01-01T00:01:00Z']);
  });

  test('node records are read as they were written', async () => {
    await using bench = await Workbench.started({});
    const records = new DirectoryStatusWriter(bench.path(''), { clock: new VirtualClock() });
    await records.writeNodeState(state('n1'));
    await bench.until(() => bench.source.snapshot.nodeStates.has('n1'));
    const { metadata, recorded, ...rest } = bench.source.snapshot.nodeStates.get('n1') ?? state('lost');
    const { metadata: _, ...expected } = state('n1');
    expect(rest).toEqual(expected);
    expect(recorded?.by).toBe('file');
    expect(metadata.name).toBe('n1');
    expect(bench.problems).toEqual([]);
  });

  test('the report of an agent that was killed counts no longer, at once', async () => {
    await using bench = await Workbench.started({});
    const records = new DirectoryStatusWriter(bench.path(''), { clock: new VirtualClock() });
    for (const node of ['n1', 'n2']) await records.writeNodeState(state(node));
    await bench.until(() => bench.source.snapshot.nodeStates.size === 2);
    const killed = bench.path('.herald/nodes/n1.lock');
    await acquireLock(killed);
    await acquireLock(bench.path('.herald/nodes/n2.lock'));
    expect(await bench.source.findEndedAgents()).toBe(false);
    // The holder has another start time: its process id belongs to another process by now.
    await writeFile(killed, JSON.stringify({ ...(JSON.parse(await readFile(killed, 'utf8')) as object), started: '1' }));
    expect(await bench.source.findEndedAgents()).toBe(true);
    const { nodeStates } = bench.source.snapshot;
    const now = Date.parse('2026-01-01T00:00:05Z');
    expect(currentReport(nodeStates, 'n1', now)).toBeUndefined();
    expect(reasonText(whyNoReport(nodeStates, 'n1'))).toBe('no agent reports for node "n1"');
    expect(currentReport(nodeStates, 'n2', now)).toBeDefined();
  });

  test('records of configuration objects are not read as manifests', async () => {
    await using bench = await Workbench.started({});
    const records = new DirectoryStatusWriter(bench.path(''), { clock: new VirtualClock() });
    const file = bench.path('.herald/status/objects/ipaddresspool/main.yaml');
    const status = { conditions: assigned.conditions, fields: { availableIPv6: 2n ** 63n - 1n, usage: '0/2^64' } };
    expect(await records.writeObject(object('IPAddressPool', 'main'), status)).toEqual([]);
    await records.writeNodeState(state('n1'));
    await bench.until(() => bench.source.snapshot.nodeStates.has('n1'));
    expect(await readFile(file, 'utf8')).toContain('kind: IPAddressPool');
    expect(await readFile(file, 'utf8')).toContain('availableIPv6: 9223372036854775807');
    expect(await records.writeObject(object('IPAddressPool', 'main'), status)).toMatchObject(assigned.conditions);
    expect(bench.problems).toEqual([]);
    expect(bench.source.snapshot.pools.size).toBe(0);
    await records.removeObject('IPAddressPool', 'main');
    await expect(readFile(file, 'utf8')).rejects.toMatchObject({ code: 'ENOENT' });
  });

  test('a record cannot leave its folder', async () => {
    await using bench = await Workbench.over({});
    const records = new DirectoryStatusWriter(bench.path(''), { clock: new VirtualClock() });
    for (const key of ['../x', 'a/..', 'a/.x', '/x', 'a/b\0'] as `${string}/${string}`[]) {
      await expect(records.writeService(key, assigned)).rejects.toMatchObject({ code: 'invalidName' });
      await expect(records.releaseService(key)).rejects.toMatchObject({ code: 'invalidName' });
    }
    await expect(records.writeNodeState(state('../n'))).rejects.toMatchObject({ code: 'invalidName' });
    await expect(records.writeObject(object('../k', 'n'), { conditions: [], fields: {} })).rejects.toMatchObject({ code: 'invalidName' });
  });

  test('writes to one file keep the order of calls, and a refused write does not stop the next', async () => {
    await using bench = await Workbench.over({});
    const records = new DirectoryStatusWriter(bench.path(''), { clock: new VirtualClock() });
    await mkdir(bench.path('.herald/status'), { recursive: true });
    await writeFile(bench.path('.herald/status/services'), 'in the way');
    await expect(records.writeService('shop/web', assigned)).rejects.toMatchObject({ code: 'notWritten' });
    await bench.remove('.herald/status/services');
    const writes = [1, 2, 3].map((n) =>
      records.writeService('shop/web', { ingress: [{ address: address(`192.0.2.${n}`), ipMode: 'VIP' }], conditions: [] }),
    );
    await Promise.all(writes);
    expect((await records.recorded()).addresses.get('shop/web')).toEqual([address('192.0.2.3')]);
  });

  test('the records return what pools keep, and nothing from an unreadable status', async () => {
    await using bench = await Workbench.over({});
    const records = new DirectoryStatusWriter(bench.path(''), { clock: new VirtualClock() });
    const kept = { service: 'shop/web', address: address('192.0.2.7'), until: Date.parse('2026-01-01T00:01:00Z') } as const;
    await records.writeObject(object('IPAddressPool', 'main'), { conditions: [], fields: { released: releasedManifest([kept]) } });
    await bench.write('.herald/status/objects/ipaddresspool/broken.yaml', 'status: {released: [{service: 1}, 7');
    expect((await records.recorded()).released).toEqual([kept]);
  });

  test('the records return since when a Service waits', async () => {
    await using bench = await Workbench.over({});
    const clock = new VirtualClock();
    const records = new DirectoryStatusWriter(bench.path(''), { clock });
    const unmet = (status: 'True' | 'False') => ({
      ingress: [],
      conditions: [{ type: 'herald.dev/AddressAssigned', status, reason: 'PoolFull', message: '' }],
    });
    await records.writeService('shop/waits', unmet('False'));
    await records.writeService('shop/has', unmet('True'));
    clock.advance(5000);
    await records.writeService('shop/waits', unmet('False'));
    expect((await records.recorded()).waitingSince).toEqual(new Map([['shop/waits', '2026-01-01T00:00:00Z']]));
  });

  test.each([
    ['no YAML', 'status: ['],
    ['empty', ''],
    ['a list', '- status'],
    ['no address', 'status: { loadBalancer: { ingress: [{ ip: 192.0.2.300 }] } }'],
  ])('an unreadable record (%s) is distinguished from one without addresses', async (_, text) => {
    await using bench = await Workbench.over({
      '.herald/status/services/shop/bad.yaml': text,
      '.herald/status/services/shop/none.yaml': 'status: { loadBalancer: {} }',
    });
    const { addresses, unreadable } = await new DirectoryStatusWriter(bench.path(''), { clock: new VirtualClock() }).recorded();
    expect(addresses).toEqual(new Map([['shop/none', []]]));
    expect(unreadable).toEqual(new Map([['shop/bad', '.herald/status/services/shop/bad.yaml']]));
  });
});
