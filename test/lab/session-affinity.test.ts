import { execFileSync } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { maximumAffinityClients } from '../../src/dataplane/limits.ts';
import { NftablesDataplane } from '../../src/dataplane/nftables/nftables.ts';
import { commandPorts } from '../support/commands/command-ports.ts';
import { machinePorts } from '../../src/dataplane/nftables/ports.ts';
import { namespaceNamed } from '../support/namespace-named.ts';
import { address, type Family } from '../../src/net/address.ts';
import type { Backend, Frontend, FrontendMatch, NodeForwarding, Protocol, ServiceForwarding } from '../../src/net/frontend.ts';
import { hostPrefix, prefix } from '../../src/net/prefix.ts';
import { systemClock } from '../../src/system/clock.ts';
import { silentLog } from '../../src/system/log.ts';
import { inside, namespaceOf, nodeAddress, OneNode, podAddress, podPort, type Machine } from './dataplane/one-node.ts';
import { until } from './until.ts';

const families: readonly Family[] = [4, 6];
const protocols: readonly Protocol[] = ['TCP', 'UDP'];
const inNode = ['ip', 'netns', 'exec', namespaceOf('node')] as const;

const node: NodeForwarding = {
  nodePortAddresses: families.map((family) => hostPrefix(address(nodeAddress(family)))),
  podPrefixes: [prefix('10.244.0.0/16'), prefix('fd01::/64')],
  servicePrefixes: [],
  masqueradeBit: 14,
};

/** Returns the addresses of a Service port: a ClusterIP, load balancer addresses of policy Cluster and Local, and a NodePort. */
function targets(family: Family, host: number): { readonly address: string; readonly port: number }[] {
  const [internal, external] = family === 4 ? ['172.30.0', '192.0.2'] : ['fd02:', 'fd09:'];
  const at = (network: string, last: number): string => (family === 4 ? `${network}.${last}` : `${network}:${last}`);
  return [
    { address: at(internal ?? '', host), port: 80 },
    { address: at(external ?? '', host), port: 80 },
    { address: at(external ?? '', host + 1), port: 80 },
    { address: nodeAddress(family), port: 30_000 + host },
  ];
}

/** Returns a Service of one port in both families and protocols. */
function service(servicePort: string, host: number, { pods = [1, 2, 3] } = {}): ServiceForwarding {
  const frontends = families.flatMap((family) =>
    protocols.flatMap((protocol) =>
      targets(family, host).map(({ address: text, port }, index): Frontend => {
        const match: FrontendMatch =
          index === 3 ? { kind: 'nodePort', family, protocol, port } : { kind: 'address', address: address(text), protocol, port };
        const backends = pods.map((pod): Backend => ({ address: address(podAddress(family, pod)), port: podPort, local: pod !== 3 }));
        return {
          match,
          scope: index === 0 ? 'internal' : 'external',
          policy: index === 2 ? 'Local' : 'Cluster',
          backends,
          localBackends: index === 2 ? backends : [],
          affinity: { seconds: 10_800, servicePort: `${servicePort} ${protocol}` },
        };
      }),
    ),
  );
  return { frontends };
}

const namespace = namespaceNamed(namespaceOf('node'));
const make = {
  netlink: () => new NftablesDataplane(machinePorts(systemClock, silentLog, { own: false, namespace })),
  command: () => new NftablesDataplane(commandPorts(systemClock, silentLog, [...inNode])),
} as const;

let lab: OneNode;
let dataplane: NftablesDataplane;
const current = new Map<string, ServiceForwarding>();

beforeAll(async () => {
  lab = await OneNode.start();
});

afterAll(() => lab?.stop());

async function use(services: Readonly<Record<string, ServiceForwarding>>): Promise<void> {
  const changes = new Map<string, ServiceForwarding | undefined>([...current.keys()].map((key) => [key, undefined]));
  current.clear();
  for (const [key, forwarding] of Object.entries(services)) {
    changes.set(key, forwarding);
    current.set(key, forwarding);
  }
  const { quarantined } = await dataplane.apply(changes);
  expect([...quarantined]).toEqual([]);
  forgetClients();
}

const table = (family: Family): string => (family === 4 ? 'ip herald' : 'ip6 herald');
const forgetClients = (): void => families.forEach((family) => void inside('node', `nft flush map ${table(family)} affinity`));
/** Returns "1:2 . 10.99.0.2 timeout 3h expires 2h59m59s : 3:4" for each Service port and client. */
const clients = (family: Family): string[] =>
  (/elements = \{ (.*?) \}/s.exec(inside('node', `nft list map ${table(family)} affinity`))?.[1] ?? '')
    .split(',')
    .map((text) => text.trim())
    .filter((text) => text !== '');

/** Changes the only client's entry so that it expires after this time. */
function expireAfter(family: Family, time: string): void {
  const [client = ''] = clients(family);
  const [key = ''] = client.split(' timeout ');
  inside('node', `nft delete element ${table(family)} affinity { ${key} }`);
  inside('node', `nft add element ${table(family)} affinity { ${client.replace(/expires \S+/, `expires ${time}`)} }`);
}

/** Returns the pods that answer requests to all these targets. */
async function answering(machine: Machine, protocol: Protocol, list: readonly { address: string; port: number }[]): Promise<string[]> {
  const seen = new Set<string>();
  for (const target of list) {
    const { counts } = await lab.request(machine, { protocol, ...target, count: 6 });
    for (const name of Object.keys(counts)) seen.add(name);
  }
  return [...seen];
}

async function begin(transport: keyof typeof make): Promise<void> {
  dataplane = make[transport]();
  current.clear();
  await dataplane.replace(node, new Map());
}

async function end(): Promise<void> {
  await dataplane.cleanup();
  await dataplane.close();
}

async function expectOneBackend(machine: Machine, family: Family, protocol: Protocol): Promise<void> {
  await use({ one: service('one', 30) });
  // Four random choices are equal by chance once in 27 times.
  for (let round = 0; round < 2; round++) {
    forgetClients();
    inside('node', 'conntrack -F');
    // Either address may be the first.
    const list = round === 0 ? targets(family, 30) : targets(family, 30).toReversed();
    expect(await answering(machine, protocol, list)).toEqual([expect.stringMatching(/^pod[123]$/)]);
  }
}

describe('session affinity by the nft command', () => {
  beforeAll(() => begin('command'));
  afterAll(end);

  test.each(families)('IPv%i: a client has one backend on every address of a Service port', (family) =>
    expectOneBackend('client', family, 'TCP'),
  );
});

describe('session affinity', () => {
  beforeAll(() => begin('netlink'));
  afterAll(end);

  describe.each(families.flatMap((family) => protocols.map((protocol) => ({ family, protocol }))))('IPv$family $protocol', (cell) => {
    const { family, protocol } = cell;

    test.each(['client', 'pod1', 'node'] as const)('%s has one backend on every address of a Service port', async (machine) => {
      await expectOneBackend(machine, family, protocol);
    });

    test('a client stays while other backends come and go, and moves when its own goes', async () => {
      await use({ one: service('one', 30) });
      const [first = ''] = await answering('client', protocol, targets(family, 30));
      const mine = Number(first.slice(3));
      const others = [1, 2, 3].filter((pod) => pod !== mine);
      await dataplane.apply(new Map([['one', service('one', 30, { pods: [mine, others[0] ?? 0].toSorted((a, b) => a - b) })]]));
      expect(await answering('client', protocol, targets(family, 30))).toEqual([first]);
      await dataplane.apply(new Map([['one', service('one', 30, { pods: others })]]));
      const moved = await answering('client', protocol, targets(family, 30));
      expect(moved).toEqual([expect.not.stringContaining(first)]);
      await dataplane.apply(new Map([['one', service('one', 30)]]));
      expect(await answering('client', protocol, targets(family, 30))).toEqual(moved);
    });
  });

  test.each(families)('IPv%i: each Service port remembers its clients separately, across a restart of the agent', async (family) => {
    const both = { a: service('a', 40), b: service('b', 44) };
    await use(both);
    const ask = async (): Promise<string[][]> => [
      await answering('client', 'TCP', targets(family, 40)),
      await answering('client', 'TCP', targets(family, 44)),
    ];
    const before = await ask();
    expect(before.map((names) => names.length)).toEqual([1, 1]);
    expect(clients(family)).toHaveLength(2);
    await dataplane.close();
    dataplane = make.netlink();
    await dataplane.replace(node, new Map(Object.entries(both)));
    expect(dataplane.adopted).toBe(true);
    expect(clients(family)).toHaveLength(2);
    expect(await ask()).toEqual(before);
  });

  test.each(families)('IPv%i: a client is forgotten after the timeout without connections, whichever address it used', async (family) => {
    await use({ one: service('one', 50) });
    const [first] = await answering('client', 'TCP', targets(family, 50).slice(0, 1));
    // Each connection starts the whole timeout again.
    for (const target of targets(family, 50)) {
      expireAfter(family, '10m');
      expect(await answering('client', 'TCP', [target])).toEqual([first]);
      expect(clients(family)).toEqual([expect.stringMatching(/ timeout 3h expires 2h/)]);
    }
    expireAfter(family, '1s');
    await until('the client is forgotten', (note) => note(clients(family)).length === 0);
  });

  test.each(families)('IPv%i: clients are balanced without affinity when the map is full', async (family) => {
    await use({ full: service('full', 54) });
    const key = (index: number): string => (family === 4 ? `100.64.${index >> 8}.${index & 255}` : `${index} . 1`);
    const elements = Array.from({ length: maximumAffinityClients }, (_, index) => `1:1 . ${key(index)} : 0:1`).join(', ');
    const [file, ...args] = inNode;
    execFileSync(file, [...args, 'nft', '-f', '-'], { input: `add element ${table(family)} affinity { ${elements} }\n` });
    const [, external] = targets(family, 54);
    const request = { protocol: 'TCP', address: external?.address ?? '', port: 80, count: 40 } as const;
    expect(Object.keys((await lab.request('client', request)).counts).toSorted()).toEqual(['pod1', 'pod2', 'pod3']);
    forgetClients();
    expect(Object.values((await lab.request('client', request)).counts)).toEqual([40]);
  });
});
