import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { examples, HeraldInLab } from './herald.ts';
import { Lab } from './lab.ts';
import { viaNodes } from './routes.ts';
import { standardTopology } from './standard-topology.ts';

/** `maxNextHops` with FRR: how many next hops the ToRs' kernels have, which nodes these are, and what moves when a node goes or comes. */
const nodes = ['node1', 'node2', 'node3', 'node4', 'node5'] as const;
const services = ['one', 'two', 'three', 'four', 'five', 'six'] as const;
const tors = ['tor1', 'tor2'] as const;
const most = 2;

let lab: Lab;
let herald: HeraldInLab;
/** Both addresses of each Service. */
let addresses: readonly string[];

beforeAll(async () => {
  const pods = nodes.map((node) => ({ name: `web-${node.slice(-1)}`, node }));
  lab = await Lab.start(standardTopology({ nodes: nodes.length, pods }));
  herald = await HeraldInLab.prepare(lab, examples, ['10-cluster.yaml', '20-herald.yaml']);
  await herald.prolongHoldTimes();
  await herald.edit('20-herald.yaml', (text) =>
    text
      .replace('communities: ["64512:100"]', `communities: ["64512:100"], maxNextHops: ${most}`)
      .replace('drainSeconds: 2', 'drainSeconds: 2, nodeDrain: { settleSeconds: 3 }'),
  );
  await herald.edit('10-cluster.yaml', (text) => `${text}---\n${['node4', 'node5'].map(nodeObject).join('---\n')}`);
  for (const [index, name] of services.entries()) await herald.write(`30-${name}.yaml`, serviceManifest(name, index));
  await herald.start(nodes);
  addresses = (await Promise.all(services.map((name) => herald.untilAssigned(`shop/${name}`, 2)))).flat();
});

afterAll(async () => {
  await lab?.stop();
});

function nodeObject(name: string): string {
  const number = name.slice(-1);
  return `apiVersion: v1
kind: Node
metadata: { name: ${name}, labels: { rack: b } }
spec: { podCIDRs: [10.244.${number}.0/24, "fd00:244:${number}::/64"] }
status: { addresses: [{ type: InternalIP, address: 10.0.0.1${number} }, { type: InternalIP, address: "fd00::1${number}" }] }
`;
}

function serviceManifest(name: string, index: number, policy: 'Cluster' | 'Local' = 'Cluster', of: readonly string[] = nodes): string {
  const slice = (family: 4 | 6): string => {
    const endpoint = (node: string): string => (family === 4 ? `10.244.${node.slice(-1)}.10` : `fd00:244:${node.slice(-1)}::10`);
    return `apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: { namespace: shop, name: ${name}-v${family}, labels: { kubernetes.io/service-name: ${name} } }
addressType: IPv${family}
ports: [{ name: tcp, protocol: TCP, port: 8080 }, { name: udp, protocol: UDP, port: 8080 }]
endpoints: [${of.map((node) => `{ addresses: ["${endpoint(node)}"], nodeName: ${node}, conditions: { ready: true } }`).join(', ')}]`;
  };
  return `apiVersion: v1
kind: Service
metadata: { namespace: shop, name: ${name} }
spec:
  type: LoadBalancer
  externalTrafficPolicy: ${policy}
  ${policy === 'Local' ? `healthCheckNodePort: 3098${index}` : ''}
  ipFamilyPolicy: RequireDualStack
  ipFamilies: [IPv4, IPv6]
  clusterIPs: [10.96.0.8${index}, "fd00:96::8${index}"]
  ports:
    - { name: tcp, protocol: TCP, port: 80, targetPort: 8080, nodePort: 3008${index} }
    - { name: udp, protocol: UDP, port: 80, targetPort: 8080, nodePort: 3008${index} }
---
${slice(4)}
---
${slice(6)}
`;
}

/** Returns the nodes that a ToR's kernel sends each address to. */
async function nodesByAddress(tor: (typeof tors)[number]): Promise<ReadonlyMap<string, readonly string[]>> {
  const machine = lab.machine(tor);
  const routes = (await Promise.all(([4, 6] as const).map((family) => machine.kernelRoutes(family)))).flat();
  const entries = addresses.map((address): readonly [string, readonly string[]] => {
    const route = routes.find(({ dst }) => dst === address);
    const hops = new Set((route?.nexthops ?? [{ gateway: route?.gateway }]).map(({ gateway }) => gateway));
    return [address, nodes.filter((node) => hops.has(viaNodes(tor, [node], address)[0]))];
  });
  return new Map(entries);
}

/** Waits until both ToRs send every address to the same `count` nodes, and to none of `without`. Returns the nodes by address. */
async function untilChosen(count: number, without: readonly string[] = []): Promise<ReadonlyMap<string, readonly string[]>> {
  return lab.until(
    `every address has ${count} next hops and none of ${without.join()}`,
    async (note) => {
      const [chosen, other] = await Promise.all([nodesByAddress('tor1'), nodesByAddress('tor2')]);
      note([...chosen].map((entry) => [...entry, other.get(entry[0])]));
      const isWanted = [...chosen].every(
        ([address, some]) =>
          some.length === count && !some.some((node) => without.includes(node)) && some.join() === other.get(address)?.join(),
      );
      return isWanted ? chosen : undefined;
    },
    150_000,
  );
}

/** Expects that only addresses which had the node changed, and each by one node. */
function expectOnlyThoseOf(
  gone: string,
  before: ReadonlyMap<string, readonly string[]>,
  after: ReadonlyMap<string, readonly string[]>,
): void {
  for (const address of addresses) {
    const [had = [], has = []] = [before.get(address), after.get(address)];
    if (had.includes(gone)) expect(has.filter((node) => had.includes(node))).toEqual(had.filter((node) => node !== gone));
    else expect(has).toEqual(had);
  }
}

async function untilServed(): Promise<void> {
  for (const address of addresses.slice(0, 4)) {
    for (const protocol of ['tcp', 'udp'] as const) expect((await lab.client[protocol]({ address, port: 80, count: 12 })).failed).toBe(0);
  }
}

let busiest: string;

test('every address has as many next hops as maxNextHops, on several nodes, and clients are answered', async () => {
  const chosen = await untilChosen(most);
  const uses = nodes.map((node) => [...chosen.values()].filter((some) => some.includes(node)).length);
  expect(uses.filter((count) => count > 0).length).toBeGreaterThan(2);
  busiest = nodes[uses.indexOf(Math.max(...uses))] ?? '';
  await untilServed();
});

test('explain service names the bound and the nodes that come first, and the condition stays Announced', async () => {
  const chosen = await untilChosen(most);
  const [address = ''] = addresses;
  const left = nodes.find((node) => chosen.get(address)?.includes(node) !== true) ?? '';
  const text = await herald.explain('shop/one');
  const [one = '', two = ''] = chosen.get(address) ?? [];
  expect(text).toMatch(
    new RegExp(
      `spec.maxNextHops of BGPAdvertisement "services" is 2, and (${one} and ${two}|${two} and ${one}) come before node "${left}" for ${address}/32`,
    ),
  );
  expect((await herald.untilCondition('shop/one', 'Announced', 'True')).message).not.toContain('maxNextHops');
});

test('a node whose agent stops is replaced, only its addresses move, and all return with it', async () => {
  const before = await untilChosen(most);
  await herald.agent(busiest).stop();
  const without = await untilChosen(most, [busiest]);
  expectOnlyThoseOf(busiest, before, without);
  await untilServed();
  await herald.startAgent(busiest).waitForLine(/agent started/);
  await lab.until('every address has its nodes again', async (note) => {
    const now = note(await untilChosen(most));
    return addresses.every((address) => now.get(address)?.join() === before.get(address)?.join());
  });
});

test('a node that drains is replaced before it withdraws, and nothing is lost', async () => {
  const before = await untilChosen(most);
  const [address = ''] = [...before].flatMap(([at, some]) => (some.includes(busiest) ? [at] : []));
  const probe = lab.client.probe({ protocol: 'tcp', address, port: 80, intervalMs: 50, timeoutMs: 2_000 });
  const cluster = await herald.read('10-cluster.yaml');
  await herald.edit('10-cluster.yaml', (text) =>
    text.replace(`name: ${busiest}, `, `name: ${busiest}, annotations: { herald.dev/drain: "true" }, `),
  );
  expectOnlyThoseOf(busiest, before, await untilChosen(most, [busiest]));
  expect((await probe.stop()).failed).toBe(0);
  await herald.write('10-cluster.yaml', cluster);
  await lab.until('every address has its nodes again', async () => {
    const now = await untilChosen(most);
    return addresses.every((at) => now.get(at)?.join() === before.get(at)?.join());
  });
});

test('under policy Local only nodes with endpoints are chosen, and one without is replaced', async () => {
  const [first = '', second = ''] = addresses;
  const of = async (hosts: readonly string[], wanted: number): Promise<readonly string[]> => {
    await herald.write('30-one.yaml', serviceManifest('one', 0, 'Local', hosts));
    return lab.until(`${wanted} of ${hosts.join()} are next hops`, async (note) => {
      const byTor = await Promise.all(tors.map(nodesByAddress));
      const seen = note([first, second].flatMap((address) => byTor.map((chosen) => chosen.get(address) ?? [])));
      const isWanted = seen.every((some) => some.length === wanted && some.every((node) => hosts.includes(node)));
      return isWanted ? seen[0] : undefined;
    });
  };
  const chosen = await of(['node1', 'node2', 'node3'], 2);
  const [goes = '', stays = ''] = chosen;
  const rest = ['node1', 'node2', 'node3'].filter((node) => node !== goes);
  expect(await of(rest, 2)).toContain(stays);
  await of([stays], 1);
  await herald.write('30-one.yaml', serviceManifest('one', 0));
  await untilChosen(most);
});

test('a router passes on one path, and with the ADD-PATH lines of the page one for each next hop', async () => {
  await untilChosen(most);
  const pathsOf = async (address: string): Promise<number> => {
    const [family, length, tor1] = address.includes(':') ? ['ipv6', 128, 'fd00:8:1::2'] : ['ipv4', 32, '10.8.1.2'];
    const command = `show bgp ${family} unicast ${address}/${length} json`;
    const { paths = [] } = await lab.router('spine').show<{ paths?: readonly { peer: { peerId: string } }[] }>(command);
    return paths.filter(({ peer }) => peer.peerId === tor1).length;
  };
  const counts = (): Promise<number[]> => Promise.all(addresses.map(pathsOf));
  await lab.until('the spine has one path for each address', async (note) => note(await counts()).every((count) => count === 1));
  const page = await readFile(new URL('../../docs/how-to/ecmp.md', import.meta.url), 'utf8');
  const lines = page.split('```text\n')[1]?.split('\n```')[0] ?? '';
  expect(lines).toContain('addpath-tx-all-paths');
  await lab.router('tor1').configure(lines.split('\n'));
  await lab.until('the spine has a path for each next hop', async (note) => note(await counts()).every((count) => count === most));
});

test('a killed agent, which cannot say that it ends, is replaced when its report is too old', async () => {
  const before = await untilChosen(most);
  herald.agent(busiest).kill('SIGKILL');
  expectOnlyThoseOf(busiest, before, await untilChosen(most, [busiest]));
  await herald.startAgent(busiest).waitForLine(/agent started/);
  await untilChosen(most);
});
