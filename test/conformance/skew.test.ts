import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { hostProblemsOf, reportAge, type NodeState } from '../../src/model/objects/node-state.ts';
import { parseObject } from '../../src/model/parse.ts';
import type { LabProcess } from '../lab/lab-process.ts';
import { until } from '../lab/until.ts';
import { apply } from './manifests.ts';
import { ipAddressPool, loadBalancer, ServiceCluster } from './services.ts';

/** A controller of this version, with the CRDs and reports of the previous and the next version. */
let services: ServiceCluster;
let controller: LabProcess;

beforeAll(async () => {
  services = await ServiceCluster.start(['192.0.2.0/24']);
  for (const kind of ['ipaddresspools', 'nodestates']) await apply(services.cluster, v0(`crds/${kind}.yaml`));
  controller = await services.startController();
});

afterAll(() => services?.stop());

const v0 = (file: string): object => document(`v0/${file}`);

function document(file: string): object {
  return parse(readFileSync(join(import.meta.dirname, '../unit/skew', file), 'utf8')) as object;
}

interface Definition {
  readonly spec: {
    readonly versions: [
      { readonly schema: { readonly openAPIV3Schema: { readonly properties: { readonly spec: { readonly properties: object } } } } },
    ];
  };
}

const poolPath = '/apis/herald.dev/v1alpha1/ipaddresspools/main';

test('Services get addresses and pools a status with the CRDs of the previous version', async () => {
  await apply(services.cluster, loadBalancer('before'));
  await services.untilAddresses('before', 1);
  await until('the pool has its status', async (note) => {
    const { status } = (await services.cluster.request({ path: poolPath })) as { readonly status?: { readonly usage?: string } };
    return note(status?.usage) === '1/256';
  });
});

test('an unknown field of the next version is ignored, and no address moves', async () => {
  const next = structuredClone(v0('crds/ipaddresspools.yaml')) as Definition;
  Object.assign(next.spec.versions[0].schema.openAPIV3Schema.properties.spec.properties, { sharding: { type: 'string', maxLength: 10 } });
  await apply(services.cluster, next);
  const addresses = await services.untilAddresses('before', 1);
  await until('the field is kept', async (note) => {
    await apply(services.cluster, ipAddressPool('main', { addresses: ['192.0.2.0/24', '198.51.100.0/24'], sharding: 'even' }));
    const { spec } = (await services.cluster.request({ path: poolPath })) as { readonly spec: { readonly sharding?: string } };
    return note(spec.sharding) === 'even';
  });
  await controller.waitForLine(/spec\.sharding: is not known to this version of Herald/);
  await apply(services.cluster, loadBalancer('after', { loadBalancerIP: '198.51.100.7' }));
  expect(await services.untilAddresses('after', 1)).toEqual(['198.51.100.7']);
  expect(await services.addressesOf('before')).toEqual(addresses);
  // A new controller has no earlier version of the object in memory.
  await services.kill(controller);
  controller = await services.startController();
  await apply(services.cluster, loadBalancer('restarted', { loadBalancerIP: '198.51.100.8' }));
  expect(await services.untilAddresses('restarted', 1)).toEqual(['198.51.100.8']);
  expect(await services.addressesOf('before')).toEqual(addresses);
});

test.each([
  ['before', 'v0/node-state.yaml'],
  ['after', 'next/node-state.yaml'],
])('the report of an agent of the version %s is stored unchanged', async (_, file) => {
  const { status, ...object } = document(file) as { readonly status: object; readonly metadata: object };
  const named = { ...object, metadata: { name: 'n1' } };
  await apply(services.cluster, named);
  const path = '/apis/herald.dev/v1alpha1/nodestates/n1';
  expect((await services.applyAs('herald-agent', `${path}/status`, { ...named, status }, true)).status).toBe(200);
  const kept = (await services.cluster.request({ path })) as { readonly status: object };
  expect(kept.status).toEqual(status);
});

test("the agent's next report replaces what another manager wrote", async () => {
  const { status, ...object } = document('v0/node-state.yaml') as { readonly status: object };
  const named = { ...object, metadata: { name: 'n2' } };
  await apply(services.cluster, named);
  const path = '/apis/herald.dev/v1alpha1/nodestates/n2/status';
  await services.applyAs('herald-agent', path, { ...named, status }, true);
  const meddled = { ...named, status: { sessions: [], updated: '2000-01-01T00:00:00Z' } };
  expect((await services.applyAs('meddler', path, meddled, false)).status).toBe(409);
  expect((await services.applyAs('meddler', path, meddled, true)).status).toBe(200);
  expect((await services.applyAs('herald-agent', path, { ...named, status }, true)).status).toBe(200);
  const kept = (await services.cluster.request({ path })) as { readonly status: object };
  expect(kept.status).toEqual(status);
});

test('the API server dates each report that differs from the last one, whatever the clock of the node says', async () => {
  const named = { apiVersion: 'herald.dev/v1alpha1', kind: 'NodeState', metadata: { name: 'n3' } };
  await apply(services.cluster, named);
  const path = '/apis/herald.dev/v1alpha1/nodestates/n3';
  const report = async (status: object): Promise<NodeState> => {
    expect((await services.applyAs('herald-agent', `${path}/status`, { ...named, status }, true)).status).toBe(200);
    const { object } = parseObject(await services.cluster.request({ path }));
    if (object?.kind !== 'NodeState') throw new Error('no NodeState');
    return object;
  };
  const hourAgo = new Date(Date.now() - 3_600_000).toISOString();
  const first = await report({ updated: hourAgo, sessions: [] });
  expect(reportAge(first, Date.now())).toBeLessThan(10);
  expect(hostProblemsOf(first)).toMatchObject([{ code: 'NodeClockSkew', details: { node: 'n3', direction: 'behind' } }]);
  await until('a second has passed', async () => Date.now() - Date.parse(first.recorded?.at ?? '') > 2_000);
  expect((await report({ updated: hourAgo, sessions: [] })).recorded).toEqual(first.recorded);
  const second = await report({ updated: hourAgo, sessions: [], truncated: true });
  expect(Date.parse(second.recorded?.at ?? '')).toBeGreaterThan(Date.parse(first.recorded?.at ?? ''));
});
