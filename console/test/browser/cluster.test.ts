import { spawn, type ChildProcess } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { KubernetesCluster } from '../../../test/conformance/cluster.ts';
import { foreground } from '../../../test/conformance/foreground.ts';
import { apply, configurationKinds, definition, ours, shipped } from '../../../test/conformance/manifests.ts';
import type { LabProcess } from '../../../test/lab/lab-process.ts';
import { until } from '../../../test/lab/until.ts';
import { addressIn, endOf, launchBrowser, program, visit, type Visitor } from './stage.ts';

/** The console over a real kube-apiserver with a controller of Herald, and with the rights of its callers. */
const service = (name: string): object => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name, namespace: 'default' },
  spec: { type: 'LoadBalancer', loadBalancerClass: 'herald.dev/herald', ports: [{ port: 80 }] },
});
const objects = [
  { apiVersion: 'v1', kind: 'Node', metadata: { name: 'node1' } },
  ours('IPAddressPool', 'main', { addresses: ['192.0.2.8/29'] }),
  ours('BGPPeer', 'tor', { myASN: 64_512, peerASN: 64_513, peerAddress: '198.51.100.1' }),
  service('web'),
];

/** A role of a user who may list only some kinds. */
const partRole = {
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRole',
  metadata: { name: 'part' },
  rules: [
    { apiGroups: [''], resources: ['services', 'nodes', 'namespaces'], verbs: ['list'] },
    { apiGroups: ['herald.dev'], resources: ['ipaddresspools', 'heraldconfigs'], verbs: ['list'] },
  ],
};

const bound = (account: string, role: string): object => ({
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRoleBinding',
  metadata: { name: account },
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
  subjects: [{ kind: 'ServiceAccount', name: account, namespace: 'default' }],
});

let cluster: KubernetesCluster;
let controller: LabProcess | undefined;
let browser: Browser;
let reader: Visitor;
const consoles: ChildProcess[] = [];

beforeAll(async () => {
  cluster = await KubernetesCluster.start();
  for (const kind of configurationKinds) await apply(cluster, definition(kind));
  await apply(cluster, ...['namespace', 'controller-rbac', 'explain-rbac'].flatMap((file) => shipped(`base/${file}.yaml`)));
  await apply(cluster, partRole, bound('reader', 'herald-explain'), bound('part', 'part'));
  await until(
    'every object is accepted',
    async () => {
      await apply(cluster, ...objects);
      return true;
    },
    60_000,
  );
  const kubeconfig = await kubeconfigOf('herald-system', 'herald-controller');
  const argv = [program, 'controller', '--leader-elect=false', '--kubeconfig', kubeconfig];
  controller = foreground(argv, join(cluster.directory, 'controller.log'));
  await controller.waitForLine(/controller started/, 60_000);
  browser = await launchBrowser();
  reader = await visitAs('reader');
});

afterAll(async () => {
  await browser?.close();
  for (const one of consoles) await endOf(one);
  controller?.kill('SIGKILL');
  await controller?.exited;
  await cluster?.stop();
});

async function kubeconfigOf(namespace: string, account: string): Promise<string> {
  const path = join(cluster.directory, `${account}.kubeconfig`);
  writeFileSync(path, cluster.kubeconfig(await cluster.serviceAccountToken(namespace, account)), { mode: 0o600 });
  return path;
}

/** Starts a console with the rights of a service account, and opens its page. */
async function visitAs(account: string): Promise<Visitor> {
  const argv = ['ui', '--no-open', '--kubeconfig', await kubeconfigOf('default', account)];
  const child = spawn(program, argv, { stdio: ['ignore', 'pipe', 'inherit'] });
  consoles.push(child);
  return visit({ browser, address: await addressIn(child) });
}

/** The row of a Service in the table. */
const rowOf = ({ page }: Visitor, name: string) => page.locator('[data-index]', { hasText: `default/${name}` });

describe('a caller with the role herald-explain', () => {
  test('sees the Services of the cluster with the address that the controller assigned', async () => {
    await reader.open('/services');
    const row = rowOf(reader, 'web').filter({ hasText: '192.0.2.8' });
    await row.waitFor();
    expect(await row.textContent()).toContain('main');
  });

  test('sees the address of the Service in the drawing of its pool', async () => {
    await reader.open('/addresses');
    await reader.page.getByRole('heading', { name: 'main' }).waitFor();
    const cell = reader.page.locator('section', { hasText: 'main' }).locator('.cell.assigned');
    await until('one address is assigned', async () => (await cell.count()) === 1);
  });

  test('sees the routers, and sessions of the node without an agent as not reported', async () => {
    await reader.open('/fabric');
    const { page } = reader;
    await page.locator('.box', { hasText: 'tor' }).getByText('198.51.100.1, AS 64513').waitFor();
    await page.locator('.box', { hasText: 'node1' }).first().waitFor();
    expect(await page.locator('dt:text-is("Sessions up") + dd').textContent()).toContain('0 of 1');
  });

  test('sees no note about resources that it may not list', async () => {
    expect((await reader.page.locator('.notes li').allTextContents()).filter((line) => line.includes('you may not list'))).toEqual([]);
  });
});

describe('a caller with fewer rights', () => {
  let part: Visitor;

  test('sees Services and pools', async () => {
    part = await visitAs('part');
    await part.open('/services');
    await rowOf(part, 'web').filter({ hasText: '192.0.2.8' }).waitFor();
    await part.open('/addresses');
    await part.page.getByRole('heading', { name: 'main' }).waitFor();
    expect(part.errors).toEqual([]);
  });

  test.each([
    ['bgppeers.herald.dev', 'the expected sessions are unknown'],
    ['endpointslices.discovery.k8s.io', 'ready endpoints are unknown, and so are forwarding and routes'],
    ['nodestates.herald.dev', 'sessions and kernel rules of the nodes are unknown'],
  ])('names %s as not readable, and the facts that are unknown for that reason', async (resource, consequence) => {
    for (const view of ['/services', '/fabric', '/addresses']) {
      await part.open(view);
      const note = part.page.locator('.notes li', { hasText: `not read: ${resource}:` });
      await note.waitFor({ state: 'attached' });
      expect(await note.textContent()).toContain(`you may not list them; ${consequence}`);
    }
  });
});

describe('a page whose API server stops', () => {
  test('says how old its picture is and why, and keeps it', async () => {
    const { page } = reader;
    await reader.open('/services');
    await rowOf(reader, 'web').waitFor();
    await page.locator('.freshness.good').waitFor();
    await cluster.stopApiServer();
    const said = page.locator('.freshness.doubtful');
    await said.waitFor({ timeout: 60_000 });
    expect(await said.textContent()).toMatch(/The picture is of \d+:\d+:\d+, \d+ s ago\. Reading fails since \d+:\d+:\d+: \S/);
    expect(await rowOf(reader, 'web').textContent()).toContain('192.0.2.8');
    const age = async (): Promise<number> => Number(/(\d+) s ago/.exec((await said.textContent()) ?? '')?.[1]);
    const first = await age();
    await until('the picture grows older', async () => (await age()) > first);
  });

  test('shows the last picture of a Service that is opened now, with its age and the name of the context', async () => {
    const { page } = reader;
    await reader.open('/service?name=default/web');
    await page.getByRole('heading', { level: 1, name: 'default/web' }).waitFor();
    const said = page.locator('.banner', { hasText: 'This is the last picture' });
    expect(await said.textContent()).toMatch(/, of \d+:\d+:\d+, \d+ (?:s|min) ago, without Pods and Events: \S/);
    expect(await page.locator('header').textContent()).toContain('context test, the cluster at ');
  });

  test('keeps its picture in every view while the server is away', async () => {
    for (const [view, part] of [
      ['/fabric', '.box >> text=tor'],
      ['/addresses', 'h2 >> text=main'],
    ] as const) {
      await reader.open(view);
      await reader.page.locator(part).first().waitFor();
      await reader.page.locator('.freshness.doubtful').waitFor();
      expect(await reader.page.locator(part).first().isVisible()).toBe(true);
    }
  });

  test('goes on when it is started again: a Service that is new appears without another load', async () => {
    await reader.open('/services');
    await rowOf(reader, 'web').waitFor();
    await cluster.startApiServer();
    await reader.page.locator('.freshness.good').waitFor({ timeout: 60_000 });
    await apply(cluster, service('shop'));
    const added = rowOf(reader, 'shop').filter({ hasText: '192.0.2.9' });
    await added.waitFor({ timeout: 60_000 });
    expect(await added.count()).toBe(1);
  });
});
