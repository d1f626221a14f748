import { afterAll, beforeAll, expect, test } from 'vitest';
import { KubernetesCluster } from './cluster.ts';
import { kubernetesVersion } from './programs.ts';

let cluster: KubernetesCluster;

beforeAll(async () => {
  cluster = await KubernetesCluster.start();
});

afterAll(async () => {
  await cluster?.stop();
});

test('kube-apiserver has the version of go.mod and becomes ready', async () => {
  expect(await cluster.request({ path: '/readyz' })).toBe('ok');
  expect(await cluster.request({ path: '/version' })).toMatchObject({ gitVersion: kubernetesVersion });
});

test('a service account may do what RBAC grants it and nothing else', async () => {
  const token = await cluster.serviceAccountToken('herald-system', 'agent');
  const services = { path: '/api/v1/services' };
  expect((await cluster.attempt(services, token)).status).toBe(403);
  const role = 'apis/rbac.authorization.k8s.io/v1';
  await cluster.request({
    method: 'POST',
    path: `/${role}/clusterroles`,
    body: { metadata: { name: 'reads-services' }, rules: [{ apiGroups: [''], resources: ['services'], verbs: ['list'] }] },
  });
  await cluster.request({
    method: 'POST',
    path: `/${role}/clusterrolebindings`,
    body: {
      metadata: { name: 'agent-reads-services' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'reads-services' },
      subjects: [{ kind: 'ServiceAccount', namespace: 'herald-system', name: 'agent' }],
    },
  });
  await expect.poll(async () => (await cluster.attempt(services, token)).status, { timeout: 30_000 }).toBe(200);
  expect((await cluster.attempt({ path: '/api/v1/nodes' }, token)).status).toBe(403);
});

test('objects outlive a restart of kube-apiserver', async () => {
  await cluster.request({ method: 'POST', path: '/api/v1/namespaces', body: { metadata: { name: 'kept' } } });
  await cluster.stopApiServer();
  await expect(cluster.attempt({ path: '/readyz' })).rejects.toThrow('ECONNREFUSED');
  await cluster.startApiServer();
  expect(await cluster.request({ path: '/api/v1/namespaces/kept' })).toMatchObject({ metadata: { name: 'kept' } });
});

test('kube-controller-manager runs when the options ask for it', async () => {
  const whole = await KubernetesCluster.start({ controllerManager: true });
  try {
    await whole.request({
      method: 'POST',
      path: '/api/v1/namespaces/default/services',
      body: { metadata: { name: 'web' }, spec: { selector: { app: 'web' }, ports: [{ port: 80 }] } },
    });
    const slices = { path: '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices?labelSelector=kubernetes.io/service-name%3Dweb' };
    const names = async (): Promise<number> => ((await whole.request(slices)) as { items: unknown[] }).items.length;
    await expect.poll(names, { timeout: 60_000 }).toBe(1);
  } finally {
    await whole.stop();
  }
});
