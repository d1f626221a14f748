import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { LabProcess } from '../lab/lab-process.ts';
import { until } from '../lab/until.ts';
import { borrowCluster } from './borrowed-cluster.ts';
import type { KubernetesCluster } from './cluster.ts';
import { foreground } from './foreground.ts';
import { freePorts } from './free-port.ts';
import { apply, definition, shipped } from './manifests.ts';

/** Controllers that a real API server refuses something: each says what and which fix, and works as soon as it is granted. */
const program = join(import.meta.dirname, '../../bin/herald');
const services = '/api/v1/namespaces/default/services';
const role = '/apis/rbac.authorization.k8s.io/v1/clusterroles/herald-controller';

let cluster: KubernetesCluster;
let health: number;
const running = new Set<LabProcess>();

interface Rule {
  readonly resources: readonly string[];
}

beforeAll(async () => {
  cluster = await borrowCluster();
  for (const file of ['namespace', 'controller-rbac']) await apply(cluster, ...shipped(`base/${file}.yaml`));
  await apply(cluster, definition('IPAddressPool'));
  await until('the pool is accepted', async () => {
    const spec = { addresses: ['192.0.2.0/24'] };
    await apply(cluster, { apiVersion: 'herald.dev/v1alpha1', kind: 'IPAddressPool', metadata: { name: 'main' }, spec });
    return true;
  });
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
});

async function start(token: string, ...further: readonly string[]): Promise<LabProcess> {
  const kubeconfig = join(cluster.directory, 'refused.kubeconfig');
  await writeFile(kubeconfig, cluster.kubeconfig(token), { mode: 0o600 });
  const [port = 0] = await freePorts(1);
  health = port;
  const where = ['--metrics-address', 'none', '--health-address', `127.0.0.1:${port}`];
  const argv = [program, 'controller', '--kubeconfig', kubeconfig, ...where, ...further];
  const one = foreground(argv, join(cluster.directory, `refused-${port}.log`));
  running.add(one);
  return one;
}

async function readyz(): Promise<string> {
  const answer = await fetch(`http://127.0.0.1:${health}/readyz`).catch(() => undefined);
  return (await answer?.text()) ?? '';
}

test('a controller that may not write the status of Services says so in /readyz, log and Event, and writes when it may', async () => {
  const { rules } = (await cluster.request({ path: role })) as { readonly rules: readonly Rule[] };
  const set = (wanted: readonly Rule[]): Promise<unknown> =>
    cluster.request({ method: 'PATCH', path: role, contentType: 'application/merge-patch+json', body: { rules: wanted } });
  await set(rules.filter(({ resources }) => !resources.includes('services/status')));
  const controller = await start(await cluster.serviceAccountToken('herald-system', 'herald-controller'));
  await controller.waitForLine(/controller started/);
  const spec = { type: 'LoadBalancer', loadBalancerClass: 'herald.dev/herald', ports: [{ port: 80 }] };
  await apply(cluster, { apiVersion: 'v1', kind: 'Service', metadata: { name: 'web', namespace: 'default' }, spec });
  const said =
    'User "system:serviceaccount:herald-system:herald-controller" cannot patch resource "services/status" in API group "" in the namespace "default"';
  await until('/readyz has the answer of the API server', async () => (await readyz()).includes(said));
  expect(await readyz()).toMatch(/^\[-\]statuses: this controller may not write the status of Service default\/web.*Fix: grant the right/m);
  await controller.waitForLine(/the API server refuses the status of a Service/);
  await until('the Service has the Event', async () => {
    const { items } = (await cluster.request({ path: '/apis/events.k8s.io/v1/namespaces/default/events' })) as {
      items: { reason: string; note: string }[];
    };
    return items.some(({ reason, note }) => reason === 'StatusWriteRefused' && note.includes(said));
  });
  await set(rules);
  await until('the Service has an address', async () =>
    JSON.stringify(await cluster.request({ path: `${services}/web` })).includes('"ip":"192.0.2.'),
  );
  expect(await readyz()).toContain('[+]statuses ok');
});

test('a controller whose Lease has no namespace asks every few seconds, says the fix, and leads when it exists', async () => {
  const asked = (): number =>
    cluster
      .auditedCalls()
      .filter(({ verb, resource, namespace, code }) => verb === 'create' && resource === 'leases' && namespace === 'nowhere' && code > 0)
      .length;
  const controller = await start(cluster.admin.token, '--leader-elect-namespace', 'nowhere');
  await controller.waitForLine(/kubectl create namespace nowhere.*--leader-elect-namespace/);
  const before = asked();
  await pause(8_000);
  expect(asked() - before).toBeLessThanOrEqual(4);
  expect(await readyz()).toMatch(/^\[-\]leadership: the Lease nowhere\/herald-controller cannot be had: .*Fix: create the namespace/m);
  await cluster.request({
    method: 'POST',
    path: '/api/v1/namespaces',
    body: { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'nowhere' } },
  });
  await controller.waitForLine(/controller started/);
  expect(await readyz()).toContain('[+]leadership ok');
});
