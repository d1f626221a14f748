import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { explainServiceCommand } from '../../src/cli/commands/explain-service.ts';
import { allCases, manifestsBefore } from '../lab/diagnosis/all-cases.ts';
import { allocationCases } from '../lab/diagnosis/cases/allocation.ts';
import { announcementCases } from '../lab/diagnosis/cases/announcement.ts';
import { serviceCases } from '../lab/diagnosis/cases/services.ts';
import { explained, firstLineOf } from '../lab/diagnosis/faces.ts';
import type { Misconfiguration } from '../lab/diagnosis/misconfiguration.ts';
import { ipv4Only, service, type Manifest } from '../lab/diagnosis/objects.ts';
import { expectSameCode, type Reports } from '../lab/diagnosis/same-code.ts';
import { until } from '../lab/until.ts';
import { inProcess } from '../unit/cli/in-process.ts';
import { clusterCases, mendedPodManifests, placeOfCluster, podCases, podManifests, verdictOfPods } from './diagnosis/cases.ts';
import { ClusterScene } from './diagnosis/cluster-scene.ts';
import { apply, shipped } from './manifests.ts';

/**
 * Mistakes with a real API server: Conditions, Events in events.k8s.io/v1, the controller's metrics and `herald status --problems` carry the
 * code and the line of the verdict. The lab makes many of the same mistakes with routers and clients, from a directory.
 */
const providerModule = join(import.meta.dirname, 'diagnosis/provider.ts');

/**
 * Mistakes of the lab that show without agents, routers and hosts: a verdict about some ports needs agents. An API server creates no object that
 * is being deleted.
 */
const sharedCases = allCases.filter(
  ({ one, place }) =>
    [...allocationCases, ...announcementCases, ...serviceCases].includes(one) &&
    /^Not served(?! at)/.test(one.verdict) &&
    !JSON.stringify(one.after?.(place)).includes('deletionTimestamp'),
);

type Expected = Pick<Misconfiguration, 'name' | 'code' | 'condition' | 'verdict' | 'isIntended'>;

const ofPods = podCases.map((one): Expected & { readonly pods: (typeof podCases)[number] } => ({
  name: one.name,
  code: 'NoEndpoints',
  condition: 'Announced',
  verdict: verdictOfPods(one),
  pods: one,
}));

let scene: ClusterScene;
let rows: Reports['rows'];
let count: Reports['count'];

beforeAll(async () => {
  scene = await ClusterScene.start();
  for (const placed of sharedCases) await scene.apply(manifestsBefore(placed));
  await scene.startController('--provider', providerModule);
  for (const placed of sharedCases) await untilAssigned(manifestsBefore(placed));
  // The verdict of a case counts all Nodes.
  for (const { one, place } of sharedCases) await scene.apply((one.after?.(place) ?? []).filter(({ kind }) => kind === 'Node'));
  for (const placed of sharedCases) await scene.replace(manifestsBefore(placed), placed.one.after?.(placed.place) ?? []);
  for (const one of clusterCases) await scene.apply(one.manifests(placeOfCluster(one)));
  for (const one of podCases) {
    await scene.apply(podManifests(one, placeOfCluster(one)));
    if (one.isDeleted) await scene.cluster.request({ method: 'DELETE', path: `/api/v1/namespaces/${one.name}/pods/web-1` });
  }
  for (const one of [...sharedCases.map((placed) => placed.one), ...clusterCases, ...ofPods]) await untilRecorded(one);
  rows = await scene.problems();
  count = await scene.count();
}, 600_000);

afterAll(() => scene?.stop());

/** Waits until the Services of Herald among these objects have an address, so that a later one cannot take it. */
async function untilAssigned(manifests: readonly Manifest[]): Promise<void> {
  for (const { kind, metadata, spec } of manifests) {
    const { namespace = '', name } = metadata as { readonly namespace?: string; readonly name: string };
    if (kind !== 'Service' || (spec as { readonly loadBalancerClass?: string }).loadBalancerClass === undefined) continue;
    await until(`${namespace}/${name} has an address`, async () => (await scene.addresses(`${namespace}/${name}`)).length > 0);
  }
}

/** A negative condition is recorded after 30 s, and reported by an Event then. */
async function untilRecorded({ name, condition, code }: Expected): Promise<void> {
  if (condition === undefined) return;
  await until(
    `${name} has ${condition}=False (${code})`,
    async (note) =>
      note(await scene.conditions(`${name}/web`))[condition]?.reason === code &&
      note(await scene.events(`${name}/web`)).some(({ reason }) => reason === code),
  )
    // The test of the case shows what is there instead.
    .catch(() => undefined);
}

async function expectVerdict(service: string, { verdict, code }: Expected): Promise<void> {
  expect(await firstLineOf(scene.words(service))).toBe(verdict);
  expect((await explained(scene.words(service))).verdict).toMatchObject({ line: verdict, code });
}

async function expectReports(service: string, one: Expected): Promise<void> {
  const events = await scene.events(service);
  expectSameCode(one, { service, rows, conditions: await scene.conditions(service), events: events.map(({ reason }) => reason), count });
  const notes = events.filter(({ reason }) => reason === one.code).map(({ note }) => note);
  if (one.condition !== undefined) expect(notes).toContain(one.verdict);
}

describe('mistakes of the lab', () => {
  describe.each(sharedCases.map(({ one }) => one))('$mistake', (one) => {
    test(`the verdict names ${one.code}`, () => expectVerdict(`${one.name}/web`, one));
    test('condition, Event, metric and status carry the code and the line', () => expectReports(`${one.name}/web`, one));
  });
});

describe('mistakes that need an API server', () => {
  describe.each(clusterCases)('$mistake', (one) => {
    test(`the verdict names ${one.code}`, () => expectVerdict(`${one.name}/web`, one));
    test('condition, Event, metric and status carry the code and the line', () => expectReports(`${one.name}/web`, one));
  });
});

describe('mistakes in Pods', () => {
  describe.each(ofPods)('$pods.mistake', (one) => {
    const service = `${one.name}/web`;
    test('the verdict says that no endpoint takes traffic', () => expectVerdict(service, one));

    test(`the explanation names ${one.pods.code}`, async () => {
      const { endpoints } = await explained(scene.words(service));
      expect(endpoints.pods?.map(({ code }) => code)).toEqual([one.pods.code]);
      const { stdout } = await inProcess(explainServiceCommand, scene.words(service));
      expect(stdout).toContain(one.pods.sentence);
    });

    test('condition, Event, metric and status carry the code and the line', () => expectReports(service, one));
  });
});

test('a Service without a class that no controller serves gets an Event', async () => {
  const events = await until('there is an Event', async (note) => note(await scene.events('class-not-set/web')));
  expect(events.map(({ reason }) => reason)).toEqual(['ClassNotSet']);
});

describe('a person who may not list Namespaces', () => {
  let kubeconfig: string;

  beforeAll(async () => {
    const [role] = shipped('base/explain-rbac.yaml') as unknown as readonly { rules: readonly { resources: readonly string[] }[] }[];
    const rules = role?.rules.map((rule) => ({ ...rule, resources: rule.resources.filter((one) => one !== 'namespaces') })) ?? [];
    const token = await scene.cluster.serviceAccountToken('herald-system', 'limited');
    const ofRights = { apiVersion: 'rbac.authorization.k8s.io/v1', metadata: { name: 'limited' } };
    await apply(
      scene.cluster,
      { ...ofRights, kind: 'ClusterRole', rules },
      {
        ...ofRights,
        kind: 'ClusterRoleBinding',
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'limited' },
        subjects: [{ kind: 'ServiceAccount', namespace: 'herald-system', name: 'limited' }],
      },
    );
    await until('the rights are known', async () => (await scene.cluster.attempt({ path: '/api/v1/services' }, token)).status === 200);
    kubeconfig = await scene.writeKubeconfig('limited', token);
  });

  test.each(['namespace-label', 'pool-of-team-full'])('explain of %s does not guess which pools select the namespace', async (name) => {
    const words = scene.words(`${name}/web`, kubeconfig);
    expect(await firstLineOf(words)).toBe(
      'Not known whether it is served: this cannot be decided here: you may not list namespaces. Ask a person with the ClusterRole herald-explain, or bind that role to yourself (it lists namespaces).',
    );
    expect((await explained(words)).verdict).toMatchObject({ outcome: 'unknown', code: 'Undecided' });
    const { stdout } = await inProcess(explainServiceCommand, words);
    expect(stdout).toContain('not read: namespaces: you may not list them');
    // The controller may list them.
    const verdict = clusterCases.find((one) => one.name === name)?.verdict;
    expect(stdout).toMatch(/^Condition  herald\.dev\/AddressAssigned is False for /m);
    expect(stdout).toContain(`: ${verdict}\n`);
  });

  test('status has what the controller recorded', async () => {
    const { problems } = await scene.problems(kubeconfig);
    for (const { name, code, verdict } of clusterCases)
      expect(problems).toContainEqual(expect.objectContaining({ object: `Service/${name}/web`, code, line: verdict }));
  });
});

describe('after the fixes', () => {
  test.each(clusterCases.filter(({ fix }) => fix !== undefined))('the Service of $name gets an address', async (one) => {
    await scene.apply([one.fix?.(placeOfCluster(one)) ?? {}]);
    const service = `${one.name}/web`;
    await until('the condition is True', async (note) => note((await scene.conditions(service))['AddressAssigned'])?.status === 'True');
    expect((await explained(scene.words(service))).verdict.code).not.toBe(one.code);
    await until('there is an Event', async () => (await scene.events(service)).some(({ reason }) => reason === 'AddressAssigned'));
  });

  test.each(podCases)('the Pod of $name is an endpoint', async (one) => {
    await scene.cluster.attempt({ method: 'DELETE', path: `/api/v1/namespaces/${one.name}/pods/web-1?gracePeriodSeconds=0` });
    await scene.apply(mendedPodManifests(one, placeOfCluster(one)));
    const words = scene.words(`${one.name}/web`);
    await until('there is an endpoint', async (note) => note(await explained(words)).endpoints.ready === 1);
    const { verdict, endpoints } = await explained(words);
    expect(endpoints.pods).toEqual([]);
    expect(verdict.code).toBe('AgentSilent');
  });
});

test('status says that no controller leads, and explain of a new Service that none gave it an address', async () => {
  await scene.stopController('SIGTERM');
  const [one] = clusterCases;
  if (one === undefined) throw new Error('there is no case');
  const place = placeOfCluster(one);
  await scene.apply(service(place, { spec: ipv4Only(place, 1) }, { name: 'late', ordinal: 1 }));
  const line =
    'No controller leads (the Lease herald-system/herald-controller is free): Services get no addresses, and their status stays as it is; addresses that they have are announced. Look at the controllers: kubectl -n herald-system get pods -l app.kubernetes.io/component=controller; their log says why they do not get the Lease.';
  const row = expect.objectContaining({ object: 'Lease/herald-system/herald-controller', code: 'NoControllerLeads', line });
  expect((await scene.problems()).problems).toContainEqual(row);
  expect(await firstLineOf(scene.words(`${one.name}/late`))).toBe(
    'Not served: the Service has no address yet: the controller has not assigned one. Check with herald status that a controller runs and leads.',
  );
  await scene.startController();
  await until('a controller leads', async () => (await scene.addresses(`${one.name}/late`)).length > 0);
  expect((await scene.problems()).problems).not.toContainEqual(row);
});
