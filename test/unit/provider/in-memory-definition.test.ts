import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { addDefinition } from '../../../src/cli/context/definitions.ts';
import { loadDefinitions, loadProviders, modulesIn } from '../../../src/cli/context/provider-modules.ts';
import { heraldApiVersion } from '../../../src/model/kinds.ts';
import { failureKinds } from '../../../src/explain/plan/fail-on.ts';
import { serviceKey } from '../../../src/model/objects/metadata.ts';
import { parseObject } from '../../../src/model/parse.ts';
import { conditionText, reasonText, remedyText, type Reason } from '../../../src/model/reasons.ts';
import { Store } from '../../../src/model/store/store.ts';
import { Metrics } from '../../../src/telemetry/metrics.ts';
import { heraldProcess as herald } from '../cli/program.ts';
import { providerComponents } from '../cli/provider-components.ts';
import { service } from '../decisions/fixtures.ts';
import { cloudConfig, cloudReason, definition } from './in-memory-definition.ts';
import * as cloudModule from './in-memory-module.ts';

const module = join(import.meta.dirname, 'in-memory-module.ts');
const patient = { timeout: 90_000 };
const web = service({ name: 'web', loadBalancerClass: 'example.com/in-memory-cloud' });

let takeBack: () => void;
beforeAll(() => void (takeBack = addDefinition(definition)));
afterAll(() => takeBack());

/** Reads HeraldConfig/default with this part. */
function configured(part: unknown) {
  const manifest = { apiVersion: heraldApiVersion, kind: 'HeraldConfig', metadata: { name: 'default' }, spec: { 'in-memory-cloud': part } };
  return parseObject(manifest);
}

describe('the definition of the in-memory cloud', () => {
  test('its reasons have texts, as those of the core', () => {
    const full = cloudReason('InMemoryCloudFull', { most: 3 });
    expect(JSON.parse(JSON.stringify(full))).toEqual({ code: 'InMemoryCloudFull', details: { most: 3 } });
    expect(conditionText(full)).toBe('The in-memory cloud has no room for another load balancer');
    expect(reasonText(full)).toBe('the in-memory cloud may have 3 load balancers, and has them');
    expect(remedyText(full)).toContain('raise mostLoadBalancers');
    expect(() => reasonText({ ...full, code: 'OfNobody' } as unknown as Reason)).toThrow('no table has reason OfNobody');
  });

  test('its part of HeraldConfig is read, checked and has defaults', () => {
    const { object, problems, warnings } = configured({ mostLoadBalancers: 2 });
    expect([problems, warnings]).toEqual([[], []]);
    expect(object?.kind === 'HeraldConfig' && cloudConfig.of(object)).toEqual({ mostLoadBalancers: 2 });
    expect(cloudConfig.of({ parts: {} })).toEqual({ mostLoadBalancers: 100 });
    expect(configured({ mostLoadBalancers: -1 }).problems).toMatchObject([{ field: 'spec.in-memory-cloud.mostLoadBalancers' }]);
    expect(configured({ most: 1 }).problems).toMatchObject([{ field: 'spec.in-memory-cloud.most' }]);
  });

  test('the provider refuses by its own reason, and counts into its own metrics', async () => {
    const metrics = new Metrics();
    const components = { ...providerComponents(true), options: { inMemoryCloudThird: 7 } };
    const [provider] = await loadProviders(['./cloud.ts'], components, [], async () => cloudModule, metrics);
    const store = new Store();
    store.upsert(web);
    const { object } = configured({ mostLoadBalancers: 1 });
    if (object !== undefined) store.upsert(object);
    expect(await provider?.reconcile(web, store)).toMatchObject({ ingress: [{ ipMode: 'Proxy' }] });
    const second = service({ name: 'second', loadBalancerClass: 'example.com/in-memory-cloud' });
    expect(await provider?.reconcile(second, store)).toMatchObject({ reason: { code: 'InMemoryCloudFull', details: { most: 1 } } });
    await provider?.release(serviceKey(web.metadata), store, 0);
    const text = await metrics.text();
    expect(text).toContain('in_memory_cloud_calls_total{operation="ensure"} 1\n');
    expect(text).toContain('in_memory_cloud_calls_total{operation="delete"} 1\n');
  });

  test('its words name kinds of changes for --fail-on', () => {
    expect(failureKinds()).toMatchObject({ 'in-memory-cloud-delete': 'a load balancer in memory would be deleted' });
  });

  test('a metric, a reason or a part of HeraldConfig that exists already is refused', async () => {
    const metrics = new Metrics();
    metrics.declare(cloudModule.definition.metrics ?? {});
    expect(() => metrics.declare({ in_memory_cloud_calls_total: { type: 'gauge', help: '', labels: {}, of: 'all' } })).toThrow(
      'two tables',
    );
    const load = (other: object) => loadDefinitions(['./acme.ts'], async () => ({ definition: { name: 'acme', ...other } }));
    await expect(load({ reasons: { NoPoolFits: {} } })).rejects.toThrow('its reason NoPoolFits exists already');
    await expect(load({ config: { name: 'services' } })).rejects.toThrow('spec.services of HeraldConfig exists already');
    expect(await load({})).toEqual([{ name: 'acme' }]);
  });

  test('a definition and its provider must have one name', async () => {
    const other = { ...cloudModule, definition: { ...definition, name: 'acme' } };
    const loaded = loadProviders(['./cloud.ts'], providerComponents(true), [], async () => other);
    await expect(loaded).rejects.toThrow('its definition is called "acme", and its provider "in-memory-cloud"');
  });
});

test('modules are found on a command line before it is parsed', () => {
  expect(modulesIn(['plan', '--provider', 'a.ts', '-f', 'x', '--provider=b.ts', '--provider'])).toEqual(['a.ts', 'b.ts']);
});

describe('herald with the module of the in-memory cloud', () => {
  let directory = '';
  afterEach(async () => rm(directory, { recursive: true, force: true }));

  test('its command and options are in the help, and herald names each mistake in them', patient, async () => {
    const greeting = await herald('in-memory-cloud', 'greet', '--name', 'you', '--provider', module);
    expect(greeting).toEqual({ code: 0, stdout: 'hello you\n', stderr: '' });
    const help = await herald('explain', 'service', '--help', '--provider', module);
    expect(help.stdout).toContain('--in-memory-cloud-third <number>');
    expect(help.stdout).toContain('herald explain service shop/web --in-memory-cloud-third 7');
    const wrong = await herald('plan', '-f', '.', '--offline', '--provider', module, '--in-memory-cloud-third', 'x');
    expect([wrong.code, wrong.stderr]).toEqual([64, expect.stringContaining('Write a number below 100.')]);
    const none = await herald('in-memory-cloud', 'greet', '--name', 'you');
    expect(none.code).toBe(64);
  });

  test('reads its part of HeraldConfig, and plans with its words', patient, async () => {
    directory = await mkdtemp(join(tmpdir(), 'herald-module-'));
    const manifests = [
      {
        apiVersion: heraldApiVersion,
        kind: 'HeraldConfig',
        metadata: { name: 'default' },
        spec: { 'in-memory-cloud': { mostLoadBalancers: 5 } },
      },
      {
        apiVersion: 'v1',
        kind: 'Service',
        metadata: { namespace: 'shop', name: 'web' },
        spec: {
          type: 'LoadBalancer',
          loadBalancerClass: 'example.com/in-memory-cloud',
          clusterIP: '10.96.0.1',
          ports: [{ port: 80, nodePort: 30080 }],
        },
      },
    ];
    await writeFile(join(directory, 'all.json'), JSON.stringify({ apiVersion: 'v1', kind: 'List', items: manifests }));
    const { stdout } = await herald('plan', '-f', directory, '--offline', '--provider', module);
    expect(stdout).toContain('calls to the cloud in memory would be made first');
    expect(stdout).not.toContain('unknown field');
    expect(stdout).not.toContain('spec.in-memory-cloud');
  });
});
