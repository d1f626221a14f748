import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { activeConnections, type CountActive } from '../../src/dataplane/conntrack/active-connections.ts';
import { CountingDataplane } from '../../src/dataplane/nftables/counting/counting-dataplane.ts';
import { turnsTaken } from '../../src/dataplane/nftables/netlink/turn-counters.ts';
import { NftablesDataplane } from '../../src/dataplane/nftables/nftables.ts';
import { machinePorts } from '../../src/dataplane/nftables/ports.ts';
import { decideForwarding } from '../../src/decisions/forwarding/plan.ts';
import type { Family } from '../../src/net/address.ts';
import type { NodeForwarding, Protocol, ServiceForwarding } from '../../src/net/frontend.ts';
import { prefix } from '../../src/net/prefix.ts';
import { processorMilliseconds, systemClock } from '../../src/system/clock.ts';
import { silentLog } from '../../src/system/log.ts';
import { namespaceNamed } from '../support/namespace-named.ts';
import { cluster, type ServiceLiteral } from '../unit/decisions/fixtures.ts';
import type { HeldConnections } from './dataplane/held-connections.ts';
import { inside, namespaceOf, nodeAddress, OneNode, podAddress, podPort, type Machine } from './dataplane/one-node.ts';

/** One node with real nftables and connection tracking. A client keeps connections open, and the pods that answer are counted. */
const families: readonly Family[] = [4, 6];
const protocols = ['TCP', 'UDP'] as const;
const nodePort = 30_080;

const node: NodeForwarding = {
  nodePortAddresses: [prefix('10.99.0.1/32'), prefix('fd99::1/128')],
  podPrefixes: [prefix('10.244.0.0/16'), prefix('fd01::/64')],
  servicePrefixes: [],
  masqueradeBit: 14,
};

let lab: OneNode;
let dataplane: CountingDataplane;
let held: HeldConnections;
/** Looks at the connections that have ended. */
let looks = 0;
let lookedAt = 0;

async function startDataplane(services: ReadonlyMap<string, ServiceForwarding>): Promise<CountingDataplane> {
  const namespace = namespaceNamed(namespaceOf('node'));
  const tally = activeConnections(systemClock, namespace.file);
  const counted: CountActive = async (ports) => {
    const tallies = await tally(ports);
    looks++;
    lookedAt = performance.now();
    return tallies;
  };
  const started = new CountingDataplane(new NftablesDataplane(machinePorts(systemClock, silentLog, { own: false, namespace })), {
    clock: systemClock,
    log: silentLog,
    tally: counted,
    turnsTaken: turnsTaken(systemClock, namespace.file),
    processorMilliseconds,
  });
  await started.replace(node, services);
  return started;
}

/** Resolves when a look that began from now on has set the turns. */
async function look(): Promise<void> {
  const before = looks;
  // The second look begins after the first one has set the turns.
  await expect.poll(() => looks, { timeout: 60_000 }).toBeGreaterThan(before + 2);
}

beforeAll(async () => {
  lab = await OneNode.start();
  for (const family of families)
    for (const address of Object.values(addresses(family)))
      inside('client', `ip -${family} route add ${address} via ${nodeAddress(family)}`);
  // So that a flow without packets stays during a test.
  inside('node', 'sysctl -qw net.netfilter.nf_conntrack_udp_timeout=600 net.netfilter.nf_conntrack_udp_timeout_stream=600');
  dataplane = await startDataplane(new Map());
});

beforeEach(() => {
  held = lab.holder('client');
});

afterEach(async () => {
  await held.close();
  await dataplane.apply(new Map([['web', undefined]]));
  inside('node', 'conntrack -F');
});

afterAll(async () => {
  await dataplane?.close();
  lab?.stop();
});

const addresses = (family: Family) =>
  family === 4 ? { ClusterIP: '172.30.0.1', LoadBalancer: '203.0.113.1' } : { ClusterIP: 'fd02::1', LoadBalancer: '2001:db8::1' };
type Where = 'ClusterIP' | 'LoadBalancer' | 'NodePort';
const places: readonly Where[] = ['LoadBalancer', 'NodePort', 'ClusterIP'];

interface Planned {
  readonly service: Partial<ServiceLiteral>;
  readonly pods?: readonly number[];
  /** By pod: the weight of its slice. */
  readonly weights?: Readonly<Record<number, number>>;
}

/** Plans a Service as an agent of the node "here" does. pod3 is on another node. */
function plan(family: Family, { service, pods = [1, 2, 3], weights = {} }: Planned): ServiceForwarding {
  const own = addresses(family);
  const snapshot = cluster({
    nodes: [{ name: 'here', internalIPs: [nodeAddress(family)] }, { name: 'there' }],
    services: [
      {
        name: 'web',
        clusterIPs: [own.ClusterIP],
        assigned: [own.LoadBalancer],
        ports: protocols.map((protocol) => `${protocol.toLowerCase()}:80/${protocol}@${nodePort}`),
        ...service,
      },
    ],
    slices: pods.map((pod) => ({
      service: 'web',
      name: `web-${pod}`,
      family,
      ports: protocols.map((protocol) => `${protocol.toLowerCase()}:${podPort}/${protocol}`),
      endpoints: [`${podAddress(family, pod)}@${pod === 3 ? 'there' : 'here'}`],
      ...(weights[pod] === undefined ? {} : { weight: weights[pod] }),
    })),
  });
  const [planned] = snapshot.services.values();
  const forwarding = planned === undefined ? undefined : decideForwarding(snapshot, planned, 'here').forwarding;
  if (forwarding === undefined) throw new Error('no plan');
  return forwarding;
}

async function program(family: Family, planned: Planned): Promise<void> {
  expect((await dataplane.apply(new Map([['web', plan(family, planned)]]))).quarantined).toEqual(new Map());
}

interface Opening {
  readonly protocol: Protocol;
  readonly count: number;
  readonly to?: Where;
}

/** Opens connections that stay, one after the other. Returns how many each pod got. */
async function open(family: Family, { protocol, count, to = 'LoadBalancer' }: Opening): Promise<Record<string, number>> {
  const address = to === 'NodePort' ? nodeAddress(family) : addresses(family)[to];
  const pods = await held.open({ protocol, address, port: to === 'NodePort' ? nodePort : 80, count });
  return Object.fromEntries([...Map.groupBy(pods, (pod) => pod)].map(([pod, all]) => [pod, all.length]));
}

/**
 * Opens connections and expects so many at each pod. A connection that begins while a look is under way counts, but its turn is lost: then a pod may
 * have one more or less.
 */
async function expectOpens(family: Family, opening: Opening, expected: Readonly<Record<string, number>>): Promise<void> {
  const began = performance.now();
  const counts = await open(family, opening);
  if (lookedAt < began - settingTurns) {
    expect(counts).toEqual(expected);
    return;
  }
  for (const pod of ['pod1', 'pod2', 'pod3'])
    expect({ counts, difference: Math.abs((counts[pod] ?? 0) - (expected[pod] ?? 0)) <= 1 }).toEqual({ counts, difference: true });
}

/** Milliseconds in which a look that has counted sets the turns, on a busy machine. */
const settingTurns = 500;

/** Ends connections to a pod. The node sees the end of a TCP connection. It would forget a UDP flow after a while. */
async function end(family: Family, pod: Machine, protocol: Protocol): Promise<void> {
  await held.end(pod);
  if (protocol === 'UDP') inside('node', `conntrack -D -f ipv${family} -p udp -r ${podAddress(family, Number(pod.at(-1)))}`);
}

const counted = ['least-connections', 'weighted-least-connections', 'shortest-expected-delay', 'never-queue'] as const;

describe.each(families)('IPv%i', (family) => {
  describe.each(protocols)('%s', (protocol) => {
    test.each(counted)('%s gives each pod the same number of connections that stay', async (loadBalancing) => {
      await program(family, { service: { loadBalancing } });
      for (const [round, to] of places.entries()) {
        await expectOpens(family, { protocol, to, count: 12 }, { pod1: 4, pod2: 4, pod3: 4 });
        if (round === 0) await look();
      }
    });

    test('a pod that appears empty gets the new connections first, at every address, and then all take turns', async () => {
      await program(family, { service: { loadBalancing: 'least-connections' }, pods: [1, 2] });
      await expectOpens(family, { protocol, count: 16 }, { pod1: 8, pod2: 8 });
      await look();
      await program(family, { service: { loadBalancing: 'least-connections' } });
      await look();
      // Eight for the new pod, over all addresses together, and three for each after it.
      await expectOpens(family, { protocol, to: 'NodePort', count: 3 }, { pod3: 3 });
      await expectOpens(family, { protocol, to: 'ClusterIP', count: 2 }, { pod3: 2 });
      await expectOpens(family, { protocol, count: 12 }, { pod1: 3, pod2: 3, pod3: 6 });
    });

    test('a pod whose connections ended gets the next ones, as many as ended', async () => {
      await program(family, { service: { loadBalancing: 'least-connections' } });
      await expectOpens(family, { protocol, count: 15 }, { pod1: 5, pod2: 5, pod3: 5 });
      await end(family, 'pod2', protocol);
      await look();
      await expectOpens(family, { protocol, count: 5 }, { pod2: 5 });
      await expectOpens(family, { protocol, count: 3 }, { pod1: 1, pod2: 1, pod3: 1 });
    });

    test('a pod leaves: the others share new connections, and what it has counts again when it returns', async () => {
      await program(family, { service: { loadBalancing: 'least-connections' } });
      await expectOpens(family, { protocol, count: 9 }, { pod1: 3, pod2: 3, pod3: 3 });
      await program(family, { service: { loadBalancing: 'least-connections' }, pods: [1, 2] });
      await expectOpens(family, { protocol, count: 4 }, { pod1: 2, pod2: 2 });
      await program(family, { service: { loadBalancing: 'least-connections' } });
      await look();
      // The kernel forgets UDP flows of an endpoint that leaves (service-semantics.md), so the pod returns empty.
      await expectOpens(family, { protocol, count: protocol === 'UDP' ? 5 : 2 }, { pod3: protocol === 'UDP' ? 5 : 2 });
    });
  });

  test.each([
    ['least-connections', { pod1: 8, pod2: 8, pod3: 8 }],
    ['weighted-least-connections', { pod1: 16, pod2: 4, pod3: 4 }],
    ['shortest-expected-delay', { pod1: 16, pod2: 4, pod3: 4 }],
    ['never-queue', { pod1: 16, pod2: 4, pod3: 4 }],
  ] as const)('%s with weights 4, 1 and 1', async (loadBalancing, counts) => {
    await program(family, { service: { loadBalancing }, weights: { 1: 4 } });
    await expectOpens(family, { protocol: 'TCP', count: 24 }, counts);
  });

  test('connections that begin at the same time from several clients are spread evenly, also after a pod appeared', async () => {
    await program(family, { service: { loadBalancing: 'least-connections' }, pods: [1, 2] });
    const clients = [held, lab.holder('client'), lab.holder('client')];
    const request = { protocol: 'TCP', address: addresses(family).LoadBalancer, port: 80 } as const;
    const burst = async (count: number) => (await Promise.all(clients.map((each) => each.open({ ...request, count })))).flat();
    try {
      const first = await burst(10);
      await look();
      await program(family, { service: { loadBalancing: 'least-connections' } });
      await look();
      const total = Map.groupBy([...first, ...(await burst(20))], (pod) => pod);
      const counts = ['pod1', 'pod2', 'pod3'].map((pod) => total.get(pod)?.length ?? 0);
      // One, and one more for connections that begin while a look is under way.
      expect({ counts, difference: Math.max(...counts) - Math.min(...counts) <= 2 }).toEqual({ counts, difference: true });
    } finally {
      for (const each of clients.slice(1)) await each.close();
    }
  });

  test('never-queue prefers an idle pod to a heavier one, shortest-expected-delay does not', async () => {
    await program(family, { service: { loadBalancing: 'shortest-expected-delay' }, weights: { 1: 9 } });
    await expectOpens(family, { protocol: 'TCP', count: 3 }, { pod1: 3 });
    await program(family, { service: { loadBalancing: 'never-queue' }, weights: { 1: 9 } });
    await look();
    await expectOpens(family, { protocol: 'TCP', count: 2 }, { pod2: 1, pod3: 1 });
  });

  test('under policy Local the pods of the node share connections from outside', async () => {
    await program(family, { service: { loadBalancing: 'least-connections', externalTrafficPolicy: 'Local' } });
    await expectOpens(family, { protocol: 'TCP', count: 6 }, { pod1: 3, pod2: 3 });
    await end(family, 'pod1', 'TCP');
    await look();
    await expectOpens(family, { protocol: 'TCP', count: 3 }, { pod1: 3 });
  });

  test('another agent adopts turns and connections, and a Service that goes leaves no chain', async () => {
    const services = new Map([['web', plan(family, { service: { loadBalancing: 'least-connections' } })]]);
    await dataplane.apply(services);
    await expectOpens(family, { protocol: 'TCP', count: 9 }, { pod1: 3, pod2: 3, pod3: 3 });
    await held.end('pod3', 2);
    await dataplane.close();
    const table = `ip${family === 4 ? '' : '6'} herald`;
    const handles = (): string[] => inside('node', `nft -a list table ${table}`).match(/chain \w+ \{ # handle \d+/g) ?? [];
    const before = handles();
    dataplane = await startDataplane(services);
    expect([dataplane.adopted, handles()]).toEqual([true, before]);
    // Right from the first connection, before the first look after the start.
    await expectOpens(family, { protocol: 'TCP', count: 2 }, { pod3: 2 });
    await program(family, { service: { loadBalancing: 'random' } });
    expect(handles().filter((chain) => chain.includes('shared_'))).toEqual([]);
  });
});
