import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { cluster, nodes, pods, services, slices } from './balanced-cluster.ts';
import { examples, HeraldInLab } from './herald.ts';
import { Lab, type Probe } from './lab.ts';
import type { Failed } from './outcome.ts';
import { unexplainedFailures, RouteWatch, type RouteEvent } from './route-watch.ts';
import { untilNextHops, untilSpineRoutes, viaNodes } from './routes.ts';
import { standardTopology } from './standard-topology.ts';
import { figuresText, streamFigures } from './stream-figures.ts';

/**
 * Stops the agent of one of three nodes for good, at 500 new connections a second and externalTrafficPolicy Cluster. Its rules and pods
 * stay. Only connections that are open when routers spread all flows again can be lost. None is lost if every node hands a flow to the same
 * pod.
 */
const tors = ['tor1', 'tor2'];
const stopped = 'node3';
const remaining = nodes.filter((node) => node !== stopped);
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
  await herald.start(remaining);
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

/**
 * Waits until every node hands packets over unchanged, so that pods see only the client. The number of requests is large enough to use each
 * pair of nodes.
 */
async function untilDirect(addresses: readonly string[]): Promise<void> {
  for (const address of addresses) {
    await lab.until(
      `pods behind ${address} see only the client`,
      async (note) => {
        const { clients, failed } = note(await lab.client.tcp({ address, port: 80, count: 200 }));
        return failed === 0 && clients.length === 1;
      },
      patience,
    );
  }
}

/** Milliseconds. A lost segment is sent again within this time, so a failed request was not just slow. */
const timeoutMs = 15_000;

interface StopResult {
  readonly failures: readonly Failed[];
  readonly changes: readonly RouteEvent[];
}

/**
 * The next unused source port. No source port is used twice: one that was just closed may not be free, or a node may still know its flow.
 * Other requests use ports below.
 */
let nextPort = 10_000;
const ports = 13_500;

async function stopUnderLoad(title: string, addresses: readonly string[], options: readonly string[]): Promise<StopResult> {
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
  await untilVia(addresses, remaining);
  await asked();
  const outcomes = (await Promise.all(probes.map((probe) => probe.stop()))).flatMap((report) => report.outcomes);
  // On a very busy machine the ports may be used up and the next ones taken. A request with an EADDR error sent nothing.
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
  test('no request is lost with direct server return and consistent hashing', { timeout: 300_000 }, async () => {
    const addresses = await herald.untilAssigned('shop/direct-all', 2);
    const { failures, changes } = await stopUnderLoad(`direct server return, ${name}`, addresses, options);
    expect(changes).not.toEqual([]);
    expect(failures).toEqual([]);
  });

  test('translation resets only connections that are open when routers change their choice', { timeout: 300_000 }, async () => {
    const addresses = await herald.untilAssigned('shop/translated-all', 2);
    const { failures, changes } = await stopUnderLoad(`translation, ${name}`, addresses, options);
    expect(changes).not.toEqual([]);
    expect(unexplainedFailures(failures, changes)).toEqual([]);
  });
});
