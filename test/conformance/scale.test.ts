import process from 'node:process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { KubeClient } from '../../src/kube/client/client.ts';
import { readKubeconfig } from '../../src/kube/client/kubeconfig.ts';
import { listPages } from '../../src/kube/reflector/list-pages.ts';
import { systemClock } from '../../src/system/clock.ts';
import { until } from '../lab/until.ts';
import { KubernetesCluster } from './cluster.ts';
import { loadBalancer, ServiceCluster, type ServiceObject } from './services.ts';

/** The number of Services that appear at once: 10,000 with TIER=full. The API server needs 20 ms of CPU time for each. */
const many = Number(process.env['MANY_SERVICES'] ?? (process.env['TIER'] === 'full' ? 10_000 : 2_500));
const minutes = 60_000;

let services: ServiceCluster;
let client: KubeClient;

beforeAll(async () => {
  // A cluster of its own: the API server counts writes from its start on, and the many Services would stay in its memory.
  services = await ServiceCluster.start(['198.18.0.0/15'], await KubernetesCluster.start());
  client = new KubeClient(await readKubeconfig(join(services.cluster.directory, 'kubeconfig')), { clock: systemClock });
});

afterAll(async () => {
  client?.close();
  await services?.stop();
});

/** Runs `work` for all elements, 16 at a time, over kept connections. */
async function each<T>(list: readonly T[], work: (one: T) => Promise<unknown>): Promise<void> {
  const left = list.values();
  await Promise.all(
    Array.from({ length: 16 }, async () => {
      for (const one of left) await work(one);
    }),
  );
}

async function all(): Promise<ServiceObject[]> {
  const found: ServiceObject[] = [];
  for await (const { items } of listPages(client, services.path, {}, new AbortController().signal))
    found.push(...(items as unknown as ServiceObject[]));
  return found.filter(({ metadata }) => metadata.name.startsWith('many-'));
}

const addressesOf = ({ status }: ServiceObject): string[] => (status.loadBalancer.ingress ?? []).map(({ ip }) => ip);

/**
 * Adds the names of Services to the set as soon as they have an address, until the signal. The API server may end a watch at any time, so it lists again
 * then. Lists alone would take a processor from the programs under test.
 */
async function watchAssigned(assigned: Set<string>, signal: AbortSignal): Promise<void> {
  const note = ({ metadata, ...service }: ServiceObject): void => {
    if (metadata.name.startsWith('many-') && addressesOf({ metadata, ...service }).length > 0) assigned.add(metadata.name);
  };
  while (!signal.aborted) {
    const { metadata } = (await services.cluster.request({ path: `${services.path}?limit=1` })) as {
      metadata: { resourceVersion: string };
    };
    for (const one of await all()) note(one);
    const { body } = await client.stream(services.path, { watch: true, resourceVersion: metadata.resourceVersion }, signal);
    for await (const line of createInterface({ input: Readable.from(body) })) {
      const { type, object } = JSON.parse(line) as { readonly type: string; readonly object: ServiceObject };
      if (type === 'ERROR') break;
      note(object);
    }
  }
}

/** Counts the status writes to Services that the API server has accepted since its start. */
async function statusWrites(): Promise<number> {
  const metrics = (await services.cluster.request({ path: '/metrics' })) as string;
  const lines = metrics
    .split('\n')
    .filter((line) => /^apiserver_request_total\{[^}]*resource="services"[^}]*subresource="status"/.test(line));
  return lines.filter((line) => line.includes('verb="PATCH"')).reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
}

const seconds = (since: number): number => Math.round((performance.now() - since) / 100) / 10;

test(
  `${many} Services get one address each, although their controller is killed midway`,
  async () => {
    const names = Array.from({ length: many }, (_, index) => `many-${index}`);
    const created = performance.now();
    await each(names, (name) => client.write({ method: 'POST', path: services.path, body: loadBalancer(name) }));
    const creating = seconds(created);

    const assigned = new Set<string>();
    const stop = new AbortController();
    const watch = watchAssigned(assigned, stop.signal);
    const untilAssigned = (count: number): Promise<unknown> =>
      Promise.race([until(`${count} are assigned`, (note) => note(assigned.size) >= count, 10 * minutes), watch]);
    const first = await services.startController();
    const began = performance.now();
    await untilAssigned(many / 4);
    const half = await all();
    await services.kill(first);
    const killed = performance.now();
    const second = await services.startController();
    const restarting = seconds(killed);
    await untilAssigned(many);
    const whole = seconds(began);
    stop.abort();
    await watch.catch(() => undefined);

    const done = await all();
    const addresses = done.flatMap(addressesOf);
    expect(addresses).toHaveLength(many);
    expect(new Set(addresses).size).toBe(many);
    const before = new Map(half.map((one) => [one.metadata.name, addressesOf(one).join()]));
    const moved = done.filter((one) => before.get(one.metadata.name) !== '' && before.get(one.metadata.name) !== addressesOf(one).join());
    expect(moved.map(({ metadata }) => metadata.name)).toEqual([]);

    // One write for each Service. Writes that the first controller sent without seeing the answer are not repeated.
    const writes = await statusWrites();
    const assignedAtKill = [...before.values()].filter((address) => address !== '').length;
    const figures = {
      services: many,
      createdInSeconds: creating,
      assignedAtKill,
      restartSeconds: restarting,
      assignedInSeconds: whole,
      writes,
    };
    process.stdout.write(`${JSON.stringify(figures)}\n`);
    expect(writes).toBeGreaterThanOrEqual(many);
    expect(writes).toBeLessThan(many * 1.05);

    // A later Service gets its address without a wait.
    await client.write({ method: 'POST', path: services.path, body: loadBalancer('later') });
    await services.untilAddresses('later', 1);
    expect(second.running).toBe(true);
  },
  25 * minutes,
);
