import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { KubeClient } from '../../src/kube/client/client.ts';
import { readKubeconfig } from '../../src/kube/client/kubeconfig.ts';
import { getPod } from '../../src/sources/kubernetes/read-pod.ts';
import { openPodGate } from '../../src/sources/kubernetes/records/pod-gates.ts';
import { systemClock } from '../../src/system/clock.ts';
import { borrowCluster } from './borrowed-cluster.ts';
import type { KubernetesCluster } from './cluster.ts';

const path = '/api/v1/namespaces/default/pods';
const gate = 'target-health.elbv2.k8s.aws/web';
const because = { reason: 'TargetHealthy', message: 'The load balancer sends to the Pod', now: new Date('2026-01-01T00:00:00.500Z') };

let cluster: KubernetesCluster;
let client: KubeClient;
let folder: string;

beforeAll(async () => {
  cluster = await borrowCluster();
  folder = await mkdtemp(join(tmpdir(), 'herald-gates-'));
  const file = join(folder, 'kubeconfig');
  await writeFile(file, cluster.kubeconfig(), { mode: 0o600 });
  client = new KubeClient(await readKubeconfig(file), { clock: systemClock });
  await cluster.request({
    method: 'POST',
    path,
    body: {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'web-0', namespace: 'default' },
      spec: { containers: [{ name: 'web', image: 'web' }], readinessGates: [{ conditionType: gate }] },
    },
  });
  await cluster.request({
    method: 'PATCH',
    path: `${path}/web-0/status`,
    contentType: 'application/strategic-merge-patch+json',
    body: { status: { conditions: [{ type: 'ContainersReady', status: 'True' }] } },
  });
});
afterAll(async () => {
  client?.close();
  await cluster?.stop();
  await rm(folder, { recursive: true });
});

interface Pod {
  readonly status: { readonly conditions: readonly { readonly type: string; readonly status: string; readonly reason?: string }[] };
}

const conditions = async (): Promise<Pod['status']['conditions']> =>
  ((await cluster.request({ path: `${path}/web-0` })) as Pod).status.conditions;

test('the gate of a Pod opens, and the conditions of others stay', async () => {
  const before = await getPod(client, 'default', 'web-0');
  expect(before).toMatchObject({ gates: [gate], unmetGates: [gate], uid: expect.stringMatching(/-/) as string });
  const pod = { namespace: 'default', name: 'web-0', uid: before?.uid ?? '', gate };
  await openPodGate(client, { ...pod, uid: '00000000-0000-0000-0000-000000000000' }, because);
  expect((await conditions()).map(({ type }) => type)).toEqual(['ContainersReady']);
  await openPodGate(client, pod, because);
  expect((await conditions()).toSorted((a, b) => (a.type < b.type ? -1 : 1))).toMatchObject([
    { type: 'ContainersReady', status: 'True' },
    { type: gate, status: 'True', reason: 'TargetHealthy', lastTransitionTime: '2026-01-01T00:00:00Z' },
  ]);
  expect(await getPod(client, 'default', 'web-0')).toMatchObject({ gates: [gate], unmetGates: [] });
});

test('a Pod that is gone is no error', async () => {
  const pod = { namespace: 'default', name: 'gone', uid: 'x', gate };
  await expect(openPodGate(client, pod, because)).resolves.toBeUndefined();
});
