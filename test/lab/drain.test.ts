import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { readFile } from 'node:fs/promises';
import type { NodeDrainReport } from '../../src/model/objects/node-state.ts';
import { examples, HeraldInLab } from './herald.ts';
import { Lab, type LabProcess, type Probe } from './lab.ts';
import { unexplainedFailures, RouteWatch } from './route-watch.ts';
import { nextHops, pathFrom, untilNextHops, viaNodes } from './routes.ts';
import { standardTopology } from './standard-topology.ts';
import type { SteadyReport } from './steady-report.ts';

/** Drains a node and ends the drain while connections and requests go on, and checks which routes its routers get, and when. */
const nodes = ['node1', 'node2', 'node3'];
const tors = ['tor1', 'tor2'] as const;
/** The settle time is long enough for the checks during it, on a busy machine too. */
const settleSeconds = 15;
const connectionsPerFamily = 30;
let lab: Lab;
let herald: HeraldInLab;
let addresses: readonly string[];

/** A Service whose only pod is on node1. */
const local = `apiVersion: v1
kind: Service
metadata: { namespace: shop, name: local }
spec:
  type: LoadBalancer
  externalTrafficPolicy: Local
  ipFamilyPolicy: RequireDualStack
  ipFamilies: [IPv4, IPv6]
  clusterIPs: [10.96.0.60, "fd00:96::60"]
  healthCheckNodePort: 30960
  ports: [{ port: 80, targetPort: 8080, nodePort: 30960 }]
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: { namespace: shop, name: local-v4, labels: { kubernetes.io/service-name: local } }
addressType: IPv4
ports: [{ port: 8080 }]
endpoints: [{ addresses: [10.244.1.10], nodeName: node1, conditions: { ready: true } }]
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: { namespace: shop, name: local-v6, labels: { kubernetes.io/service-name: local } }
addressType: IPv6
ports: [{ port: 8080 }]
endpoints: [{ addresses: ["fd00:244:1::10"], nodeName: node1, conditions: { ready: true } }]
`;

beforeAll(async () => {
  lab = await Lab.start(standardTopology({ pods: nodes.map((node, index) => ({ name: `web-${index + 1}`, node })) }));
  herald = await HeraldInLab.prepare(lab, examples, ['10-cluster.yaml', '20-herald.yaml', '30-web.yaml']);
  await herald.prolongHoldTimes();
  const spec = `nodeDrain: { settleSeconds: ${settleSeconds}, deadlineSeconds: 300 }`;
  await herald.edit('20-herald.yaml', (text) => text.replace('drainSeconds: 2', `drainSeconds: 2, ${spec}`));
  // The ToRs refuse routes from the spine, as in a real fabric: a ToR does not reach its own nodes through a spine. Otherwise both ToRs
  // would prefer that path for a moment after the community.
  for (const tor of tors) {
    const spine = { 4: `10.8.${tor.at(-1)}.1`, 6: `fd00:8:${tor.at(-1)}::1` };
    const refuse = ([4, 6] as const).flatMap((family) => [
      `address-family ipv${family} unicast`,
      `neighbor ${spine[family]} route-map NOTHING in`,
      'exit-address-family',
    ]);
    await lab.router(tor).configure([`router bgp ${tor === 'tor1' ? 65_101 : 65_102}`, ...refuse]);
  }
  await herald.start(nodes);
  addresses = await herald.untilAssigned('shop/web', 2);
  await untilServed(addresses, nodes);
});

afterAll(async () => {
  await lab?.stop();
});

async function untilServed(of: readonly string[], via: readonly string[]): Promise<void> {
  for (const address of of) for (const tor of tors) await untilNextHops(lab, tor, address, viaNodes(tor, via, address), 60_000);
}

/** Annotates the Node, as `kubectl annotate` does. Undefined removes the annotation. */
async function annotate(node: string, value: string | undefined): Promise<void> {
  await herald.edit('10-cluster.yaml', (text) => {
    const plain = text.replace(new RegExp(`name: ${node}, annotations: {[^}]*}`), `name: ${node}`);
    return value === undefined ? plain : plain.replace(`name: ${node},`, `name: ${node}, annotations: { herald.dev/drain: "${value}" },`);
  });
}

async function drainReport(node: string): Promise<NodeDrainReport | undefined> {
  const text = await readFile(`${herald.directory}/.herald/nodes/${node}.yaml`, 'utf8').catch(() => '');
  return (parse(text) as { status?: { drain?: NodeDrainReport } } | null)?.status?.drain;
}

async function untilPhase(node: string, phase: NodeDrainReport['phase'] | undefined): Promise<NodeDrainReport | undefined> {
  let found: NodeDrainReport | undefined;
  await lab.until(`the drain of ${node} is ${phase}`, async (note) => note((found = await drainReport(node)))?.phase === phase, 120_000);
  return found;
}

const leastPreferred = { community: expect.stringContaining('graceful-shutdown') as string, localPref: 0 };

async function untilLeastPreferred(node: string, of: readonly string[]): Promise<void> {
  for (const tor of tors) {
    for (const address of of) {
      await lab.until(`${tor} has ${address} of ${node} with GRACEFUL_SHUTDOWN`, async (note) => {
        const path = note(await pathFrom(lab, tor, node, address));
        return path !== undefined && path.localPref === 0 && path.community.includes('graceful-shutdown');
      });
    }
  }
}

function openConnections(
  to: readonly string[],
  from = 'client',
  count = connectionsPerFamily,
): { readonly latest: () => SteadyReport | undefined; readonly process: LabProcess } {
  const program = `${import.meta.dirname}/steady-connections.ts`;
  const running = lab.machine(from).spawn([process.execPath, program, String(count), '200', '80', ...to], { name: 'steady' });
  return {
    process: running,
    latest: () => {
      const line = running.lines().at(-1);
      return line === undefined ? undefined : (JSON.parse(line) as SteadyReport);
    },
  };
}

describe('a drained node', () => {
  test('routers get the community, then the withdrawal after the settle time, and few requests fail', async () => {
    const watch = await RouteWatch.start(lab, ['spine', ...tors], addresses);
    const probes: Probe[] = addresses.flatMap((address) =>
      (['tcp', 'udp'] as const).map((protocol) =>
        lab.client.probe({ protocol, address, port: 80, timeoutMs: 10_000, resendMs: 1000, intervalMs: 50 }),
      ),
    );

    const ofPod = openConnections(addresses, 'web-1', 1);
    await lab.until('a pod has connections', (note) => note(ofPod.latest())?.open === 2);

    await annotate('node1', 'true');
    await untilLeastPreferred('node1', addresses);
    const heard = new Map<string, number>();
    for (const tor of tors)
      for (const address of addresses) heard.set(`${tor} ${address}`, (await pathFrom(lab, tor, 'node1', address))?.updated ?? 0);
    await untilPhase('node1', 'Draining');
    // The routers prefer the other nodes from now on, although the route is still present.
    await untilServed(addresses, ['node2', 'node3']);
    for (const tor of tors)
      for (const address of addresses) expect(await pathFrom(lab, tor, 'node1', address)).toMatchObject(leastPreferred);
    const withdrawn = new Map<string, number>();
    await lab.until('the routes of node1 are withdrawn', async () => {
      for (const tor of tors) {
        for (const address of addresses) {
          const way = `${tor} ${address}`;
          if ((await pathFrom(lab, tor, 'node1', address)) === undefined) withdrawn.set(way, Date.now() - (heard.get(way) ?? 0));
        }
      }
      return withdrawn.size === tors.length * addresses.length;
    });
    // A pod on the node does not depend on routes. Rules that stay forward its connections, and the drain counts them.
    await lab.until('the connections of the pod are counted', async (note) => (note(await drainReport('node1'))?.connections ?? 0) >= 2);
    expect(ofPod.latest()).toMatchObject({ open: 2, broken: {} });
    expect(await drainReport('node1')).toMatchObject({ phase: 'Withdrawn', kept: 0 });
    ofPod.process.kill('SIGKILL');
    const { since = '', connections } = (await untilPhase('node1', 'Drained')) ?? {};
    const drainedAfter = (Date.now() - Date.parse(since)) / 1000;

    await annotate('node1', undefined);
    await untilServed(addresses, nodes);
    for (const tor of tors) {
      for (const address of addresses) expect((await pathFrom(lab, tor, 'node1', address))?.community).toBe('64512:100');
    }
    await untilPhase('node1', undefined);

    const reports = await Promise.all(probes.map((probe) => probe.stop()));
    const requests = reports.reduce((sum, { outcomes }) => sum + outcomes.length, 0);
    const times = [...withdrawn.values()].map((milliseconds) => (milliseconds / 1000).toFixed(1)).join(', ');
    console.info(
      `drain: withdrawn ${times} s after the community was heard (settle time ${settleSeconds} s), drained after ${drainedAfter.toFixed(0)} s ` +
        `with ${connections} connections left; of ${requests} requests ${reports.map(({ failed }) => failed).join(' + ')} failed`,
    );
    await watch.catchUp();
    await watch.stop();
    const failures = reports.flatMap(({ outcomes }) => outcomes.filter((outcome) => !outcome.ok));
    expect(watch.events()).not.toEqual([]);
    expect(unexplainedFailures(failures, watch.events())).toEqual([]);
    expect(failures.length).toBeLessThan(requests / 100);
    // This test polls, so a withdrawal may be seen later than it happened. None may happen too early.
    for (const after of withdrawn.values()) expect(after).toBeGreaterThan((settleSeconds - 1) * 1000);
  });

  test('kubectl cordon alone changes no route', async () => {
    await herald.edit('10-cluster.yaml', (text) =>
      text.replace(
        'spec: { podCIDRs: [10.244.1.0/24',
        'spec: { unschedulable: true, taints: [{ key: node.kubernetes.io/unschedulable, effect: NoSchedule }], podCIDRs: [10.244.1.0/24',
      ),
    );
    // The agents apply edits in order: when they have applied the next one, they have applied this one.
    await annotate('node2', 'true');
    await untilPhase('node2', 'Draining');
    expect(await drainReport('node1')).toBeUndefined();
    await annotate('node2', undefined);
    await untilPhase('node2', undefined);
    await untilServed(addresses, nodes);
  });
});

describe('the sole next hop of a Service', () => {
  let own: readonly string[];

  beforeAll(async () => {
    await herald.write('60-local.yaml', local);
    own = await herald.untilAssigned('shop/local', 2);
    await untilServed(own, ['node1']);
  });

  test('draining the sole next hop keeps its route and connections, and status and explain say why', async () => {
    const steady = openConnections(own);
    await lab.until('all connections are open', (note) => note(steady.latest())?.open === 2 * connectionsPerFamily);
    const probes = own.map((address) => lab.client.probe({ protocol: 'tcp', address, port: 80, timeoutMs: 10_000, intervalMs: 50 }));
    await annotate('node1', 'true');
    expect(await untilPhase('node1', 'Settled')).toMatchObject({ kept: 1 });
    for (const tor of tors) {
      for (const address of own) expect(await pathFrom(lab, tor, 'node1', address)).toMatchObject(leastPreferred);
      for (const address of addresses)
        await lab.until(
          'other routes of node1 are withdrawn',
          async (note) => note(await pathFrom(lab, tor, 'node1', address)) === undefined,
        );
    }
    for (const address of own) for (const tor of tors) expect(await nextHops(lab, tor, address)).toEqual(viaNodes(tor, ['node1'], address));
    await lab.until(
      'the condition has reason LastNextHop',
      async (note) => note(await herald.service('shop', 'local')).conditions['Announced']?.reason === 'LastNextHop',
    );
    expect(await herald.explain('shop/local')).toMatch(/no other node announces the address: its route stays/);
    for (const probe of probes) expect((await probe.stop()).errors).toEqual({});
    const before = steady.latest()?.answered ?? 0;
    await lab.until(
      'the connections get more answers',
      (note) => (note(steady.latest())?.answered ?? 0) > before + 4 * connectionsPerFamily,
    );
    expect(steady.latest()).toMatchObject({ open: 2 * connectionsPerFamily, broken: {} });
    steady.process.kill('SIGKILL');
  });

  test('draining withdraws the route once another node has an endpoint', async () => {
    await herald.edit('60-local.yaml', (text) =>
      text
        .replace(
          'endpoints: [{ addresses: [10.244.1.10]',
          'endpoints: [{ addresses: [10.244.2.10], nodeName: node2, conditions: { ready: true } }, { addresses: [10.244.1.10]',
        )
        .replace(
          'endpoints: [{ addresses: ["fd00:244:1::10"]',
          'endpoints: [{ addresses: ["fd00:244:2::10"], nodeName: node2, conditions: { ready: true } }, { addresses: ["fd00:244:1::10"]',
        ),
    );
    await untilServed(own, ['node2']);
    for (const tor of tors)
      for (const address of own)
        await lab.until('node1 has withdrawn its route', async () => (await pathFrom(lab, tor, 'node1', address)) === undefined);
    await herald.write('60-local.yaml', local);
    await untilServed(own, ['node1']);
  });

  test('force withdraws the route of the sole next hop', async () => {
    await annotate('node1', 'force');
    await untilServed(own, []);
    await lab.until(
      'the condition has reason NodeDrained',
      async (note) => note(await herald.service('shop', 'local')).conditions['Announced']?.reason === 'NodeDrained',
    );
    await annotate('node1', undefined);
    await untilServed(own, ['node1']);
  });
});
