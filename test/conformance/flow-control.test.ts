import { afterAll, beforeAll, expect, test } from 'vitest';
import { patience } from '../lab/until.ts';
import { sampleOf } from '../unit/telemetry/scrape.ts';
import { borrowCluster } from './borrowed-cluster.ts';
import type { KubernetesCluster } from './cluster.ts';
import { apply, shipped } from './manifests.ts';

/** kube-apiserver counts the requests of each FlowSchema and level. */
let cluster: KubernetesCluster;

beforeAll(async () => {
  cluster = await borrowCluster();
  for (const file of ['namespace', 'agent-rbac', 'controller-rbac', 'flow-control']) await apply(cluster, ...shipped(`base/${file}.yaml`));
});

afterAll(async () => {
  await cluster?.stop();
});

async function dispatched(schema: string, level: string): Promise<number> {
  const text = (await cluster.request({ path: '/metrics' })) as string;
  return sampleOf(text, `apiserver_flowcontrol_dispatched_requests_total{flow_schema="${schema}",priority_level="${level}"}`) ?? 0;
}

test.each([
  ['an agent', 'herald-agent', '/api/v1/services', 'herald-agents', 'herald-agents'],
  ['the controller', 'herald-controller', '/api/v1/services', 'herald-controller', 'workload-high'],
  [
    "the controller's Lease",
    'herald-controller',
    '/apis/coordination.k8s.io/v1/namespaces/herald-system/leases/herald-controller',
    'herald-leader-election',
    'leader-election',
  ],
])('requests of %s get the level that the manifests say', async (_, account, path, schema, level) => {
  const token = await cluster.serviceAccountToken('herald-system', account);
  const before = await dispatched(schema, level);
  // The API server learns of a FlowSchema and of a Role by watches.
  await expect
    .poll(
      async () => {
        await cluster.attempt({ path }, token);
        return dispatched(schema, level);
      },
      { timeout: patience },
    )
    .toBeGreaterThan(before);
});

test('no FlowSchema names a level that does not exist', async () => {
  const schemas = shipped('base/flow-control.yaml').filter(({ kind }) => kind === 'FlowSchema');
  const dangling = async (name: string): Promise<string | undefined> => {
    const { status } = (await cluster.request({ path: `/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas/${name}` })) as {
      readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
    };
    return status?.conditions?.find(({ type }) => type === 'Dangling')?.status;
  };
  for (const { metadata } of schemas) await expect.poll(() => dangling(metadata.name), { timeout: patience }).toBe('False');
  expect(schemas).toHaveLength(3);
});
