import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { until } from '../until.ts';
import { documents, dualStackService, endpointSlices, heraldConfig, type Manifest } from './objects.ts';
import { nodeAddresses, nodeManifest, TwoNodes, type HttpReply } from './two-nodes.ts';

const port = 32_100;
let lab: TwoNodes;

/** A Service of policy Local whose endpoints, one of each family, are on `node`. */
function ledger(node: string, more: Manifest = { healthCheckNodePort: port }, externalTrafficPolicy = 'Local'): string {
  const spec = { type: 'LoadBalancer', externalTrafficPolicy, ...more };
  const service = dualStackService('ledger', { 4: '10.96.0.20', 6: 'fd00:96::20' }, spec);
  return documents(service, ...endpointSlices('ledger', { 4: '10.244.1.11', 6: 'fd00:244:1::11' }, node));
}

const nodes = (more: Manifest = {}): string => documents(nodeManifest('node1'), nodeManifest('node2', more));

beforeAll(async () => {
  lab = await TwoNodes.build();
  await lab.write('10-nodes.yaml', nodes());
  await lab.write('20-ledger.yaml', ledger('node1'));
  await Promise.all([lab.startAgent('node1'), lab.startAgent('node2')]);
});

afterAll(async () => {
  await lab?.stop();
});

const url = (node: 'node1' | 'node2', family: 4 | 6, at: number, path = ''): string => {
  const address = nodeAddresses[node][family];
  return `http://${family === 6 ? `[${address}]` : address}:${at}/${path}`;
};
const untilAnswers = (what: string, node: 'node1' | 'node2', family: 4 | 6, status: number | undefined): Promise<HttpReply | true> =>
  until(what, async (note) => {
    const reply = note(await lab.get(url(node, family, port)));
    return reply?.status === status && (reply ?? true);
  });

describe.each([4, 6] as const)('a health-check node port over IPv%d', (family) => {
  test("the port answers 200 on the endpoint's node and 503 on others, as with kube-proxy", async () => {
    await lab.write('20-ledger.yaml', ledger('node1'));
    const here = (await untilAnswers('node1 has the endpoint', 'node1', family, 200)) as HttpReply;
    expect(here.headers).toMatchObject({
      'content-type': 'application/json',
      'x-content-type-options': 'nosniff',
      'x-load-balancing-endpoint-weight': '1',
    });
    expect(here.body).toBe(
      '{\n\t"service": {\n\t\t"namespace": "shop",\n\t\t"name": "ledger"\n\t},\n\t"localEndpoints": 1,\n\t"serviceProxyHealthy": true\n}',
    );
    const there = (await untilAnswers('node2 has none', 'node2', family, 503)) as HttpReply;
    expect(there.headers['x-load-balancing-endpoint-weight']).toBe('0');
    expect(JSON.parse(there.body)).toMatchObject({ localEndpoints: 0, serviceProxyHealthy: true });
  });

  test('the answers follow the endpoint to the other node', async () => {
    await lab.write('20-ledger.yaml', ledger('node2'));
    await untilAnswers('node2 has the endpoint', 'node2', family, 200);
    expect(await untilAnswers('node1 has it no longer', 'node1', family, 503)).toBeDefined();
  });

  test('/healthz and /livez report the health of the node', async () => {
    const answers = await Promise.all(['healthz', 'livez', 'else'].map((path) => lab.get(url('node1', family, 10_256, path))));
    expect(answers.map((answer) => answer?.status)).toEqual([200, 200, 404]);
    expect(JSON.parse(answers[0]?.body ?? '')).toMatchObject({ nodeEligible: true, healthy: true, status: { IPv4: { healthy: true } } });
  });
});

test('a node that the autoscaler is about to remove fails /healthz but not /livez', async () => {
  const taints = [{ key: 'ToBeDeletedByClusterAutoscaler', effect: 'NoSchedule' }];
  await lab.write('10-nodes.yaml', nodes({ spec: { taints } }));
  await until('/healthz answers 503', async (note) => note(await lab.get(url('node2', 4, 10_256, 'healthz')))?.status === 503);
  expect((await lab.get(url('node2', 4, 10_256, 'livez')))?.status).toBe(200);
  await lab.write('10-nodes.yaml', nodes());
  await until('/healthz answers 200', async (note) => note(await lab.get(url('node2', 4, 10_256, 'healthz')))?.status === 200);
});

test('an occupied port is reported with a fix, and served once it is free', async () => {
  const other = `require('node:http').createServer((_, r) => r.end('other')).listen({ port: 32101, host: '0.0.0.0' }, () => console.log('up'))`;
  const holder = lab.spawn('node1', [process.execPath, '-e', other]);
  await new Promise((resolve) => holder.stdout?.once('data', resolve));
  await lab.write('20-ledger.yaml', ledger('node1', { healthCheckNodePort: 32_101 }));
  await until('node1 reports the occupied port', async (note) => {
    const [difference] = note((await lab.report('node1')).differing);
    return difference?.aspect === 'HealthCheck' && difference.reason.code === 'HealthCheckNotServed';
  });
  expect(await lab.explain('shop/ledger')).toMatch(
    /health-check node port 32101 is not served over IPv4.*: the port is in use\n.*fix: free the port \(ss -ltnp "sport = :32101"/,
  );
  // The other family and the other node are served meanwhile.
  await until('node1 serves IPv6', async (note) => note(await lab.get(url('node1', 6, 32_101)))?.status === 200);
  await until('node2 serves the new port', async (note) => note(await lab.get(url('node2', 4, 32_101)))?.status === 503);
  await until('node2 no longer listens on the old port', async (note) => note(await lab.get(url('node2', 4, port))) === undefined);
  holder.kill('SIGKILL');
  await until('node1 serves the port over IPv4', async (note) => note(await lab.get(url('node1', 4, 32_101)))?.status === 200);
  await until('node1 reports no difference any more', async (note) => note((await lab.report('node1')).differing).length === 0);
});

test('nodePortAddresses limits the port to those addresses, but not /healthz', async () => {
  await lab.exec('node1', ['ip', 'addr', 'add', '10.71.1.3/24', 'dev', 'uplink']);
  await lab.exec('node1', ['ip', 'addr', 'add', 'fd71:1::3/64', 'dev', 'uplink', 'nodad']);
  await lab.write('20-ledger.yaml', ledger('node1'));
  const others = ['10.71.1.3', '[fd71:1::3]'];
  const statuses = (at: number, path = ''): Promise<(number | undefined)[]> =>
    Promise.all(others.map(async (address) => (await lab.get(`http://${address}:${at}/${path}`))?.status));
  await until('every address answers', async (note) => note(await statuses(port)).join() === '200,200');
  const config = (...nodePortAddresses: string[]): string => documents(heraldConfig({ nodePortAddresses }));
  await lab.write('05-config.yaml', config('10.71.1.1/32', 'fd71:1::1/128'));
  await until('the other addresses do not answer', async (note) => note(await statuses(port)).join() === ',');
  // The agent closes the listener on all addresses before it opens those on the named ones.
  for (const family of [4, 6] as const)
    await until('the named address answers', async (note) => note(await lab.get(url('node1', family, port)))?.status === 200);
  expect(await statuses(10_256, 'healthz')).toEqual([200, 200]);
  expect(await lab.get(url('node2', 4, port))).toBeUndefined();
  await lab.write('05-config.yaml', config('0.0.0.0/0', '::/0'));
  await until('every address answers again', async (note) => note(await statuses(port)).join() === '200,200');
});

test('the port is closed when the Service is no longer Local', async () => {
  await lab.write('20-ledger.yaml', ledger('node1', {}, 'Cluster'));
  for (const family of [4, 6] as const)
    await until('no node listens', async (note) => note(await lab.get(url('node1', family, port))) === undefined);
});
