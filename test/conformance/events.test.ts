import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { heraldApiVersion, kinds, pluralOf } from '../../src/model/kinds.ts';
import type { LabProcess } from '../lab/lab-process.ts';
import { until } from '../lab/until.ts';
import { borrowCluster } from './borrowed-cluster.ts';
import type { KubernetesCluster } from './cluster.ts';
import { foreground } from './foreground.ts';
import { apply, definition, shipped } from './manifests.ts';

/** Events and statuses that the controller writes, as a real API server stores them. */
const program = join(import.meta.dirname, '../../bin/herald');
const services = '/api/v1/namespaces/default/services';
const group = `/apis/${heraldApiVersion}`;

let cluster: KubernetesCluster;
let controller: LabProcess;

interface Event {
  readonly metadata: { readonly name: string; readonly namespace: string };
  readonly type: string;
  readonly reason: string;
  readonly action: string;
  readonly note: string;
  readonly eventTime: string;
  readonly reportingController: string;
  readonly reportingInstance: string;
  readonly regarding: { readonly kind: string; readonly name: string; readonly uid: string; readonly namespace?: string };
  readonly series?: { readonly count: number; readonly lastObservedTime: string };
}

interface Read {
  readonly metadata: { readonly uid: string; readonly generation?: number };
  readonly status?: Readonly<Record<string, unknown>> & {
    readonly conditions?: readonly {
      readonly type: string;
      readonly status: string;
      readonly reason: string;
      readonly message: string;
      readonly observedGeneration?: number;
    }[];
  };
}

const ours = (kind: string, name: string, spec: object): object => ({ apiVersion: heraldApiVersion, kind, metadata: { name }, spec });
const sampleObjects = {
  IPAddressPool: ours('IPAddressPool', 'main', { addresses: ['192.0.2.0/30', '2001:db8::/64'] }),
  BGPPeer: ours('BGPPeer', 'tor', { myASN: 64_512, peerASN: 64_513, peerAddress: '10.9.0.1' }),
  BGPAdvertisement: ours('BGPAdvertisement', 'all', { peers: ['tor', 'nobody'] }),
  BFDProfile: ours('BFDProfile', 'fast', {}),
  Community: ours('Community', 'named', { communities: [{ name: 'internal', value: '64512:1' }] }),
  ExternalIPPolicy: ours('ExternalIPPolicy', 'office', { namespaceSelector: {}, cidrs: ['198.51.100.0/24'] }),
  HeraldConfig: ours('HeraldConfig', 'default', {}),
};
const nameOf = (kind: keyof typeof sampleObjects): string => (sampleObjects[kind] as { metadata: { name: string } }).metadata.name;

beforeAll(async () => {
  cluster = await borrowCluster();
  for (const file of ['namespace', 'controller-rbac']) await apply(cluster, ...shipped(`base/${file}.yaml`));
  for (const { kind } of kinds) await apply(cluster, definition(kind));
  await until('every object is accepted', async () => {
    await apply(cluster, ...Object.values(sampleObjects));
    return true;
  });
  const kubeconfig = join(cluster.directory, 'controller.kubeconfig');
  await writeFile(kubeconfig, cluster.kubeconfig(await cluster.serviceAccountToken('herald-system', 'herald-controller')), { mode: 0o600 });
  controller = foreground([program, 'controller', '--kubeconfig', kubeconfig], join(cluster.directory, 'controller.log'));
  await controller.waitForLine(/controller started/);
  // Its Event comes after half a minute. Other tests run meanwhile.
  await apply(cluster, service('classless', { loadBalancerClass: undefined }));
});

afterAll(async () => {
  controller?.kill('SIGKILL');
  await controller?.exited;
  await cluster?.stop();
});

function service(name: string, spec: object = {}): object {
  const whole = { type: 'LoadBalancer', loadBalancerClass: 'herald.dev/herald', ports: [{ port: 80 }], ...spec };
  return { apiVersion: 'v1', kind: 'Service', metadata: { name, namespace: 'default' }, spec: whole };
}

const get = async (path: string): Promise<Read> => (await cluster.request({ path })) as Read;
const objectPath = (kind: string, name: string): string => `${group}/${pluralOf(kind)}/${name}`;

async function eventsOf(name: string): Promise<readonly Event[]> {
  const { items } = (await cluster.request({ path: '/apis/events.k8s.io/v1/namespaces/default/events' })) as { items: Event[] };
  return items.filter(({ regarding }) => regarding.name === name);
}

const untilEvent = (name: string, reason: string): Promise<Event> =>
  until(`${name} has an Event ${reason}`, async () => (await eventsOf(name)).find((event) => event.reason === reason));

const untilStatus = (path: string, what: string, holds: (object: Read) => boolean): Promise<Read> =>
  until(`${path} ${what}`, async (note) => {
    const object = note(await get(path));
    return holds(object) && object;
  });

const conditionOf = ({ status }: Read, type: string) => status?.conditions?.find((condition) => condition.type === type);

describe('Events', () => {
  test('an Event names the Service, the reporter and the change', async () => {
    await apply(cluster, service('web', { loadBalancerIP: '192.0.2.1' }));
    const event = await untilEvent('web', 'AddressAssigned');
    const { metadata } = await get(`${services}/web`);
    expect(event).toMatchObject({
      type: 'Normal',
      action: 'AssignAddress',
      note: 'The Service has 192.0.2.1',
      reportingController: 'herald.dev/controller',
      reportingInstance: expect.stringMatching(/./),
      eventTime: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:]{8}\.\d{6}Z$/),
      regarding: { kind: 'Service', namespace: 'default', name: 'web', uid: metadata.uid },
    });
    const web = await untilStatus(`${services}/web`, 'has conditions', ({ status }) => status?.conditions?.length === 3);
    for (const { observedGeneration } of web.status?.conditions ?? []) expect(observedGeneration).toBe(web.metadata.generation);
  });

  test('repeated Events become a series', async () => {
    const asks = (loadBalancerIP: string): Promise<unknown> => apply(cluster, service('mover', { loadBalancerIP }));
    await asks('192.0.2.2');
    await untilEvent('mover', 'AddressAssigned');
    const untilSeries = (count: number, text: string) =>
      until(`${count} times ${text}`, async () => {
        const found = (await eventsOf('mover')).find(({ note }) => note === text);
        return found !== undefined && (found.series?.count ?? 1) === count && found;
      });
    for (const count of [1, 2]) {
      await asks('192.0.2.3');
      await untilSeries(count, 'The Service has 192.0.2.3 and had 192.0.2.2');
      await asks('192.0.2.2');
      await untilSeries(count, 'The Service has 192.0.2.2 and had 192.0.2.3');
    }
    expect((await eventsOf('mover')).filter(({ reason }) => reason === 'AddressChanged')).toHaveLength(2);
  });

  test('warnings report a Service without an address and an invalid one', async () => {
    await apply(cluster, service('late', { loadBalancerIP: '192.0.2.1' }));
    const taken = await untilEvent('late', 'AddressTaken');
    expect(taken).toMatchObject({ type: 'Warning', note: expect.stringContaining('default/web') });
    const odd = service('odd') as { metadata: object };
    await apply(cluster, { ...odd, metadata: { ...odd.metadata, annotations: { 'herald.dev/adress-pool': 'main' } } });
    const invalid = await untilEvent('odd', 'InvalidService');
    expect(invalid).toMatchObject({ type: 'Warning', note: expect.stringContaining('herald.dev/address-pool') });
  });

  test('Events of a released address outlive their Service', async () => {
    await cluster.request({ method: 'DELETE', path: `${services}/mover` });
    expect(await untilEvent('mover', 'AddressReleased')).toMatchObject({ note: '192.0.2.2: the Service is gone' });
  });

  test('a LoadBalancer without class and controller gets one Warning with both fixes, and nothing else', async () => {
    const find = async (): Promise<Event | undefined> => (await eventsOf('classless')).find(({ reason }) => reason === 'ClassNotSet');
    const event = await until('classless has an Event', find);
    expect(event).toMatchObject({ type: 'Warning', action: 'AssignAddress', regarding: { kind: 'Service', name: 'classless' } });
    expect(event.note).toMatch(/spec\.loadBalancerClass: herald\.dev\/herald .*immutable.*defaultClass: true in HeraldConfig\/default/);
    await cluster.request({
      method: 'PATCH',
      path: `${services}/classless`,
      body: { metadata: { labels: { touched: 'yes' } } },
      contentType: 'application/merge-patch+json',
    });
    // Once a later Service has its Event, the controller has processed the change.
    await apply(cluster, service('after-classless', { loadBalancerIP: '198.18.0.2' }));
    await untilEvent('after-classless', 'AddressNotInPools');
    expect(await eventsOf('classless')).toHaveLength(1);
    expect((await get(`${services}/classless`)).status).toEqual({ loadBalancer: {} });
  });

  test('an Event into a namespace that is being deleted is dropped without a warning', async () => {
    await apply(cluster, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'ending' } });
    const path = '/api/v1/namespaces/ending';
    const whole = service('leaving') as { readonly metadata: object };
    await apply(cluster, { ...whole, metadata: { ...whole.metadata, namespace: 'ending' } });
    await untilStatus(`${path}/services/leaving`, 'has conditions', ({ status }) => (status?.conditions?.length ?? 0) > 0);
    // No controller of namespaces runs, so the namespace stays in the phase Terminating.
    await cluster.request({ method: 'DELETE', path });
    await cluster.request({ method: 'DELETE', path: `${path}/services/leaving` });
    await apply(cluster, service('after-the-end', { loadBalancerIP: '198.18.0.1' }));
    // Events are written in order, so the one of the deleted Service was tried before.
    await untilEvent('after-the-end', 'AddressNotInPools');
    expect(controller.lines().filter((line) => /being terminated|Events are lost/.test(line))).toEqual([]);
  });
});

describe('the status of configuration objects', () => {
  test.each([
    ['IPAddressPool', 'Accepted', 'Ready'],
    ['BGPPeer', 'Accepted', 'PeerSelectsNoNode'],
    ['BGPAdvertisement', 'UnknownPeer', 'AdvertisesNothing'],
    ['BFDProfile', 'Accepted', 'Ready'],
    ['Community', 'Accepted', 'Ready'],
    ['ExternalIPPolicy', 'Accepted', 'Ready'],
    ['HeraldConfig', 'Accepted', 'Ready'],
  ] as const)('a %s says: %s, %s', async (kind, accepted, ready) => {
    const object = await untilStatus(objectPath(kind, nameOf(kind)), 'has conditions', (one) => one.status?.conditions?.length === 2);
    expect(conditionOf(object, 'Accepted')).toMatchObject({ reason: accepted, observedGeneration: object.metadata.generation });
    expect(conditionOf(object, 'Ready')).toMatchObject({ reason: ready, observedGeneration: object.metadata.generation });
  });

  test('a pool counts its assigned addresses and shows them', async () => {
    await untilStatus(objectPath('IPAddressPool', 'main'), 'counts', ({ status }) => status?.['assignedIPv4'] === 2);
    const table = (await cluster.request({
      path: `${group}/ipaddresspools`,
      accept: 'application/json;as=Table;v=v1;g=meta.k8s.io',
    })) as { columnDefinitions: { name: string }[]; rows: { cells: unknown[] }[] };
    const cells = Object.fromEntries(table.columnDefinitions.map(({ name }, index) => [name, table.rows[0]?.cells[index]]));
    expect(cells).toMatchObject({ Name: 'main', Usage: '2/4, 0/2^64', Accepted: 'True', Ready: 'True' });
    expect((await get(objectPath('IPAddressPool', 'main'))).status).toMatchObject({ availableIPv4: 2, availableIPv6: 2 ** 63 });
  });

  test('a pool that passes the schema but not Herald says so, and its earlier version stays in force', async () => {
    const path = objectPath('IPAddressPool', 'second');
    await apply(cluster, ours('IPAddressPool', 'second', { addresses: ['198.19.0.0/24'] }));
    await untilStatus(path, 'is accepted', (object) => conditionOf(object, 'Accepted')?.status === 'True');
    await apply(cluster, ours('IPAddressPool', 'second', { addresses: ['198.19.0.0/24', '198.19.0.128/25'] }));
    const broken = await untilStatus(path, 'is refused', (object) => conditionOf(object, 'Accepted')?.status === 'False');
    expect(conditionOf(broken, 'Accepted')).toMatchObject({
      reason: 'ObjectUnreadable',
      message: expect.stringMatching(/^spec\.addresses .*stays in force.*make the ranges disjoint/),
      observedGeneration: 2,
    });
    expect(conditionOf(broken, 'Ready')).toMatchObject({ status: 'True' });
    const event = await untilEvent('second', 'ObjectUnreadable');
    expect(event).toMatchObject({ metadata: { namespace: 'default' }, regarding: { kind: 'IPAddressPool', uid: broken.metadata.uid } });
  });

  test('the later of two overlapping pools is refused, both name the other, and the earlier works', async () => {
    await apply(cluster, ours('IPAddressPool', 'third', { addresses: ['192.0.2.0/24', '203.0.113.0/24'] }));
    const third = await untilStatus(
      objectPath('IPAddressPool', 'third'),
      'is refused',
      (one) => conditionOf(one, 'Accepted')?.status === 'False',
    );
    expect(conditionOf(third, 'Accepted')?.reason).toBe('PoolOverlaps');
    const main = await untilStatus(objectPath('IPAddressPool', 'main'), 'has a conflict', ({ status }) =>
      JSON.stringify(status?.['conflicts']).includes('third'),
    );
    expect(conditionOf(main, 'Accepted')?.status).toBe('True');
    expect(third.status?.['conflicts']).toEqual(['main']);
    await cluster.request({ method: 'DELETE', path: objectPath('IPAddressPool', 'third') });
    await untilStatus(objectPath('IPAddressPool', 'main'), 'has none', ({ status }) => JSON.stringify(status?.['conflicts']) === '[]');
  });

  test('a second peer for one router is refused, and works once the first is deleted', async () => {
    await apply(cluster, { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n1' } });
    await untilStatus(objectPath('BGPPeer', 'tor'), 'expects a session', ({ status }) => status?.['sessions'] === '0/1');
    await apply(cluster, ours('BGPPeer', 'twin', { myASN: 64_512, peerASN: 64_513, peerAddress: '10.9.0.1' }));
    await untilStatus(objectPath('BGPPeer', 'twin'), 'is refused', (one) => conditionOf(one, 'Accepted')?.reason === 'DuplicatePeer');
    await cluster.request({ method: 'DELETE', path: objectPath('BGPPeer', 'tor') });
    await untilStatus(objectPath('BGPPeer', 'twin'), 'is accepted', (one) => conditionOf(one, 'Accepted')?.status === 'True');
    expect(await untilEvent('twin', 'Accepted')).toMatchObject({ type: 'Normal' });
  });
});
