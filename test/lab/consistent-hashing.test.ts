import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { decideForwarding } from '../../src/decisions/forwarding/plan.ts';
import { address, formatAddress, type Family } from '../../src/net/address.ts';
import { slotOf, type HashInput } from '../../src/net/connection-hash.ts';
import { slotTableSizes, type Frontend, type Protocol, type ServiceForwarding } from '../../src/net/frontend.ts';
import { cluster, type ServiceLiteral } from '../unit/decisions/fixtures.ts';
import {
  clientAddress,
  clientAddresses,
  inside,
  nodeAddress,
  nodes,
  podAddress,
  podCount,
  ThreeNodes,
  serviceAddress,
  type From,
  type NodeName,
} from './dataplane/three-nodes.ts';

/** Three nodes with one Service. Each node plans for itself, and each kernel must choose the pod that TypeScript predicts. */
const families: readonly Family[] = [4, 6];
const protocols = ['TCP', 'UDP'] as const;
const everyPod = Array.from({ length: podCount }, (_, index) => index + 1);

let lab: ThreeNodes;
let nextPort = 20_000;

beforeAll(async () => {
  lab = await ThreeNodes.start();
});

afterAll(async () => {
  await lab?.stop();
});

interface Planned {
  readonly pods?: readonly number[];
  /** Those of `pods` whose slice has the weight 9. */
  readonly heavy?: readonly number[];
  readonly service?: Partial<ServiceLiteral>;
}

function plan(family: Family, node: NodeName, { pods = everyPod, heavy = [], service }: Planned): ServiceForwarding {
  const snapshot = cluster({
    nodes: nodes.map((name) => ({ name, internalIPs: [nodeAddress(family, name)] })),
    services: [
      {
        name: 'web',
        clusterIPs: [family === 4 ? '172.30.0.1' : 'fd02::1'],
        ports: (['TCP', 'UDP', 'SCTP'] as const).map((protocol) => `${protocol.toLowerCase()}:80/${protocol}`),
        assigned: [serviceAddress(family)],
        loadBalancing: 'consistent',
        ...service,
      },
    ],
    slices: [1, 9].map((weight) => ({
      service: 'web',
      name: `weight-${weight}`,
      ports: (['TCP', 'UDP', 'SCTP'] as const).map((protocol) => `${protocol.toLowerCase()}:8080/${protocol}`),
      endpoints: pods
        .filter((pod) => heavy.includes(pod) === (weight === 9))
        .map((pod) => `${podAddress(family, pod)}@node${1 + (pod % 3)}`),
      family,
      weight,
    })),
  });
  const [web] = snapshot.services.values();
  const forwarding = web === undefined ? undefined : decideForwarding(snapshot, web, node).forwarding;
  if (forwarding === undefined) throw new Error('no plan');
  return forwarding;
}

/** Lets every node plan and program the Service. */
async function program(planned: Planned): Promise<void> {
  for (const [node, dataplane] of lab.dataplanes) {
    const services = new Map(families.map((family) => [`web IPv${family}`, plan(family, node, planned)]));
    expect((await dataplane.apply(services)).quarantined).toEqual(new Map());
  }
}

function predict(
  { family, localAddress, localPort }: From,
  protocol: Protocol,
  planned: Planned,
  hashed: HashInput = 'connection',
): string {
  const frontend = plan(family, 'node1', planned).frontends.find(
    ({ match }) => match.kind === 'address' && formatAddress(match.address) === serviceAddress(family) && match.protocol === protocol,
  ) as Frontend;
  const { backendOf } = frontend.slots ?? { backendOf: new Uint16Array(1) };
  const backend = frontend.backends[backendOf[slotOf(hashed, address(localAddress), localPort, backendOf.length)] ?? 0];
  return formatAddress(backend?.address ?? address(localAddress));
}

/** Returns source ports that no test has used before. */
const ports = (count: number): number[] => Array.from({ length: count }, () => nextPort++);
const from = (family: Family, count: number): From[] =>
  ports(count).map((localPort) => ({ family, localAddress: clientAddress(family), localPort }));

describe.each(families)('IPv%i', (family) => {
  test.each(protocols)('three nodes give a connection to the same pod, as computed: %s', async (protocol) => {
    await program({});
    const clients = from(family, 60);
    const predicted = clients.map((client) => predict(client, protocol, {}));
    // Sixty connections go to ten pods, and chance may leave out a few pods.
    expect(new Set(predicted).size).toBeGreaterThan(podCount - 3);
    for (const node of nodes) {
      lab.routeTo(node);
      expect(await lab.ask(protocol, clients)).toEqual(predicted);
    }
  });

  test('three nodes give an SCTP association to the same pod, as computed', async () => {
    await program({});
    const clients = from(family, 30);
    const predicted = new Map(clients.map((client) => [client.localPort, predict(client, 'SCTP', {})]));
    for (const node of nodes) {
      lab.routeTo(node);
      expect(lab.initiate(node, family, [...predicted.keys()])).toEqual(predicted);
    }
  });

  test.each(slotTableSizes)('the kernel chooses the computed pod with a table of %i slots', async (hashSlots) => {
    const planned = { service: { hashSlots } };
    await program(planned);
    lab.routeTo('node2');
    const clients = from(family, 40);
    expect(await lab.ask('TCP', clients)).toEqual(clients.map((client) => predict(client, 'TCP', planned)));
  });

  test('session affinity gives a client one pod on every node and for every protocol', async () => {
    const planned = { service: { affinitySeconds: 1 } };
    await program(planned);
    const clients = Array.from({ length: clientAddresses }, (_, number) => clientAddress(family, number));
    for (const protocol of protocols) {
      for (const node of nodes) {
        lab.routeTo(node);
        const requests = clients.flatMap((localAddress) => ports(3).map((localPort) => ({ family, localAddress, localPort })));
        const answers = await lab.ask(protocol, requests);
        expect(answers).toEqual(requests.map((request) => predict(request, protocol, planned, 'client')));
      }
    }
    // The pod does not depend on the source port, and not all clients get the same pod.
    const distinct = clients.map((localAddress) => predict({ family, localAddress, localPort: 1 }, 'UDP', planned, 'client'));
    expect(distinct).toEqual(clients.map((localAddress) => predict({ family, localAddress, localPort: 2 }, 'TCP', planned, 'client')));
    expect(new Set(distinct).size).toBeGreaterThan(1);
  });

  test('a pod of nine times the weight gets most connections', async () => {
    const planned = { pods: [1, 2], heavy: [2] };
    await program(planned);
    const clients = from(family, 60);
    lab.routeTo('node3');
    const answers = await lab.ask('TCP', clients);
    expect(answers).toEqual(clients.map((client) => predict(client, 'TCP', planned)));
    // The light pod gets six on average. 19 is six standard deviations above, and with equal weights it would get thirty.
    const light = answers.filter((pod) => pod === podAddress(family, 1)).length;
    expect(light).toBeGreaterThan(0);
    expect(light).toBeLessThan(19);
  });

  test('removing a pod keeps connections to other pods, and moves few new connections', async () => {
    await program({});
    lab.routeTo('node1');
    const open = from(family, 12);
    const connections = await Promise.all(open.map((client) => lab.connection(client)));
    const before = from(family, 60);
    expect(await lab.ask('TCP', before)).toEqual(before.map((client) => predict(client, 'TCP', {})));
    const fewer = { pods: everyPod.filter((pod) => pod !== 4) };
    await program(fewer);
    const results = await Promise.all(connections.map((connection) => connection.end()));
    for (const [index, { answers, failure, who }] of results.entries()) {
      expect({ failure, who }).toEqual({ failure: '', who: predict(open[index] as From, 'TCP', {}) });
      expect(answers).toBeGreaterThan(0);
    }
    // The same source ports go to another node, which has no flows of them yet.
    lab.routeTo('node2');
    const after = await lab.ask('TCP', before);
    expect(after).toEqual(before.map((client) => predict(client, 'TCP', fewer)));
    const gone = podAddress(family, 4);
    const others = before.map((client) => predict(client, 'TCP', {})).map((pod, index) => pod === gone || pod === after[index]);
    expect(others.filter((kept) => !kept).length).toBeLessThanOrEqual(3);
  });

  test("a connection that moves to another node is reset, because nodes translate the client's address", async () => {
    await program({});
    lab.routeTo('node1');
    const [client] = from(family, 1);
    if (client === undefined) throw new Error('no port');
    const connection = await lab.connection(client);
    lab.routeTo('node2');
    expect(await connection.failed()).toMatchObject({ failure: 'ECONNRESET', who: predict(client, 'TCP', {}) });
    expect(await lab.ask('TCP', [client])).toEqual([predict(client, 'TCP', {})]);
  });
});

test.each(nodes)('nft lists the tables of %s as text and as JSON', (node) => {
  expect(inside(node, 'nft list ruleset')).toContain('jhash ip6 saddr . th sport mod 1021 seed');
  const { nftables } = JSON.parse(inside(node, 'nft -j list ruleset')) as { nftables: { map?: { name: string } }[] };
  expect(nftables.some(({ map }) => map?.name === 'backends')).toBe(true);
});
