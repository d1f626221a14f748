import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { decideForwarding } from '../../src/decisions/forwarding/plan.ts';
import { NftablesDataplane } from '../../src/dataplane/nftables/nftables.ts';
import { machinePorts } from '../../src/dataplane/nftables/ports.ts';
import type { Family } from '../../src/net/address.ts';
import type { NodeForwarding, Protocol, ServiceForwarding } from '../../src/net/frontend.ts';
import { prefix } from '../../src/net/prefix.ts';
import { systemClock } from '../../src/system/clock.ts';
import { silentLog } from '../../src/system/log.ts';
import { namespaceNamed } from '../support/namespace-named.ts';
import { cluster, type ServiceLiteral } from '../unit/decisions/fixtures.ts';
import { inside, namespaceOf, nodeAddress, OneNode, podAddress, podPort, type Machine } from './dataplane/one-node.ts';

/** One node with real nftables. Each request is a new connection, and the pods that answer are counted. */
const families: readonly Family[] = [4, 6];
const protocols = ['TCP', 'UDP'] as const;
const nodePort = 30_080;

const node: NodeForwarding = {
  nodePortAddresses: [prefix('10.99.0.1/32'), prefix('fd99::1/128')],
  podPrefixes: [prefix('10.244.0.0/16'), prefix('fd01::/64')],
  servicePrefixes: [],
  masqueradeBit: 14,
};

const startDataplane = async (services: ReadonlyMap<string, ServiceForwarding>): Promise<NftablesDataplane> => {
  const started = new NftablesDataplane(
    machinePorts(systemClock, silentLog, { own: false, namespace: namespaceNamed(namespaceOf('node')) }),
  );
  await started.replace(node, services);
  return started;
};

let lab: OneNode;
let dataplane: NftablesDataplane;

beforeAll(async () => {
  lab = await OneNode.start();
  for (const family of families)
    for (const address of Object.values(addresses(family)))
      inside('client', `ip -${family} route add ${address} via ${nodeAddress(family)}`);
  dataplane = await startDataplane(new Map());
});

afterEach(async () => {
  await dataplane.apply(new Map(['web', 'other'].map((name) => [name, undefined])));
  inside('node', 'conntrack -F');
});

afterAll(async () => {
  await dataplane?.close();
  lab?.stop();
});

const addresses = (family: Family) =>
  family === 4
    ? { ClusterIP: '172.30.0.1', LoadBalancer: '203.0.113.1', 'external IP': '203.0.113.9', other: '203.0.113.2' }
    : { ClusterIP: 'fd02::1', LoadBalancer: '2001:db8::1', 'external IP': '2001:db8::9', other: '2001:db8::2' };

type Where = 'ClusterIP' | 'LoadBalancer' | 'external IP' | 'NodePort';
const places: readonly Where[] = ['ClusterIP', 'LoadBalancer', 'external IP', 'NodePort'];

interface Planned {
  readonly service?: Partial<ServiceLiteral>;
  readonly address?: string;
  readonly name?: string;
  readonly pods?: readonly number[];
  /** By pod: the weight of its slice. */
  readonly weights?: Readonly<Record<number, number>>;
}

/** Plans a Service as an agent of the node "here" does. pod3 is on another node. */
function plan(family: Family, { service, name = 'web', address, pods = [1, 2, 3], weights = {} }: Planned): ServiceForwarding {
  const own = addresses(family);
  const ports = ['TCP', 'UDP', 'SCTP'].map((protocol) => `${protocol.toLowerCase()}:80/${protocol}`);
  const snapshot = cluster({
    externalIPPolicies: [{ cidrs: ['0.0.0.0/0', '::/0'] }],
    nodes: [{ name: 'here', internalIPs: [nodeAddress(family)] }, { name: 'there' }],
    services: [
      {
        name,
        ...(address === undefined
          ? {
              clusterIPs: [own.ClusterIP],
              assigned: [own.LoadBalancer],
              externalIPs: [own['external IP']],
              ports: ports.map((port) => `${port}@${nodePort}`),
            }
          : { clusterIPs: [address], type: 'ClusterIP', ports }),
        ...service,
      },
    ],
    slices: pods.map((pod) => ({
      service: name,
      name: `${name}-${pod}`,
      family,
      ports: ['TCP', 'UDP', 'SCTP'].map((protocol) => `${protocol.toLowerCase()}:${podPort}/${protocol}`),
      endpoints: [`${podAddress(family, pod)}@${pod === 3 ? 'there' : 'here'}`],
      ...(weights[pod] === undefined ? {} : { weight: weights[pod] }),
    })),
  });
  const [planned] = snapshot.services.values();
  const forwarding = planned === undefined ? undefined : decideForwarding(snapshot, planned, 'here').forwarding;
  if (forwarding === undefined) throw new Error('no plan');
  return forwarding;
}

async function program(family: Family, ...all: readonly Planned[]): Promise<void> {
  const services = new Map(all.map((planned) => [planned.name ?? 'web', plan(family, planned)]));
  expect((await dataplane.apply(services)).quarantined).toEqual(new Map());
}

/** Returns how many connections each pod answered, and which pod answered each. */
async function ask(
  family: Family,
  { from = 'client', protocol = 'TCP', to, count }: { from?: Machine; protocol?: Protocol; to: Where | 'other'; count: number },
): Promise<{ counts: Readonly<Record<string, number>>; order: readonly string[] }> {
  const address = to === 'NodePort' ? nodeAddress(family) : addresses(family)[to];
  const port = to === 'NodePort' ? nodePort : 80;
  const { counts, answers } = await lab.request(from, { protocol, address, port, count });
  return { counts, order: answers.map((answer) => answer.split(' ')[0] ?? '') };
}

describe.each(families)('IPv%i', (family) => {
  test.each(protocols)('round robin gives each pod the same number of connections at every address: %s', async (protocol) => {
    await program(family, { service: { loadBalancing: 'round-robin' } });
    for (const to of places) {
      const { counts, order } = await ask(family, { protocol, to, count: 30 });
      expect({ to, counts }).toEqual({ to, counts: { pod1: 10, pod2: 10, pod3: 10 } });
      // Each connection goes to the pod after that of the one before.
      for (const [index, pod] of order.slice(3).entries()) expect(pod).toBe(order[index]);
    }
  });

  test('round robin of one Service is not disturbed by connections to another with as many pods', async () => {
    const other = { name: 'other', address: addresses(family).other, pods: [1, 2] };
    await program(
      family,
      { pods: [1, 2], service: { loadBalancing: 'round-robin' } },
      { ...other, service: { loadBalancing: 'round-robin' } },
    );
    const seen: Record<string, string[]> = { LoadBalancer: [], other: [] };
    for (let time = 0; time < 6; time++)
      for (const to of ['LoadBalancer', 'other'] as const) seen[to]?.push(...(await ask(family, { to, count: 1 })).order);
    for (const pods of Object.values(seen)) expect(pods.toSorted()).toEqual(['pod1', 'pod1', 'pod1', 'pod2', 'pod2', 'pod2']);
  });

  test('round robin is exact while connections begin at the same time', async () => {
    await program(family, { service: { loadBalancing: 'round-robin' } });
    const request = { protocol: 'TCP', address: addresses(family).LoadBalancer, port: 80, count: 30 } as const;
    const outcomes = await lab.requests('client', [request, request, request]);
    const total: Record<string, number> = {};
    for (const { counts } of outcomes) for (const [pod, count] of Object.entries(counts)) total[pod] = (total[pod] ?? 0) + count;
    expect(total).toEqual({ pod1: 30, pod2: 30, pod3: 30 });
  });

  test('weighted round robin follows the weights of the slices, spread evenly', async () => {
    await program(family, { service: { loadBalancing: 'weighted-round-robin' }, weights: { 1: 50, 2: 20, 3: 10 } });
    for (const to of places) {
      const { counts, order } = await ask(family, { to, count: 24 });
      expect({ to, counts }).toEqual({ to, counts: { pod1: 15, pod2: 6, pod3: 3 } });
      expect(order.join(' ')).not.toContain('pod1 pod1 pod1 pod1');
    }
  });

  test('under policy Local the pods of the node take turns, and all pods for a client in a pod', async () => {
    await program(family, { service: { loadBalancing: 'round-robin', externalTrafficPolicy: 'Local', internalTrafficPolicy: 'Local' } });
    for (const to of places) expect((await ask(family, { to, count: 10 })).counts).toEqual({ pod1: 5, pod2: 5 });
    const inCluster = await ask(family, { from: 'pod2', to: 'LoadBalancer', count: 9 });
    expect(inCluster.counts).toEqual({ pod1: 3, pod2: 3, pod3: 3 });
  });

  test('a client with session affinity keeps the pod of its first turn', async () => {
    await program(family, { service: { loadBalancing: 'round-robin', affinitySeconds: 60 } });
    const { counts } = await ask(family, { to: 'LoadBalancer', count: 9 });
    expect(Object.values(counts)).toEqual([9]);
  });

  test('turns continue after a pod is replaced, and are exact again after one comes or goes', async () => {
    await program(family, { service: { loadBalancing: 'round-robin' }, pods: [1, 2] });
    expect((await ask(family, { to: 'LoadBalancer', count: 8 })).counts).toEqual({ pod1: 4, pod2: 4 });
    await program(family, { service: { loadBalancing: 'round-robin' }, pods: [1, 3] });
    expect((await ask(family, { to: 'LoadBalancer', count: 8 })).counts).toEqual({ pod1: 4, pod3: 4 });
    await program(family, { service: { loadBalancing: 'round-robin' } });
    expect((await ask(family, { to: 'LoadBalancer', count: 9 })).counts).toEqual({ pod1: 3, pod2: 3, pod3: 3 });
  });

  test('another agent adopts the turns, and a Service that goes or becomes random leaves no chain', async () => {
    const services = new Map([['web', plan(family, { service: { loadBalancing: 'round-robin' } })]]);
    await dataplane.apply(services);
    await dataplane.close();
    const handles = (): string => inside('node', `nft -a list chain ip${family === 4 ? '' : '6'} herald balance_turns`);
    const before = handles();
    dataplane = await startDataplane(services);
    expect([dataplane.adopted, handles()]).toEqual([true, before]);
    expect((await ask(family, { to: 'NodePort', count: 9 })).counts).toEqual({ pod1: 3, pod2: 3, pod3: 3 });
    const chains = (): number => inside('node', 'nft list chains').match(/chain turns_[0-9a-f]+_/g)?.length ?? 0;
    // Three addresses with three protocols, and the NodePort.
    expect(chains()).toBe(12);
    await program(family, { service: { loadBalancing: 'random' } });
    expect(chains()).toBe(0);
  });

  test('source hash gives a client one pod at every address, whatever its port', async () => {
    await program(family, { service: { loadBalancing: 'source-hash', hashSlots: 251 } });
    for (const protocol of protocols) {
      const pods = new Set<string>();
      for (const to of places) for (const pod of (await ask(family, { protocol, to, count: 6 })).order) pods.add(pod);
      expect(pods.size).toBe(1);
    }
  });

  test('destination hash leads all connections to one address to one pod', async () => {
    await program(family, { service: { loadBalancing: 'destination-hash', hashSlots: 251 } });
    const order = async (from: Machine): Promise<string[]> => [...(await ask(family, { from, to: 'ClusterIP', count: 6 })).order];
    expect(new Set([...(await order('client')), ...(await order('pod2'))]).size).toBe(1);
  });

  test.each(places)('consistent: a client port has the same pod each time, and ports are spread: %s', async (to) => {
    await program(family, { service: { loadBalancing: 'consistent', hashSlots: 251 } });
    const address = to === 'NodePort' ? nodeAddress(family) : addresses(family)[to];
    const requests = Array.from({ length: 24 }, (_, index) => ({
      protocol: 'UDP' as const,
      address,
      port: to === 'NodePort' ? nodePort : 80,
      localPort: 40_000 + index,
    }));
    const answers = async (): Promise<string[]> => (await lab.requests('client', requests)).flatMap(({ counts }) => Object.keys(counts));
    const first = await answers();
    inside('node', 'conntrack -F');
    expect(await answers()).toEqual(first);
    expect(new Set(first)).toEqual(new Set(['pod1', 'pod2', 'pod3']));
  });
});
