import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { herald } from '../unit/cli/in-process.ts';
import { borrowCluster } from './borrowed-cluster.ts';
import { Clients, succeeded } from './clients.ts';
import type { KubernetesCluster } from './cluster.ts';
import { apply } from './manifests.ts';

/** Every command that reads a cluster, run by users whom a real API server refuses everything, or everything outside of one namespace. */
const manifests = join(import.meta.dirname, '../../manifests');
const rbac = 'rbac.authorization.k8s.io';
const directory = mkdtempSync(join(tmpdir(), 'herald-limited-'));
let cluster: KubernetesCluster;
let clients: Clients;

beforeAll(async () => {
  cluster = await borrowCluster({ controllerManager: true });
  clients = new Clients(cluster);
  succeeded(await clients.kubectl('apply', '--server-side', '-k', join(manifests, 'crds')));
  succeeded(await clients.kubectl('wait', '--for=condition=Established', '--timeout=100s', 'crd', '--all'));
  await apply(
    cluster,
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } },
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { namespace: 'shop', name: 'web' },
      spec: { type: 'LoadBalancer', ports: [{ port: 80 }] },
    },
    { apiVersion: 'v1', kind: 'Node', metadata: { name: 'node1' } },
    { apiVersion: 'herald.dev/v1alpha1', kind: 'IPAddressPool', metadata: { name: 'public' }, spec: { addresses: ['192.0.2.0/24'] } },
    ...['nobody', 'shopkeeper'].map((name) => ({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { namespace: 'shop', name } })),
    {
      apiVersion: `${rbac}/v1`,
      kind: 'RoleBinding',
      metadata: { namespace: 'shop', name: 'shopkeeper' },
      roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: 'view' },
      subjects: [{ kind: 'ServiceAccount', namespace: 'shop', name: 'shopkeeper' }],
    },
  );
  for (const name of ['nobody', 'shopkeeper'])
    writeFileSync(join(directory, name), cluster.kubeconfig(await cluster.serviceAccountToken('shop', name)), { mode: 0o600 });
  writeFileSync(
    join(directory, 'pool.yaml'),
    'apiVersion: herald.dev/v1alpha1\nkind: IPAddressPool\nmetadata: { name: x }\nspec: { addresses: [198.51.100.0/28] }\n',
  );
});

afterAll(async () => {
  await cluster?.stop();
  clients?.remove();
  rmSync(directory, { recursive: true });
});

const commands = [
  'status',
  'status --problems',
  'status -n shop',
  'peers',
  'peers --peer tor1 --node node1',
  'routes',
  'routes --service shop/missing',
  'pools',
  'pools --pool public',
  'pools -o json',
  'explain service shop/web',
  'explain pool public',
  'explain peer tor1',
  'explain node node1',
  'history service shop/web',
  'history node node1',
  'check service shop/web',
  'drain node1',
  'import --from-cluster -o report',
  'plan -f POOL',
];

/** What the rights in one namespace suffice for in part, with the exit status of that. */
const inPart: Readonly<Record<string, number>> = {
  // Shows the Service, and names what could not be read.
  'shopkeeper explain service shop/web': 0,
  // The Service has no endpoint.
  'shopkeeper check service shop/web': 3,
};

describe.each(['nobody', 'shopkeeper'])('%s', (user) => {
  test.each(commands)('is told by herald %s what could not be read, never that there is none', async (line) => {
    const words = line.replace('POOL', join(directory, 'pool.yaml')).split(' ');
    const { code, stdout, stderr } = await herald([...words, '--kubeconfig', join(directory, user)]);
    const printed = `${stdout}${stderr}`;
    expect([line, code, printed]).toEqual([line, inPart[`${user} ${line}`] ?? 1, expect.stringMatching(/may not|forbidden/)]);
    expect(printed).not.toMatch(/There (is|are) no |there is no (valid|Service|IPAddressPool|BGPPeer|node)|No problems/);
    expect(printed).not.toContain('    at ');
  });
});
