import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { examples, HeraldInLab } from './herald.ts';
import { Lab, type Probe } from './lab.ts';
import type { Failed } from './outcome.ts';
import { PodSet } from './rolling-update.ts';
import { unexplainedFailures, RouteWatch } from './route-watch.ts';
import { untilNextHops, untilSpineRoutes, viaNodes } from './routes.ts';
import { standardTopology } from './standard-topology.ts';
import { figuresText, streamFigures } from './stream-figures.ts';

/** A rolling update under load loses no request if pods keep serving until their grace period ends. */
const nodes = ['node1', 'node2', 'node3'];
const tors = ['tor1', 'tor2'];
const rounds = 3;
const policies = ['Cluster', 'Local'] as const;
type Policy = (typeof policies)[number];
const service = (policy: Policy): string => policy.toLowerCase();

let lab: Lab;
let herald: HeraldInLab;

beforeAll(async () => {
  lab = await Lab.start(standardTopology({ pods: [] }));
  herald = await HeraldInLab.prepare(lab, examples, ['10-cluster.yaml', '20-herald.yaml']);
  await herald.prolongHoldTimes();
  await herald.write('30-services.yaml', policies.map(manifest).join('---\n'));
  await herald.start(nodes);
});

afterAll(async () => {
  await lab?.stop();
});

function manifest(policy: Policy, index: number): string {
  return `apiVersion: v1
kind: Service
metadata: { namespace: shop, name: ${service(policy)} }
spec:
  type: LoadBalancer
  externalTrafficPolicy: ${policy}
  ipFamilyPolicy: RequireDualStack
  ipFamilies: [IPv4, IPv6]
  clusterIPs: [10.96.0.3${index}, "fd00:96::3${index}"]
  ports:
    - { name: http, protocol: TCP, port: 80, targetPort: 8080 }
    - { name: echo, protocol: UDP, port: 80, targetPort: 8080 }
`;
}

async function untilRoutes(addresses: readonly string[], via: readonly string[]): Promise<void> {
  for (const address of addresses) {
    for (const tor of tors) await untilNextHops(lab, tor, address, viaNodes(tor, via, address), 60_000);
    await untilSpineRoutes(lab, address);
  }
}

/** Milliseconds. A lost segment is sent again within this time, so a failed request was not just slow. */
const timeoutMs = 15_000;

/**
 * A source port that was used before may still have its flow: with a terminating pod while it serves, or on a node that routers no longer
 * use and that has not seen the end of the connection. So datagrams, and connections while routes change, use ports of their own.
 */
const firstPort = 10_000;
let nextPort = firstPort;
/** Ports for five minutes of datagrams. */
const portsPerStream = 8000;

/** 500 new connections a second, half of them of each family, kept connections and datagrams. */
class Load {
  readonly streams: readonly (readonly [string, Probe])[];

  /** `ownPorts` gives new connections their own ports as well. */
  constructor(addresses: readonly string[], ownPorts = false) {
    const port = 80;
    this.streams = addresses.flatMap((address): [string, Probe][] => {
      const family = address.includes(':') ? 'IPv6' : 'IPv4';
      const ofDatagrams = nextPort;
      nextPort += portsPerStream;
      const own = ownPorts ? { firstPort } : {};
      return [
        [`${family}, new connections`, lab.client.probe({ protocol: 'tcp', address, port, intervalMs: 4, timeoutMs, ...own })],
        [`${family}, kept connections`, lab.client.steady({ address, port, connections: 10, intervalMs: 200, timeoutMs })],
        [
          `${family}, datagrams`,
          lab.client.probe({ protocol: 'udp', address, port, intervalMs: 40, timeoutMs, resendMs: 1000, firstPort: ofDatagrams }),
        ],
      ];
    });
  }

  /** Ends the load, prints its figures and returns the failures. */
  async stop(title: string): Promise<readonly (Failed & { stream: string })[]> {
    const reports = await Promise.all(this.streams.map(async ([name, probe]) => [name, (await probe.stop()).outcomes] as const));
    for (const [name, outcomes] of reports) console.log(`${title}, ${name}: ${figuresText(streamFigures(outcomes))}`);
    return reports.flatMap(([stream, outcomes]) => outcomes.filter((outcome) => !outcome.ok).map((outcome) => ({ ...outcome, stream })));
  }
}

describe.each(policies)('externalTrafficPolicy: %s', (policy) => {
  test(`no request fails while six pods are replaced ${rounds} times at 500 requests a second`, { timeout: 600_000 }, async () => {
    const pods = await PodSet.start(lab, herald, {
      name: service(policy),
      services: [service(policy)],
      nodes: [...nodes, ...nodes],
      firstOrdinal: 30 * policies.indexOf(policy),
    });
    const addresses = await herald.untilAssigned(`shop/${service(policy)}`, 2);
    await untilRoutes(addresses, nodes);
    const watch = await RouteWatch.start(lab, ['spine', ...tors], addresses);
    const load = new Load(addresses);
    for (let round = 0; round < rounds; round++) await pods.roll();
    await pods.ended();
    const failures = await load.stop(policy);
    // Each node has a ready pod at any time, so routes do not change.
    expect(watch.events()).toEqual([]);
    expect(failures).toEqual([]);
    await watch.stop();
    for (const node of [...nodes, ...nodes]) await pods.remove(node);
    await pods.ended();
  });
});

describe('externalTrafficPolicy: Local, with fewer pods than nodes', () => {
  const moves = [
    ['node3', 'node1'],
    ['node1', 'node2'],
    ['node2', 'node3'],
    ['node3', 'node1'],
  ] as const;

  test('a node gets no traffic once its last pod ends, and a node with a new pod gets some', { timeout: 600_000 }, async () => {
    const pods = await PodSet.start(lab, herald, { name: 'moving', services: ['local'], nodes: ['node1', 'node2'], firstOrdinal: 60 });
    const addresses = await herald.untilAssigned('shop/local', 2);
    await untilRoutes(addresses, ['node1', 'node2']);
    const watch = await RouteWatch.start(lab, ['spine', ...tors], addresses);
    // Kept connections use ports below these.
    await lab.machine('client').exec(['sysctl', '-qw', `net.ipv4.ip_local_port_range=1024 ${firstPort - 1}`]);
    const load = new Load(addresses, true);
    for (const [to, from] of moves) {
      await pods.add(to);
      await pods.remove(from);
      await untilRoutes(addresses, pods.nodes);
      await pods.ended();
    }
    const failures = await load.stop('Local, moving');
    const changes = watch.events();
    const [reset, other] = partition(failures, ({ error }) => error === 'ECONNRESET' || error === 'CLOSED');
    console.log(`${changes.length} changes of routes; ${reset.length} connections that were open at such a moment came to another node`);
    // No request went to a node whose pod had ended.
    expect(other).toEqual([]);
    expect(unexplainedFailures(reset, changes)).toEqual([]);
    await watch.stop();
    for (const node of pods.nodes) await pods.remove(node);
    await pods.ended();
  });
});

function partition<T>(list: readonly T[], first: (one: T) => boolean): [T[], T[]] {
  return [list.filter(first), list.filter((one) => !first(one))];
}
