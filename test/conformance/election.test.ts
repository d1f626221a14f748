import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { limits } from '../../src/kube/limits.ts';
import type { LabProcess } from '../lab/lab-process.ts';
import { until } from '../lab/until.ts';
import { borrowCluster } from './borrowed-cluster.ts';
import type { KubernetesCluster } from './cluster.ts';
import { foreground } from './foreground.ts';
import { apply, definition, shipped } from './manifests.ts';

/** Controllers with the shipped service account and Roles. One of them leads. */
const program = join(import.meta.dirname, '../../bin/herald');
const services = '/api/v1/namespaces/default/services';
const leasePath = '/apis/coordination.k8s.io/v1/namespaces/herald-system/leases/herald-controller';
const leading = /"msg":"leading"/;
const started = /"msg":"controller started"/;

let cluster: KubernetesCluster;
let kubeconfig: string;
let count = 0;
const running = new Set<LabProcess>();

beforeAll(async () => {
  cluster = await borrowCluster();
  for (const file of ['namespace', 'controller-rbac']) await apply(cluster, ...shipped(`base/${file}.yaml`));
  await apply(cluster, definition('IPAddressPool'));
  await until('the pool is accepted', async () => {
    const spec = { addresses: ['192.0.2.0/24'] };
    await apply(cluster, { apiVersion: 'herald.dev/v1alpha1', kind: 'IPAddressPool', metadata: { name: 'main' }, spec });
    return true;
  });
  kubeconfig = join(cluster.directory, 'controller.kubeconfig');
  await writeFile(kubeconfig, cluster.kubeconfig(await cluster.serviceAccountToken('herald-system', 'herald-controller')), { mode: 0o600 });
});

afterAll(async () => {
  await cluster?.stop();
});

afterEach(async () => {
  for (const one of running) {
    one.kill('SIGKILL');
    await one.exited;
  }
  running.clear();
  // The next test need not wait until the Lease expires.
  await cluster.attempt({ method: 'DELETE', path: leasePath });
});

function start(): LabProcess {
  const one = foreground([program, 'controller', '--kubeconfig', kubeconfig], join(cluster.directory, `controller-${++count}.log`));
  running.add(one);
  return one;
}

/** Starts one controller that leads, and one that has read all objects and waits. */
async function startTwo(): Promise<{ readonly leader: LabProcess; readonly other: LabProcess }> {
  const leader = start();
  await leader.waitForLine(started);
  const other = start();
  await other.waitForLine(/another one leads/);
  return { leader, other };
}

function service(name: string, spec: object = {}): object {
  const whole = { type: 'LoadBalancer', loadBalancerClass: 'herald.dev/herald', ports: [{ port: 80 }], ...spec };
  return { apiVersion: 'v1', kind: 'Service', metadata: { name, namespace: 'default' }, spec: whole };
}

async function addressOf(name: string): Promise<string> {
  const { status } = (await cluster.request({ path: `${services}/${name}` })) as {
    readonly status: { readonly loadBalancer: { readonly ingress?: readonly { readonly ip: string }[] } };
  };
  return status.loadBalancer.ingress?.[0]?.ip ?? '';
}

const untilAssigned = (name: string): Promise<string> =>
  until(`${name} has an address`, () => addressOf(name).then((ip) => ip !== '' && ip));

async function holder(): Promise<Record<string, unknown>> {
  return ((await cluster.request({ path: leasePath })) as { readonly spec: Record<string, unknown> }).spec;
}

const seconds = (since: number): number => (performance.now() - since) / 1000;

test('exactly one of two controllers leads, and the Lease names it', async () => {
  const { leader, other } = await startTwo();
  await apply(cluster, service('first'));
  await untilAssigned('first');
  expect(leader.lines().some((line) => leading.test(line))).toBe(true);
  expect(other.lines().some((line) => leading.test(line) || started.test(line))).toBe(false);
  const { holderIdentity, renewTime, acquireTime } = await holder();
  const said = leader.lines().find((line) => leading.test(line)) ?? '{}';
  expect(holderIdentity).toBe((JSON.parse(said) as { identity: string }).identity);
  expect([acquireTime, renewTime]).toEqual([expect.stringMatching(/\.\d{6}Z$/), expect.stringMatching(/\.\d{6}Z$/)]);
  other.kill('SIGTERM');
  expect(await other.exited).toMatchObject({ code: 0 });
  expect((await holder())['holderIdentity']).toBe(holderIdentity);
});

test('a stopped leader hands over in about a second, and no address moves', async () => {
  const { leader, other } = await startTwo();
  await apply(cluster, service('stays'));
  const address = await untilAssigned('stays');
  const began = performance.now();
  leader.kill('SIGTERM');
  await other.waitForLine(started);
  const took = seconds(began);
  expect(await leader.exited).toMatchObject({ code: 0 });
  await apply(cluster, service('after-stop'));
  await untilAssigned('after-stop');
  expect(await addressOf('stays')).toBe(address);
  expect((await holder())['leaseTransitions']).toBe(1);
  // Without the handover it takes at least 13 s.
  expect(took).toBeLessThan(6);
});

test('the Lease of a killed leader is taken over once it has expired', async () => {
  const { leader, other } = await startTwo();
  await apply(cluster, service('held'));
  const address = await untilAssigned('held');
  const began = performance.now();
  leader.kill('SIGKILL');
  await other.waitForLine(started);
  const took = seconds(began);
  // The Lease is valid for 15 s, and was renewed at most 2 s before.
  expect(took).toBeGreaterThan(12.5);
  await apply(cluster, service('after-kill'));
  await untilAssigned('after-kill');
  expect(await addressOf('held')).toBe(address);
});

test('a leader resumed after its Lease expired exits, and no address is duplicated or moved', async () => {
  const { leader, other } = await startTwo();
  await apply(cluster, service('before'));
  await untilAssigned('before');
  expect(await holder()).toMatchObject({ leaseDurationSeconds: limits.leaseMilliseconds / 1000 });
  const { renewTime } = await holder();
  leader.kill('SIGSTOP');
  const began = performance.now();
  // The leader has not seen these Services while it was suspended, so it would assign addresses to them first.
  await Promise.all(Array.from({ length: 20 }, (_, index) => apply(cluster, service(`meanwhile-${index}`))));
  await other.waitForLine(started);
  const names = ['before', ...Array.from({ length: 20 }, (_, index) => `meanwhile-${index}`)];
  const addresses = await Promise.all(names.map(untilAssigned));
  console.log(`the new Services have their addresses ${seconds(began).toFixed(1)} s after the leader froze`);
  const { acquireTime, leaseTransitions } = await holder();
  expect(leaseTransitions).toBe(1);
  // The frozen leader's fence has ended: the other one took the Lease later than the deadline for writes.
  const waited = Date.parse(String(acquireTime)) - Date.parse(String(renewTime));
  expect(waited).toBeGreaterThan(limits.renewDeadlineMilliseconds);
  leader.kill('SIGCONT');
  expect(await leader.exited).toMatchObject({ code: 1 });
  expect(leader.lines().some((line) => line.includes('the Lease was lost'))).toBe(true);
  expect(new Set(addresses).size).toBe(names.length);
  expect(await Promise.all(names.map(addressOf))).toEqual(addresses);
  expect(other.running).toBe(true);
});

test('the leader exits when the API server is away longer than the Lease, and the waiting one leads', async () => {
  const { leader, other } = await startTwo();
  await apply(cluster, service('through'));
  const address = await untilAssigned('through');
  await cluster.stopApiServer();
  expect(await leader.exited).toMatchObject({ code: 1 });
  await cluster.startApiServer();
  await other.waitForLine(started);
  await apply(cluster, service('after-outage'));
  await untilAssigned('after-outage');
  expect(await addressOf('through')).toBe(address);
});
