import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { frrDirectories } from './frr.ts';
import { examples, HeraldInLab } from './herald.ts';
import { Lab, type LabProcess, type Probe, type Report } from './lab.ts';
import { RouteWatch } from './route-watch.ts';
import { untilNextHops, untilSpineRoutes, viaNodes } from './routes.ts';
import { standardTopology } from './standard-topology.ts';
import type { SteadyReport } from './steady-report.ts';

/**
 * Restarts and kills an agent many times while connections stay open and requests keep coming. Only node1 runs an agent, so every packet
 * and every route depends on it. One of the pods is on another node.
 */
const tors = ['tor1', 'tor2'] as const;
type Tor = (typeof tors)[number];
const families = [4, 6] as const;
/** The number of Services besides shop/web that a restarted agent must announce before it may send End-of-RIB. */
const extraServices = 150;
const restarts = 20;
/** The most runs of the test that kills at fixed moments: a run that proves nothing is repeated with other moments. */
const maximumRuns = 8;
const connectionsPerFamily = 100;
/** Milliseconds between BFD packets. The time is long enough that a process that is suspended for seconds ends no session. */
const interval = 2_000;
const neighbor = { tor1: { 4: '10.1.0.11', 6: 'fd00:1::11' }, tor2: { 4: '10.2.0.11', 6: 'fd00:2::11' } } as const;

let lab: Lab;
let herald: HeraldInLab;
let agent: LabProcess;
let addresses: readonly string[];

const profile = `apiVersion: herald.dev/v1alpha1
kind: BFDProfile
metadata: { name: lab }
spec: { transmitInterval: ${interval}, receiveInterval: ${interval}, detectMultiplier: 3 }
`;

function manyServices(): string {
  const pool = `apiVersion: herald.dev/v1alpha1
kind: IPAddressPool
metadata: { name: many }
spec: { addresses: [198.18.0.0/22, "2001:db8:18::/118"], avoidBuggyIPs: false, autoAssign: false }
`;
  const documents = Array.from({ length: extraServices }, (_, index) => {
    const name = `many-${index}`;
    const slice = (family: 4 | 6): string => `apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: { namespace: shop, name: ${name}-${family}, labels: { kubernetes.io/service-name: ${name} } }
addressType: IPv${family}
ports: [{ port: 8080, protocol: TCP }]
endpoints: [{ addresses: ["${family === 4 ? '10.244.1.10' : 'fd00:244:1::10'}"], nodeName: node1, conditions: { ready: true } }]
`;
    return `apiVersion: v1
kind: Service
metadata: { namespace: shop, name: ${name}, annotations: { herald.dev/address-pool: many } }
spec:
  type: LoadBalancer
  ipFamilyPolicy: RequireDualStack
  ipFamilies: [IPv4, IPv6]
  clusterIPs: [10.96.${1 + Math.floor(index / 250)}.${index % 250}, "fd00:96::1:${index.toString(16)}"]
  allocateLoadBalancerNodePorts: false
  ports: [{ port: 80, targetPort: 8080, protocol: TCP }]
---
${slice(4)}---
${slice(6)}`;
  });
  return [pool, ...documents].join('---\n');
}

beforeAll(async () => {
  const pods = ['node1', 'node2'].map((node, index) => ({ name: `web-${index + 1}`, node }));
  lab = await Lab.start(standardTopology({ pods, nodes: 2, bfd: interval }));
  herald = await HeraldInLab.prepare(lab, examples, ['10-cluster.yaml', '20-herald.yaml', '30-web.yaml']);
  await herald.edit('20-herald.yaml', (text) =>
    text
      .replaceAll(
        'holdTime: 3s, keepaliveTime: 1s, connectTime: 1s',
        'holdTime: 90s, connectTime: 1s, bfdProfile: lab, enableGracefulRestart: true',
      )
      .replace('fd00:96::/112', 'fd00:96::/108'),
  );
  await herald.edit('30-web.yaml', (text) => text.replaceAll(/.*nodeName: node3.*\n/g, ''));
  await herald.write('21-bfd.yaml', profile);
  await herald.write('35-many.yaml', manyServices());
  for (const tor of tors) await lab.router(tor).exec(['vtysh', '-N', lab.router(tor).namespace, '-c', 'debug bgp updates in']);
  await herald.start(['node1']);
  agent = herald.agent('node1');
  addresses = await herald.untilAssigned('shop/web', 2);
  for (const tor of tors) for (const family of families) await untilAllRoutes(tor, family);
});

afterAll(async () => {
  await lab?.stop();
});

interface Rib {
  readonly routes: Readonly<Record<string, readonly { readonly stale?: boolean; readonly valid?: boolean }[]>>;
}

/** Waits until the ToR has the addresses of all Services and none of them is stale. */
async function untilAllRoutes(tor: Tor, family: 4 | 6): Promise<void> {
  await lab.until(
    `${tor} has all IPv${family} routes, and none stale`,
    async (note) => {
      const { routes } = await lab.router(tor).show<Rib>(`show bgp ipv${family} unicast json`);
      const paths = Object.values(routes).flat();
      const { count, stale } = note({ count: Object.keys(routes).length, stale: paths.filter((path) => path.stale === true).length });
      // shop/web adds one external IP and one ClusterIP to its load balancer address.
      return count === extraServices + 3 && stale === 0;
    },
    90_000,
  );
}

async function untilSettled(): Promise<void> {
  for (const tor of tors) {
    for (const family of families) {
      await lab.until(`${tor} has the session`, async (note) => {
        const { [neighbor[tor][family]]: found } = await lab
          .router(tor)
          .show<Record<string, { bgpState: string }>>(`show bgp neighbors ${neighbor[tor][family]} json`);
        return note(found?.bgpState) === 'Established';
      });
      await untilAllRoutes(tor, family);
    }
  }
}

/** Connections, requests and route monitors that run while agents restart. `stop` ends them and returns the figures. */
interface RunningWatch {
  readonly stop: () => Promise<Figures>;
}

interface Figures {
  readonly connections: SteadyReport;
  readonly requests: number;
  readonly failed: Readonly<Record<string, number>>;
  readonly routeEvents: readonly string[];
}

async function watch(): Promise<RunningWatch> {
  const program = `${import.meta.dirname}/steady-connections.ts`;
  const steady = lab
    .machine('client')
    .spawn([process.execPath, program, String(connectionsPerFamily), '400', '80', ...addresses], { name: 'steady' });
  const latest = (): SteadyReport | undefined => {
    const line = steady.lines().at(-1);
    return line === undefined ? undefined : (JSON.parse(line) as SteadyReport);
  };
  await lab.until('all connections are open', (note) => note(latest())?.open === 2 * connectionsPerFamily);
  const monitors = tors.map((tor) => lab.router(tor).spawn(['ip', '-o', 'monitor', 'route'], { name: `monitor-${tor}` }));
  await lab.until('the monitors run', () => monitors.every(({ running }) => running));
  const probes: Probe[] = addresses.map((address) =>
    lab.client.probe({ protocol: 'tcp', address, port: 80, timeoutMs: 20_000, intervalMs: 50 }),
  );
  return {
    stop: async () => {
      const before = latest()?.answered ?? 0;
      // Five more answers on average for each connection of the two families.
      await lab.until('the connections get more answers', (note) => (note(latest())?.answered ?? 0) > before + 10 * connectionsPerFamily);
      const reports = await Promise.all(probes.map((probe) => probe.stop()));
      const connections = latest();
      if (connections === undefined) throw new Error('no report');
      for (const process of [steady, ...monitors]) process.kill('SIGKILL');
      const failed: Record<string, number> = {};
      for (const { errors } of reports) for (const [error, count] of Object.entries(errors)) failed[error] = (failed[error] ?? 0) + count;
      return {
        connections,
        requests: reports.reduce((sum, { outcomes }) => sum + outcomes.length, 0),
        failed,
        routeEvents: monitors.flatMap((monitor) => monitor.lines()).filter((line) => /proto bgp|198\.|2001:db8/.test(line)),
      };
    },
  };
}

function print(what: string, seconds: number, { connections, requests, failed, routeEvents }: Figures): void {
  const lost = Object.values(failed).reduce((sum, count) => sum + count, 0);
  const broken = Object.values(connections.broken).reduce((sum, count) => sum + count, 0);
  console.info(
    `${what} in ${seconds.toFixed(0)} s: ${connections.open} connections open, ${broken} broken, ${connections.answered} answers ` +
      `(the slowest after ${connections.slowestMs} ms); ${requests} requests, ${lost} lost; ${routeEvents.length} route events at the ToRs`,
  );
}

async function measure(what: string, disturb: () => Promise<void>): Promise<Figures> {
  const watching = await watch();
  const begun = performance.now();
  await disturb();
  const seconds = (performance.now() - begun) / 1000;
  const figures = await watching.stop();
  print(what, seconds, figures);
  return figures;
}

function expectNothingLost(figures: Figures): void {
  expect(figures.connections.broken).toEqual({});
  expect(figures.connections.open).toBe(2 * connectionsPerFamily);
  expect(figures.failed).toEqual({});
  expect(figures.routeEvents).toEqual([]);
}

function bgpLog(tor: Tor): readonly string[] {
  const [directory] = frrDirectories(lab.router(tor).namespace);
  return readFileSync(`${directory}/bgpd.log`, 'utf8').trimEnd().split('\n');
}

/** What bgpd's log says of the sessions with a neighbour, in order. */
function sessionEvents(log: readonly string[], address: string): readonly ('up' | 'endOfRib' | 'down')[] {
  return log.flatMap((line) => {
    if (!line.includes(address)) return [];
    if (line.endsWith(' Up')) return 'up';
    if (line.includes('End-of-RIB')) return 'endOfRib';
    return line.includes(' Down ') ? 'down' : [];
  });
}

/**
 * Returns true if FRR 8.4 deleted the routes of the neighbour that it had kept, in one of the two ways that docs/explanation/failure-modes.md
 * describes: a session came up and ended before its End-of-RIB, or the session was up when BFD said that its end before had failed.
 */
function droppedKeptRoutes(log: readonly string[], address: string): boolean {
  const events = sessionEvents(log, address);
  const isCut = events.some((event, index) => event === 'down' && events[index - 1] === 'up');
  return isCut || log.some((line) => line.includes(`neighbor ${address} `) && line.includes('BFD Down'));
}

/**
 * Measures while agents crash. A run in which FRR itself deleted routes that it had kept proves nothing, so it is repeated; the moments at
 * which that happens are milliseconds on an idle machine.
 */
async function measureCrashes(what: string, disturb: (run: number) => Promise<void>): Promise<Figures> {
  for (let run = 0; ; run++) {
    const before = new Map(tors.map((tor) => [tor, bgpLog(tor).length]));
    const figures = await measure(what, () => disturb(run));
    const dropped = tors.flatMap((tor) =>
      families.filter((family) => droppedKeptRoutes(bgpLog(tor).slice(before.get(tor)), neighbor[tor][family])),
    );
    if (dropped.length === 0) return figures;
    expect(run + 1, 'runs in each of which FRR deleted routes that it had kept').toBeLessThan(maximumRuns);
    console.info(`FRR deleted the kept routes of ${dropped.length} sessions: the test runs again`);
  }
}

/** Returns true while a session is up and the ToR does not have all of its routes yet. */
function isTakingRoutes(): boolean {
  return tors.some((tor) => {
    const log = bgpLog(tor);
    return families.some((family) => sessionEvents(log, neighbor[tor][family]).at(-1) === 'up');
  });
}

async function start(): Promise<void> {
  agent = herald.startAgent('node1');
  await agent.waitForLine(/agent started/);
}

describe('an upgrade', () => {
  test(`${restarts} restarts by SIGTERM lose no connection, no request and no route`, { timeout: 1_800_000 }, async () => {
    const figures = await measure(`${restarts} restarts`, async () => {
      for (let restart = 0; restart < restarts; restart++) {
        expect(await agent.stop()).toMatchObject({ code: 0 });
        await start();
        await untilSettled();
      }
    });
    expectNothingLost(figures);
  });
});

describe('a crash', () => {
  test(`${restarts} restarts after kill -9 lose no connection, no request and no route`, { timeout: 1_800_000 }, async () => {
    const figures = await measureCrashes(`${restarts} crashes`, async () => {
      for (let crash = 0; crash < restarts; crash++) {
        agent.kill('SIGKILL');
        await agent.exited;
        await start();
        await untilSettled();
      }
    });
    expectNothingLost(figures);
  });

  /**
   * Ends BFD. While the ToR has BFD up with an earlier agent, FRR 8.4 closes the session of the next one and deletes the routes, which these
   * quick starts would meet nearly every time (docs/explanation/failure-modes.md).
   */
  async function endBfd(): Promise<void> {
    await herald.edit('20-herald.yaml', (text) => text.replaceAll(', bfdProfile: lab', ''));
    for (const tor of tors) {
      await lab.until(`${tor} has no BFD that is up`, async (note) => {
        const { stdout } = await lab.router(tor).exec(['vtysh', '-N', lab.router(tor).namespace, '-c', 'show bfd peers json']);
        const peers = JSON.parse(note(stdout)) as readonly { readonly status: string }[];
        return peers.every(({ status }) => status !== 'up');
      });
    }
    await untilSettled();
  }

  /**
   * Kills the agent at different moments of its start. `offset` delays all moments by so many milliseconds.
   *
   * There is one exception: between Established and the last route. A router whose session ends there deletes the routes that it kept from
   * before (RFC 4724 4.2). That takes milliseconds on an idle machine and seconds on a busy one, so a kill waits until it is over.
   */
  async function crashWhileStarting(offset: number): Promise<void> {
    for (let crash = 0; crash < restarts; crash++) {
      await lab.until('no ToR is taking routes', (note) => !note(isTakingRoutes()));
      agent.kill('SIGKILL');
      await agent.exited;
      agent = herald.startAgent('node1');
      await sleep(crash * 150 + offset);
    }
    await agent.waitForLine(/agent started/);
    await untilSettled();
  }

  test(`${restarts} restarts after kill -9 at any moment of a start lose nothing`, { timeout: 1_800_000 }, async () => {
    await endBfd();
    expectNothingLost(await measureCrashes(`${restarts} crashes while starting`, (run) => crashWhileStarting(run * 40)));
  });
});

describe("the order of messages at an agent's start, in a ToR's log", () => {
  /** Returns the lines of bgpd's log about the node since its last session came up. */
  function sinceUp(tor: Tor, family: 4 | 6): readonly string[] {
    const own = bgpLog(tor).filter((line) => line.includes(neighbor[tor][family]));
    return own.slice(own.findLastIndex((line) => line.includes(' Up')));
  }

  test('all routes come between Established and End-of-RIB, and none after it', async () => {
    for (const end of ['SIGTERM', 'SIGKILL'] as const) {
      agent.kill(end);
      await agent.exited;
      await start();
      await untilSettled();
      for (const tor of tors) {
        for (const family of families) {
          const isEnd = (line: string): boolean => line.includes('End-of-RIB');
          const lines = await lab.until('the log has the End-of-RIB marker', (note) => {
            const lines = note(sinceUp(tor, family));
            return lines.some(isEnd) && lines;
          });
          const endOfRib = lines.findIndex(isEnd);
          const prefixes = (some: readonly string[]): Set<string> =>
            new Set(some.flatMap((line) => /rcvd (?:UPDATE about )?([0-9a-f.:]+\/\d+)/.exec(line)?.[1] ?? []));
          expect(prefixes(lines.slice(0, endOfRib)).size, `${tor} IPv${family}: ${lines.join('\n')}`).toBe(extraServices + 3);
          expect(prefixes(lines.slice(endOfRib)).size).toBe(0);
        }
      }
    }
  });

  test('requests that begin once routers have a route are answered, if the kernel had no rules before', async () => {
    agent.kill('SIGKILL');
    await agent.exited;
    await lab.node('node1').exec(['nft', 'flush', 'ruleset']);
    // No node forwards now. The next agent clears the F bit in its OPEN, and the ToR must then stop sending.
    const watch = await RouteWatch.start(lab, ['spine', ...tors], addresses);
    const probes = addresses.map((address) => lab.client.probe({ protocol: 'tcp', address, port: 80, timeoutMs: 20_000, intervalMs: 20 }));
    await start();
    await untilSettled();
    for (const address of addresses) for (const tor of tors) await untilNextHops(lab, tor, address, viaNodes(tor, ['node1'], address));
    for (const address of addresses) await untilSpineRoutes(lab, address);
    await watch.catchUp();
    await watch.stop();
    const added = watch.events().flatMap(({ deleted, at }) => (deleted ? [] : [at]));
    expect(added.length).toBeGreaterThan(0);
    const last = Math.max(...added);
    const begunAfter = ({ outcomes }: Pick<Report, 'outcomes'>) => outcomes.filter(({ at }) => at > last);
    await lab.until('20 requests on each address began after the last route and ended', (note) =>
      note(probes.map((probe) => begunAfter(probe).length)).every((count) => count >= 20),
    );
    const reports = await Promise.all(probes.map((probe) => probe.stop()));
    for (const report of reports) expect(begunAfter(report).filter(({ ok }) => !ok)).toEqual([]);
  });
});
