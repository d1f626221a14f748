import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { clientPlan } from './address-plan.ts';
import { examples, HeraldInLab } from './herald.ts';
import { Lab } from './lab.ts';
import { untilNextHops, untilSpineRoutes, viaNodes } from './routes.ts';
import { standardTopology } from './standard-topology.ts';

/**
 * Sends packets that no Service takes to addresses of Services, and counts with the routers' own rules how often each passes a ToR: a node
 * that routed it would send it back to a ToR, until its TTL ends.
 */
const tors = ['tor1', 'tor2'] as const;
const families = [4, 6] as const;
const raw = fileURLToPath(new URL('dataplane/raw.mjs', import.meta.url));
const externalIPs = ['192.0.2.10', '2001:db8:2::10'];
/** Inside the aggregates that the second Service announces. No Service has them. */
const unused = ['203.0.113.77', '2001:db8:113::77'];
const datagrams = 100;

let lab: Lab;
let herald: HeraldInLab;
let balanced: readonly string[];

const aggregated = `apiVersion: herald.dev/v1alpha1
kind: IPAddressPool
metadata: { name: blocks, labels: { announced: blocks } }
spec: { addresses: [203.0.113.64/27, "2001:db8:113::/120"], autoAssign: false }
---
apiVersion: herald.dev/v1alpha1
kind: BGPAdvertisement
metadata: { name: blocks }
spec: { ipAddressPools: [blocks], aggregationLength: 27, aggregationLengthV6: 120 }
---
apiVersion: v1
kind: Service
metadata: { namespace: shop, name: block, annotations: { herald.dev/address-pool: blocks } }
spec:
  type: LoadBalancer
  ipFamilyPolicy: RequireDualStack
  ipFamilies: [IPv4, IPv6]
  clusterIPs: [10.96.0.70, "fd00:96::70"]
  allocateLoadBalancerNodePorts: false
  ports: [{ port: 80, targetPort: 8080 }]
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: { namespace: shop, name: block-v4, labels: { kubernetes.io/service-name: block } }
addressType: IPv4
ports: [{ port: 8080 }]
endpoints: [{ addresses: [10.244.1.10], nodeName: node1, conditions: { ready: true } }]
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: { namespace: shop, name: block-v6, labels: { kubernetes.io/service-name: block } }
addressType: IPv6
ports: [{ port: 8080 }]
endpoints: [{ addresses: ["fd00:244:1::10"], nodeName: node1, conditions: { ready: true } }]
`;

beforeAll(async () => {
  lab = await Lab.start(standardTopology({ nodes: 1, pods: [{ name: 'web-1', node: 'node1' }] }));
  herald = await HeraldInLab.prepare(lab, examples, ['10-cluster.yaml', '20-herald.yaml', '30-web.yaml']);
  await herald.edit('20-herald.yaml', (text) =>
    text
      .replaceAll('holdTime: 3s, keepaliveTime: 1s', 'holdTime: 9s, keepaliveTime: 3s')
      .replace('addressTypes: [LoadBalancer, ExternalIP],', '$& ipAddressPools: [public],')
      .replace('drainSeconds: 2', 'drainSeconds: 600'),
  );
  await herald.edit('30-web.yaml', (text) => text.replaceAll(/.*nodeName: node[23].*\n/g, ''));
  await herald.write('40-block.yaml', aggregated);
  for (const tor of tors) {
    const router = lab.router(tor);
    await router.exec(['nft', 'add table inet seen']);
    await router.exec(['nft', 'add chain inet seen arriving { type filter hook prerouting priority -400 ; }']);
  }
  await herald.start(['node1']);
  balanced = await herald.untilAssigned('shop/web', 2);
  for (const address of [...balanced, ...externalIPs]) {
    for (const tor of tors) await untilNextHops(lab, tor, address, viaNodes(tor, ['node1'], address));
    await untilSpineRoutes(lab, address);
  }
});

afterAll(async () => {
  await lab?.stop();
});

/** Counts the packets to an address that pass the ToRs while `send` runs, and half a second longer. */
async function passing<T>(address: string, send: () => Promise<T>): Promise<{ packets: number; result: T }> {
  const ip = address.includes(':') ? 'ip6' : 'ip';
  for (const tor of tors)
    await lab.router(tor).exec(['nft', `flush chain inet seen arriving; add rule inet seen arriving ${ip} daddr ${address} counter`]);
  const result = await send();
  await new Promise((resolve) => setTimeout(resolve, 500));
  const lists = await Promise.all(tors.map((tor) => lab.router(tor).exec(['nft', 'list chain inet seen arriving'])));
  const packets = lists.reduce((sum, { stdout }) => sum + Number(/packets (\d+)/.exec(stdout)?.[1]), 0);
  return { packets, result };
}

const connect = (address: string, port: number) => lab.client.tcp({ address, port, timeoutMs: 2_000 });

/** Sends datagrams from one socket that is not connected, so that no error stops it. */
async function sendDatagrams(address: string, port: number, count: number): Promise<void> {
  const program = `
    const socket = require('node:dgram').createSocket('${address.includes(':') ? 'udp6' : 'udp4'}');
    const send = (left) => left === 0 ? socket.close() : socket.send('x', ${port}, '${address}', () => setTimeout(send, 2, left - 1));
    send(${count});`;
  await lab.machine('client').exec([process.execPath, '-e', program]);
}

function sendRaw(kind: 'SCTP INIT' | 'TCP without flags', destination: string, port: number): Promise<unknown> {
  const source = clientPlan.address[destination.includes(':') ? 'ipv6' : 'ipv4'];
  const packet = { kind, source, destination, sourcePorts: [40_000 + port], port };
  return lab.machine('client').exec([process.execPath, raw, JSON.stringify(packet)]);
}

/** Expects that each packet to the address passes a ToR once, and that TCP and UDP are refused. */
async function expectRefused(address: string, port = 81): Promise<void> {
  const tcp = await passing(address, () => connect(address, port));
  expect([address, 'TCP', tcp.packets, tcp.result.errors]).toEqual([address, 'TCP', 1, { ECONNREFUSED: 1 }]);
  // A rate limit lets the first errors pass.
  expect((await lab.client.udp({ address, port, timeoutMs: 900 })).errors).toEqual({ ECONNREFUSED: 1 });
  const udp = await passing(address, () => sendDatagrams(address, port, datagrams));
  expect([address, 'UDP', udp.packets]).toEqual([address, 'UDP', datagrams]);
  const sctp = await passing(address, () => sendRaw('SCTP INIT', address, port));
  expect([address, 'SCTP', sctp.packets]).toEqual([address, 'SCTP', 1]);
  for (const each of [80, port]) {
    const stray = await passing(address, () => sendRaw('TCP without flags', address, each));
    expect([address, 'TCP without flags', each, stray.packets]).toEqual([address, 'TCP without flags', each, 1]);
  }
}

describe.each(families)('IPv%i', (family) => {
  const of = (addresses: readonly string[]): string => addresses.find((address) => address.includes(':') === (family === 6)) ?? '';

  test('a port that no Service has is refused by the first node at a load balancer address', async () => {
    await expectRefused(of(balanced));
    expect((await connect(of(balanced), 80)).pods).toEqual({ 'web-1': 1 });
  });

  test('a port that no Service has is refused by the first node at an external IP', async () => {
    await expectRefused(of(externalIPs));
    expect((await connect(of(externalIPs), 80)).pods).toEqual({ 'web-1': 1 });
  });

  test('an address of an announced block that no Service has is refused at every port', async () => {
    const used = of(await herald.untilAssigned('shop/block', 2));
    for (const tor of tors)
      await lab.until(`${tor} has the block`, async (note) =>
        note(await lab.router(tor).kernelRoutes(family)).some(({ dst }) => /^(203|2001:db8:113)/.test(dst)),
      );
    await expectRefused(of(unused), 80);
    await expectRefused(used);
  });

  test("a program of the node answers at an address that is also the node's own", async () => {
    const address = of(externalIPs);
    const program = lab
      .node('node1')
      .spawn([
        process.execPath,
        '-e',
        "require('node:http').createServer((_, reply) => reply.end()).listen(8099, '::', () => console.log('listens'))",
      ]);
    await program.waitForLine(/listens/);
    // A node announces no address that belongs to a node.
    await keepRoutes([address]);
    const dial = `require('node:net').connect(8099, '${address}', () => { console.log('connected'); process.exit(); })`;
    await lab.node('node1').ip(`addr add ${address}/${family === 4 ? 32 : 128} dev lo`);
    expect((await lab.machine('client').exec([process.execPath, '-e', dial])).stdout).toContain('connected');
    await lab.node('node1').ip(`addr del ${address}/${family === 4 ? 32 : 128} dev lo`);
    await program.stop();
  });
});

/** Routes as an operator configured them, of an aggregate, or of a router that is slow to forget. */
async function keepRoutes(addresses: readonly string[]): Promise<void> {
  for (const address of addresses) {
    for (const tor of tors) await lab.router(tor).ip(`route replace ${address} via ${viaNodes(tor, ['node1'], address)[0]} metric 5`);
    await lab.router('spine').ip(`route replace ${address} via ${address.includes(':') ? 'fd00:8:1::2' : '10.8.1.2'} metric 5`);
  }
}

describe('where routers keep sending', () => {
  test('ports are refused while a Service that was deleted drains', async () => {
    await keepRoutes(balanced);
    await herald.remove('30-web.yaml');
    await lab.until('node1 has withdrawn', async (note) => {
      const { routes } = await lab.router('tor1').show<{ routes: object }>('show bgp ipv4 unicast json');
      return !note(Object.keys(routes)).includes(`${balanced[0]}/32`);
    });
    for (const address of balanced) await expectRefused(address);
  });

  test('ports are refused after the agent was killed', async () => {
    herald.agent('node1').kill('SIGKILL');
    for (const address of balanced) await expectRefused(address);
  });
});
