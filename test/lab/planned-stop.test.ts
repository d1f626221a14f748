import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { cluster, nodes, pods, services, slices } from './balanced-cluster.ts';
import { examples, HeraldInLab } from './herald.ts';
import { Lab, type Probe } from './lab.ts';
import type { Failed } from './outcome.ts';
import { notNearAChange, RouteWatch, type RouteEvent } from './route-watch.ts';
import { untilNextHops, untilSpineRoutes, viaNodes } from './routes.ts';
import { standardTopology } from './standard-topology.ts';
import { figuresText, streamFigures } from './stream-figures.ts';

/**
 * The agent of one of three nodes is stopped for good, at 500 new connections a second, externalTrafficPolicy Cluster. Its rules and pods stay:
 * what can be lost is only what is open when routers divide all flows anew, and nothing is where every node hands a flow to the same pod.
 */
const tors = ['tor1', 'tor2'];
const stopped = 'node3';
const rest = nodes.filter((node) => node !== stopped);
const patience = 120_000;
let lab: Lab;
let herald: HeraldInLab;

beforeAll(async () => {
  lab = await Lab.start(standardTopology({ pods }));
  herald = await HeraldInLab.prepare(lab, examples, ['20-herald.yaml']);
  await herald.prolongHoldTimes();
  await herald.write('10-cluster.yaml', cluster(lab));
  await herald.write('30-services.yaml', services());
  await herald.write('31-slices.yaml', slices(lab, nodes));
  await lab.machine('client').exec(['sysctl', '-qw', `net.ipv4.ip_local_port_range=1024 ${nextPort - 1}`]);
  await herald.start(rest);
});

afterAll(async () => {
  await lab?.stop();
});

async function untilVia(addresses: readonly string[], via: readonly string[]): Promise<void> {
  for (const address of addresses) {
    for (const tor of tors) await untilNextHops(lab, tor, address, viaNodes(tor, via, address), patience);
    await untilSpineRoutes(lab, address);
  }
}

/** Every node hands packets over unchanged: pods see the client alone. So many that each pair of nodes is among them. */
async function untilDirect(addresses: readonly string[]): Promise<void> {
  for (const address of addresses) {
    await lab.until(
      `pods behind ${address} see the client alone`,
      async (note) => {
        const { clients, failed } = note(await lab.client.tcp({ address, port: 80, count: 200 }));
        return failed === 0 && clients.length === 1;
      },
      patience,
    );
  }
}

/** A time within which a segment that was lost is sent again, so that what fails here has failed for good. */
const timeoutMs = 15_000;

interface Stop {
  readonly failures: readonly Failed[];
  readonly changes: readonly RouteEvent[];
}

/** No source port is used twice: one that another connection has just left is not free, or is known to a node. Others have those below. */
let nextPort = 10_000;
const ports = 13_500;

async function stopUnderLoad(title: string, addresses: readonly string[], options: readonly string[]): Promise<Stop> {
  const agent = herald.startAgent(stopped, ...options);
  await untilVia(addresses, nodes);
  if (title.startsWith('direct')) await untilDirect(addresses);
  const watch = await RouteWatch.start(lab, ['spine', ...tors], addresses);
  const probes = addresses.map((address): Probe => {
    return lab.client.probe({ protocol: 'tcp', address, port: 80, intervalMs: 4, timeoutMs, firstPort: nextPort });
  });
  nextPort += ports;
  const asked = async (): Promise<void> => {
    const before = probes.map(({ outcomes }) => outcomes.length);
    await lab.until(
      'requests are answered',
      () => probes.every(({ outcomes }, index) => outcomes.length > (before[index] ?? 0) + 250),
      patience,
    );
  };
  await asked();
  agent.kill('SIGTERM');
  await agent.exited;
  await untilVia(addresses, rest);
  await asked();
  const outcomes = (await Promise.all(probes.map((probe) => probe.stop()))).flatMap((report) => report.outcomes);
  // On a machine that is so busy that the ports are used up, the next ones may not be free: nothing was sent from those.
  const failures = outcomes.filter((outcome) => !outcome.ok).filter(({ error }) => !error.startsWith('EADDR'));
  const changes = watch.events();
  await watch.stop();
  const errors = [...new Set(failures.map(({ error }) => error))].join(', ');
  console.info(
    `${title}: ${figuresText(streamFigures(outcomes))}${errors === '' ? '' : ` (${errors})`}; ${changes.length} changes of routes`,
  );
  return { failures, changes };
}

describe.each([
  ['--on-stop shutdown', ['--on-stop', 'shutdown']],
  ['SIGTERM alone', []],
] as const)('%s', (name, options) => {
  test('direct server return and consistent hashing: no request is lost', { timeout: 300_000 }, async () => {
    const addresses = await herald.untilAssigned('shop/direct-all', 2);
    const { failures, changes } = await stopUnderLoad(`direct server return, ${name}`, addresses, options);
    expect(changes).not.toEqual([]);
    expect(failures).toEqual([]);
  });

  test('translation: only connections that are open when routers change their mind are reset', { timeout: 300_000 }, async () => {
    const addresses = await herald.untilAssigned('shop/translated-all', 2);
    const { failures, changes } = await stopUnderLoad(`translation, ${name}`, addresses, options);
    expect(changes).not.toEqual([]);
    expect(notNearAChange(failures, changes)).toEqual([]);
  });
});
