import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { run, type CommandResult } from '../lab/command.ts';
import { objectsOf, succeeded, type Manifest } from './clients.ts';
import { programPath } from './programs.ts';

/** The values of the chart, as Helm renders and refuses them. No API server is asked. */
const chart = join(import.meta.dirname, '../../manifests/chart');
let directory: string;
let umbrella: string;

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'herald-chart-'));
  umbrella = join(directory, 'umbrella');
  for (const folder of ['charts', 'templates']) mkdirSync(join(umbrella, folder), { recursive: true });
  cpSync(chart, join(umbrella, 'charts/herald'), { recursive: true });
  writeFileSync(
    join(umbrella, 'Chart.yaml'),
    `apiVersion: v2
name: umbrella
version: 1.0.0
dependencies:
  - { name: herald, version: '*', condition: herald.enabled }
`,
  );
});

afterAll(() => rmSync(directory, { recursive: true, force: true }));

const helm = (...args: readonly string[]): Promise<CommandResult> =>
  run([programPath('helm'), ...args], { env: { HOME: directory, HELM_CACHE_HOME: directory, HELM_CONFIG_HOME: directory }, check: false });

const settings = (values: readonly string[]): string[] => values.flatMap((value) => ['--set-json', value]);

async function rendered(folder: string, ...values: readonly string[]): Promise<Manifest[]> {
  return objectsOf(succeeded(await helm('template', 'herald', folder, ...settings(values))));
}

type Pod = { readonly containers: readonly [{ readonly image: string }]; readonly imagePullSecrets?: readonly unknown[] };

async function pods(...values: readonly string[]): Promise<Pod[]> {
  const objects = (await rendered(chart, ...values)).filter(({ kind }) => kind === 'Deployment' || kind === 'DaemonSet');
  expect(objects).toHaveLength(2);
  return objects.map((object) => object.spec?.template?.spec as Pod);
}

describe('an umbrella chart', () => {
  test('includes Herald when its condition is true or not set', async () => {
    expect(await rendered(umbrella, 'herald.enabled=true')).toEqual(await rendered(umbrella));
    expect((await rendered(umbrella)).map(({ metadata }) => metadata.name)).toContain('herald-controller');
  });

  test('leaves Herald out when its condition is false', async () => {
    expect(await rendered(umbrella, 'herald.enabled=false')).toEqual([]);
  });

  test('passes values of its own in global', async () => {
    expect(await rendered(umbrella, 'global={"environment":"test","nested":{"a":1}}')).toEqual(await rendered(umbrella));
  });

  test('passes a lint with values for Herald', async () => {
    expect((await helm('lint', '--strict', umbrella, '--set', 'herald.enabled=true')).stdout).toContain('0 chart(s) failed');
  });
});

const digest = `sha256:${'0123456789abcdef'.repeat(4)}`;

test.each([
  ['the registry', ['image.registry="r.example"', 'image.tag="1"'], 'r.example/herald:1'],
  ['a registry with a port and a path', ['image.registry="r.example:5000/a/b"', 'image.tag="1"'], 'r.example:5000/a/b/herald:1'],
  ['the global registry first', ['image.registry="r.example"', 'global.imageRegistry="g.example"', 'image.tag="1"'], 'g.example/herald:1'],
  ['the registry before a digest', ['image.registry="r.example"', `image.digest="${digest}"`], `r.example/herald@${digest}`],
  [
    'the mirror of a published image',
    ['image.repository="r.example/team/herald"', 'global.imageRegistry="g.example"', 'image.tag="1"'],
    'g.example/team/herald:1',
  ],
  [
    'the mirror of a registry with a port',
    ['image.repository="localhost:5000/herald"', 'image.registry="g.example"', 'image.tag="1"'],
    'g.example/herald:1',
  ],
  [
    'the folder of a repository',
    ['image.repository="team/herald"', 'image.registry="g.example"', 'image.tag="1"'],
    'g.example/team/herald:1',
  ],
  ['no registry', ['image.repository="r.example/team/herald"', 'image.tag="1"'], 'r.example/team/herald:1'],
])('both images have %s', async (_, values, image) => {
  expect((await pods(...values)).map(({ containers }) => containers[0].image)).toEqual([image, image]);
});

test('both pods have the pull secrets of the chart and of the umbrella chart, each once', async () => {
  const values = ['imagePullSecrets=[{"name":"a"},{"name":"b"}]', 'global.imagePullSecrets=[{"name":"b"},{"name":"c"}]'];
  for (const { imagePullSecrets } of await pods(...values)) expect(imagePullSecrets).toEqual([{ name: 'a' }, { name: 'b' }, { name: 'c' }]);
  for (const pod of await pods()) expect(pod).not.toHaveProperty('imagePullSecrets');
});

type Container = Readonly<Record<`${'startup' | 'liveness' | 'readiness'}Probe`, object>>;
interface Workload {
  readonly strategy?: object;
  readonly updateStrategy?: object;
  readonly template: { readonly spec: Readonly<Record<string, unknown>> & { readonly containers: readonly [Container] } };
}

async function workload(kind: 'Deployment' | 'DaemonSet', ...values: readonly string[]): Promise<Workload> {
  return (await rendered(chart, ...values)).find((object) => object.kind === kind)?.spec as unknown as Workload;
}

describe.each([
  ['controller', 'Deployment', 'strategy', 'Recreate'],
  ['agent', 'DaemonSet', 'updateStrategy', 'OnDelete'],
] as const)('the %s', (component, kind, strategy, type) => {
  test(`has the ${strategy} of the values, without fields of the default one`, async () => {
    expect((await workload(kind, `${component}.${strategy}.type="${type}"`))[strategy]).toEqual({ type });
    expect((await workload(kind))[strategy]).toMatchObject({ type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 1 } });
  });

  test.each(['startup', 'liveness', 'readiness'] as const)('has the numbers of the %sProbe, and keeps its path', async (name) => {
    const probe = `${name}Probe` as const;
    const before = (await workload(kind)).template.spec.containers[0][probe];
    const after = (await workload(kind, `${component}.${probe}.timeoutSeconds=17`)).template.spec.containers[0][probe];
    expect(after).toEqual({ ...before, timeoutSeconds: 17 });
    expect(after).toHaveProperty('httpGet.port', 'health');
  });

  test('has the dnsPolicy of the values', async () => {
    const { dnsPolicy } = (await workload(kind, `${component}.dnsPolicy="ClusterFirstWithHostNet"`)).template.spec;
    expect(dnsPolicy).toBe('ClusterFirstWithHostNet');
  });

  test.each(['updateStrateg="x"', 'livenessProbe.httpGet.path="/"', 'livenessProbe.periodSeconds=0', 'dnsPolicy="None"'])(
    'is refused %s',
    async (value) => {
      expect((await helm('template', 'herald', chart, ...settings([`${component}.${value}`]))).code).toBe(1);
    },
  );
});

test('the controllers have the topologySpreadConstraints of the values', async () => {
  const constraint = { maxSkew: 1, topologyKey: 'topology.kubernetes.io/zone', whenUnsatisfiable: 'DoNotSchedule' };
  const { spec } = (await workload('Deployment', `controller.topologySpreadConstraints=[${JSON.stringify(constraint)}]`)).template;
  expect(spec['topologySpreadConstraints']).toEqual([constraint]);
});

test('extraObjects are part of the release, with their templates filled in', async () => {
  const object = (name: string): object => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } });
  const values = `extraObjects=${JSON.stringify([object('{{ .Release.Name }}-a'), object('b')])}`;
  const [before, after] = [await rendered(chart), await rendered(chart, values)];
  expect(after).toHaveLength(before.length + 2);
  expect(after).toEqual(expect.arrayContaining([object('herald-a'), object('b')]));
});

describe('values that Helm refuses', () => {
  test.each([
    ['config.spec.defaultClas=true', "'/config/spec': additional properties 'defaultClas' not allowed"],
    ['config.spec.defaultClass="yes"', "'/config/spec/defaultClass'"],
    ['config.spec.services="some"', "'/config/spec/services'"],
    ['config.spec.conntrack.tcpEstablishd=1', "'/config/spec/conntrack'"],
    ['config.spec.podCIDRs="10.0.0.0/8"', "'/config/spec/podCIDRs'"],
    ['image.registry="r.example/"', "'/image/registry'"],
    ['global.imageRegistry=1', "'/global/imageRegistry'"],
    ['enabled=false', "'/enabled'"],
  ])('%s', async (value, sentence) => {
    const { code, stderr } = await helm('template', 'herald', chart, ...settings([value]));
    expect(code).toBe(1);
    expect(stderr).toContain(sentence);
  });
});

describe('the notes', () => {
  const warnings = async (...values: readonly string[]): Promise<string[]> => {
    const args = ['install', 'herald', chart, '--dry-run=client', '--hide-secret', ...settings(values)];
    const { code, stdout, stderr } = await helm(...args);
    expect(stderr.replaceAll(/^level=.*\n/gm, '')).toBe('');
    expect(code).toBe(0);
    return [...stdout.matchAll(/^WARNING: (.*)$/gm)].map(([, text]) => text ?? '');
  };
  const image = 'image.repository="r.example/herald"';

  test('warn of nothing when the values are complete', async () => {
    expect(await warnings(image)).toEqual([]);
    expect(await warnings('image.registry="r.example"')).toEqual([]);
    expect(await warnings(image, 'config.spec.services="all"', 'apiServer="https://192.0.2.10:6443"')).toEqual([]);
    expect(await warnings(image, 'config.spec.services="all"', 'agent.enabled=false')).toEqual([]);
  });

  test.each([
    ['the image is the placeholder', [], 'image.repository is "herald", a placeholder.'],
    ['agents replace kube-proxy without apiServer', [image, 'config.spec.services="all"'], 'apiServer is empty.'],
    ['the release has no HeraldConfig', [image, 'config.create=false'], 'config.create is false'],
  ])('warn when %s', async (_, values, sentence) => {
    expect(await warnings(...values)).toEqual([expect.stringContaining(sentence)]);
  });
});

test('every object has the commonAnnotations, beside its own ones, and no pod has them', async () => {
  const everything = ['monitoring.enabled=true', 'networkPolicy.enabled=true', 'metallb.enabled=true', 'aws.clusterName="x"'];
  const values = [...everything, 'controller.serviceAccount.annotations={"role":"own"}'];
  const common = { team: 'network', role: 'common', 'helm.sh/resource-policy': 'delete' };
  const annotated = await rendered(chart, ...values, `commonAnnotations=${JSON.stringify(common)}`);
  const before = await rendered(chart, ...values);
  expect(before.length).toBeGreaterThan(25);
  expect(annotated.map(({ metadata }) => metadata.annotations)).toEqual(
    before.map(({ metadata }) => ({ ...common, ...metadata.annotations })),
  );
  expect(annotated.map(({ spec }) => spec?.template?.metadata)).toEqual(before.map(({ spec }) => spec?.template?.metadata));
});

test.each(['nameOverride', 'fullnameOverride', 'controller.nameOverride'])('%s is refused by name', async (value) => {
  const { code, stderr } = await helm('template', 'herald', chart, '--set', `${value}=other`);
  expect([code, stderr]).toEqual([1, expect.stringMatching(/additional properties '(?:fullname|name)Override' not allowed/)]);
});
