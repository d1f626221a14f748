import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { once } from 'node:events';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { until } from '../until.ts';
import { documents, dualStackService, endpointSlices } from './objects.ts';
import { nodeAddresses, nodeManifest, TwoNodes, type Place } from './two-nodes.ts';

/** A host network pod on node1. Tests its NodePort and health check on both nodes while the traffic policy changes. */
const families = [4, 6] as const;
type Family = (typeof families)[number];
const [nodePort, healthPort] = [30_080, 32_200];
const peer = fileURLToPath(new URL('../dataplane/peer.mjs', import.meta.url));
let lab: TwoNodes;

const clientAddresses = { node1: { 4: '10.71.1.2', 6: 'fd71:1::2' }, node2: { 4: '10.71.2.2', 6: 'fd71:2::2' } } as const;

const objects = documents(
  nodeManifest('node1'),
  nodeManifest('node2'),
  ...endpointSlices('till', { 4: nodeAddresses.node1[4], 6: nodeAddresses.node1[6] }, 'node1'),
);

function till(externalTrafficPolicy: 'Cluster' | 'Local'): string {
  const checked = externalTrafficPolicy === 'Local' ? { healthCheckNodePort: healthPort } : {};
  const spec = { type: 'LoadBalancer', externalTrafficPolicy, ...checked, port: { nodePort } };
  return documents(dualStackService('till', { 4: '10.96.0.30', 6: 'fd00:96::30' }, spec));
}

beforeAll(async () => {
  lab = await TwoNodes.build();
  await lab.exec('client', ['sysctl', '-qw', 'net.ipv4.ip_forward=1', 'net.ipv6.conf.all.forwarding=1']);
  for (const node of ['node1', 'node2'] as const)
    for (const family of families) await lab.exec(node, ['ip', 'route', 'add', 'default', 'via', clientAddresses[node][family]]);
  const pod = lab.spawn('node1', [process.execPath, peer, 'server', 'pod', '8080', '9090']);
  if (pod.stdout !== null) await once(pod.stdout, 'data');
  await lab.write('10-objects.yaml', objects);
  await lab.write('20-till.yaml', till('Local'));
  await Promise.all([lab.startAgent('node1'), lab.startAgent('node2')]);
});

afterAll(async () => {
  await lab?.stop();
});

/** Returns "pod 10.71.1.2", the answering pod and the client that it saw, or an error such as "TIMEOUT". */
async function ask(from: Place, node: 'node1' | 'node2', family: Family, timeout = 10_000): Promise<string> {
  const request = { protocol: 'TCP', address: nodeAddresses[node][family], port: nodePort, timeout };
  const { stdout } = await lab.exec(from, [process.execPath, peer, 'client', JSON.stringify([request])]);
  return (JSON.parse(stdout) as { answers: string[] }[])[0]?.answers[0] ?? '';
}

/** Matches the answer of the pod if it saw this client. */
const pod = (client: string): RegExp => new RegExp(`^pod ${client.replaceAll('.', '\\.')}$`);

async function health(node: 'node1' | 'node2', family: Family): Promise<number | undefined> {
  const address = nodeAddresses[node][family];
  return (await lab.get(`http://${family === 6 ? `[${address}]` : address}:${healthPort}/`))?.status;
}

/** Waits for an answer. `timeout` in milliseconds is short where no answer is expected. */
async function untilAnswer(from: Place, node: 'node1' | 'node2', family: Family, wanted: RegExp, timeout?: number): Promise<void> {
  await until(`${from} gets ${wanted} from ${node}`, async (note) => wanted.test(note(await ask(from, node, family, timeout))));
}

async function untilLocal(family: Family): Promise<void> {
  await until('the health checks of both nodes say which has an endpoint', async (note) => {
    const statuses = [await health('node1', family), await health('node2', family)];
    return note(statuses).join() === '200,503';
  });
  await untilAnswer('client', 'node1', family, pod(clientAddresses.node1[family]));
  await untilAnswer('client', 'node2', family, /^TIMEOUT$/, 1_500);
  // Requests from another node, or from a host network pod there, keep their source address.
  await untilAnswer('node2', 'node1', family, pod(nodeAddresses.node2[family]));
  // On the node itself a NodePort leads to every endpoint.
  await untilAnswer('node2', 'node2', family, /^pod /);
  await untilAnswer('node1', 'node1', family, /^pod /);
}

describe.each(families)('IPv%i', (family) => {
  test('NodePorts and health checks follow externalTrafficPolicy from Local to Cluster and back', async () => {
    await lab.write('20-till.yaml', till('Local'));
    await untilLocal(family);
    await lab.write('20-till.yaml', till('Cluster'));
    await until('the health check ports are closed', async (note) => {
      const statuses = [await health('node1', family), await health('node2', family)];
      return note(statuses).every((status) => status === undefined);
    });
    await untilAnswer('client', 'node1', family, /^pod /);
    await untilAnswer('client', 'node2', family, pod(nodeAddresses.node2[family]));
    await untilAnswer('node2', 'node1', family, /^pod /);
    await lab.write('20-till.yaml', till('Local'));
    await untilLocal(family);
  });
});
