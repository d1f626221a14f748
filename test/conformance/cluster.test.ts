import { afterAll, beforeAll, expect, test } from 'vitest';
import { patience, until } from '../lab/until.ts';
import { Baseline } from './baseline.ts';
import { KubernetesCluster } from './cluster.ts';
import { OwnControlPlane } from './control-plane.ts';
import { shipped } from './manifests.ts';
import { kubernetesVersion } from './programs.ts';
import { send, type ApiRequest, type ApiResponse } from './request.ts';

let cluster: KubernetesCluster;

// A cluster of its own, because its start is tested.
beforeAll(async () => {
  cluster = await KubernetesCluster.start({ controllerManager: true });
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
  await expect.poll(async () => (await cluster.attempt(services, token)).status, { timeout: patience }).toBe(200);
  expect((await cluster.attempt({ path: '/api/v1/nodes' }, token)).status).toBe(403);
});

test('a baseline restores the objects of a new cluster, and kinds and addresses can be used again', async () => {
  const plane = await OwnControlPlane.start();
  const admin = (request: ApiRequest): Promise<ApiResponse> => send(plane.admin, request);
  const post = (path: string, body: object): Promise<ApiResponse> => admin({ method: 'POST', path, body });
  const namesIn = async (path: string): Promise<string[]> => {
    const { items } = (await admin({ path })).body as { items: { metadata: { namespace?: string; name: string } }[] };
    return items.map(({ metadata: { namespace = '', name } }) => `${namespace}/${name}`).toSorted();
  };
  const lists = [
    ...['namespaces', 'services', 'endpoints', 'configmaps', 'serviceaccounts', 'nodes'].map((plural) => `/api/v1/${plural}`),
    ...['clusterroles', 'clusterrolebindings', 'roles'].map((plural) => `/apis/rbac.authorization.k8s.io/v1/${plural}`),
    '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
    '/apis/apiregistration.k8s.io/v1/apiservices',
    '/apis/networking.k8s.io/v1/ipaddresses',
    '/apis/discovery.k8s.io/v1/endpointslices',
  ];
  const all = async (): Promise<Record<string, string[]>> =>
    Object.fromEntries(await Promise.all(lists.map(async (path) => [path, await namesIn(path)] as const)));
  const pools = '/apis/herald.dev/v1alpha1/ipaddresspools';
  const view = '/apis/rbac.authorization.k8s.io/v1/clusterroles/view';

  /** Leaves objects behind as a file that failed does. */
  async function use(): Promise<void> {
    const [crd] = shipped('crds/ipaddresspools.yaml');
    expect((await post('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', crd ?? {})).status).toBe(201);
    const pool = {
      apiVersion: 'herald.dev/v1alpha1',
      kind: 'IPAddressPool',
      metadata: { name: 'main' },
      spec: { addresses: ['192.0.2.0/24'] },
    };
    await until('the pool is accepted', async (note) => note((await post(pools, pool)).status) === 201);
    expect((await post('/api/v1/namespaces', { metadata: { name: 'shop', finalizers: ['example.net/never'] } })).status).toBe(201);
    await until('the Service is accepted', async (note) => {
      const ports = [{ port: 80, nodePort: 30_080 }];
      const metadata = { name: 'web', finalizers: ['example.net/never'] };
      const answer = await post('/api/v1/namespaces/shop/services', {
        metadata,
        spec: { type: 'NodePort', clusterIP: '10.96.7.7', ports },
      });
      return note(answer).status === 201;
    });
    await admin({ method: 'DELETE', path: '/api/v1/namespaces/shop' });
    await admin({ method: 'DELETE', path: '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/ipaddresspools.herald.dev' });
    const body = { metadata: { annotations: { 'example.net/changed': 'yes' } } };
    expect((await admin({ method: 'PATCH', path: view, body, contentType: 'application/merge-patch+json' })).status).toBe(200);
  }

  try {
    const baseline = await Baseline.of(plane);
    const before = await all();
    for (let round = 0; round < 2; round++) {
      await use();
      expect(await all()).not.toEqual(before);
      await baseline.restore();
      expect(await all()).toEqual(before);
      expect((await admin({ path: pools })).status).toBe(404);
      expect(JSON.stringify((await admin({ path: view })).body)).not.toContain('example.net');
    }
  } finally {
    await plane.stop();
  }
});

test('objects outlive a restart of kube-apiserver', async () => {
  await cluster.request({ method: 'POST', path: '/api/v1/namespaces', body: { metadata: { name: 'kept' } } });
  await cluster.stopApiServer();
  await expect(cluster.attempt({ path: '/readyz' })).rejects.toThrow('ECONNREFUSED');
  await cluster.startApiServer();
  expect(await cluster.request({ path: '/api/v1/namespaces/kept' })).toMatchObject({ metadata: { name: 'kept' } });
});

test('kube-controller-manager runs when the options ask for it', async () => {
  await cluster.request({
    method: 'POST',
    path: '/api/v1/namespaces/default/services',
    body: { metadata: { name: 'web' }, spec: { selector: { app: 'web' }, ports: [{ port: 80 }] } },
  });
  const slices = { path: '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices?labelSelector=kubernetes.io/service-name%3Dweb' };
  const names = async (): Promise<number> => ((await cluster.request(slices)) as { items: unknown[] }).items.length;
  await expect.poll(names, { timeout: patience }).toBe(1);
});
