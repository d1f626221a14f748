/**
 * Measures the time until Services that exist at a controller's start all have an address on record, against a real kube-apiserver. `node
 * test/bench/api-server/controller.ts [COUNT]`. It prints JSON.
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { KubeClient } from '../../../src/kube/client/client.ts';
import { listPages } from '../../../src/kube/reflector/list-pages.ts';
import { sleep, systemClock } from '../../../src/system/clock.ts';
import { KubernetesCluster } from '../../conformance/cluster.ts';
import { foreground } from '../../conformance/foreground.ts';
import { apply, definition, shipped } from '../../conformance/manifests.ts';
import { endTogether } from '../../lab/ends-together.ts';
import { until } from '../../lab/until.ts';
import { conditions } from '../runner/conditions.ts';
import { programs } from '../runner/versions.ts';

const count = Number(process.argv[2] ?? 10_000);
const atOnce = 16;
const program = join(import.meta.dirname, '../../../bin/herald');
const signal = new AbortController().signal;

endTogether();
// Children of the cluster do not keep this process alive.
const alive = setInterval(() => undefined, 1000);
const cluster = await KubernetesCluster.start();
const { server, certificateAuthority: ca, token } = cluster.admin;
const credentials = async () => ({ ca, authorization: `Bearer ${token}` });
const client = new KubeClient({ server: new URL(server), credentials, expired: () => undefined }, { clock: systemClock });
try {
  for (const file of ['namespace', 'controller-rbac']) await apply(cluster, ...shipped(`base/${file}.yaml`));
  await apply(cluster, definition('IPAddressPool'));
  const pool = { apiVersion: 'herald.dev/v1alpha1', kind: 'IPAddressPool', metadata: { name: 'big' }, spec: { addresses: ['10.0.0.0/8'] } };
  await until('the pool is accepted', async () => {
    await apply(cluster, pool);
    return true;
  });
  await make();
  const kubeconfig = join(cluster.directory, 'controller.kubeconfig');
  await writeFile(kubeconfig, cluster.kubeconfig(await cluster.serviceAccountToken('herald-system', 'herald-controller')), { mode: 0o600 });
  const argv = [program, 'controller', '--leader-elect=false', '--kubeconfig', kubeconfig];
  const controller = foreground(argv, join(cluster.directory, 'controller.log'));
  await controller.waitForLine(/controller started/, 120_000);
  const began = systemClock.now();
  await until('every Service has an address', async () => (await withAddress()) === count, 600_000);
  const seconds = Math.round((systemClock.now() - began) / 100) / 10;
  // Events may come later, and are lost beyond a bound.
  await until('the pool counts all addresses', async () => (await assignedAddresses('IPAddressPool')) === count, 30_000).catch(
    () => undefined,
  );
  const events = await length('/apis/events.k8s.io/v1/events');
  const lost = controller.lines().filter((line) => line.includes('Events are lost'));
  controller.kill('SIGKILL');
  await controller.exited;
  const under = conditions(programs('kube-apiserver', 'etcd'));
  const perSecond = Math.round(count / seconds);
  console.log(JSON.stringify({ conditions: under, count, seconds, perSecond, events, lost: lost.at(-1) ?? '' }));
} finally {
  client.close();
  await cluster.stop();
  clearInterval(alive);
}

async function make(): Promise<void> {
  const indexes = Array.from({ length: count }, (_, index) => index);
  const spec = {
    type: 'LoadBalancer',
    loadBalancerClass: 'herald.dev/herald',
    allocateLoadBalancerNodePorts: false,
    ports: [{ port: 80 }],
  };
  const work = async (): Promise<void> => {
    for (let index = indexes.pop(); index !== undefined; index = indexes.pop())
      await client.write({
        method: 'POST',
        path: '/api/v1/namespaces/default/services',
        body: { metadata: { name: `svc-${index}` }, spec },
      });
  };
  await Promise.all(Array.from({ length: atOnce }, work));
}

async function withAddress(): Promise<number> {
  // Listing is work for the API server, too.
  await sleep(systemClock, 1000);
  let found = 0;
  for await (const { items } of listPages(client, '/api/v1/namespaces/default/services', {}, signal))
    found += items.filter(({ status }) => JSON.stringify(status).includes('"ip"')).length;
  return found;
}

/** Returns the number of assigned IPv4 addresses that the pool's status shows. */
async function assignedAddresses(kind: string): Promise<number> {
  const { status } = (await client.get(`/apis/herald.dev/v1alpha1/${kind.toLowerCase()}s/big`)) as { status?: { assignedIPv4?: number } };
  return status?.assignedIPv4 ?? 0;
}

async function length(path: string): Promise<number> {
  let found = 0;
  for await (const { items } of listPages(client, path, {}, signal)) found += items.length;
  return found;
}
