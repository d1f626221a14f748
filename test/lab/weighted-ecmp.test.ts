import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { examples, HeraldInLab } from './herald.ts';
import { Lab } from './lab.ts';
import { viaNodes } from './routes.ts';
import { standardTopology } from './standard-topology.ts';

/** Weights of routes in the kernels of FRR and BIRD, from the link bandwidth that the nodes send, and the shares of connections by them. */
const nodes = ['node1', 'node2', 'node3'] as const;
type NodeName = (typeof nodes)[number];
const pods = ['node1', 'node1', 'node1', 'node2'] as const;
const podAddress = (index: number): Readonly<Record<4 | 6, string>> => {
  const node = pods[index]?.slice(-1);
  const host = pods.slice(0, index).filter((other) => other === pods[index]).length + 10;
  return { 4: `10.244.${node}.${host}`, 6: `fd00:244:${node}::${host}` };
};

const page = readFileSync(new URL('../../docs/how-to/weighted-ecmp.md', import.meta.url), 'utf8');

/** Returns the block of the page that begins so. */
function fromPage(beginning: string): string {
  const block = page.split('```text\n').find((text) => text.startsWith(beginning));
  return block?.slice(0, block.indexOf('\n```')) ?? expect.fail(`the page has no block "${beginning}"`);
}

let lab: Lab;
let herald: HeraldInLab;
let addresses: readonly string[];

beforeAll(async () => {
  lab = await Lab.start(standardTopology({ pods: pods.map((node, index) => ({ name: `pod-${index + 1}`, node })) }));
  herald = await HeraldInLab.prepare(lab, examples, ['10-cluster.yaml', '20-herald.yaml']);
  await herald.prolongHoldTimes();
  await write({ policy: 'Local', ready: [true, true, true, true] });
  await write({ name: 'other', policy: 'Local', ready: [true, true, true, true] });
  await advertise('linkBandwidth: { megabitsPerEndpoint: 1 }');
  await lab.router('tor1').configure(fromPage('router bgp').split('\n'));
  await startBird();
  await herald.start(nodes);
  addresses = await herald.untilAssigned('shop/heavy', 2);
  await herald.untilAssigned('shop/other', 2);
});

afterAll(async () => {
  await lab?.stop();
});

interface ServiceOptions {
  readonly name?: 'heavy' | 'other';
  readonly policy: 'Local' | 'Cluster';
  /** For each of `pods`. */
  readonly ready: readonly boolean[];
}

/** Writes a Service with its EndpointSlices. */
async function write({ name = 'heavy', policy, ready }: ServiceOptions): Promise<void> {
  const number = name === 'heavy' ? 70 : 71;
  const port = (protocol: 'TCP' | 'UDP'): string =>
    `{ name: ${protocol.toLowerCase()}, protocol: ${protocol}, port: 80, targetPort: 8080, nodePort: 300${number} }`;
  const slices = ([4, 6] as const).map((family) => {
    const endpoints = pods.map(
      (node, index) => `  - { addresses: ["${podAddress(index)[family]}"], nodeName: ${node}, conditions: { ready: ${ready[index]} } }`,
    );
    return `apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: { namespace: shop, name: ${name}-v${family}, labels: { kubernetes.io/service-name: ${name} } }
addressType: IPv${family}
ports: [{ name: tcp, protocol: TCP, port: 8080 }, { name: udp, protocol: UDP, port: 8080 }]
endpoints:
${endpoints.join('\n')}`;
  });
  const service = `apiVersion: v1
kind: Service
metadata: { namespace: shop, name: ${name} }
spec:
  type: LoadBalancer
  externalTrafficPolicy: ${policy}
  ipFamilyPolicy: RequireDualStack
  ipFamilies: [IPv4, IPv6]
  clusterIPs: [10.96.0.${number}, "fd00:96::${number}"]
  ${policy === 'Local' ? `healthCheckNodePort: 309${number}` : ''}
  ports: [${port('TCP')}, ${port('UDP')}]`;
  await herald.write(`30-${name}.yaml`, [service, ...slices].join('\n---\n'));
}

/** Writes BGPAdvertisements for LoadBalancer addresses, one for each list of fields. */
async function advertise(...fields: readonly string[]): Promise<void> {
  const documents = fields.map(
    (spec, index) => `apiVersion: herald.dev/v1alpha1
kind: BGPAdvertisement
metadata: { name: weighted-${index} }
spec: { ${spec} }`,
  );
  await herald.edit('20-herald.yaml', (text) => {
    const others = text.split('\n---\n').filter((document) => !/name: (services|weighted-\d)/.test(document));
    return [...others, ...documents].join('\n---\n');
  });
}

/** Replaces FRR of tor2 by BIRD, which reads the link bandwidth in a filter and gives the kernel one route of all paths. */
async function startBird(): Promise<void> {
  const tor = lab.router('tor2');
  await tor.kill();
  const directory = await lab.scratch('bird');
  const spine = (family: 4 | 6): string =>
    family === 4 ? 'neighbor 10.8.2.1 as 65000; local 10.8.2.2 as 65102' : 'neighbor fd00:8:2::1 as 65000; local fd00:8:2::2 as 65102';
  const range = (family: 4 | 6): string => (family === 4 ? '10.2.0.0/24' : 'fd00:2::/64');
  const configuration = ([4, 6] as const).map(
    (
      family,
    ) => `protocol kernel { ipv${family} { export filter { if source = RTS_BGP then accept; reject; }; }; merge paths on; metric 20; }
protocol bgp nodes${family} {
  local as 65102; neighbor range ${range(family)} as 64512; dynamic name "n${family}_"; direct; passive;
  ipv${family} { import filter by_bandwidth; export none; };
}
protocol bgp spine${family} { ${spine(family)}; ipv${family} { import none; export where source = RTS_BGP; next hop self; }; }`,
  );
  await writeFile(
    `${directory}/bird.conf`,
    `router id 10.2.0.1;
protocol device { }
${fromPage('filter by_bandwidth')}
${configuration.join('\n')}
`,
  );
  tor.spawn(['bird', '-f', '-c', `${directory}/bird.conf`, '-s', `${directory}/bird.ctl`], { name: 'bird' });
}

/** Returns the weight of each node in the kernel of a ToR, or 1 where the route has one next hop. */
async function weights(tor: (typeof tors)[number], address: string): Promise<Readonly<Record<string, number>>> {
  const family = address.includes(':') ? '-6' : '-4';
  const { stdout } = await lab.router(tor).exec(['ip', family, '-j', '-N', 'route', 'show', 'exact', address]);
  const routes = JSON.parse(stdout || '[]') as readonly { gateway?: string; nexthops?: readonly { gateway: string; weight: number }[] }[];
  const hops = routes.flatMap(({ gateway, nexthops }) => nexthops ?? (gateway === undefined ? [] : [{ gateway, weight: 1 }]));
  const nodeOf = new Map(nodes.map((node) => [viaNodes(tor, [node], address)[0], node]));
  return Object.fromEntries(hops.map(({ gateway, weight }) => [nodeOf.get(gateway) ?? gateway, weight]));
}

const tors = ['tor1', 'tor2'] as const;

/** Waits until the ToRs give the nodes these shares, in proportion. Routers round weights, FRR to a hundredth of the whole. */
async function untilShares(
  wanted: Partial<Readonly<Record<NodeName, number>>>,
  of: readonly (typeof tors)[number][] = tors,
): Promise<void> {
  const total = (weights: Readonly<Record<string, number>>): number => Object.values(weights).reduce((sum, one) => sum + one, 0);
  for (const address of addresses) {
    for (const tor of of) {
      await lab.until(`${tor} divides ${address} as ${JSON.stringify(wanted)}`, async (note) => {
        const seen = note(await weights(tor, address));
        const isShare = ([node, weight]: [string, number]): boolean =>
          Math.abs((seen[node] ?? 0) / total(seen) - weight / total(wanted)) < 0.02;
        return Object.keys(seen).length === Object.keys(wanted).length && Object.entries(wanted).every(isShare);
      });
    }
  }
}

/** Returns the part of the connections to each address that each node's pods answered, by protocol. */
async function shares(address: string, protocol: 'tcp' | 'udp', count: number): Promise<Readonly<Record<NodeName, number>>> {
  const { pods: answered, failed } = await lab.client[protocol]({ address, port: 80, count, parallel: 16 });
  expect(failed).toBe(0);
  const of = (node: NodeName): number =>
    pods.reduce((sum, at, index) => sum + (at === node ? (answered[`pod-${index + 1}`] ?? 0) : 0), 0) / count;
  return { node1: of('node1'), node2: of('node2'), node3: of('node3') };
}

async function communitySeenByFrr(node: NodeName, address: string): Promise<string> {
  const [family, length] = address.includes(':') ? ['ipv6', 128] : ['ipv4', 32];
  const text = await lab.router('tor1').ask(`show bgp ${family} unicast ${address}/${length}`);
  const [via = ''] = viaNodes('tor1', [node], address);
  return /LB:(\S+)/.exec(text.slice(text.indexOf(`${via} from`)))?.[1] ?? '';
}

/** Returns how many UPDATE messages FRR has received from each session of a node with tor1, by address of the node. */
async function updatesFrom(node: NodeName): Promise<Readonly<Record<string, number>>> {
  interface Neighbor {
    readonly messageStats: { readonly updatesRecv: number };
  }
  const neighbors = await lab.router('tor1').show<Readonly<Record<string, Neighbor>>>('show bgp neighbors json');
  const own = [...viaNodes('tor1', [node], '0.0.0.0'), ...viaNodes('tor1', [node], '::')];
  return Object.fromEntries(own.map((address) => [address, neighbors[address]?.messageStats.updatesRecv ?? 0]));
}

describe('under policy Local with megabitsPerEndpoint', () => {
  test('FRR and BIRD weight each node by its ready endpoints, and leave out the node without one', async () => {
    await untilShares({ node1: 3, node2: 1 });
    for (const address of addresses) {
      expect(await communitySeenByFrr('node1', address)).toBe('64512:375000');
      expect(await communitySeenByFrr('node2', address)).toBe('64512:125000');
    }
  });

  test.each(['tcp', 'udp'] as const)('each node gets the share of %s clients that it has endpoints', async (protocol) => {
    await untilShares({ node1: 3, node2: 1 });
    for (const address of addresses) {
      const seen = await shares(address, protocol, 600);
      expect(seen.node1).toBeGreaterThan(0.67);
      expect(seen.node1).toBeLessThan(0.83);
      expect(seen.node2 + seen.node1).toBeCloseTo(1);
    }
  });

  test('explain service and routes -o wide show the bandwidth and the endpoints that it stands for', async () => {
    const text = await herald.explain('shop/heavy');
    for (const address of addresses) {
      expect(text).toMatch(new RegExp(`${address}/(32|128),.*link bandwidth 3 Mbit/s for 3 endpoints here`));
      expect(text).toMatch(new RegExp(`${address}/(32|128),.*link bandwidth 1 Mbit/s for 1 endpoint here`));
    }
    const { stdout } = await herald.run('routes', '-o', 'wide', '--source', herald.directory);
    expect(stdout).toContain('3 Mbit/s');
  });

  test('a node that loses endpoints loses weight, the last one its route, and both come back', async () => {
    await write({ policy: 'Local', ready: [true, false, false, true] });
    await untilShares({ node1: 1, node2: 1 });
    await write({ policy: 'Local', ready: [true, false, false, false] });
    await untilShares({ node1: 1 });
    await write({ policy: 'Local', ready: [true, true, true, true] });
    await untilShares({ node1: 3, node2: 1 });
  });

  test('a change of endpoints of one Service sends one route again over each session, and none of another Service', async () => {
    await untilShares({ node1: 3, node2: 1 });
    const before = await updatesFrom('node1');
    await write({ policy: 'Local', ready: [true, true, false, true] });
    await untilShares({ node1: 2, node2: 1 });
    const after = await updatesFrom('node1');
    expect(Object.values(after)).toEqual(Object.values(before).map((count) => count + 1));
    await write({ policy: 'Local', ready: [true, true, true, true] });
    await untilShares({ node1: 3, node2: 1 });
  });

  test('a drained node leaves the routers, and returns with its weight', async () => {
    const drain = (text: string): string => text.replace('name: node1, ', 'name: node1, annotations: { herald.dev/drain: "true" }, ');
    const before = await herald.read('10-cluster.yaml');
    await herald.edit('10-cluster.yaml', drain);
    await untilShares({ node2: 1 });
    await herald.write('10-cluster.yaml', before);
    await untilShares({ node1: 3, node2: 1 });
  });
});

test('under policy Cluster megabitsPerEndpoint sends no bandwidth, and every node has the same share', async () => {
  await write({ policy: 'Cluster', ready: [true, true, true, true] });
  await untilShares({ node1: 1, node2: 1, node3: 1 });
  for (const address of addresses) expect(await communitySeenByFrr('node1', address)).toBe('');
});

test('megabitsPerNode of two BGPAdvertisements weights two groups of nodes under policy Cluster', async () => {
  await write({ policy: 'Cluster', ready: [true, true, true, true] });
  const rack = (name: string): string => `nodeSelectors: [{ matchLabels: { rack: ${name} } }]`;
  await advertise(`linkBandwidth: { megabitsPerNode: 1 }, ${rack('a')}`, `linkBandwidth: { megabitsPerNode: 4 }, ${rack('b')}`);
  await untilShares({ node1: 1, node2: 1, node3: 4 });
  await advertise(`linkBandwidth: { megabitsPerNode: 10000 }, ${rack('a')}`, `linkBandwidth: { megabitsPerNode: 25000 }, ${rack('b')}`);
  await untilShares({ node1: 10, node2: 10, node3: 25 }, ['tor1']);
});
