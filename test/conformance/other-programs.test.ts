import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import type { LabProcess } from '../lab/lab-process.ts';
import { until } from '../lab/until.ts';
import { borrowCluster } from './borrowed-cluster.ts';
import type { KubernetesCluster } from './cluster.ts';
import { foreground } from './foreground.ts';
import { apply, configurationKinds, definition, ours, shipped } from './manifests.ts';
import { openDefinition } from './open-definition.ts';
import { installations, type ForeignService, type Installation } from './other-programs/installations.ts';
import { programPath } from './programs.ts';

/**
 * The way from another program to Herald and back, as the pages docs/how-to/migrate-from-*.md have it, in a cluster with the objects and the
 * statuses that the program left. The program itself does not run: the test does what its documentation says of it.
 */
const herald = join(import.meta.dirname, '../../bin/herald');

let cluster: KubernetesCluster;
let controller: LabProcess | undefined;

beforeEach(async () => {
  cluster = await borrowCluster();
});

afterEach(async () => {
  controller?.kill('SIGKILL');
  await controller?.exited;
  controller = undefined;
  await cluster?.stop();
});

interface Outcome {
  readonly code: unknown;
  readonly stdout: string;
  readonly stderr: string;
}

const adminConfig = (): string => join(cluster.directory, 'kubeconfig');

function run(file: string, words: readonly string[]): Promise<Outcome> {
  const env = { PATH: process.env['PATH'] ?? '', HOME: cluster.directory, KUBECONFIG: adminConfig() };
  return new Promise((resolve) => {
    execFile(file, words, { env }, (error, stdout, stderr) => resolve({ code: error?.code ?? 0, stdout, stderr }));
  });
}

const pathOf = (name: string): string => {
  const [namespace = '', own = ''] = name.split('/');
  return `/api/v1/namespaces/${namespace}/services/${own}`;
};

interface Live {
  readonly status: {
    readonly loadBalancer: { readonly ingress?: readonly { readonly ip: string }[] };
    readonly conditions?: readonly { readonly type: string; readonly status: string; readonly reason: string }[];
  };
}

const read = async (name: string): Promise<Live['status']> => ((await cluster.request({ path: pathOf(name) })) as Live).status;

function setStatus({ name }: ForeignService, status: object): Promise<unknown> {
  return cluster.request({
    method: 'PATCH',
    path: `${pathOf(name)}/status`,
    body: { status },
    contentType: 'application/merge-patch+json',
  });
}

const familyOf = (address: string): string => (address.includes(':') ? 'IPv6' : 'IPv4');

async function create(service: ForeignService): Promise<void> {
  const { name, annotations = {}, labels = {}, spec = {}, addresses, conditions = [] } = service;
  const [namespace = '', own = ''] = name.split('/');
  const ipFamilies = addresses.map(familyOf);
  const families = { ipFamilies, ipFamilyPolicy: ipFamilies.length > 1 ? 'RequireDualStack' : 'SingleStack' };
  const ports = [
    { name: 'http', port: 80, protocol: 'TCP' },
    { name: 'quic', port: 80, protocol: 'UDP' },
  ];
  await apply(cluster, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
  await apply(cluster, {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { namespace, name: own, annotations, labels },
    spec: { type: 'LoadBalancer', ports, ...families, ...spec },
  });
  await setStatus(service, { loadBalancer: { ingress: addresses.map((ip) => ({ ip, ipMode: 'VIP' })) }, conditions });
}

/** Addresses by Service, in the order of the status. */
async function addresses({ services }: Installation): Promise<Record<string, readonly string[]>> {
  const all = await Promise.all(
    services.map(async ({ name }) => [name, ((await read(name)).loadBalancer.ingress ?? []).map(({ ip }) => ip)] as const),
  );
  return Object.fromEntries(all);
}

const before = ({ services }: Installation): Record<string, readonly string[]> =>
  Object.fromEntries(services.map((one) => [one.name, one.addresses]));

/** The condition of Herald on each Service, "none" where there is none. */
async function assigned({ services }: Installation): Promise<readonly string[]> {
  return Promise.all(
    services.map(async ({ name }) => {
      const found = (await read(name)).conditions?.find(({ type }) => type === 'herald.dev/AddressAssigned');
      return found === undefined ? 'none' : `${found.status} ${found.reason}`;
    }),
  );
}

const all = (one: Installation, wanted: string) => async (note: (value: unknown) => unknown) => {
  const found = await assigned(one);
  note(found);
  return found.every((each) => each === wanted);
};

/** Installs the other program's kinds, objects and Services, and Herald with a HeraldConfig by which it serves no Service. */
async function install(one: Installation): Promise<void> {
  for (const kind of one.kinds) await apply(cluster, openDefinition(kind));
  await until(`the kinds of ${one.program} are served`, async () => {
    await apply(cluster, ...one.objects);
    return true;
  });
  for (const service of one.services) await create(service);
  for (const kind of configurationKinds) await apply(cluster, definition(kind));
  for (const file of ['namespace', 'agent-rbac', 'controller-rbac']) await apply(cluster, ...shipped(`base/${file}.yaml`));
  await apply(cluster, { apiVersion: 'v1', kind: 'Node', metadata: { name: 'node1' } });
  await until('HeraldConfig is served', async () => {
    await configure({ defaultClass: false });
    return true;
  });
}

const configure = (spec: object): Promise<void> => apply(cluster, ours('HeraldConfig', 'default', spec));

async function startController(): Promise<void> {
  const file = join(cluster.directory, 'controller.kubeconfig');
  await writeFile(file, cluster.kubeconfig(await cluster.serviceAccountToken('herald-system', 'herald-controller')), { mode: 0o600 });
  const log = join(cluster.directory, 'controller.log');
  controller = foreground([herald, 'controller', '--leader-elect=false', '--kubeconfig', file], log);
  await controller.waitForLine(/controller started/);
}

/** Applies the manifests of the import, and returns its report. */
async function importObjects(one: Installation): Promise<string> {
  const { code, stdout, stderr } = await run(herald, ['import', '--from-cluster']);
  // 3: some Services need the command of the report.
  expect([code, stderr]).toEqual([3, expect.stringContaining(`${one.program}: `)]);
  expect(stderr).not.toMatch(/^refused:|^problem:/m);
  for (const document of parseAllDocuments(stdout)) await apply(cluster, document.toJS() as object);
  return stderr;
}

/** Runs the commands of the report as a reader would, with kubectl. */
async function annotate(report: string): Promise<void> {
  const commands = report.split('\n').filter((line) => /^ {2}kubectl (?:annotate|patch) /.test(line));
  for (const command of commands) {
    const { code, stderr } = await run('/bin/sh', ['-ec', command.trim().replace('kubectl', programPath('kubectl'))]);
    expect([command, code, stderr]).toEqual([command, 0, '']);
  }
}

/** What is not Herald's in the statuses: the other program must find it as it was. */
async function foreignConditions({ services }: Installation): Promise<readonly object[]> {
  const found = await Promise.all(services.map(async ({ name }) => (await read(name)).conditions ?? []));
  return found.flat().filter(({ type }) => !type.startsWith('herald.dev/'));
}

describe.each(installations)('a cluster of $program', (one) => {
  test('every Service keeps its address with the commands of the report, and on the way back', async () => {
    await install(one);
    const report = await importObjects(one);
    for (const { name, addresses: own } of one.services)
      expect(report).toMatch(
        new RegExp(
          `^  ${name}: has ${own.join(' and ')}.*; (?:the same|(?:would get another address|would not get it): pin it, then the same)`,
          'm',
        ),
      );
    await annotate(report);
    await startController();
    expect(await assigned(one)).toEqual(one.services.map(() => 'none'));

    await configure({ defaultClass: true });
    await until('Herald has adopted the addresses', all(one, 'True Assigned'));
    expect(await addresses(one)).toEqual(before(one));
    expect(await foreignConditions(one)).toEqual(one.services.flatMap(({ conditions = [] }) => conditions));

    // A program that gives up its Services clears their status.
    for (const service of one.services) await setStatus(service, { loadBalancer: { ingress: [] } });
    await until('Herald has written them again', async (note) => {
      const now = await addresses(one);
      note(now);
      return Object.values(now).every((list) => list.length > 0);
    });
    expect(await addresses(one)).toEqual(before(one));

    await configure({ defaultClass: false });
    await until('Herald has let go', all(one, 'none'));
    expect(await addresses(one)).toEqual(before(one));
    expect(await foreignConditions(one)).toEqual(one.services.flatMap(({ conditions = [] }) => conditions));
  });

  test.runIf(one.compat !== undefined)('with compat, no Service needs an annotation of Herald', async () => {
    await install(one);
    await importObjects(one);
    await startController();
    await configure({ defaultClass: true, compat: [one.compat] });
    await until('Herald has adopted the addresses', all(one, 'True Assigned'));
    expect(await addresses(one)).toEqual(before(one));

    const pinned = one.services.filter(({ isPinned }) => isPinned === true);
    for (const service of pinned) await setStatus(service, { loadBalancer: { ingress: [] } });
    await until('Herald has written them again', async (note) => {
      const now = await addresses(one);
      note(now);
      return Object.values(now).every((list) => list.length > 0);
    });
    expect(await addresses(one)).toEqual(before(one));

    const [first] = pinned;
    if (first !== undefined) {
      const [namespace = '', name = ''] = first.name.split('/');
      const explained = await run(herald, ['explain', 'service', `${namespace}/${name}`]);
      expect(explained.stdout).toMatch(/requested by \S+\/\S+/);
    }
    await configure({ defaultClass: false, compat: 'none' });
    await until('Herald has let go', all(one, 'none'));
    expect(await addresses(one)).toEqual(before(one));
  });
});

test('a Service that asks kube-vip for a lease of DHCP is refused with that reason', async () => {
  const found = installations.find(({ program }) => program === 'kube-vip');
  if (found === undefined) throw new RangeError('kube-vip');
  const leased: ForeignService = { name: 'shop/tv', annotations: { 'kube-vip.io/loadbalancerIPs': '0.0.0.0' }, addresses: [] };
  const one = { ...found, services: [leased] };
  await install({ ...one, services: [] });
  await create({ ...leased, addresses: ['198.51.100.9'] });
  await setStatus(leased, { loadBalancer: { ingress: [] } });
  await startController();
  await configure({ defaultClass: true, compat: 'kube-vip' });
  await until('it is refused', all(one, 'False InvalidRequest'));
  const { conditions = [] } = (await read('shop/tv')) as { conditions?: readonly { readonly message?: string }[] };
  expect(conditions.map(({ message }) => message).join()).toContain('DHCP');
  expect(await addresses(one)).toEqual({ 'shop/tv': [] });
});
