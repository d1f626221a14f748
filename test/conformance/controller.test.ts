import { afterAll, beforeAll, beforeEach, afterEach, expect, test } from 'vitest';
import { join } from 'node:path';
import { writeFile } from 'node:fs/promises';
import type { LabProcess } from '../lab/lab-process.ts';
import { until } from '../lab/until.ts';
import { borrowCluster } from './borrowed-cluster.ts';
import type { KubernetesCluster } from './cluster.ts';
import { foreground } from './foreground.ts';
import { apply, definition, shipped } from './manifests.ts';

const program = join(import.meta.dirname, '../../bin/herald');
const ourClass = 'herald.dev/herald';

let cluster: KubernetesCluster;
let kubeconfig: string;
let controller: LabProcess;
let started = 0;

beforeAll(async () => {
  cluster = await borrowCluster();
  for (const file of ['namespace', 'controller-rbac']) await apply(cluster, ...shipped(`base/${file}.yaml`));
  await apply(cluster, definition('IPAddressPool'));
  const spec = { addresses: ['192.0.2.0/24', '2001:db8::/120'] };
  await until('the pool is accepted', async () => {
    await apply(cluster, { apiVersion: 'herald.dev/v1alpha1', kind: 'IPAddressPool', metadata: { name: 'main' }, spec });
    return true;
  });
  kubeconfig = join(cluster.directory, 'controller.kubeconfig');
  await writeFile(kubeconfig, cluster.kubeconfig(await cluster.serviceAccountToken('herald-system', 'herald-controller')), { mode: 0o600 });
});

afterAll(async () => {
  await cluster?.stop();
});

beforeEach(() => start());
afterEach(() => kill());

async function start(): Promise<void> {
  controller = foreground(
    [program, 'controller', '--leader-elect=false', '--kubeconfig', kubeconfig],
    join(cluster.directory, `controller-${++started}.log`),
  );
  await controller.waitForLine(/controller started/);
}

async function kill(): Promise<void> {
  controller.kill('SIGKILL');
  await controller.exited;
}

const path = '/api/v1/namespaces/default/services';

function service(name: string, spec: object = {}): object {
  const whole = { type: 'LoadBalancer', loadBalancerClass: ourClass, ipFamilyPolicy: 'PreferDualStack', ports: [{ port: 80 }], ...spec };
  return { apiVersion: 'v1', kind: 'Service', metadata: { name, namespace: 'default' }, spec: whole };
}

interface Status {
  readonly loadBalancer: { readonly ingress?: readonly { readonly ip: string; readonly hostname?: string }[] };
  readonly conditions?: readonly { readonly type: string; readonly status: string; readonly reason: string; readonly message: string }[];
}

async function statusOf(name: string): Promise<Status> {
  return ((await cluster.request({ path: `${path}/${name}` })) as { status: Status }).status;
}

async function addressesOf(name: string): Promise<readonly string[]> {
  return ((await statusOf(name)).loadBalancer.ingress ?? []).map(({ ip }) => ip);
}

function untilAssigned(name: string, count = 2): Promise<readonly string[]> {
  return until(`${name} has ${count} addresses`, async (note) => {
    const addresses = note(await addressesOf(name));
    return addresses.length === count && addresses;
  });
}

const patch = (name: string, body: object, subresource = ''): Promise<unknown> =>
  cluster.request({ method: 'PATCH', path: `${path}/${name}${subresource}`, body, contentType: 'application/merge-patch+json' });

test('an address stays through restarts of the controller and the API server', async () => {
  await apply(cluster, service('stays'));
  const addresses = await untilAssigned('stays');
  await kill();
  await start();
  await apply(cluster, service('next'));
  const others = await untilAssigned('next');
  expect(await addressesOf('stays')).toEqual(addresses);
  expect(addresses.some((address) => others.includes(address))).toBe(false);
  await cluster.stopApiServer();
  await cluster.startApiServer();
  await apply(cluster, service('third'));
  await untilAssigned('third');
  expect(await addressesOf('stays')).toEqual(addresses);
  expect(await addressesOf('next')).toEqual(others);
});

test('the pool of an address is on record, also when the pool was deleted while no controller ran', async () => {
  const early = { apiVersion: 'herald.dev/v1alpha1', kind: 'IPAddressPool', metadata: { name: 'early' } };
  await apply(cluster, { ...early, spec: { addresses: ['198.51.100.0/28', '2001:db8:1::/124'] } });
  await apply(cluster, service('keeps'));
  const addresses = await untilAssigned('keeps');
  const assigned = async () => ((await statusOf('keeps')).conditions ?? []).find(({ type }) => type === 'herald.dev/AddressAssigned');
  const record = `(of pool early: ${addresses.join(', ')})`;
  expect((await assigned())?.message).toBe(`The Service has the addresses it asks for ${record}`);
  await kill();
  await cluster.request({ method: 'DELETE', path: '/apis/herald.dev/v1alpha1/ipaddresspools/early' });
  await start();
  const found = await until('the condition says that the pool is gone', async (note) => {
    const condition = note(await assigned());
    return condition?.reason === 'HeldOutsidePools' && condition;
  });
  expect(found.message).toContain('advertisements for pool "early", which contained it, still apply');
  expect(found.message.endsWith(record)).toBe(true);
  expect(await addressesOf('keeps')).toEqual(addresses);
  await cluster.request({ method: 'DELETE', path: `${path}/keeps` });
});

test('a hostname is written beside each address, and an invalid one does not cost the address', async () => {
  const named = (name: string, hostname: string): object => {
    const whole = service(name) as { metadata: object };
    return { ...whole, metadata: { ...whole.metadata, annotations: { 'herald.dev/hostname': hostname } } };
  };
  const hostnames = async (name: string) => ((await statusOf(name)).loadBalancer.ingress ?? []).map(({ hostname }) => hostname);
  await apply(cluster, named('named', 'web.example.com'), named('misnamed', '192.0.2.1'));
  await untilAssigned('named');
  await untilAssigned('misnamed');
  expect(await hostnames('named')).toEqual(['web.example.com', 'web.example.com']);
  expect(await hostnames('misnamed')).toEqual([undefined, undefined]);
});

test('an address freed while no controller ran is assigned again, and one in use is not', async () => {
  await apply(cluster, service('held', { loadBalancerIP: '192.0.2.200', ipFamilyPolicy: 'SingleStack' }));
  await apply(cluster, service('freed', { loadBalancerIP: '192.0.2.201', ipFamilyPolicy: 'SingleStack' }));
  await untilAssigned('held', 1);
  await untilAssigned('freed', 1);
  await kill();
  await cluster.request({ method: 'DELETE', path: `${path}/freed` });
  await apply(cluster, service('wants-freed', { loadBalancerIP: '192.0.2.201', ipFamilyPolicy: 'SingleStack' }));
  await apply(cluster, service('wants-held', { loadBalancerIP: '192.0.2.200', ipFamilyPolicy: 'SingleStack' }));
  await start();
  expect(await untilAssigned('wants-freed', 1)).toEqual(['192.0.2.201']);
  const refused = await until('it has a condition', async () => {
    const { conditions = [] } = await statusOf('wants-held');
    return conditions.find(({ type }) => type === 'herald.dev/AddressAssigned');
  });
  expect(refused).toMatchObject({ status: 'False', reason: 'AddressTaken' });
  expect(await addressesOf('held')).toEqual(['192.0.2.200']);
});

test('Services of another class or of none keep their status, also after a restart', async () => {
  const status = { status: { loadBalancer: { ingress: [{ ip: '198.51.100.7' }] } } };
  await apply(cluster, service('foreign', { loadBalancerClass: 'example.net/lb' }), service('classless', { loadBalancerClass: undefined }));
  for (const name of ['foreign', 'classless']) await patch(name, status, '/status');
  const untouched = async (): Promise<void> => {
    // Once a later Service of ours has its address, the controller has processed these too.
    await apply(cluster, service(`after-${started}`));
    await untilAssigned(`after-${started}`);
    for (const name of ['foreign', 'classless']) {
      expect(await addressesOf(name)).toEqual(['198.51.100.7']);
      expect((await statusOf(name)).conditions).toBeUndefined();
    }
  };
  await untouched();
  await kill();
  await start();
  await untouched();
});

test('an overwritten address is restored', async () => {
  await apply(cluster, service('contested'));
  const addresses = await untilAssigned('contested');
  await patch('contested', { status: { loadBalancer: { ingress: [{ ip: '203.0.113.9' }] } } }, '/status');
  await until('Herald has restored its address', async () => JSON.stringify(await addressesOf('contested')) === JSON.stringify(addresses));
});

test('the older of two Services with one recorded address keeps it, and the other gets another', async () => {
  await apply(cluster, service('twice-older', { ipFamilyPolicy: 'SingleStack' }));
  const [address] = await untilAssigned('twice-older', 1);
  // creationTimestamp has whole seconds.
  await new Promise((resolve) => setTimeout(resolve, 1100));
  await apply(cluster, service('a-younger', { ipFamilyPolicy: 'SingleStack' }));
  const [other] = await untilAssigned('a-younger', 1);
  const twice = { status: { loadBalancer: { ingress: [{ ip: address }] } } };
  const isMended = async (): Promise<boolean> => {
    const [older] = await addressesOf('twice-older');
    const [younger] = await addressesOf('a-younger');
    return older === address && younger !== undefined && younger !== address;
  };
  // A running controller knows which Service had the address.
  await patch('a-younger', twice, '/status');
  await until('each has its own address again', async () => (await isMended()) && (await addressesOf('a-younger'))[0] === other);
  await kill();
  await patch('a-younger', twice, '/status');
  await start();
  await until('the younger has another address', isMended);
});
