import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { planCommand } from '../../src/cli/commands/plan-command.ts';
import type { Plan } from '../../src/explain/plan/plan.ts';
import { inProcess } from '../unit/cli/in-process.ts';
import { examples, HeraldInLab } from './herald.ts';
import { Lab } from './lab.ts';
import { edits, ownServices, type Files } from './plan-forecast/edits.ts';
import { editedObjects, historySince, unrelated } from './plan-forecast/history.ts';
import { differences, forecast, nodes, readRoutes, readSessions, readWorld, type World } from './plan-forecast/world.ts';
import { standardTopology } from './standard-topology.ts';

/** Compares what `herald plan` forecasts for an edit with what routers, kernels and clients do after it. */
const exampleFiles = ['10-cluster.yaml', '20-herald.yaml', '30-web.yaml'];
const times = { settleSeconds: 1, drainSeconds: 1 };
/** Longer than the times above, so that a change shows that was not forecast. */
const dwellMilliseconds = 2500;
const pollMilliseconds = 300;
let lab: Lab;
let herald: HeraldInLab;
let base: Files;
let before: World;
let addresses: readonly string[];
/** When each object was edited last, in milliseconds since the epoch. */
const editedAt = new Map<string, number>();

beforeAll(async () => {
  lab = await Lab.start(standardTopology({ pods: nodes.map((node, index) => ({ name: `web-${index + 1}`, node })) }));
  herald = await HeraldInLab.prepare(lab, examples, exampleFiles);
  await herald.prolongHoldTimes();
  const spec = `drainSeconds: ${times.drainSeconds}, nodeDrain: { settleSeconds: ${times.settleSeconds} }`;
  await herald.edit('20-herald.yaml', (text) => text.replace('drainSeconds: 2', spec));
  await herald.write('40-own.yaml', ownServices);
  base = new Map();
  await herald.write('90-unrelated.yaml', unrelated(0));
  for (const file of [...exampleFiles, '40-own.yaml', '90-unrelated.yaml']) base.set(file, await herald.read(file));
  // A ToR does not reach its own nodes through a spine, as in a real fabric.
  for (const tor of ['tor1', 'tor2']) {
    const spine = { 4: `10.8.${tor.at(-1)}.1`, 6: `fd00:8:${tor.at(-1)}::1` };
    const refuse = ([4, 6] as const).flatMap((family) => [
      `address-family ipv${family} unicast`,
      `neighbor ${spine[family]} route-map NOTHING in`,
      'exit-address-family',
    ]);
    await lab.router(tor).configure([`router bgp ${tor === 'tor1' ? 65_101 : 65_102}`, ...refuse]);
  }
  await herald.start(nodes);
  const web = await herald.untilAssigned('shop/web', 2);
  const [solo, plain] = [await herald.untilAssigned('shop/solo', 1), await herald.untilAssigned('guest/plain', 1)];
  addresses = [...web, ...solo, ...plain];
  await lab.until('routers have the routes of all nodes', async (note) => {
    const [routes, sessions] = [await readRoutes(lab), await readSessions(lab)];
    const holders = addresses.map((address) => [...routes.keys()].filter((route) => route.startsWith(`${address}/`)).length);
    return note({ holders, sessions: sessions.size }).sessions === 12 && holders.join() === '6,6,2,6';
  });
  before = await readWorld(lab);
});

afterAll(async () => {
  await lab?.stop();
});

/** Returns the forecast of `herald plan`, as JSON and as text. */
async function plan(files: Files): Promise<{ readonly plan: Plan; readonly text: string }> {
  const proposed = `${herald.directory}-proposed`;
  await mkdir(proposed, { recursive: true });
  for (const [file, text] of files) await writeFile(join(proposed, file), text);
  const words = ['-f', proposed, '--source', herald.directory];
  const [json, text] = [await inProcess(planCommand, [...words, '-o', 'json']), await inProcess(planCommand, words)];
  expect(json.stderr).toBe('');
  await rm(proposed, { recursive: true });
  return { plan: JSON.parse(json.stdout) as Plan, text: text.stdout };
}

async function apply(files: Files): Promise<void> {
  for (const [file, text] of files) if (text !== (await herald.read(file))) await herald.write(file, text);
}

/** Waits until routers are as forecast, and a moment longer. Returns when each route was gone, in milliseconds after the edit. */
async function untilForecast(expected: ReturnType<typeof forecast>): Promise<ReadonlyMap<string, number>> {
  const start = performance.now();
  const gone = new Map<string, number>();
  while (performance.now() - start < 20_000) {
    const routes = await readRoutes(lab);
    for (const key of before.routes.keys()) if (!routes.has(key) && !gone.has(key)) gone.set(key, performance.now() - start);
    const seen = differences(before, { ...before, routes, sessions: await readSessions(lab) });
    if (seen.routes.join() === expected.routes.join() && seen.sessions.join() === expected.sessions.join()) break;
    await sleep(pollMilliseconds);
  }
  await sleep(dwellMilliseconds);
  // Rules go after the routes, and later on a busy machine.
  const areRulesSeen = async (): Promise<boolean> => differences(before, await readWorld(lab)).rules.join() === expected.rules.join();
  while (!(await areRulesSeen()) && performance.now() - start < 30_000) await sleep(pollMilliseconds);
  return gone;
}

/** Undoes the edit. Sessions that reset by the edit reset again. */
async function restore({ sessions: edited }: Pick<World, 'sessions'>): Promise<void> {
  await apply(base);
  const resets = [...edited].filter(([name, ports]) => before.sessions.has(name) && before.sessions.get(name) !== ports);
  const isBack = async (): Promise<boolean> => {
    const [routes, sessions] = [await readRoutes(lab), await readSessions(lab)];
    const hasReset = resets.every(([name, ports]) => sessions.get(name) !== ports);
    const back = hasReset && differences(before, { ...before, routes }).routes.length === 0 && sessions.size === before.sessions.size;
    if (back) before = { ...before, sessions };
    return back && differences(before, await readWorld(lab)).rules.length === 0;
  };
  const start = performance.now();
  while (!(await isBack())) {
    if (performance.now() - start > 60_000) throw new Error(JSON.stringify(differences(before, await readWorld(lab))));
    await sleep(pollMilliseconds);
  }
}

/** Returns whether routers have a route to just this address, or one of the edit that aggregates. */
function routeTo(routes: Iterable<string>, address: string): 'own' | 'aggregate' | 'none' {
  const all = [...routes];
  const even = address.replace(/\d+$/, (last) => String(Number(last) & ~1));
  if (all.some((route) => /^\/(?:32|128) /.test(route.slice(address.length)) && route.startsWith(address))) return 'own';
  return all.some((route) => route.startsWith(`${even}/31 `)) ? 'aggregate' : 'none';
}

describe('herald plan', () => {
  test('forecasts nothing when nothing is edited', async () => {
    const { plan: nothing, text } = await plan(base);
    expect(forecast(nothing, before)).toEqual({ routes: [], sessions: [], rules: [] });
    expect(text).toBe('Nothing would change.\n');
  });

  describe.each(edits)('$name', ({ change }) => {
    test('is forecast as routers, kernels and clients have it afterwards', async () => {
      const files = new Map(base);
      change(files);
      const edited = editedObjects(base, files);
      files.set('90-unrelated.yaml', unrelated(1));
      const since = new Date();
      const { plan: planned } = await plan(files);
      const expected = forecast(planned, before);
      await apply(files);
      for (const name of edited) editedAt.set(name, since.getTime());
      let after: World = before;
      try {
        const gone = await untilForecast(expected);
        after = await readWorld(lab);
        expect(differences(before, after)).toEqual(expected);
        for (const { node, what, afterSeconds } of planned.routes)
          if (afterSeconds !== undefined) expect(gone.get(`${what} on ${node}`)).toBeGreaterThan(afterSeconds * 900);
        await expectClients(after);
        expectUnannounced(planned, after);
        await expectCauses(edited, since);
      } finally {
        await restore(after);
      }
    });
  });
});

/**
 * Clients reach exactly the addresses to which a router has a route. An aggregate may lead to nodes that have no pod of a Service with policy
 * Local, as in MetalLB.
 */
async function expectClients({ routes }: World): Promise<void> {
  for (const address of addresses) {
    const route = routeTo(routes.keys(), address);
    if (route === 'aggregate') continue;
    const { failed } = await lab.client.tcp({ address, port: 80, count: 4, timeoutMs: 1000 });
    expect({ address, failed }).toEqual({ address, failed: route === 'own' ? 0 : 4 });
  }
}

/** The plan names the addresses that no router has, of those that were announced or are new. */
function expectUnannounced({ unannounced, addresses: changed }: Plan, { routes }: World): void {
  const fresh = changed.flatMap(({ before: had, after: has }) => has.filter((address) => !had.includes(address)));
  const lost = new Set(changed.flatMap(({ before: had, after: has }) => had.filter((address) => !has.includes(address))));
  const held = [...new Set([...addresses, ...fresh])].filter((address) => !lost.has(address));
  const expected = held.filter((address) => routeTo(routes.keys(), address) === 'none');
  expect(unannounced.map(({ address }) => address).toSorted()).toEqual(expected.toSorted());
}

/**
 * Histories name the objects of the edit, and Services, whose status the controller writes, and no others that changed at the same time. The
 * controller waits up to half a minute before it tells of a bad condition, so it may name those of an earlier edit.
 */
async function expectCauses(edited: ReadonlySet<string>, since: Date): Promise<void> {
  const lately = new Set([...editedAt].filter(([, at]) => since.getTime() - at < 60_000).map(([name]) => name));
  for (const process of [...nodes, 'controller']) {
    const allowed = process === 'controller' ? lately : edited;
    const entries = await historySince(herald.socket(process), since);
    const others = entries.flatMap(({ what, name, causes = [] }) => {
      const named = causes
        .map((cause) => `${cause.kind} ${cause.name}`)
        .filter((cause) => !cause.startsWith('Service ') && !allowed.has(cause));
      return named.map((cause) => `${what} of ${name}: ${cause}`);
    });
    expect({ process, others }).toEqual({ process, others: [] });
  }
}
