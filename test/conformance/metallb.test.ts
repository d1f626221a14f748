import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { KubeClient } from '../../src/kube/client/client.ts';
import { readKubeconfig } from '../../src/kube/client/kubeconfig.ts';
import { formatRange } from '../../src/net/range.ts';
import { KubernetesSource } from '../../src/sources/kubernetes/kubernetes-source.ts';
import { problemText } from '../../src/sources/source.ts';
import { systemClock } from '../../src/system/clock.ts';
import { silentLog } from '../../src/system/log.ts';
import { systemRandom } from '../../src/system/random.ts';
import type { LabProcess } from '../lab/lab-process.ts';
import { until } from '../lab/until.ts';
import { borrowCluster } from './borrowed-cluster.ts';
import type { KubernetesCluster } from './cluster.ts';
import { foreground } from './foreground.ts';
import { apply, configurationKinds, definition, shipped } from './manifests.ts';
import { metallbDefinitions } from './metallb-definitions.ts';

/** A cluster that MetalLB was removed from, and Herald with the Roles of manifests/base and manifests/components/metallb. */
const program = join(import.meta.dirname, '../../bin/herald');
const example = (file: string): object[] =>
  parseAllDocuments(readFileSync(join(import.meta.dirname, '../../examples/metallb', file), 'utf8')).map((one) => one.toJS() as object);

let cluster: KubernetesCluster;
let controller: LabProcess;

beforeAll(async () => {
  cluster = await borrowCluster();
  for (const kind of configurationKinds) await apply(cluster, definition(kind));
  for (const file of ['namespace', 'agent-rbac', 'controller-rbac']) await apply(cluster, ...shipped(`base/${file}.yaml`));
  for (const name of ['metallb-system', 'shop', 'partners'])
    await apply(cluster, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  await apply(cluster, { apiVersion: 'v1', kind: 'Node', metadata: { name: 'node1', labels: { rack: '1' } } });
  await apply(cluster, ...shipped('components/metallb/metallb-rbac.yaml'));
  await until('HeraldConfig is served', async () => {
    await setCompat('metallb');
    return true;
  });
  await servicesOfMetalLB();
});

afterAll(async () => {
  controller?.kill('SIGKILL');
  await controller?.exited;
  await cluster?.stop();
});

function setCompat(compat: 'none' | 'metallb'): Promise<void> {
  return apply(cluster, { apiVersion: 'herald.dev/v1alpha1', kind: 'HeraldConfig', metadata: { name: 'default' }, spec: { compat } });
}

interface Service {
  readonly metadata: { readonly name: string; readonly namespace: string; readonly resourceVersion: string };
  readonly spec: Readonly<Record<string, unknown>>;
  readonly status: {
    readonly loadBalancer: { readonly ingress?: readonly { readonly ip: string }[] };
    readonly conditions?: readonly { readonly type: string; readonly status: string; readonly reason: string }[];
  };
}

const pathOf = (namespace: string, name: string): string => `/api/v1/namespaces/${namespace}/services/${name}`;
const read = async (namespace: string, name: string): Promise<Service> =>
  (await cluster.request({ path: pathOf(namespace, name) })) as Service;

/** Creates the Services of the example with the addresses that "MetalLB" wrote into their status. No other object of it exists yet. */
async function servicesOfMetalLB(): Promise<void> {
  for (const object of example('services.yaml') as Service[]) {
    const { metadata, spec, status } = object;
    const { clusterIP: _ip, ports: _ports, ...rest } = spec;
    await apply(cluster, { apiVersion: 'v1', kind: 'Service', metadata, spec: { ...rest, ports: [{ port: 80 }] } });
    const { loadBalancer } = status;
    const path = `${pathOf(metadata.namespace, metadata.name)}/status`;
    await cluster.request({ method: 'PATCH', path, body: { status: { loadBalancer } }, contentType: 'application/merge-patch+json' });
  }
}

const given = { 'shop/web': '192.0.2.17', 'partners/api': '192.0.2.201' };

async function addresses(): Promise<Record<string, string>> {
  const services = await Promise.all([read('shop', 'web'), read('partners', 'api')]);
  return Object.fromEntries(
    services.map(({ metadata: { namespace, name }, status }) => [
      `${namespace}/${name}`,
      (status.loadBalancer.ingress ?? []).map(({ ip }) => ip).join(),
    ]),
  );
}

async function assigned(namespace: string, name: string): Promise<string> {
  const { conditions = [] } = (await read(namespace, name)).status;
  const found = conditions.find(({ type }) => type === 'herald.dev/AddressAssigned');
  return found === undefined ? 'none' : `${found.status} ${found.reason}`;
}

const allAre = (wanted: string) => async (note: (value: unknown) => unknown) => {
  const found = [await assigned('shop', 'web'), await assigned('partners', 'api')];
  note(found);
  return found.every((one) => one === wanted);
};

async function kubeconfig(account: string): Promise<string> {
  const file = join(cluster.directory, `${account}.kubeconfig`);
  await writeFile(file, cluster.kubeconfig(await cluster.serviceAccountToken('herald-system', account)), { mode: 0o600 });
  return file;
}

test("the controller starts without MetalLB's CRDs, and Services keep MetalLB's addresses without a pool", async () => {
  controller = foreground(
    [program, 'controller', '--leader-elect=false', '--kubeconfig', await kubeconfig('herald-controller')],
    join(cluster.directory, 'controller.log'),
  );
  await controller.waitForLine(/controller started/);
  await until('the controller has processed them', async () => (await assigned('shop', 'web')) === 'False HeldOutsidePools');
  expect(await assigned('partners', 'api')).toBe('False PoolNotFound');
  expect(await addresses()).toEqual(given);
});

test("MetalLB's pools confirm the addresses, and its annotations apply to new Services", async () => {
  for (const one of metallbDefinitions()) await apply(cluster, one);
  await until('MetalLB is installed', async () => {
    await apply(cluster, ...example('installation.yaml'));
    return true;
  });
  await until('the addresses are assigned', allAre('True Assigned'));
  const spec = { type: 'LoadBalancer', ports: [{ port: 80 }] };
  const annotations = { 'metallb.io/address-pool': 'partners' };
  const metadata = { name: 'new', namespace: 'partners', labels: { exposed: 'true' }, annotations };
  await apply(cluster, { apiVersion: 'v1', kind: 'Service', metadata, spec });
  await until('the new one has an address', async () => (await assigned('partners', 'new')) === 'True Assigned');
  expect((await read('partners', 'new')).status.loadBalancer.ingress?.map(({ ip }) => ip)).toEqual(['192.0.2.200']);
  expect(await addresses()).toEqual(given);
});

test("no address moves when compat is switched off and on, and off removes Herald's conditions", async () => {
  for (let round = 0; round < 2; round++) {
    await setCompat('none');
    await until('Herald has removed its conditions', allAre('none'));
    expect(await addresses()).toEqual(given);
    const { status } = await read('shop', 'web');
    expect(Object.keys(status)).toEqual(['loadBalancer']);
    await setCompat('metallb');
    await until('the addresses are assigned again', allAre('True Assigned'));
    expect(await addresses()).toEqual(given);
  }
});

test('an agent reads the same objects, and the passwords that its peers name', async () => {
  const client = new KubeClient(await readKubeconfig(await kubeconfig('herald-agent')), { clock: systemClock });
  const source = new KubernetesSource({ client, clock: systemClock, random: systemRandom, log: silentLog }, { node: 'node1' });
  try {
    await source.start();
    const { snapshot } = source;
    expect([...snapshot.pools.values()].map(({ addresses }) => addresses.map(formatRange))).toEqual(
      expect.arrayContaining([['192.0.2.0/25', '2001:db8:100::/120'], ['192.0.2.200-192.0.2.230']]),
    );
    expect([...snapshot.peers.keys()].toSorted()).toEqual(['tor1', 'tor2']);
    expect([...snapshot.l2Advertisements.keys()]).toEqual(['office']);
    expect(snapshot.secrets.get('metallb-system/tor-password')?.password).toBe('example-only');
    expect(
      source
        .problems()
        .map(problemText)
        .filter((text) => text.includes('403')),
    ).toEqual([]);
  } finally {
    await source.close();
    client.close();
  }
});

test('herald import metallb reads the cluster with the credentials of the caller', async () => {
  const { stdout, stderr, code } = await new Promise<{ stdout: string; stderr: string; code: unknown }>((resolve) => {
    execFile(program, ['import', 'metallb', '--kubeconfig', join(cluster.directory, 'kubeconfig')], (error, stdout, stderr) =>
      resolve({ stdout, stderr, code: error?.code ?? 0 }),
    );
  });
  expect(code).toBe(0);
  expect(stderr).not.toMatch(/^refused:/m);
  expect(stderr).toContain('kubectl annotate service -n partners api herald.dev/address-pool=partners');
  // The API server accepts the printed objects.
  for (const document of parseAllDocuments(stdout)) await apply(cluster, document.toJS() as object);
});

test("objects of herald.dev with the same names replace MetalLB's, and no address moves", async () => {
  await until('the pools are accepted', async () => {
    const { status } = (await cluster.request({ path: '/apis/herald.dev/v1alpha1/ipaddresspools/production' })) as { status?: object };
    return JSON.stringify(status ?? {}).includes('"Accepted"');
  });
  await setCompat('none');
  await until('Herald has removed its conditions', allAre('none'));
  await apply(cluster, {
    apiVersion: 'herald.dev/v1alpha1',
    kind: 'HeraldConfig',
    metadata: { name: 'default' },
    spec: { defaultClass: true },
  });
  await until('the addresses are assigned without compat', allAre('True Assigned'));
  expect(await addresses()).toEqual(given);
});

test('the Role of the component is enough and grants nothing more', () => {
  const roles = shipped('components/metallb/metallb-rbac.yaml') as readonly { rules?: readonly Record<string, readonly string[]>[] }[];
  const granted = roles.flatMap(({ rules = [] }) =>
    rules.flatMap(({ apiGroups = [], resources = [] }) =>
      apiGroups.flatMap((group) => resources.map((resource) => `${group}/${resource}`)),
    ),
  );
  for (const account of ['herald-agent', 'herald-controller']) {
    const calls = cluster
      .auditedCalls()
      .filter(({ user, namespace }) => user === `system:serviceaccount:herald-system:${account}` && namespace === 'metallb-system');
    expect(calls.filter(({ code }) => code === 403)).toEqual([]);
    const used = new Set(calls.map(({ group, resource }) => `${group}/${resource}`));
    // The Role of the base allows these Events.
    used.delete('events.k8s.io/events');
    expect(used).toEqual(new Set(granted));
    const reading = calls.filter(({ group }) => group !== 'events.k8s.io');
    expect(new Set(reading.map(({ verb }) => verb))).toEqual(new Set(['watch']));
  }
});
