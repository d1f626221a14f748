import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { LabProcess } from '../lab/lab-process.ts';
import { until } from '../lab/until.ts';
import { apply } from './manifests.ts';
import { loadBalancer, ServiceCluster } from './services.ts';

/** Tests what an owner or another program may do to a Service during its life. */
let services: ServiceCluster;
let controller: LabProcess;

beforeAll(async () => {
  services = await ServiceCluster.start(['192.0.2.0/24', '2001:db8::/120']);
  controller = await services.startController();
});

afterAll(() => services?.stop());

const create = (name: string, spec: object = {}, metadata: object = {}): Promise<void> =>
  apply(services.cluster, loadBalancer(name, spec, metadata));

const remove = (name: string): Promise<unknown> => services.cluster.request({ method: 'DELETE', path: `${services.path}/${name}` });

/** Once a later Service has its address, the controller has processed all earlier changes. */
async function settled(): Promise<void> {
  await create('settled');
  await services.untilAddresses('settled', 1);
  await remove('settled');
}

describe('a change of type', () => {
  test('ClusterIP clears the status and frees the address, and LoadBalancer gets a new one', async () => {
    await create('changes', { loadBalancerIP: '192.0.2.50' });
    await services.untilAddresses('changes', 1);
    // The API server removes the class and the address only together with the type.
    const clusterIP = { type: 'ClusterIP', loadBalancerClass: null, allocateLoadBalancerNodePorts: null, loadBalancerIP: null };
    expect((await services.patch('changes', { spec: clusterIP })).status).toBe(200);
    await until('the status is cleared', async (note) => note((await services.get('changes')).status.conditions) === undefined);
    expect(await services.addressesOf('changes')).toEqual([]);
    await create('takes', { loadBalancerIP: '192.0.2.50' });
    expect(await services.untilAddresses('takes', 1)).toEqual(['192.0.2.50']);
    const back = { type: 'LoadBalancer', loadBalancerClass: 'herald.dev/herald', allocateLoadBalancerNodePorts: false };
    expect((await services.patch('changes', { spec: back })).status).toBe(200);
    const [address] = await services.untilAddresses('changes', 1);
    expect(address).not.toBe('192.0.2.50');
    await services.untilCondition('changes', 'True Assigned');
  });

  test('a Service that becomes ExternalName loses its status and its address', async () => {
    await create('alias');
    const [address = ''] = await services.untilAddresses('alias', 1);
    const spec = {
      type: 'ExternalName',
      externalName: 'example.net',
      clusterIP: '',
      clusterIPs: null,
      loadBalancerClass: null,
      allocateLoadBalancerNodePorts: null,
    };
    expect((await services.patch('alias', { spec })).status).toBe(200);
    await until('the status is cleared', async (note) => note((await services.get('alias')).status.conditions) === undefined);
    await create('takes-alias', { loadBalancerIP: address });
    expect(await services.untilAddresses('takes-alias', 1)).toEqual([address]);
  });
});

test('the API server refuses to change the class of a Service', async () => {
  await create('classed');
  const addresses = await services.untilAddresses('classed', 1);
  const answer = await services.patch('classed', { spec: { loadBalancerClass: 'example.net/other' } });
  expect(answer).toMatchObject({ status: 422, body: { message: expect.stringContaining('may not change once set') } });
  await settled();
  expect(await services.addressesOf('classed')).toEqual(addresses);
});

describe('a change of IP families', () => {
  test('a Service follows its policy, and the address of the kept family stays', async () => {
    await create('families', { ipFamilyPolicy: 'SingleStack', ipFamilies: ['IPv4'] });
    const [v4 = ''] = await services.untilAddresses('families', 1);
    expect((await services.patch('families', { spec: { ipFamilyPolicy: 'RequireDualStack' } })).status).toBe(200);
    const both = await services.untilAddresses('families', 2);
    expect(both[0]).toBe(v4);
    expect(both[1]).toContain(':');
    const single = { ipFamilyPolicy: 'SingleStack', ipFamilies: ['IPv4'], clusterIPs: [(await clusterIPsOf('families'))[0]] };
    expect((await services.patch('families', { spec: single })).status).toBe(200);
    expect(await services.untilAddresses('families', 1)).toEqual([v4]);
    // Another Service can get the released address.
    await create('takes-six', { ipFamilies: ['IPv6'], ipFamilyPolicy: 'SingleStack', loadBalancerIP: both[1] });
    expect(await services.untilAddresses('takes-six', 1)).toEqual([both[1]]);
  });

  async function clusterIPsOf(name: string): Promise<readonly string[]> {
    const { spec } = (await services.get(name)) as unknown as { readonly spec: { readonly clusterIPs: readonly string[] } };
    return spec.clusterIPs;
  }
});

describe("a deleted Service that another program's finalizer holds", () => {
  test('the Service keeps its address until it is gone, also over a restart', async () => {
    await create('held', { loadBalancerIP: '192.0.2.60' }, { finalizers: ['example.net/cleanup'] });
    await services.untilAddresses('held', 1);
    await remove('held');
    expect((await services.get('held')).metadata['deletionTimestamp']).toBeDefined();
    await create('wants', { loadBalancerIP: '192.0.2.60' });
    await services.untilCondition('wants', 'False AddressTaken');
    await services.kill(controller);
    controller = await services.startController();
    await settled();
    expect(await services.addressesOf('held')).toEqual(['192.0.2.60']);
    expect(await services.conditionOf('held')).toBe('True Assigned');
    await services.patch('held', { metadata: { finalizers: null } });
    expect(await services.untilAddresses('wants', 1)).toEqual(['192.0.2.60']);
  });

  test('a Service without an address gets none any more', async () => {
    await services.kill(controller);
    await create('late', {}, { finalizers: ['example.net/cleanup'] });
    await remove('late');
    controller = await services.startController();
    await settled();
    expect(await services.addressesOf('late')).toEqual([]);
    expect(await services.conditionOf('late')).toBe('False BeingDeleted');
    await services.patch('late', { metadata: { finalizers: null } });
  });
});

describe('another field manager', () => {
  const ingress = (ip: string): object => ({ status: { loadBalancer: { ingress: [{ ip }] } } });
  const as = { apiVersion: 'v1', kind: 'Service', metadata: { name: 'managed', namespace: 'default' } };

  test('applying status conflicts with Herald, and a forced change is overwritten', async () => {
    await create('managed');
    const addresses = await services.untilAddresses('managed', 1);
    const path = `${services.path}/managed/status`;
    const conflict = await services.applyAs('meddler', path, { ...as, ...ingress('203.0.113.5') }, false);
    expect(conflict).toMatchObject({ status: 409, body: { message: expect.stringContaining('herald') } });
    expect((await services.applyAs('meddler', path, { ...as, ...ingress('203.0.113.5') }, true)).status).toBe(200);
    await until('Herald has restored its address', async (note) => note(await services.addressesOf('managed')).join() === addresses.join());
  });

  test('applying other fields does not affect the address', async () => {
    await create('applied');
    const addresses = await services.untilAddresses('applied', 1);
    const path = `${services.path}/applied`;
    const labels = { ...as, metadata: { ...as.metadata, name: 'applied', labels: { tier: 'front' } } };
    expect((await services.applyAs('gitops', path, labels, false)).status).toBe(200);
    await settled();
    expect(await services.addressesOf('applied')).toEqual(addresses);
  });
});

describe('a Service as large as the API server accepts', () => {
  test('the Service is read whole, and its status is written', async () => {
    const annotations = { 'example.net/state': 'x'.repeat(250_000) };
    const ports = Array.from({ length: 1000 }, (_, index) => ({ name: `p${index}`, port: 1000 + index }));
    await create('large', { ports }, { annotations });
    expect(await services.untilAddresses('large', 1)).toHaveLength(1);
    await services.untilCondition('large', 'True Assigned');
  });

  test('a larger Service is refused and disturbs no other', async () => {
    const annotations = { 'example.net/state': 'x'.repeat(300_000) };
    const answer = await services.applyAs('test', `${services.path}/too-large`, loadBalancer('too-large', {}, { annotations }), true);
    expect(answer.status).toBe(422);
    await settled();
  });
});
