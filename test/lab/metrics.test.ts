import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { sampleOf, samplesOf } from '../unit/telemetry/scrape.ts';
import { examples, HeraldInLab } from './herald.ts';
import { Lab } from './lab.ts';
import { standardTopology } from './standard-topology.ts';

let lab: Lab;
let herald: HeraldInLab;

beforeAll(async () => {
  lab = await Lab.start(standardTopology({ pods: [{ name: 'web-1', node: 'node1' }] }));
  herald = await HeraldInLab.prepare(lab, examples, ['10-cluster.yaml', '20-herald.yaml', '30-web.yaml']);
  await herald.edit('30-web.yaml', (text) => text.replaceAll(/.*nodeName: node[23].*\n/g, ''));
  await herald.prolongHoldTimes();
  await herald.start(['node1']);
});

afterAll(async () => {
  await lab?.stop();
});

interface Answer {
  readonly status: number;
  readonly body: string;
}

/** Requests a URL from a machine of the lab, as a scraper in its network namespace does. */
async function get(from: 'node1' | 'control', url: string): Promise<Answer | undefined> {
  const program = `fetch(${JSON.stringify(url)}).then(async (a) => console.log(JSON.stringify({ status: a.status, body: await a.text() })), () => console.log('null'))`;
  const host = from === 'control' ? lab.control : lab.node('node1');
  const { stdout } = await host.exec([process.execPath, '-e', program]);
  return (JSON.parse(stdout) as Answer | null) ?? undefined;
}

async function scrape(from: 'node1' | 'control', place: string): Promise<string> {
  const answer = await get(from, `http://${place}/metrics`);
  expect(answer?.status).toBe(200);
  return answer?.body ?? '';
}

/** Writes scraped text to the directory `HERALD_RECORD`, if set. The tests of alerts use these files. */
async function record(file: string, text: string): Promise<void> {
  const directory = process.env['HERALD_RECORD'];
  if (directory !== undefined) await writeFile(join(directory, file), text);
}

test("an agent serves its metrics at its node's addresses of both families, and not elsewhere", async () => {
  for (const place of ['10.0.0.11:10290', '[fd00::11]:10290']) {
    const text = await scrape('node1', place);
    expect(sampleOf(text, 'herald_objects{kind="Node"}')).toBe(3);
  }
  expect(await get('node1', 'http://127.0.0.1:10290/metrics')).toBeUndefined();
});

test('a controller reports the number of assigned addresses of a pool', async () => {
  await herald.untilAssigned('shop/web', 2);
  await lab.until('the controller has counted one assigned address', async (note) => {
    const text = await scrape('control', '127.0.0.1:10292');
    return note(sampleOf(text, 'herald_pool_addresses{pool="public",family="ipv6",state="assigned"}')) === 1;
  });
});

test('an agent reports its sessions, their messages and their prefixes', async () => {
  const text = await lab.until('both sessions are up and have the routes', async (note) => {
    const text = await scrape('node1', '10.0.0.11:10290');
    const up = [...samplesOf(text, 'herald_bgp_session_up').values()];
    const advertised = [...samplesOf(text, 'herald_bgp_prefixes_advertised').values()].reduce((sum, count) => sum + count, 0);
    return note({ up, advertised }).up.every((one) => one === 1) && up.length > 0 && advertised >= 4 ? text : undefined;
  });
  expect([...samplesOf(text, 'herald_bgp_messages_total').keys()].some((series) => /direction="sent",type="update"/.test(series))).toBe(
    true,
  );
  expect(sampleOf(text, 'herald_dataplane_transactions_total{result="committed"}')).toBeGreaterThan(0);
  expect(sampleOf(text, 'herald_dataplane_up')).toBe(1);
  await record('agent.txt', text);
  await record('controller.txt', await scrape('control', '127.0.0.1:10292'));
});

test('an agent reports the time from a change of endpoints to its rule and to its route', async () => {
  const series = (name: string): string => `${name}_count{kind="EndpointSlice"}`;
  const names = ['herald_change_to_rule_duration_seconds', 'herald_change_to_route_duration_seconds'] as const;
  for (const address of await herald.untilAssigned('shop/web', 2)) {
    await lab.until(`a datagram to ${address} is answered`, async (note) => {
      const { pods } = note(await lab.client.udp({ address, port: 80 }));
      return Object.keys(pods).length > 0;
    });
  }
  const before = await scrape('node1', '10.0.0.11:10290');
  await herald.edit('30-web.yaml', (text) => text.replaceAll('ready: true', 'ready: false, serving: false'));
  const after = await lab.until('the histograms have counted the change', async (note) => {
    const text = await scrape('node1', '10.0.0.11:10290');
    const grown = names.map((name) => (sampleOf(text, series(name)) ?? 0) - (sampleOf(before, series(name)) ?? 0));
    return note(grown).every((count) => count > 0) ? text : undefined;
  });
  for (const name of names) {
    const seconds = (sampleOf(after, `${name}_sum{kind="EndpointSlice"}`) ?? 0) / (sampleOf(after, series(name)) ?? 1);
    console.log(`${name}: ${(seconds * 1000).toFixed(1)} ms`);
    expect(seconds).toBeGreaterThan(0);
  }
  expect(sampleOf(after, 'kubeproxy_sync_proxy_rules_endpoint_changes_total')).toBeGreaterThan(0);
  // The UDP flows lead to a pod that no longer serves them.
  const conntrack = ['deleted_entries_total', 'sync_duration_seconds_count'] as const;
  const forgotten = ['IPv4', 'IPv6'].flatMap((family) =>
    conntrack.map((name) => `kubeproxy_conntrack_reconciler_${name}{ip_family="${family}"}`),
  );
  await lab.until('the flows are deleted and counted', async (note) => {
    const text = await scrape('node1', '10.0.0.11:10290');
    return note(forgotten.map((series) => sampleOf(text, series) ?? 0)).every((count) => count > 0);
  });
});

test('agent and controller answer at /livez and /readyz, and /readyz says that its checks passed', async () => {
  for (const [from, place] of [
    ['node1', '127.0.0.1:10291'],
    ['node1', '[::1]:10291'],
    ['control', '127.0.0.1:10293'],
  ] as const) {
    await lab.until(`${place} is alive`, async (note) => note(await get(from, `http://${place}/livez`))?.status === 200);
    const ready = await lab.until(`${place} is ready`, async (note) => {
      const answer = note(await get(from, `http://${place}/readyz`));
      return answer?.status === 200 ? answer : undefined;
    });
    expect(ready.body).toContain('readyz check passed');
  }
});
